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

/// The largest number of batches that are read.
const MOST: usize = 10_000;

/// Times preparation, the start of an epoch and its first batches, at most one epoch of them.
pub fn run(args: Args) -> Result<()> {
    let mut config = args.text.config(&args.pieces);
    let (texts, _read) = texts_of(&mut config)?;
    let fresh = tempfile::tempdir()?;
    config.data.cache = fresh.path().to_path_buf();
    let (first, _) = timed(|| Corpora::prepare(&config, texts.clone(), &mut |_| ()))?;
    let (second, corpora) = timed(|| Corpora::prepare(&config, texts, &mut |_| ()))?;
    let settings = SamplerSettings { budget: args.text.budget, ..SamplerSettings::default() };
    let sampler = BatchSampler::new(Arc::clone(&corpora.train), settings)?;
    let (epoch_start, stream) = timed(|| sampler.stream(sampler.start()))?;
    let (batches, start) = (stream.batches(), Instant::now());
    let [mut tokens, mut positions, mut real] = [0; 3];
    for planned in stream.take(MOST.min(batches as usize)) {
        let batch = planned?.batch;
        tokens += batch.target_tokens;
        real += batch.source_tokens + batch.target_tokens;
        positions += batch.positions();
    }
    let seconds = start.elapsed().as_secs_f64();
    Record::new(json!({
        "pairs": sampler.corpus().len(),
        "first_start_s": first,
        "second_start_s": second,
        "epoch_start_s": epoch_start,
        "batches": batches,
        "padding_share": 1.0 - real as f64 / positions as f64,
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
