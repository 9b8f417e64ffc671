//! The section `[training]`: the length of a run and the size of an update.

use std::path::PathBuf;

use burn::tensor::Device;
use burnformer_core::Precision;
use burnformer_kernels::{is_bfloat16_fast_on, is_fused_on};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The length of a run, and the size and randomness of an update.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TrainingSettings {
    /// The model directory to fine-tune. Weights, tokenisers and the section `model` come from it;
    /// only dropout rates may differ. A run keeps a copy of the directory (`start/`). An empty path
    /// starts from random weights. `--from` sets it on the command line.
    pub from: PathBuf,
    /// The frozen parameters, by name or prefix as in `model.safetensors`: `["encoder",
    /// "embedding.weight", "decoder.layers.0"]`. The part `*` matches any part
    /// (`*.layers.*.self_attention`). Frozen parameters need no memory for gradients and moments.
    pub freeze: Vec<String>,
    /// The seed of every random choice: initial weights, order of batches, dropout. Runs with the
    /// same configuration and seed on a CPU of the same kind give the same bits. A graphics card
    /// repeats initial weights, order and dropout alone: its kernels are chosen by timing and may
    /// round to TF32. Change the seed to measure the variance of a result.
    pub seed: u64,
    /// The run ends after this many updates; 0 sets no limit. The paper trains its base model for
    /// 100,000 and its big model for 300,000 updates (§5.2).
    pub max_updates: u64,
    /// The run ends after this many minutes, validation included; 0 sets no limit. A resumed run
    /// counts the minutes before. With this limit and `schedule.cooldown` above 0, the learning
    /// rate follows the clock, and repeated runs differ.
    pub max_minutes: f64,
    /// The run ends after this many passes over the training text; 0 sets no limit.
    pub max_epochs: u64,
    /// If true, a new run measures the machine for some seconds and chooses the largest of three
    /// models (`model.d_model` 192, 128 or 96) that makes enough updates in `training.max_minutes`.
    /// `config.toml` in the run's folder has the chosen size, and a warm-up of at most 6 % of the
    /// updates. No effect on a run with `training.max_updates` or `max_epochs`, with other model
    /// sizes than the preset `speedrun`, with `training.from`, or with several processes.
    pub fit: bool,
    /// The largest batch, in tokens of each side with padding (sentences × longest sentence); from
    /// the length of the longest sentence to 16,777,216. It determines memory and, on a GPU, speed.
    /// The paper has about 25,000 source and 25,000 target tokens per update (§5.1). With less
    /// memory, lower the budget and raise `training.accumulate` in proportion.
    pub budget: usize,
    /// Batch lengths are padded to a multiple of this number of tokens, from 1 to 512. Use 8 or 16
    /// on a GPU, where kernels are compiled and tuned per shape; 1 (no further padding) is best on
    /// a CPU.
    pub multiple: usize,
    /// The number of batches per update; at least 1. Their gradients are averaged over all real
    /// target tokens. Raise it if memory does not hold the text of an update at once. Devices share
    /// the batches: a new run rounds the number up to a multiple of the devices.
    pub accumulate: usize,
    /// The number type of gradients on the network between [several
    /// processes](https://www.mpi-forum.org): `float32`, or `bfloat16`, which halves the bytes and
    /// rounds each gradient. No effect on one process.
    pub exchange: ExchangePrecision,
    /// The number type of matrix products during training. Weights, sums, normalisation, losses,
    /// validation and translation stay in float32. 16 bits save time on GPUs with units for them.
    /// On a CPU, `bfloat16` saves time if the processor has AVX-512 BF16 (a run in float32 says so
    /// when it starts); otherwise 16 bits are slower. `auto` is `bfloat16` on such a CPU and
    /// `float32` everywhere else; `config.toml` in the run's folder has the chosen type.
    pub precision: PrecisionSetting,
    /// Label smoothing ε (paper §5.4), from 0 (none) to below 1: the share of probability that the
    /// training target spreads over the whole vocabulary. It worsens perplexity and improves BLEU.
    /// A resumed run must keep it if `validation.metric` is `loss`.
    pub label_smoothing: f64,
    /// The number of updates between two log lines; at least 1. On a GPU, this is also the interval
    /// of the check for NaN and infinity, up to 100 updates.
    pub log_every: u64,
    /// The memory limit in GB (10⁹ bytes); 0 is the free memory at the start. If the largest batch
    /// needs more, the run is refused with a budget that fits. `--max-memory` sets it on the command
    /// line.
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

/// The number type of gradients on the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExchangePrecision {
    /// No rounding.
    #[default]
    Float32,
    /// Half of the bytes. Gradients are rounded to 8 bits of precision before they are sent, and
    /// their float32 sums once more.
    BFloat16,
}

/// `training.precision`: a number type, or a choice by the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionSetting {
    /// [`Precision::BFloat16`] on a CPU where it is faster, otherwise [`Precision::Float32`]. A new
    /// run writes the chosen type into its `config.toml`.
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

    /// The number type without a device: float32 for `auto`.
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
