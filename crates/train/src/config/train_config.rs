//! The configuration of a run, and the settings that a resumed run must keep.

use std::path::PathBuf;

use burnformer_data::{ContextSettings, TokenizerSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::{ContextSizes, DataSettings};
use super::model::ModelSettings;
use super::training::TrainingSettings;
use super::validation::ValidationSettings;
use crate::optimizer::settings::{OptimizerSettings, ScheduleSettings};

/// The configuration of a training run.
///
/// The doc comments of these structs are the reference in the guide and in `burnformer config`: see
/// [`reference`](mod@super::reference).
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TrainConfig {
    /// The corpora, and the sentence pairs of them that are kept. A corpus is two aligned files
    /// (source, target), or one TSV file of `source<TAB>target` lines; each may be plain text, `.gz`
    /// or `.zst`.
    pub data: DataSettings,
    /// The tokeniser, which cuts text into subword tokens. It is trained on the corpus or loaded
    /// from files.
    pub tokenizer: TokenizerSection,
    /// The model's architecture and its sizes (paper §3 and Table 3).
    pub model: ModelSettings,
    /// The length of the run, and the size of an update. An update is one step of the optimiser.
    pub training: TrainingSettings,
    /// The learning rate over the course of the run (paper §5.3, equation 3).
    pub schedule: ScheduleSettings,
    /// The optimiser: the paper has Adam (§5.3).
    pub optimizer: OptimizerSettings,
    /// Recovery from a NaN or infinite loss or gradient.
    pub recovery: RecoverySettings,
    /// Validation: the measurement of the model on text that it is not trained on.
    pub validation: ValidationSettings,
    /// The checkpoints on disk, and their average at the end.
    pub checkpoints: CheckpointSettings,
}

/// The tokeniser, trained on the corpus or loaded from files.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TokenizerSection {
    /// Existing `tokenizer.json` files: one for both sides, or two (source, target). An empty list
    /// trains a tokeniser with the settings of `tokenizer.train`.
    pub files: Vec<PathBuf>,
    /// The training of a tokeniser. No effect with `tokenizer.files`.
    pub train: TokenizerSettings,
}

/// Recovery from a NaN or infinite loss or gradient.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct RecoverySettings {
    /// An update with a NaN or infinite loss or gradient is skipped. After this many consecutive
    /// skips, the run goes back to its last checkpoint. 0 and 1 go back at once.
    pub skips: u64,
    /// The number of rollbacks before the run stops with an error; 0 stops it at the first
    /// divergence.
    pub rollbacks: u64,
    /// The factor on the learning rate at each rollback; above 0 and at most 1.
    pub rate: f64,
}

impl Default for RecoverySettings {
    fn default() -> Self {
        Self {
            skips: 5,
            rollbacks: 3,
            rate: 0.5,
        }
    }
}

/// The checkpoints on disk, and their average at the end.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct CheckpointSettings {
    /// The number of updates between two checkpoints; 0 writes only the last one. A checkpoint holds
    /// the weights, and two optimiser values per weight.
    pub every: u64,
    /// The number of newest checkpoints on disk, at least `checkpoints.average`; 0 keeps all.
    pub keep: usize,
    /// The number of newest checkpoints to average after training (paper §6.1: 5 for the base model,
    /// 20 for the big one); 0 or 1 for no averaging. Averaging does not slow translation down.
    pub average: usize,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self {
            every: 1000,
            keep: 5,
            average: 5,
        }
    }
}

impl CheckpointSettings {
    /// Returns the number of newest checkpoints to keep on disk: the larger of `keep` and
    /// `average`, or 0 for all if `keep` is 0.
    pub fn kept(&self) -> usize {
        match self.keep {
            0 => 0,
            keep => keep.max(self.average),
        }
    }
}

impl TrainConfig {
    /// The context of each sentence, with the lengths that fit into a batch and into the positions of the
    /// model together with the tokens of languages; `None` if sentences are learned alone.
    pub fn context(&self) -> Option<ContextSettings> {
        let ContextSizes { source, target } = self.data.context;
        if source == 0 {
            return None;
        }
        let TrainingSettings {
            budget, multiple, ..
        } = self.training;
        let columns = budget / multiple * multiple;
        let positions = self.model.positions_known().unwrap_or(usize::MAX);
        let names_languages = !self.data.trained_directions().is_empty();
        // `</s>`, and a token for each language.
        let special = if names_languages { 3 } else { 1 };
        let room = columns.min(positions).saturating_sub(special);
        Some(ContextSettings {
            source,
            target,
            longest_source: self.data.max_source_len.min(room),
            longest_target: self.data.max_target_len.min(room),
        })
    }

    /// The whole configuration as TOML that [`resolve`](Self::resolve) reads back.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a configuration is plain data")
    }
}

/// Settings and sections that a resumed run must keep. Other values would invalidate the position in
/// the corpus, the random state or the best validation in the state of the run.
pub(crate) const FIXED: [&str; 13] = [
    "model.",
    "training.from",
    "training.freeze",
    "training.seed",
    "training.budget",
    "training.multiple",
    "training.accumulate",
    "optimizer.algorithm",
    "validation.metric",
    "validation.bleu",
    "validation.max_sentences",
    "validation.beam",
    "validation.alpha",
];

/// Returns whether a resumed run must keep the value of `key`.
pub(crate) fn is_fixed(key: &str) -> bool {
    within(key, &FIXED)
}

/// Returns whether `key` is one of `keys`, or in one of the sections among them, which end with a dot.
pub(crate) fn within(key: &str, keys: &[&str]) -> bool {
    keys.iter()
        .any(|known| key == *known || known.ends_with('.') && key.starts_with(known))
}
