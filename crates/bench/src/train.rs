use std::path::PathBuf;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use burnformer_core::{Model, ModelConfig, Precision};
use burnformer_data::{Batch, BatchSampler, PlannedBatch, Prefetch, SamplerSettings};
use burnformer_kernels::is_fused_on;
use burnformer_train::{
    Corpora, LossScale, Optimizer, OptimizerSettings, Replicas, Texts, TrainConfig, Updater, noam,
};
use serde_json::json;

use crate::alternation::{Alternation, Comparison};
use crate::options::{DeviceOptions, Format, Shape, Text, random_pieces, texts_of};
use crate::peer::Peer;
use crate::record::{Record, peak_memory_bytes};
use crate::setting::{Setting, flat};
use burnformer::device::{DeviceName, best_matmul_rate};
use burnformer::values::precision;

/// The number of warm-up updates in the paper (§5.3), which the peer uses too. Learning rates do not change the speed.
const WARMUP: u64 = 4000;

/// Arguments of `cargo xtask bench train`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    text: Text,
    /// Use random sentences of this many tokens instead of text
    #[arg(long, value_name = "TOKENS", conflicts_with_all = ["train", "against"])]
    len: Option<usize>,
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
    place: DeviceOptions,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    alternation: Alternation,
    /// Compute types of the peer, each of which is compared with our run; 16-bit types use PyTorch's autocast
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "float32,bfloat16",
        value_parser = precision(),
        requires = "against"
    )]
    types: Vec<Precision>,
}

/// Times updates, alone or in alternation with PyTorch.
pub fn run(args: Args) -> Result<()> {
    burnformer_core::allocator::share_freed_memory();
    let mut config = args.text.config(&args.shape.pieces);
    config.training.multiple = args.multiple;
    let (texts, _read) = match args.len {
        Some(_) => Default::default(),
        None => texts_of(&mut config)?,
    };
    if args.alternation.wanted() {
        ensure!(
            args.place.device != DeviceName::Auto || !cfg!(feature = "gpu"),
            "--against compares on one device: name it with --device cpu or --device cuda"
        );
        return args.alternation.run(comparison(&args, &texts.train)?);
    }
    let device = args.place.open()?.autodiff();
    let precision = args.precision;
    ensure!(precision.is_supported_on(&device), "{device:?} does not compute in {precision}");
    measure(&args, &config, texts, &device)?.print(args.format.json)
}

fn measure(args: &Args, config: &TrainConfig, texts: Texts, device: &Device) -> Result<Record> {
    let (batches, vocab) = match args.len {
        Some(len) => (Batches::Random(random_batch(len, args)), args.shape.pieces.vocab),
        None => Batches::of_text(config, texts)?,
    };
    let shape = args.shape.config(vocab, args.dropout);
    let mut model = Model::from(shape.init(1, device)?);
    model.set_precision(args.precision);
    let parameters = shape.parameter_count();
    let timed = Timed::updates(args, model, &ModelConfig::from(shape), batches, device)?;
    Ok(timed.record(args, parameters, best_matmul_rate(device, args.precision)))
}

/// The sums over the timed updates.
#[derive(Default)]
struct Timed {
    seconds: f64,
    /// Seconds spent waiting for input.
    waited: f64,
    /// Real target tokens.
    tokens: usize,
    /// Positions of both sides, padding included.
    positions: usize,
    /// Arithmetic operations, padding included.
    operations: u64,
    /// The loss per target token of the last update.
    loss: f64,
}

impl Timed {
    /// Makes the updates that `args` ask for with the first device, and times all but the first ones.
    fn updates(
        args: &Args,
        mut model: Model,
        counted: &ModelConfig,
        mut batches: Batches,
        device: &Device,
    ) -> Result<Self> {
        let mut updater = updater(args, &model, device);
        let replicas = Replicas::new(from_ref(device));
        let (mut timed, mut waited, mut unread) = (Self::default(), 0.0, Vec::new());
        for step in 1..=args.warm + args.updates {
            if step == args.warm + 1 {
                waited = batches.waited();
            }
            let parts = [batches.next()?];
            let start = Instant::now();
            let rate = noam(step, args.shape.d, WARMUP);
            let (next, statistics, _) = updater.update(model, &parts, step, rate, &replicas);
            model = next;
            unread.push(statistics);
            // A device that works on its own has done what it was given only when it is asked for the outcome.
            if step == args.warm || step == args.warm + args.updates {
                let read = updater.read(&std::mem::take(&mut unread));
                timed.loss = read.last().map_or(f64::NAN, |last| last.loss / last.tokens as f64);
            }
            if step > args.warm {
                timed.add(&parts[0], counted, start.elapsed().as_secs_f64());
            }
        }
        timed.waited = batches.waited() - waited;
        Ok(timed)
    }

    /// Adds an update over `batch` that took `seconds`.
    fn add(&mut self, batch: &Batch, model: &ModelConfig, seconds: f64) {
        self.seconds += seconds;
        self.tokens += batch.target_tokens;
        self.positions += batch.positions();
        self.operations += model.update_flops(batch.batch, batch.source_len, batch.target_len);
    }

    /// What is printed, given the device's speed in matrix products in GFLOP/s.
    fn record(&self, args: &Args, parameters: usize, matmul_rate: f64) -> Record {
        let rate = self.operations as f64 / self.seconds / 1e9;
        Record::new(json!({
            "framework": concat!("burnformer ", env!("CARGO_PKG_VERSION")),
            "precision": args.precision.name(),
            "threads": rayon::current_num_threads(),
            "params": parameters,
            "updates": args.updates,
            "loss": self.loss,
            "tgt_tokens_per_s": self.tokens as f64 / self.seconds,
            "s_per_update": self.seconds / args.updates as f64,
            "padded_tokens_per_s": self.positions as f64 / self.seconds,
            "gflops": rate,
            "matmul_gflops": matmul_rate,
            "matmul_share": rate / matmul_rate,
            "peak_memory_bytes": peak_memory_bytes(),
            "input_wait_s": self.waited,
        }))
    }
}

/// The updater of the paper's recipe for `model` on `device`.
fn updater(args: &Args, model: &Model, device: &Device) -> Updater {
    let loss_scale = (args.precision == Precision::Float16).then(LossScale::default);
    Updater {
        optimizer: Optimizer::new(OptimizerSettings::default(), model),
        seed: 1,
        label_smoothing: 0.1,
        clip_norm: 0.0,
        loss_scale,
        synchronous: is_fused_on(device) || loss_scale.is_some(),
    }
}

/// The source of the batches.
enum Batches {
    Text(Prefetch<PlannedBatch>),
    Random(Batch),
}

impl Batches {
    /// The shuffled batches of a corpus, and the size of its vocabulary.
    fn of_text(config: &TrainConfig, texts: Texts) -> Result<(Self, usize)> {
        let corpora = Corpora::prepare(config, texts, &mut |_| ())?;
        let (budget, multiple) = (config.training.budget, config.training.multiple);
        let settings = SamplerSettings { budget, multiple, ..SamplerSettings::default() };
        let sampler = BatchSampler::new(Arc::clone(&corpora.train), settings)?;
        let batches = Prefetch::new(sampler.stream(sampler.start())?, 8);
        Ok((Self::Text(batches), corpora.tokenizers.target.vocab_size()))
    }

    fn next(&mut self) -> Result<Batch> {
        match self {
            Self::Text(batches) => Ok(batches.next().context("the text has no batch")??.batch),
            Self::Random(batch) => Ok(batch.clone()),
        }
    }

    /// The number of seconds spent waiting for input so far.
    fn waited(&self) -> f64 {
        match self {
            Self::Text(batches) => batches.waited().as_secs_f64(),
            Self::Random(_) => 0.0,
        }
    }
}

/// A batch of as many pairs of `len` tokens per side, end tokens included, as the budget allows.
fn random_batch(len: usize, args: &Args) -> Batch {
    let count = (args.text.budget / len.max(1)).max(1);
    let ids = |place| random_pieces(place, len.max(2) - 1, args.shape.pieces.vocab);
    let rows: Vec<_> = (0..count as u64).map(|row| (ids(2 * row), ids(2 * row + 1))).collect();
    Batch::new((0..count as u32).collect(), &rows)
}

/// The settings of PyTorch: all threads, eager and compiled, in each type.
fn comparison(args: &Args, text: &[PathBuf]) -> Result<Comparison> {
    let setting = |how: &str, kind: &Precision| format!("{}/{how}", kind.name());
    let of_type = |kind| ["eager", "compiled"].map(|how| setting(how, kind));
    Ok(Comparison {
        peer: Peer::TorchTrain,
        ours: own_arguments(args, text),
        our_settings: vec![own_setting(args)],
        theirs: peer_arguments(args, text)?,
        their_settings: args.types.iter().flat_map(of_type).collect(),
        figure: "tgt_tokens_per_s",
    })
}

fn own_setting(args: &Args) -> Setting {
    let threads = Setting::all_threads(args.place.threads);
    Setting { name: format!("{}, {}", args.precision.name(), threads.name), ..threads }
}

fn own_arguments(args: &Args, text: &[PathBuf]) -> Vec<String> {
    let mut own: Vec<String> = ["train", "--json", "--train"].map(String::from).into();
    own.extend(text.iter().map(|path| path.display().to_string()));
    own.extend(flat([
        ("--multiple", args.multiple.to_string()),
        ("--device", args.place.device.to_string()),
        ("--precision", args.precision.to_string()),
    ]));
    own.extend(shared_arguments(args));
    own
}

fn peer_arguments(args: &Args, text: &[PathBuf]) -> Result<Vec<String>> {
    let [source, target] = text else {
        anyhow::bail!("--against needs --train SOURCE TARGET: two plain text files");
    };
    let mut own = vec![source.display().to_string(), target.display().to_string()];
    own.extend(flat([("--device", args.place.device.in_torch())]));
    if args.place.threads > 0 {
        own.extend(flat([("--threads", args.place.threads.to_string())]));
    }
    own.extend(shared_arguments(args));
    Ok(own)
}

/// The options that both sides understand.
fn shared_arguments(args: &Args) -> Vec<String> {
    let mut shared = args.shape.to_options();
    shared.extend(flat([
        ("--updates", args.updates.to_string()),
        ("--warm", args.warm.to_string()),
        ("--budget", args.text.budget.to_string()),
        ("--dropout", args.dropout.to_string()),
    ]));
    shared
}
