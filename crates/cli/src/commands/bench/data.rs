use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use burnformer_data::{BatchSampler, SamplerSettings};
use burnformer_train::{Corpora, TrainConfig};
use serde_json::json;

use super::of_bench;
use super::record::{Record, peak_memory_bytes};

/// Arguments of `bench data`.
#[derive(clap::Args)]
pub struct Args {
    /// Parallel text, as for `train` [default: the embedded corpus]
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    train: Vec<PathBuf>,
    /// Most tokens a side in a batch, padding counted
    #[arg(long, default_value_t = 4096)]
    budget: usize,
    /// Pieces of the shared vocabulary
    #[arg(long, default_value_t = 8000)]
    vocab: usize,
    /// One JSON line
    #[arg(long)]
    json: bool,
}

/// Times preparation and one epoch of batches.
pub fn run(args: Args) -> Result<()> {
    let mut config = TrainConfig::default();
    config.tokenizer.train.vocab_size = args.vocab;
    config.training.budget = args.budget;
    config.data.train.clone_from(&args.train);
    let (texts, _read) = of_bench(&mut config)?;
    let fresh = tempfile::tempdir()?;
    config.data.cache = fresh.path().to_path_buf();
    let (first, _) = timed(|| Corpora::prepare(&config, texts.clone(), &mut |_| ()))?;
    let (second, corpora) = timed(|| Corpora::prepare(&config, texts, &mut |_| ()))?;
    let settings =
        SamplerSettings { budget: args.budget, max_sentences: None, multiple: 1, seed: 1 };
    let sampler = BatchSampler::new(Arc::clone(&corpora.train), settings)?;
    let plan = sampler.plan(1, 0);
    let start = Instant::now();
    let mut tokens = 0;
    for pairs in plan.batches() {
        tokens += sampler.batch(pairs)?.target_tokens;
    }
    let seconds = start.elapsed().as_secs_f64();
    Record::new(json!({
        "pairs": sampler.corpus().len(),
        "first_start_s": first,
        "second_start_s": second,
        "batches": plan.len(),
        "padding_share": plan.padding_share(),
        "tgt_tokens_per_s": tokens as f64 / seconds,
        "peak_memory_bytes": peak_memory_bytes(),
    }))
    .print(args.json)
}

/// Seconds of `work`, and what it gave.
fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), E> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed().as_secs_f64(), result))
}
