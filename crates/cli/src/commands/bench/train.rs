use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_data::{BatchSampler, PlannedBatch, Prefetch, SamplerSettings};
use burnformer_train::{Adam, AdamSettings, Corpora, TrainConfig, Updater, cache_folder, noam};
use serde_json::json;

use super::peer::{Alternation, Peer};
use super::record::{Record, peak_memory_bytes};
use super::{Shape, use_threads};
use crate::device::DeviceName;
use crate::embedded;

/// The paper's warm-up, §5.3: what the peer uses; rates do not change speed.
const WARMUP: u64 = 4000;

/// Arguments of `bench train`.
#[derive(clap::Args)]
pub struct Args {
    /// Parallel text, as for `train` [default: the embedded corpus]
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    train: Vec<PathBuf>,
    /// Updates that are timed
    #[arg(long, default_value_t = 30)]
    updates: u64,
    /// Updates before them that are not
    #[arg(long, default_value_t = 3)]
    warm: u64,
    /// Most tokens a side in a batch, padding counted
    #[arg(long, default_value_t = 4096)]
    budget: usize,
    /// Dropout rate
    #[arg(long, default_value_t = 0.1)]
    dropout: f64,
    #[command(flatten)]
    shape: Shape,
    /// Threads [default: one a core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// One JSON line
    #[arg(long)]
    json: bool,
    /// Where to compute
    #[arg(long, default_value = "auto")]
    device: DeviceName,
    #[command(flatten)]
    alternation: Alternation,
}

/// Times updates, alone or in alternation with PyTorch.
pub fn run(args: Args) -> Result<()> {
    let mut config = TrainConfig::default();
    config.tokenizer.train.vocab_size = args.shape.vocab;
    config.training.budget = args.budget;
    config.data.train = match args.train.is_empty() {
        true => embedded::unpack(&cache_folder(&config))?.train,
        false => args.train.clone(),
    };
    if args.alternation.wanted() {
        let ours = own_arguments(&args, &config.data.train);
        let theirs = peer_arguments(&args, &config.data.train)?;
        return args.alternation.run(Peer::TorchTrain, &ours, &theirs, "tgt_tokens_per_s");
    }
    use_threads(args.threads)?;
    let device = args.device.open().autodiff();
    measure(&args, &config, &device)?.print(args.json);
    Ok(())
}

fn measure(args: &Args, config: &TrainConfig, device: &Device) -> Result<Record> {
    let corpora = Corpora::prepare(config, &mut |_| ())?;
    let shape = args.shape.config(corpora.tokenizers.target.vocab_size(), args.dropout);
    let settings = SamplerSettings { budget: args.budget, max_sentences: None, seed: 1 };
    let sampler = BatchSampler::new(Arc::clone(&corpora.train), settings)?;
    let mut batches = Prefetch::new(sampler.stream(sampler.start())?, 8);
    let mut model = shape.init(1, device)?;
    let adam = Adam::new(AdamSettings::default(), &model);
    let mut updater = Updater { adam, seed: 1, label_smoothing: 0.1, clip_norm: 0.0 };
    let (mut tokens, mut positions, mut seconds, mut loss) = (0, 0, 0.0, 0.0);
    let mut waited = batches.waited();
    for step in 1..=args.warm + args.updates {
        if step == args.warm + 1 {
            waited = batches.waited();
        }
        let PlannedBatch { batch, .. } = batches.next().context("the text has no batch")??;
        let start = Instant::now();
        let rate = noam(step, args.shape.d, WARMUP);
        let parts = [batch];
        let (next, statistics) = updater.update(model, &parts, step, rate, device);
        model = next;
        loss = f64::from(statistics.loss.into_scalar::<f32>()) / statistics.tokens as f64;
        if step > args.warm {
            seconds += start.elapsed().as_secs_f64();
            tokens += statistics.tokens;
            positions += parts[0].positions();
        }
    }
    let waited = (batches.waited() - waited).as_secs_f64();
    Ok(Record::new(json!({
        "framework": concat!("burnformer ", env!("CARGO_PKG_VERSION")),
        "threads": rayon::current_num_threads(),
        "params": shape.parameter_count(),
        "updates": args.updates,
        "loss": loss,
        "tgt_tokens_per_s": tokens as f64 / seconds,
        "s_per_update": seconds / args.updates as f64,
        "padded_tokens_per_s": positions as f64 / seconds,
        "peak_memory_bytes": peak_memory_bytes(),
        "input_wait_s": waited,
    })))
}

fn own_arguments(args: &Args, text: &[PathBuf]) -> Vec<String> {
    let mut own: Vec<String> = ["bench", "train", "--json", "--train"].map(String::from).into();
    own.extend(text.iter().map(|path| path.display().to_string()));
    let numbers = [
        ("--updates", args.updates.to_string()),
        ("--warm", args.warm.to_string()),
        ("--budget", args.budget.to_string()),
        ("--dropout", args.dropout.to_string()),
        ("--threads", args.threads.to_string()),
    ];
    own.extend(numbers.into_iter().flat_map(|(name, value)| [name.to_string(), value]));
    own.extend(args.shape.to_options());
    own
}

fn peer_arguments(args: &Args, text: &[PathBuf]) -> Result<Vec<String>> {
    let [source, target] = text else {
        anyhow::bail!("--against needs --train SOURCE TARGET: two plain text files");
    };
    let mut own = vec![source.display().to_string(), target.display().to_string()];
    let numbers = [
        ("--updates", args.updates.to_string()),
        ("--warm", args.warm.to_string()),
        ("--budget", args.budget.to_string()),
        ("--dropout", args.dropout.to_string()),
    ];
    own.extend(numbers.into_iter().flat_map(|(name, value)| [name.to_string(), value]));
    own.extend(args.shape.to_options());
    Ok(own)
}
