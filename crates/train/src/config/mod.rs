//! A training run as a TOML file: a preset, what the user's file changes, what `--set` changes.

mod data;
mod document;
mod layers;
mod model;
mod precision;
pub mod reference;
mod validate;

use std::path::{Path, PathBuf};

use burnformer_data::TokenizerSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use data::MIX;
pub use data::{DataSettings, MixedText, corpus_paths};
pub(crate) use layers::nearest;
pub use layers::{ConfigFileError, DEFAULT_PRESET, preset_description, preset_names};
pub use model::{Architecture, ModelSettings, RnnSizes};
pub use precision::PrecisionSetting;

use crate::early_stopping::EarlyStoppingMetric;
use crate::optimizer::OptimizerSettings;
use crate::recovery::RecoverySettings;
use crate::run_dir::RunDir;
use crate::schedule::ScheduleSettings;

/// Everything that decides a training run.
///
/// The doc comments of these structs are the configuration reference that users read, in the guide and from
/// `burnformer config`: see [`mod@reference`].
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// The corpora, and which of their sentence pairs are kept. A corpus is two files, source and target, whose
    /// lines are translations of each other, or one TSV file of `source<TAB>target` lines; each may be plain
    /// text, `.gz` or `.zst`.
    pub data: DataSettings,
    /// The tokeniser, which cuts text into subword tokens: trained on the corpus, or loaded from files.
    pub tokenizer: TokenizerSection,
    /// The model's architecture and its sizes (paper §3 and Table 3).
    pub model: ModelSettings,
    /// How long the run is, and how large an update is. An update is one step of the optimiser.
    pub training: TrainingSettings,
    /// The learning rate over the course of the run (paper §5.3, equation 3).
    pub schedule: ScheduleSettings,
    /// The optimiser: the paper has Adam (§5.3).
    pub optimizer: OptimizerSettings,
    /// What the run does when a loss or a gradient is not a finite number.
    pub recovery: RecoverySettings,
    /// How often the model is measured on text that it does not learn from, and how.
    pub validation: ValidationSettings,
    /// Which states of the run are kept on disk, and how many of them are averaged at the end.
    pub checkpoints: CheckpointSettings,
}

/// The tokeniser: trained on the corpus, or loaded from files.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerSection {
    /// Existing `tokenizer.json` files to use instead of training one: one file for both sides, or two (source,
    /// target). With an empty list a tokeniser is trained by the settings of `tokenizer.train`.
    pub files: Vec<PathBuf>,
    /// How a tokeniser is trained; without effect where `tokenizer.files` names some.
    pub train: TokenizerSettings,
}

/// Length of the run, size and randomness of an update.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// The model directory that the run starts from, to fine-tune its model: weights, tokenisers and the section `model`
    /// come from it, and only the rates of dropout may be set otherwise. A run keeps a copy of the directory (`start/`).
    /// An empty path starts from random weights. `--from` sets it on the command line.
    pub from: PathBuf,
    /// The parameters that stay as they are, by their names in `model.safetensors` or the first parts of these:
    /// `["encoder", "embedding.weight", "decoder.layers.0"]`; a part `*` stands for any (`*.layers.*.self_attention`).
    /// They need no memory for gradients and moments.
    pub freeze: Vec<String>,
    /// The seed of every random choice: initial weights, order of batches, dropout. Two runs with one
    /// configuration and one seed on one kind of device give the same bits; change it to see how much a result
    /// owes to chance.
    pub seed: u64,
    /// The run ends after this many updates; 0 sets no limit. The paper trains its base model for 100,000 and
    /// its big model for 300,000 updates (§5.2).
    pub max_updates: u64,
    /// The run ends after this many minutes, validation included; 0 sets no limit. A run that is resumed goes on
    /// counting where it stopped. With a limit in minutes the learning rate follows the clock where
    /// `schedule.cooldown` is above 0, so that a run made again has other bits.
    pub max_minutes: f64,
    /// The run ends after this many passes over the training text; 0 sets no limit.
    pub max_epochs: u64,
    /// The size of a batch: sentences × the longest sentence of the batch, in tokens with padding, stays within it on
    /// each side; from the length of the longest sentence to 16,777,216. It decides memory and, on a GPU, speed. The
    /// paper learns from about 25,000 source and 25,000 target tokens per update (§5.1): where memory does not
    /// hold that much, take a smaller budget and raise `training.accumulate` in proportion.
    pub budget: usize,
    /// The most sentences in a batch, however short they are; 0 sets no limit.
    pub max_sentences: usize,
    /// Lengths of a batch are padded to a multiple of this number of tokens, from 1 to 512. Take 8 or 16 on a
    /// GPU, so that its kernels are compiled and tuned for few shapes; 1, no further padding, is best on a CPU.
    pub multiple: usize,
    /// The number of batches whose gradients are added up into one update, averaged over all their real target
    /// tokens; at least 1. Raise it to learn from more text per update than memory holds at once. Several
    /// devices share these batches: a new run takes at least one for each, and as many for all.
    pub accumulate: usize,
    /// The number type in which matrices are multiplied during training. Weights, sums, normalisation and losses
    /// stay in float32, and so do validation and translation. A type of 16 bits saves time on GPUs that have
    /// units for it. On a CPU, `bfloat16` saves time where the processor has the instructions AVX-512 BF16 (a run
    /// in float32 says so when it starts); elsewhere, and in `float16`, it only costs time. `auto` is `bfloat16`
    /// on such a CPU and `float32` everywhere else; `config.toml` in the run's folder names the one that was chosen.
    pub precision: PrecisionSetting,
    /// The share of probability that the training target spreads over the whole vocabulary instead of the one
    /// right token, from 0 (none) to below 1. It worsens perplexity and improves BLEU (paper §5.4). Fixed once a
    /// run has begun where `validation.metric` is `loss`.
    pub label_smoothing: f64,
    /// The weight α of R-Drop (Wu et al., 2021), 0 or more; 0 switches it off. Each batch is then computed twice with
    /// different dropout, and training also minimises how far the two predictions are apart: α/2 times the mean of the
    /// Kullback–Leibler divergences in both directions. Their paper has 5 for translation. It helps where there is little
    /// text, some dropout and time for many epochs; an update takes twice the memory and time. The losses in the log are
    /// the mean of both passes.
    pub r_drop: f64,
    /// The number of updates before R-Drop begins. What is easy to learn is then learned in half the time; 0 begins with
    /// the first update.
    pub r_drop_after: u64,
    /// The number of updates between two log lines; at least 1. On a GPU the run also looks this often, at
    /// most every 100 updates, whether its numbers are finite.
    pub log_every: u64,
    /// The number of batches that a background thread prepares ahead, at most 4,096; 0 prepares each when it is
    /// needed.
    pub prefetch: usize,
    /// The most memory that the run may use, in GB (10⁹ bytes); 0 stands for what the machine has free at the
    /// start. A run whose largest batch would need more is refused, with the name of a budget that fits.
    /// `--max-memory` sets it on the command line.
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
            budget: 4096,
            max_sentences: 0,
            multiple: 1,
            accumulate: 1,
            precision: PrecisionSetting::Float32,
            label_smoothing: 0.1,
            r_drop: 0.0,
            r_drop_after: 0,
            log_every: 50,
            prefetch: 8,
            max_memory: 0.0,
        }
    }
}

/// How often the model is measured on text that it does not learn from, and how.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationSettings {
    /// The number of updates between two validations; 0 validates only at the end of the run.
    pub every: u64,
    /// Whether a validation translates its text and scores it by BLEU, beside measuring the loss. Switch it off
    /// to validate faster, and choose another `validation.metric` with it.
    pub bleu: bool,
    /// The number of sentences, from the start of the validation text, that are translated for BLEU; 0 takes
    /// all. The loss is always that of the whole text.
    pub max_sentences: usize,
    /// The number of hypotheses of the beam search that translates the validation text, from 1, which is greedy
    /// search and fastest, to 1,000.
    pub beam: usize,
    /// The length penalty α of that search (paper §6.1); 0 or more. Larger values favour longer translations.
    pub alpha: f64,
    /// The number that decides which model becomes `best/` and when `validation.patience` is used up.
    pub metric: EarlyStoppingMetric,
    /// The run ends after this many validations in a row without a better one; 0 never ends it.
    pub patience: u64,
    /// The number of hypotheses of the beam search on the test text after training, from 1 to 1,000; the paper
    /// has 4 (§6.1).
    pub test_beam: usize,
    /// The length penalty α of that search; 0 or more. The paper has 0.6 (§6.1).
    pub test_alpha: f64,
    /// Length penalties α to choose from when the run ends, each 0 or more: the model in `best/` translates the validation
    /// text (`max_sentences` of it) with a beam of `test_beam` under each of them, and the one with the highest BLEU is written
    /// into its `generation.json` and takes the place of `test_alpha`. An empty list chooses nothing. Short runs give
    /// models that end their sentences early, which a larger α mends.
    pub test_alphas: Vec<f64>,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self {
            every: 1000,
            bleu: true,
            max_sentences: 0,
            beam: 1,
            alpha: 0.0,
            metric: EarlyStoppingMetric::Bleu,
            patience: 0,
            test_beam: 4,
            test_alpha: 0.6,
            test_alphas: vec![],
        }
    }
}

/// Which states of the run are kept on disk, and how many of them are averaged at the end.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSettings {
    /// The number of updates between two checkpoints, from which a run can be resumed and averaged; 0 writes
    /// only the last one. A checkpoint holds the weights and twice as many numbers of the optimiser.
    pub every: u64,
    /// The number of newest checkpoints that are kept on disk, but at least as many as `checkpoints.average` takes;
    /// 0 keeps all of them.
    pub keep: usize,
    /// The number of newest checkpoints whose weights are averaged after training (paper §6.1: 5 for the base
    /// model, 20 for the big one); 0 or 1 for no averaging. Averaging costs nothing when translating.
    pub average: usize,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self { every: 1000, keep: 5, average: 5 }
    }
}

impl CheckpointSettings {
    /// How many of the newest checkpoints stay: `keep`, or as many as the average takes; 0 for all.
    pub fn kept(&self) -> usize {
        match self.keep {
            0 => 0,
            keep => keep.max(self.average),
        }
    }
}

impl TrainConfig {
    /// The preset `preset`, then the TOML file `file`, then `key.path=value` settings, each over the
    /// one before. Without `preset` the file's own `preset` key is the start; without either,
    /// [`DEFAULT_PRESET`]. Where `training.from` names a model directory, that is read and decides the section `model`.
    ///
    /// # Errors
    /// A [`ConfigFileError`] naming the file or setting, the key, and what would be right.
    pub fn resolve(
        preset: Option<&str>,
        file: Option<&Path>,
        settings: &[String],
    ) -> Result<Self, ConfigFileError> {
        Self::resolve_in(preset, file, settings, None)
    }

    /// [`resolve`](Self::resolve) for a run that may go on in the folder `run`: its own copy of the model that it starts
    /// from is read in the place of `training.from`, if there is one.
    ///
    /// # Errors
    /// Those of [`resolve`](Self::resolve).
    pub fn resolve_in(
        preset: Option<&str>,
        file: Option<&Path>,
        settings: &[String],
        run: Option<&Path>,
    ) -> Result<Self, ConfigFileError> {
        let kept = run.and_then(RunDir::start_model_in);
        let config = layers::resolve(preset, file, settings, kept.as_deref())?;
        config.validate()?;
        Ok(config)
    }

    /// The whole configuration as TOML that [`resolve`](Self::resolve) reads back.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a configuration is plain data")
    }
}

#[cfg(test)]
mod tests;
