use std::path::PathBuf;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use burnformer_core::{Precision, Seq2Seq, Seq2SeqConfig};
use burnformer_data::{Batch, BatchSampler, PlannedBatch, Prefetch, SamplerSettings};
use burnformer_kernels::is_fused_on;
use burnformer_models::ModelConfig;
use burnformer_train::{
    Adam, AdamSettings, Corpora, LossScale, Replicas, Texts, TrainConfig, Updater, noam,
};
use serde_json::json;

use super::alternation::{Alternation, Comparison};
use super::options::{Format, Place, Shape, Text, random_pieces, texts_of};
use super::peer::Peer;
use super::record::{Record, peak_memory_bytes};
use super::setting::{Setting, flat};
use crate::commands::precision;
use crate::device::{DeviceName, best_matmul_rate};

/// The number of warm-up updates in the paper (§5.3), which the peer uses too. Learning rates do not change the speed.
const WARMUP: u64 = 4000;

/// Arguments of `bench train`.
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
    place: Place,
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
    let (mut batches, vocab) = match args.len {
        Some(len) => (Batches::Random(random_batch(len, args)), args.shape.pieces.vocab),
        None => Batches::of_text(config, texts)?,
    };
    let shape = args.shape.config(vocab, args.dropout);
    let counted = ModelConfig::from(shape.clone());
    let mut model = burnformer_models::Model::from(shape.init(1, device)?);
    model.set_precision(args.precision);
    let loss_scale = (args.precision == Precision::Float16).then(LossScale::default);
    let mut updater = Updater {
        adam: Adam::new(AdamSettings::default(), &model),
        seed: 1,
        label_smoothing: 0.1,
        clip_norm: 0.0,
        loss_scale,
        synchronous: is_fused_on(device) || loss_scale.is_some(),
    };
    let replicas = Replicas::new(from_ref(device));
    let (mut tokens, mut positions, mut operations) = (0, 0, 0);
    let (mut seconds, mut loss) = (0.0, 0.0);
    let (mut waited, mut unread) = (0.0, Vec::new());
    for step in 1..=args.warm + args.updates {
        if step == args.warm + 1 {
            waited = batches.waited();
        }
        let parts = [batches.next()?];
        let start = Instant::now();
        let rate = noam(step, args.shape.d, WARMUP);
        let (next, statistics) = updater.update(model, &parts, step, rate, &replicas);
        model = next;
        unread.push(statistics);
        // A device that works on its own has done what it was given only when it is asked for the outcome.
        if step == args.warm || step == args.warm + args.updates {
            let read = updater.read(&std::mem::take(&mut unread));
            loss = read.last().map_or(f64::NAN, |last| last.loss / last.tokens as f64);
        }
        if step > args.warm {
            seconds += start.elapsed().as_secs_f64();
            tokens += parts[0].target_tokens;
            positions += parts[0].positions();
            operations += update_flops(&counted, &parts[0]);
        }
    }
    let rate = operations as f64 / seconds / 1e9;
    let matmul_rate = best_matmul_rate(device, args.precision);
    Ok(Record::new(json!({
        "framework": concat!("burnformer ", env!("CARGO_PKG_VERSION")),
        "precision": args.precision.name(),
        "threads": rayon::current_num_threads(),
        "params": shape.parameter_count(),
        "updates": args.updates,
        "loss": loss,
        "tgt_tokens_per_s": tokens as f64 / seconds,
        "s_per_update": seconds / args.updates as f64,
        "padded_tokens_per_s": positions as f64 / seconds,
        "gflops": rate,
        "matmul_gflops": matmul_rate,
        "matmul_share": rate / matmul_rate,
        "peak_memory_bytes": peak_memory_bytes(),
        "input_wait_s": batches.waited() - waited,
    })))
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

/// The number of arithmetic operations of an update over `batch`, padding included.
fn update_flops(model: &ModelConfig, batch: &Batch) -> u64 {
    model.update_flops(batch.batch, batch.source_len, batch.target_len)
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
    let mut own: Vec<String> = ["bench", "train", "--json", "--train"].map(String::from).into();
    own.extend(text.iter().map(|path| path.display().to_string()));
    let numbers = [
        ("--updates", args.updates.to_string()),
        ("--warm", args.warm.to_string()),
        ("--budget", args.text.budget.to_string()),
        ("--multiple", args.multiple.to_string()),
        ("--device", args.place.device.to_string()),
        ("--dropout", args.dropout.to_string()),
        ("--precision", args.precision.to_string()),
    ];
    own.extend(flat(numbers));
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
        ("--budget", args.text.budget.to_string()),
        ("--dropout", args.dropout.to_string()),
        ("--device", args.place.device.in_torch().to_string()),
    ];
    own.extend(flat(numbers));
    if args.place.threads > 0 {
        own.extend(flat([("--threads", args.place.threads.to_string())]));
    }
    own.extend(args.shape.to_options());
    Ok(own)
}
