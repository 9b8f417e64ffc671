use std::time::Instant;

use anyhow::Result;
use burn::tensor::Device;
use burnformer_infer::{Batching, NeuralModel, Request, SearchSettings, search};
use serde_json::json;

use super::peer::{Alternation, Peer};
use super::record::{Record, peak_memory_bytes};
use super::{Shape, random_pieces, use_threads};
use crate::device::DeviceName;

/// Arguments of `bench decode`.
#[derive(clap::Args)]
pub struct Args {
    /// Tokens of every translation
    #[arg(long, default_value_t = 20)]
    len: usize,
    /// Sentences translated together
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// Hypotheses of the beam search
    #[arg(long, default_value_t = 4)]
    beam: usize,
    /// Tokens of every source
    #[arg(long, default_value_t = 14)]
    src_len: usize,
    /// Sentences that are timed
    #[arg(long, default_value_t = 512)]
    sentences: usize,
    #[command(flatten)]
    shape: Shape,
    /// Threads [default: one a core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// One JSON line
    #[arg(long)]
    json: bool,
    /// Where to compute
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
    #[command(flatten)]
    alternation: Alternation,
}

/// Times translations, alone or in alternation with CTranslate2.
pub fn run(args: Args) -> Result<()> {
    if args.alternation.wanted() {
        let theirs = options(&args);
        let mut ours: Vec<String> = ["bench", "decode", "--json"].map(String::from).into();
        ours.extend(theirs.iter().cloned());
        ours.extend(["--threads".to_string(), args.threads.to_string()]);
        let mut theirs = theirs;
        theirs.extend(["--types".to_string(), "float32".to_string()]);
        return args.alternation.run(Peer::Ct2Decode, &ours, &theirs, "tgt_tokens_per_s");
    }
    use_threads(args.threads)?;
    measure(&args, &args.device.open()?)?.print(args.json)
}

fn measure(args: &Args, device: &Device) -> Result<Record> {
    let config = args.shape.config(args.shape.vocab, 0.0);
    let model = NeuralModel::new(config.clone(), config.init(1, device)?, device);
    let settings = SearchSettings {
        min_length: args.len,
        max_length: Some(args.len),
        n_best: 1,
        ..SearchSettings::beam(args.beam, 0.6)
    };
    let batching = Batching { max_sentences: args.batch, max_tokens: usize::MAX };
    let requests = requests(args);
    // One batch after the other, so that with --batch 1 a sentence's time is its latency.
    let batches = requests.chunks(args.batch.max(1));
    let translate = |batch| search(&model, batch, &settings, &batching);
    batches.clone().take(1).try_for_each(|batch| translate(batch).map(drop))?;
    let start = Instant::now();
    let translations = batches.map(translate).collect::<Result<Vec<_>, _>>()?;
    let seconds = start.elapsed().as_secs_f64();
    let tokens: usize =
        translations.iter().flatten().map(|hypotheses| hypotheses[0].tokens.len()).sum();
    Ok(Record::new(json!({
        "framework": concat!("burnformer ", env!("CARGO_PKG_VERSION")),
        "threads": rayon::current_num_threads(),
        "type": "float32",
        "beam": args.beam,
        "batch": args.batch,
        "tgt_tokens_per_s": tokens as f64 / seconds,
        "sentences_per_s": requests.len() as f64 / seconds,
        "peak_memory_bytes": peak_memory_bytes(),
    })))
}

/// Sources of random pieces.
fn requests(args: &Args) -> Vec<Request> {
    let source = |place| random_pieces(place, args.src_len, args.shape.vocab);
    (0..args.sentences as u64).map(|place| Request::new(source(place))).collect()
}

/// The options that both sides understand.
fn options(args: &Args) -> Vec<String> {
    let numbers = [
        ("--len", args.len),
        ("--batch", args.batch),
        ("--beam", args.beam),
        ("--src-len", args.src_len),
        ("--sentences", args.sentences),
    ];
    let numbers = numbers.into_iter().flat_map(|(name, n)| [name.to_string(), n.to_string()]);
    numbers.chain(args.shape.to_options()).collect()
}
