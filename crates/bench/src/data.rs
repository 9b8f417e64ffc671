use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use burnformer_data::{BatchSampler, SamplerSettings};
use burnformer_train::Corpora;
use serde_json::json;

use crate::options::{Format, Pieces, Text, texts_of};
use crate::record::{Record, peak_memory_bytes};

/// Arguments of the benchmark `data`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    text: Text,
    #[command(flatten)]
    pieces: Pieces,
    #[command(flatten)]
    format: Format,
}

/// Times preparation and one epoch of batches.
pub fn run(args: Args) -> Result<()> {
    let mut config = args.text.config(&args.pieces);
    let (texts, _read) = texts_of(&mut config)?;
    let fresh = tempfile::tempdir()?;
    config.data.cache = fresh.path().to_path_buf();
    let (first, _) = timed(|| Corpora::prepare(&config, texts.clone(), &mut |_| ()))?;
    let (second, corpora) = timed(|| Corpora::prepare(&config, texts, &mut |_| ()))?;
    let settings = SamplerSettings { budget: args.text.budget, ..SamplerSettings::default() };
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
    .print(args.format.json)
}

/// The seconds that `work` took, and its result.
fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), E> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed().as_secs_f64(), result))
}
