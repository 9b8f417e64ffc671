use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use burnformer::output::Output;
use burnformer::values::{compute_type, model, text};
use burnformer_core::ComputeType;
use burnformer_data::{LineReader, Utf8Policy};
use burnformer_infer::{Batching, LongSources, Translator};
use burnformer_interop::{Format as ModelFormat, Package};
use serde_json::json;

use crate::alternation::{Alternation, Comparison};
use crate::options::{DeviceOptions, Format};
use crate::peer::Peer;
use crate::record::{Record, peak_memory_bytes, processor_seconds};
use crate::setting::{Setting, divisors, flat, plural, thread_count};

/// The number of lines that `burnformer translate` reads ahead by default.
const CHUNK: usize = 2048;

/// Arguments of the benchmark `translate`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory
    #[arg(long, short, value_parser = model(), default_value = "embedded:de-en", value_name = "DIR")]
    model: PathBuf,
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
    /// The time that counts in a comparison; processor time is the fairer one on a machine that computes other things too
    #[arg(long, default_value = "clock", requires = "against")]
    by: Time,
    #[command(flatten)]
    place: DeviceOptions,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    alternation: Alternation,
}

/// A kind of time.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Time {
    Clock,
    Processor,
}

impl Time {
    /// The field of a record with the speed by this time.
    fn figure(self) -> &'static str {
        match self {
            Self::Clock => "sentences_per_s",
            Self::Processor => "sentences_per_processor_s",
        }
    }
}

/// Times the translation of a file with its start, alone or in alternation with CTranslate2.
pub fn run(args: Args) -> Result<()> {
    if args.alternation.wanted() {
        let folder = tempfile::tempdir()?;
        let [exported, source] = ["model", "source"].map(|name| folder.path().join(name));
        ModelFormat::CTranslate2.write(&Package::load(&args.model)?, &exported)?;
        // Plain text, which both sides read.
        let mut plain = Output::create(Some(&source), &[])?;
        lines(&args.input)?.try_for_each(|line| plain.line(line?))?;
        plain.flush()?;
        return args.alternation.run(comparison(&args, [exported, source]));
    }
    measure(&args)?.print(args.format.json)
}

/// The lines of the text at `path`, as `burnformer translate` reads them.
fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String>>> {
    let lines = LineReader::open(path, Utf8Policy::Replace)?;
    Ok(lines.map(|line| Ok(line?.text)))
}

fn measure(args: &Args) -> Result<Record> {
    let (start, before) = (Instant::now(), processor_seconds());
    let device = args.place.open()?;
    let translator = Translator::load_as(&[&args.model], &device, Some(args.compute))?;
    let loaded = start.elapsed().as_secs_f64();
    let mut options = translator.options();
    options.search.beam_size = args.beam;
    options.search.n_best = 1;
    options.batching = Batching { max_sentences: args.batch, ..Batching::default() };
    options.long_sources = LongSources::Truncate;
    let mut output = args
        .output
        .as_deref()
        .map(|path| Output::create(Some(path), &[&args.input]))
        .transpose()?;
    let mut tokens = 0;
    let sentences =
        translator.translate_lines(lines(&args.input)?, CHUNK, &options, |translation| {
            tokens += translation.tokens.len();
            output.as_mut().map_or(Ok(()), |output| output.line(&translation.text))
        })?;
    output.map_or(Ok(()), |mut output| output.flush())?;
    let (seconds, processor) = (start.elapsed().as_secs_f64(), processor_seconds() - before);
    Ok(Record::new(json!({
        "framework": concat!("burnformer ", env!("CARGO_PKG_VERSION")),
        "threads": rayon::current_num_threads(),
        "type": args.compute.name(),
        "beam": args.beam,
        "batch": args.batch,
        "sentences": sentences,
        "tokens": tokens,
        "load_s": loaded,
        "wall_s": seconds,
        "processor_s": processor,
        "sentences_per_s": sentences as f64 / seconds,
        "sentences_per_processor_s": sentences as f64 / processor,
        "peak_memory_bytes": peak_memory_bytes(),
    })))
}

/// The settings of both sides. CTranslate2 divides the threads among workers in every possible way.
fn comparison(args: &Args, [exported, source]: [PathBuf; 2]) -> Comparison {
    let threads = thread_count(args.place.threads);
    let shared = flat([("--beam", args.beam.to_string())]);
    let shown = |path: &PathBuf| path.display().to_string();
    let mut ours: Vec<String> = ["translate", "--json"].map(String::from).into();
    ours.extend(flat([
        ("--model", shown(&args.model)),
        ("--input", shown(&source)),
        ("--batch", args.batch.to_string()),
        ("--threads", threads.to_string()),
        ("--device", args.place.device.to_string()),
    ]));
    ours.extend(shared.iter().cloned());
    let mut theirs =
        vec![shown(&exported), shown(&args.model.join("tokenizer.json")), shown(&source)];
    theirs.extend(shared);
    let setting = |compute: &ComputeType| Setting {
        name: format!("{}, {}, batch {}", compute.name(), plural(threads, "thread"), args.batch),
        options: flat([("--compute", compute.name().to_string())]),
    };
    let of_type = |compute: &ComputeType| {
        let name = compute.name();
        let divided = |n: usize| format!("{name}/{n}x{}/{}", threads / n, args.batch);
        divisors(threads).into_iter().map(divided).collect::<Vec<_>>()
    };
    Comparison {
        peer: Peer::Ct2Translate,
        ours,
        our_settings: args.types.iter().map(setting).collect(),
        theirs,
        their_settings: args.types.iter().flat_map(of_type).collect(),
        figure: args.by.figure(),
    }
}
