use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use burnformer::files_in_use::FilesInUse;
use burnformer::output::{OnFailure, Output, print};
use burnformer::values::{compute_type, model, text};
use burnformer_core::ComputeType;
use burnformer_data::{LineReader, Utf8Policy};
use burnformer_infer::{Batching, LongSources, Translator};
use burnformer_interop::{Format, Pretrained};
use serde_json::{Value, json};

use super::compare::{Comparison, PeerArgs, divisors, measured_alone, thread_count};
use super::options::Common;
use super::record::{FRAMEWORK, peak_memory_bytes, processor_seconds};
use super::shape::ModelShape;

/// The default number of lines that `burnformer translate` reads ahead.
const CHUNK: usize = 2048;

/// Arguments of the benchmark `translate`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory
    #[arg(long, short, value_parser = model(), default_value = "embedded:de-en", value_name = "DIR")]
    model: PathBuf,
    /// Translate with a model of this size and random weights instead, which has the tokeniser of
    /// the model; give --length too, since its translations mean nothing
    #[arg(long, value_name = "SHAPE", requires = "length")]
    shape: Option<ModelShape>,
    /// Number of tokens of every translation, with `</s>`
    #[arg(long, value_name = "N")]
    length: Option<usize>,
    /// Text to translate, one sentence per line
    #[arg(long, short, value_parser = text(), default_value = "embedded:tatoeba-de-en/test.de")]
    input: PathBuf,
    /// File for the translations
    #[arg(long, short, conflicts_with = "against")]
    output: Option<PathBuf>,
    /// Number of hypotheses of the beam search; 1 is greedy search
    #[arg(long, default_value_t = 4)]
    beam: usize,
    /// Number of sentences that are translated together
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// Type of the numbers in matrix products
    #[arg(long, value_name = "TYPE", value_parser = compute_type(), default_value = "float32", conflicts_with = "against")]
    compute: ComputeType,
    /// Compute types to compare
    #[arg(long, value_delimiter = ',', default_value = "int8,float32", value_parser = compute_type(), requires = "against")]
    types: Vec<ComputeType>,
    /// The time that counts in a comparison; processor time is the fairer one on a machine that
    /// computes other things too
    #[arg(long, default_value = "clock", requires = "against")]
    by: Time,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    against: PeerArgs,
}

/// A kind of time.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Time {
    Clock,
    Processor,
}

/// Times the translation of a file with its start, alone or in alternation with CTranslate2.
///
/// # Errors
/// Returns an error if the model or the file cannot be read, CTranslate2 fails, or the output
/// cannot be written.
pub fn run(args: Args) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let model_of = |compute| match args.shape {
        None => Ok(args.model.clone()),
        Some(shape) => shape.write(&args.model, folder.path(), compute),
    };
    if args.against.against.is_none() {
        let model = model_of(args.compute)?;
        return match args.shape {
            None => print(measure(&args, &model)?),
            Some(_) => measured_alone(&model),
        };
    }
    let [exported, source] = ["model", "source"].map(|name| folder.path().join(name));
    let mut models = Vec::new();
    for &kind in &args.types {
        let model = model_of(kind)?;
        let format = match kind {
            ComputeType::Int8 => Format::CTranslate2Int8,
            _ => Format::CTranslate2,
        };
        format.write(&Pretrained::load(&model)?, &exported.join(kind.name()))?;
        models.push(model);
    }
    // The peer reads plain text.
    let mut plain = Output::create(Some(&source), OnFailure::Discard)?;
    let mut lines = LineReader::open(&args.input, Utf8Policy::Replace)?;
    lines.try_for_each(|line| anyhow::Ok(plain.line(line?.text)?))?;
    plain.finish()?;
    let tokenizer = models[0].join("tokenizer.json");
    args.against.run(comparison(
        &args,
        &models,
        vec![exported, tokenizer, source],
    ))
}

/// The settings of both sides, with the model of each compute type. CTranslate2 runs with every
/// division of the threads among workers.
fn comparison(args: &Args, models: &[PathBuf], files: Vec<PathBuf>) -> Comparison {
    let threads = thread_count(args.common.threads);
    let batch = args.batch;
    Comparison {
        peer: ("ct2_translate.py", &["ctranslate2", "tokenizers"]),
        ours: args
            .types
            .iter()
            .zip(models)
            .map(|(kind, model)| {
                let kind = kind.name();
                format!(
                    "--threads {threads} --compute {kind} --model {}",
                    model.display()
                )
            })
            .collect(),
        files,
        theirs: args
            .types
            .iter()
            .flat_map(|kind| {
                let kind = kind.name();
                divisors(threads).map(move |n| format!("{kind}/{n}x{}/{batch}", threads / n))
            })
            .collect(),
        figure: match args.by {
            Time::Clock => "sentences_per_s",
            Time::Processor => "sentences_per_processor_s",
        },
    }
}

fn measure(args: &Args, model: &Path) -> Result<Value> {
    let start = Instant::now();
    let before = processor_seconds();
    let device = args.common.open()?;
    let translator = Translator::load_as(&[model], &device, Some(args.compute))?;
    let loaded = start.elapsed().as_secs_f64();
    let mut options = translator.options();
    options.search.set_n_best(1, Some(args.beam))?;
    if let Some(length) = args.length {
        options.search.min_length = length;
        options.search.max_length = Some(length);
    }
    options.batching = Batching {
        max_sentences: args.batch,
        ..Batching::default()
    };
    options.long_sources = LongSources::Truncate;
    FilesInUse::default()
        .reads([&args.input])
        .writes(&args.output)
        .check()?;
    let mut output = args
        .output
        .as_ref()
        .map(|path| Output::create(Some(path), OnFailure::Keep))
        .transpose()?;
    let mut tokens = 0;
    let mut sentences = 0;
    let mut lines = LineReader::open(&args.input, Utf8Policy::Replace)?;
    loop {
        let texts = lines.by_ref().take(CHUNK).map(|line| Ok(line?.text));
        let texts = texts.collect::<Result<Vec<String>>>()?;
        if texts.is_empty() {
            break;
        }
        sentences += texts.len();
        for translation in translator.translate(&texts, &options)? {
            tokens += translation.tokens.len();
            output
                .as_mut()
                .map_or(Ok(()), |output| output.line(&translation.text))?;
        }
    }
    output.map_or(Ok(()), |mut output| output.finish())?;
    let seconds = start.elapsed().as_secs_f64();
    let processor = processor_seconds() - before;
    Ok(json!({
        "framework": FRAMEWORK, "threads": rayon::current_num_threads(),
        "type": args.compute.name(), "beam": args.beam, "batch": args.batch, "sentences": sentences,
        "tokens": tokens, "load_s": loaded, "wall_s": seconds, "processor_s": processor,
        "sentences_per_s": sentences as f64 / seconds,
        "sentences_per_processor_s": sentences as f64 / processor,
        "peak_memory_bytes": peak_memory_bytes(),
    }))
}
