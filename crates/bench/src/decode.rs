use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_infer::{Batching, NeuralModel, Request, SearchSettings, search};
use burnformer_shortlist::{Shortlist, Vocabularies};
use serde_json::json;

use crate::alternation::{Alternation, Comparison};
use crate::options::{DeviceOptions, Format, Shape, random_pieces};
use crate::peer::Peer;
use crate::record::{Record, peak_memory_bytes};
use crate::setting::{Setting, divisors, flat, plural, thread_count};
use burnformer::values::compute_type;

/// The number of sentences translated together, if `--batch` is missing.
const BATCH: usize = 64;

/// The batch sizes that a comparison tries on both sides, if `--batch` is missing.
const BATCHES: [usize; 3] = [32, 64, 128];

/// Arguments of the benchmark `decode`.
#[derive(clap::Args)]
pub struct Args {
    /// Number of tokens of every translation
    #[arg(long, default_value_t = 20)]
    len: usize,
    /// Number of sentences translated together; 1 measures latency
    /// [default: 64; with --against, the fastest of 32, 64 and 128 on each side]
    #[arg(long)]
    batch: Option<usize>,
    /// Number of hypotheses of the beam search
    #[arg(long, default_value_t = 4)]
    beam: usize,
    /// Number of tokens of every source sentence
    #[arg(long, default_value_t = 14)]
    src_len: usize,
    /// Number of sentences to time
    #[arg(long, default_value_t = 512)]
    sentences: usize,
    /// File of likely translations of each token, as in `translate`; one for a vocabulary of the size of --vocab
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    shortlist: Option<PathBuf>,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    place: DeviceOptions,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    alternation: Alternation,
    /// Type of the numbers in matrix products
    #[arg(long, value_name = "TYPE", value_parser = compute_type(), default_value = "float32", conflicts_with = "against")]
    compute: ComputeType,
    /// Compute types to compare; a type of the peer that this program lacks is compared with its float32
    #[arg(long, value_delimiter = ',', default_value = "float32,int8", requires = "against")]
    types: Vec<String>,
}

/// Times translations, alone or in alternation with CTranslate2.
pub fn run(args: Args) -> Result<()> {
    if args.alternation.wanted() {
        return args.alternation.run(comparison(&args));
    }
    measure(&args, &args.place.open()?)?.print(args.format.json)
}

/// The settings of CTranslate2 and of this binary. CTranslate2 divides the threads among workers in every possible way.
/// This binary uses all threads, and also fewer if sentences come one at a time.
fn comparison(args: &Args) -> Comparison {
    let threads = thread_count(args.place.threads);
    let batches = args.batch.map_or(BATCHES.to_vec(), |batch| vec![batch]);
    let theirs = options(args);
    let mut ours: Vec<String> = ["decode", "--json"].map(String::from).into();
    ours.extend(theirs.iter().cloned());
    ours.extend(["--device".to_string(), args.place.device.to_string()]);
    let (mut our_settings, mut their_settings) = (Vec::new(), Vec::new());
    for &batch in &batches {
        let fewer = if batch == 1 { divisors(threads) } else { vec![threads] };
        for compute in own_types(&args.types) {
            our_settings.extend(fewer.iter().map(|&threads| own_setting(compute, threads, batch)));
        }
        for compute_type in &args.types {
            let divisions = divisors(threads).into_iter().map(|n| match batch {
                1 => format!("1x{n}"),
                _ => format!("{n}x{}", threads / n),
            });
            their_settings.extend(divisions.map(|d| format!("{compute_type}/{d}/{batch}")));
        }
    }
    let figure = "tgt_tokens_per_s";
    Comparison { peer: Peer::Ct2Decode, ours, our_settings, theirs, their_settings, figure }
}

/// The compute types in `types` that this program has; float32 if it has none of them.
fn own_types(types: &[String]) -> Vec<ComputeType> {
    let own = ComputeType::ALL.into_iter();
    let own: Vec<_> = own.filter(|own| types.iter().any(|name| name == own.name())).collect();
    if own.is_empty() { vec![ComputeType::Float32] } else { own }
}

fn own_setting(compute: ComputeType, threads: usize, batch: usize) -> Setting {
    let options = [
        ("--threads", threads.to_string()),
        ("--batch", batch.to_string()),
        ("--compute", compute.name().to_string()),
    ];
    let name = format!("{}, {}, batch {batch}", compute.name(), plural(threads, "thread"));
    Setting { name, options: flat(options) }
}

fn measure(args: &Args, device: &Device) -> Result<Record> {
    let config = args.shape.config(args.shape.pieces.vocab, 0.0);
    let model =
        NeuralModel::with_compute(config.clone(), config.init(1, device)?, device, args.compute);
    let settings = SearchSettings {
        min_length: args.len,
        max_length: Some(args.len),
        n_best: 1,
        ..SearchSettings::beam(args.beam, 0.6)
    };
    let batch = args.batch.unwrap_or(BATCH).max(1);
    let batching = Batching { max_sentences: batch, max_tokens: usize::MAX };
    let requests = requests(args)?;
    let translate = |requests| search(&model, requests, &settings, &batching);
    translate(&requests[..batch.min(requests.len())])?;
    // With --batch 1 one sentence after the other, so that its time is its latency; otherwise all of them, as
    // `translate` does.
    let together = if batch == 1 { 1 } else { requests.len().max(1) };
    let start = Instant::now();
    let translations = requests.chunks(together).map(translate);
    let translations = translations.collect::<Result<Vec<_>, _>>()?;
    let seconds = start.elapsed().as_secs_f64();
    let tokens: usize =
        translations.iter().flatten().map(|hypotheses| hypotheses[0].tokens.len()).sum();
    Ok(Record::new(json!({
        "framework": concat!("burnformer ", env!("CARGO_PKG_VERSION")),
        "threads": rayon::current_num_threads(),
        "type": args.compute.name(),
        "beam": args.beam,
        "batch": batch,
        "tgt_tokens_per_s": tokens as f64 / seconds,
        "sentences_per_s": requests.len() as f64 / seconds,
        "peak_memory_bytes": peak_memory_bytes(),
    })))
}

/// Source sentences of random tokens.
fn requests(args: &Args) -> Result<Vec<Request>> {
    let vocab = args.shape.pieces.vocab;
    let shortlist = args.shortlist.as_deref().map(Shortlist::load).transpose()?;
    let checked = |own: &Shortlist| own.vocabularies().check(&Vocabularies::of_sizes([vocab; 2]));
    shortlist.as_ref().map_or(Ok(()), checked)?;
    let request = |place| {
        let source = random_pieces(place, args.src_len, vocab);
        let tokens = shortlist.as_ref().map(|shortlist| shortlist.tokens_for(&source));
        Request { shortlist: tokens, ..Request::new(source) }
    };
    Ok((0..args.sentences as u64).map(request).collect())
}

/// The options that both sides understand.
fn options(args: &Args) -> Vec<String> {
    let numbers = [
        ("--len", args.len.to_string()),
        ("--beam", args.beam.to_string()),
        ("--src-len", args.src_len.to_string()),
        ("--sentences", args.sentences.to_string()),
    ];
    flat(numbers).into_iter().chain(args.shape.to_options()).collect()
}
