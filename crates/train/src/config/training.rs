//! The section `[training]`: how long a run is, and how large an update.

use std::path::PathBuf;

use burn::tensor::Device;
use burnformer_core::Precision;
use burnformer_kernels::{is_bfloat16_fast_on, is_fused_on};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of the run, size and randomness of an update.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TrainingSettings {
    /// The model directory that the run starts from, to fine-tune its model: weights, tokenisers
    /// and the section `model` come from it, and only the rates of dropout may be set otherwise. A
    /// run keeps a copy of the directory (`start/`). An empty path starts from random weights.
    /// `--from` sets it on the command line.
    pub from: PathBuf,
    /// The parameters that stay unchanged, by their names in `model.safetensors` or the first parts
    /// of these: `["encoder", "embedding.weight", "decoder.layers.0"]`; a part `*` stands for any
    /// (`*.layers.*.self_attention`). They need no memory for gradients and moments.
    pub freeze: Vec<String>,
    /// The seed of every random choice: initial weights, order of batches, dropout. Two runs with
    /// one configuration and one seed on one kind of device give the same bits; change it to see
    /// how much a result owes to chance.
    pub seed: u64,
    /// The run ends after this many updates; 0 sets no limit. The paper trains its base model for
    /// 100,000 and its big model for 300,000 updates (§5.2).
    pub max_updates: u64,
    /// The run ends after this many minutes, validation included; 0 sets no limit. A run that is
    /// resumed goes on counting where it stopped. With a limit in minutes the learning rate follows
    /// the clock where `schedule.cooldown` is above 0, so that a run made again has other bits.
    pub max_minutes: f64,
    /// The run ends after this many passes over the training text; 0 sets no limit.
    pub max_epochs: u64,
    /// If true, a new run measures the machine for some seconds, and then takes the largest of
    /// three models (`model.d_model` 192, 128 or 96) of which `training.max_minutes` hold enough
    /// updates. `config.toml` in the run's folder has the size that was chosen, and a warm-up of at
    /// most 6 % of the updates. It has no effect on a run that is limited by `training.max_updates`
    /// or `max_epochs`, whose model has other sizes than the preset `speedrun`, that starts from a
    /// model, or that several processes make.
    pub fit: bool,
    /// The size of a batch: sentences × the longest sentence of the batch, in tokens with padding,
    /// stays within it on each side; from the length of the longest sentence to 16,777,216. It
    /// decides memory and, on a GPU, speed. The paper learns from about 25,000 source and 25,000
    /// target tokens per update (§5.1): where memory does not hold that much, take a smaller budget
    /// and raise `training.accumulate` in proportion.
    pub budget: usize,
    /// Lengths of a batch are padded to a multiple of this number of tokens, from 1 to 512. Take 8
    /// or 16 on a GPU, so that its kernels are compiled and tuned for few shapes; 1, no further
    /// padding, is best on a CPU.
    pub multiple: usize,
    /// The number of batches whose gradients are added up into one update, averaged over all their
    /// real target tokens; at least 1. Raise it to learn from more text per update than memory
    /// holds at once. Several devices share these batches: a new run takes at least one for each,
    /// and as many for all.
    pub accumulate: usize,
    /// The number type in which [several processes](https://www.mpi-forum.org) that train together
    /// exchange gradients: `float32`, or `bfloat16`, which halves the bytes on the network and
    /// rounds each gradient. It has no effect on one process.
    pub exchange: ExchangePrecision,
    /// The number type in which matrices are multiplied during training. Weights, sums,
    /// normalisation and losses stay in float32, and so do validation and translation. A type of 16
    /// bits saves time on GPUs that have units for it. On a CPU, `bfloat16` saves time where the
    /// processor has the instructions AVX-512 BF16 (a run in float32 says so when it starts);
    /// elsewhere, and in `float16`, it only costs time. `auto` is `bfloat16` on such a CPU and
    /// `float32` everywhere else; `config.toml` in the run's folder names the one that was chosen.
    pub precision: PrecisionSetting,
    /// The share of probability that the training target spreads over the whole vocabulary instead
    /// of the one right token, from 0 (none) to below 1. It worsens perplexity and improves BLEU
    /// (paper §5.4). Fixed once a run has begun where `validation.metric` is `loss`.
    pub label_smoothing: f64,
    /// The number of updates between two log lines; at least 1. On a GPU the run also looks this
    /// often, at most every 100 updates, whether its numbers are finite.
    pub log_every: u64,
    /// The largest amount of memory that the run may use, in GB (10⁹ bytes); 0 stands for what the
    /// machine has free at the start. A run whose largest batch would need more is refused, with
    /// the name of a budget that fits. `--max-memory` sets it on the command line.
    pub max_memory: f64,
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            from: PathBuf::new(),
            freeze: vec![],
            seed: 1,
            max_updates: 100_000,
            max_minutes: 0.0,
            max_epochs: 0,
            fit: false,
            budget: 4096,
            multiple: 1,
            accumulate: 1,
            exchange: ExchangePrecision::Float32,
            precision: PrecisionSetting::Float32,
            label_smoothing: 0.1,
            log_every: 50,
            max_memory: 0.0,
        }
    }
}

/// The number type in which processes exchange gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExchangePrecision {
    /// Nothing is rounded.
    #[default]
    Float32,
    /// Half of the bytes. Each gradient is rounded to 8 bits of precision before it is sent; sums
    /// are float32, and are rounded once more before they are sent.
    BFloat16,
}

/// `training.precision`: a number type, or the choice of one when the device is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionSetting {
    /// [`Precision::BFloat16`] on a CPU that multiplies faster in it, otherwise
    /// [`Precision::Float32`]. A new run writes what was chosen into its `config.toml`.
    Auto,
    /// [`Precision::Float32`].
    #[default]
    Float32,
    /// [`Precision::BFloat16`].
    BFloat16,
    /// [`Precision::Float16`].
    Float16,
}

impl PrecisionSetting {
    /// The number type for a run on `device`.
    pub fn on(self, device: &Device) -> Precision {
        match self {
            Self::Auto if is_fused_on(device) && is_bfloat16_fast_on(device) => Precision::BFloat16,
            _ => self.number_type(),
        }
    }

    /// The number type where no device is known yet: float32 for `auto`.
    pub fn number_type(self) -> Precision {
        match self {
            Self::Auto | Self::Float32 => Precision::Float32,
            Self::BFloat16 => Precision::BFloat16,
            Self::Float16 => Precision::Float16,
        }
    }
}

impl From<Precision> for PrecisionSetting {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::Float32 => Self::Float32,
            Precision::BFloat16 => Self::BFloat16,
            Precision::Float16 => Self::Float16,
        }
    }
}
