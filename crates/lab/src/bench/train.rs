use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use burnformer::device::{DeviceName, best_matmul_rate};
use burnformer::output::print;
use burnformer::values::precision;
use burnformer::{embedded, texts};
use burnformer_core::{Model, ModelConfig, Precision};
use burnformer_data::{Batch, BatchSampler, Rank, SamplerSettings};
use burnformer_train::{
    Corpora, LossScale, Optimizer, OptimizerSettings, Recipe, Replicas, Texts, TrainConfig,
    Updater, cache_folder, noam,
};
use serde_json::{Value, json};

use super::compare::{Comparison, PeerArgs, thread_count};
use super::options::{Common, Shape};
use super::record::{FRAMEWORK, peak_memory_bytes};

/// The number of warm-up updates, as in the paper (§5.3) and the peer. It does not change the
/// speed.
const WARMUP: u64 = 4000;

/// Arguments of `cargo xtask bench train`.
#[derive(clap::Args)]
pub struct Args {
    /// Parallel text, in the forms that `train` takes [default: the embedded corpus]
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    train: Vec<PathBuf>,
    /// Largest number of tokens per side in a batch, padding included
    #[arg(long, default_value_t = 4096)]
    budget: usize,
    /// Number of updates to time
    #[arg(long, default_value_t = 30)]
    updates: u64,
    /// Number of updates before them that are not timed
    #[arg(long, default_value_t = 3)]
    warm: u64,
    /// Pad lengths to a multiple of this number
    #[arg(long, default_value_t = 1)]
    multiple: usize,
    /// Dropout rate
    #[arg(long, default_value_t = 0.1)]
    dropout: f64,
    /// Type of the operands of matrix products
    #[arg(long, default_value = "float32", value_parser = precision())]
    precision: Precision,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    against: PeerArgs,
    /// Compute types of the peer to compare with our run; 16-bit types use PyTorch's autocast
    #[arg(long, value_delimiter = ',', default_value = "float32,bfloat16",
        value_parser = precision(), requires = "against")]
    types: Vec<Precision>,
}

/// Times updates, alone or in alternation with PyTorch.
///
/// # Errors
/// Returns an error if the device cannot be opened, PyTorch fails, or the output cannot be written.
pub fn run(args: Args) -> Result<()> {
    burnformer_core::allocator::share_freed_memory();
    if args.against.against.is_some() {
        return args.against.run(comparison(&args)?);
    }
    let device = args.common.open()?.autodiff();
    let precision = args.precision;
    ensure!(
        precision.is_supported_on(&device),
        "{device:?} does not compute in {precision}"
    );
    print(measure(&args, &device)?)
}

/// The settings of PyTorch: all threads, eager and compiled, in each type.
fn comparison(args: &Args) -> Result<Comparison> {
    ensure!(
        args.common.device != DeviceName::Auto || !cfg!(feature = "gpu"),
        "--against compares on one device: name it with --device cpu or --device cuda"
    );
    ensure!(
        args.train.len() == 2,
        "--against needs --train SOURCE TARGET: two plain text files"
    );
    Ok(Comparison {
        peer: ("torch_train.py", &["torch", "sentencepiece"]),
        ours: vec![format!("--threads {}", thread_count(args.common.threads))],
        files: args.train.clone(),
        theirs: args
            .types
            .iter()
            .flat_map(|kind| ["eager", "compiled"].map(|how| format!("{kind}/{how}")))
            .collect(),
        figure: "tgt_tokens_per_s",
    })
}

/// Makes the updates, and times all but the first ones.
fn measure(args: &Args, device: &Device) -> Result<Value> {
    let (mut batches, vocab) = batches(args)?;
    let shape = args.shape.config(vocab, args.dropout);
    let mut model = Model::from(shape.init(1, device)?);
    let counted = ModelConfig::from(shape);
    model.set_precision(args.precision);
    let optimizer = Optimizer::new(OptimizerSettings::default(), &model);
    let recipe = Recipe {
        clip_norm: 0.0,
        ..Recipe::default()
    };
    let loss_scale = (args.precision == Precision::Float16).then(LossScale::default);
    let mut updater = Updater::new(optimizer, recipe, loss_scale, device);
    let replicas = Replicas::new(from_ref(device));
    let mut seconds = 0.0;
    let mut loss = f64::NAN;
    let mut unread = Vec::new();
    let [mut tokens, mut positions, mut operations] = [0; 3];
    for step in 1..=args.warm + args.updates {
        let parts = [batches.next().context("the text has no batch")??];
        let start = Instant::now();
        let rate = noam(step, args.shape.d, WARMUP);
        let (next, statistics, _) = updater.update(model, &parts, step, rate, &replicas);
        model = next;
        unread.push(statistics);
        // On an asynchronous device, updates are complete only after a read.
        if step == args.warm || step == args.warm + args.updates {
            let read = updater.read(&std::mem::take(&mut unread));
            loss = read
                .last()
                .map_or(f64::NAN, |last| last.loss / last.tokens as f64);
        }
        if step > args.warm {
            let [batch] = &parts;
            seconds += start.elapsed().as_secs_f64();
            tokens += batch.target_tokens;
            positions += batch.positions();
            let rows = batch.batch;
            let source = batch.source_len;
            let target = batch.target_len;
            operations += counted.update_flops(rows, source, target) as usize;
        }
    }
    let rate = operations as f64 / seconds / 1e9;
    let matmul_rate = best_matmul_rate(device, args.precision);
    Ok(json!({
        "framework": FRAMEWORK, "precision": args.precision.name(),
        "threads": rayon::current_num_threads(), "params": counted.parameter_count(),
        "updates": args.updates, "loss": loss, "tgt_tokens_per_s": tokens as f64 / seconds,
        "s_per_update": seconds / args.updates as f64,
        "padded_tokens_per_s": positions as f64 / seconds, "gflops": rate,
        "matmul_gflops": matmul_rate, "matmul_share": rate / matmul_rate,
        "peak_memory_bytes": peak_memory_bytes(),
    }))
}

/// The shuffled batches of the text, and the size of the vocabulary.
fn batches(args: &Args) -> Result<(impl Iterator<Item = Result<Batch>> + use<>, usize)> {
    let mut config = TrainConfig::default();
    config.tokenizer.train.vocab_size = args.shape.vocab;
    config.data.train.clone_from(&args.train);
    embedded::fill(&mut config.data);
    // Preparing validation and test text would take time.
    (config.data.valid, config.data.test) = (vec![], vec![]);
    let cache = cache_folder(&config);
    let (texts, _read): (Texts, _) = texts::of_command(&mut config.data, Path::new("."), &cache)?;
    let corpora = Corpora::prepare(&config, texts, &mut |_| ())?;
    let budget = args.budget;
    let multiple = args.multiple;
    let settings = SamplerSettings {
        budget,
        multiple,
        ..SamplerSettings::default()
    };
    let sampler = BatchSampler::new(Arc::clone(&corpora.train), settings)?;
    let updates = sampler.updates(sampler.start(), 1, Rank::ALONE)?;
    let vocab = corpora.tokenizers.target.vocab_size();
    Ok((updates.map(|update| Ok(update?.batches.remove(0))), vocab))
}
