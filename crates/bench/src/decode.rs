use std::time::Instant;

use anyhow::Result;
use burn::tensor::Device;
use burnformer::values::compute_type;
use burnformer_core::ComputeType;
use burnformer_infer::{Batching, NeuralModel, Request, SearchSettings, search};
use serde_json::{Value, json};

use crate::compare::{Against, Comparison, divisors, thread_count};
use crate::options::{Common, Shape, random_pieces};
use crate::record::{FRAMEWORK, peak_memory_bytes, print};

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
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    against: Against,
    /// Type of the numbers in matrix products
    #[arg(long, value_name = "TYPE", value_parser = compute_type(), default_value = "float32", conflicts_with = "against")]
    compute: ComputeType,
    /// Compute types to compare; a type of the peer that this program lacks is compared with its
    /// float32
    #[arg(long, value_delimiter = ',', default_value = "float32,int8", requires = "against")]
    types: Vec<String>,
}

/// Times translations, alone or in alternation with CTranslate2.
pub fn run(args: Args) -> Result<()> {
    match args.against.against.is_some() {
        true => args.against.run(comparison(&args)),
        false => print(&measure(&args, &args.common.open()?)?, args.common.json),
    }
}

/// The settings of CTranslate2 and of this program. CTranslate2 divides the threads among workers
/// in every possible way. This program uses all threads, and also fewer if sentences come one at a
/// time.
fn comparison(args: &Args) -> Comparison {
    let threads = thread_count(args.common.threads);
    let types = ComputeType::ALL.map(ComputeType::name);
    let types = types.into_iter().filter(|name| args.types.iter().any(|wanted| wanted == name));
    let types: Vec<&str> = types.collect();
    let types = if types.is_empty() { vec!["float32"] } else { types };
    let (mut ours, mut theirs) = (vec![], vec![]);
    for batch in args.batch.map_or(vec![32, 64, 128], |batch| vec![batch]) {
        for used in divisors(threads) {
            if batch == 1 || used == threads {
                let options = |kind| format!("--threads {used} --batch {batch} --compute {kind}");
                ours.extend(types.iter().map(options));
            }
            let workers = if batch == 1 { 1 } else { threads / used };
            theirs.extend(args.types.iter().map(|kind| format!("{kind}/{workers}x{used}/{batch}")));
        }
    }
    Comparison {
        peer: ("ct2_decode.py", &["ctranslate2", "torch", "transformers"]),
        ours,
        files: vec![],
        theirs,
        figure: "tgt_tokens_per_s",
    }
}

fn measure(args: &Args, device: &Device) -> Result<Value> {
    let config = args.shape.config(args.shape.vocab, 0.0);
    let model =
        NeuralModel::with_compute(config.clone(), config.init(1, device)?, device, args.compute);
    let settings = SearchSettings {
        min_length: args.len,
        max_length: Some(args.len),
        n_best: 1,
        ..SearchSettings::beam(args.beam, 0.6)
    };
    let batch = args.batch.unwrap_or(64).max(1);
    let batching = Batching { max_sentences: batch, max_tokens: usize::MAX };
    let request = |index| Request::new(random_pieces(index, args.src_len, args.shape.vocab));
    let requests: Vec<_> = (0..args.sentences as u64).map(request).collect();
    let translate = |requests| search(&model, requests, &settings, &batching);
    translate(&requests[..batch.min(requests.len())])?;
    // With --batch 1 one sentence after the other, so that its time is its latency; otherwise all
    // of them, as `translate` does.
    let together = if batch == 1 { 1 } else { requests.len().max(1) };
    let start = Instant::now();
    let translations = requests.chunks(together).map(translate);
    let translations = translations.collect::<Result<Vec<_>, _>>()?.concat();
    let seconds = start.elapsed().as_secs_f64();
    let tokens: usize = translations.iter().map(|hypotheses| hypotheses[0].tokens.len()).sum();
    Ok(json!({
        "framework": FRAMEWORK, "threads": rayon::current_num_threads(),
        "type": args.compute.name(), "beam": args.beam, "batch": batch,
        "tgt_tokens_per_s": tokens as f64 / seconds,
        "sentences_per_s": requests.len() as f64 / seconds,
        "peak_memory_bytes": peak_memory_bytes(),
    }))
}
