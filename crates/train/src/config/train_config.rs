//! The configuration of a run, and the settings that are fixed once it has begun.

use std::path::PathBuf;

use burnformer_data::TokenizerSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data::DataSettings;
use super::model::ModelSettings;
use super::training::TrainingSettings;
use super::validation::ValidationSettings;
use crate::optimizer::settings::{OptimizerSettings, ScheduleSettings};

/// The configuration of a training run.
///
/// The doc comments of these structs are the configuration reference that users read, in the guide
/// and from `burnformer config`: see [`reference`](mod@super::reference).
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TrainConfig {
    /// The corpora, and which of their sentence pairs are kept. A corpus is two files, source and
    /// target, whose lines are translations of each other, or one TSV file of `source<TAB>target`
    /// lines; each may be plain text, `.gz` or `.zst`.
    pub data: DataSettings,
    /// The tokeniser, which cuts text into subword tokens: trained on the corpus, or loaded from
    /// files.
    pub tokenizer: TokenizerSection,
    /// The model's architecture and its sizes (paper §3 and Table 3).
    pub model: ModelSettings,
    /// The length of the run, and the size of an update. An update is one step of the optimiser.
    pub training: TrainingSettings,
    /// The learning rate over the course of the run (paper §5.3, equation 3).
    pub schedule: ScheduleSettings,
    /// The optimiser: the paper has Adam (§5.3).
    pub optimizer: OptimizerSettings,
    /// The answer of the run to a loss or a gradient that is not a finite number.
    pub recovery: RecoverySettings,
    /// The measurement of the model on text that it does not learn from.
    pub validation: ValidationSettings,
    /// The states of the run that are kept on disk, and the number of them that are averaged at the
    /// end.
    pub checkpoints: CheckpointSettings,
}

/// The tokeniser: trained on the corpus, or loaded from files.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TokenizerSection {
    /// Existing `tokenizer.json` files to use instead of training one: one file for both sides, or
    /// two (source, target). With an empty list a tokeniser is trained by the settings of
    /// `tokenizer.train`.
    pub files: Vec<PathBuf>,
    /// The training of a tokeniser; without effect where `tokenizer.files` names some.
    pub train: TokenizerSettings,
}

/// The answer of a run to a loss or a gradient that is not finite.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct RecoverySettings {
    /// An update whose loss or gradient is not finite is skipped; after this many skipped updates
    /// in a row the run goes back to its last checkpoint. 0 and 1 go back at once.
    pub skips: u64,
    /// The number of times that the run goes back before it stops with an error; 0 stops it the
    /// first time.
    pub rollbacks: u64,
    /// The factor by which the learning rate is multiplied each time the run goes back; above 0 and
    /// at most 1.
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

/// The states of the run that are kept on disk, and the number of them that are averaged at the
/// end.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct CheckpointSettings {
    /// The number of updates between two checkpoints, from which a run can be resumed and averaged;
    /// 0 writes only the last one. A checkpoint holds the weights, and two numbers of the optimiser
    /// for each weight.
    pub every: u64,
    /// The number of newest checkpoints that are kept on disk, but at least as many as
    /// `checkpoints.average` takes; 0 keeps all of them.
    pub keep: usize,
    /// The number of newest checkpoints whose weights are averaged after training (paper §6.1: 5
    /// for the base model, 20 for the big one); 0 or 1 for no averaging. Averaging costs nothing
    /// when translating.
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
    /// The whole configuration as TOML that [`resolve`](Self::resolve) reads back.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a configuration is plain data")
    }
}

/// Settings, or whole sections, that a resumed run must keep. With other values, the position in
/// the corpus, the random state or the best validation in the state of the run would be
/// meaningless.
pub(crate) const FIXED: &str = "\
    model. training.from training.freeze training.seed training.budget \
    training.multiple training.accumulate optimizer.algorithm validation.metric validation.bleu \
    validation.max_sentences validation.beam validation.alpha";

/// Returns whether a resumed run must have the value of `key` with which it began.
pub(crate) fn is_fixed(key: &str) -> bool {
    FIXED.split(' ').any(|start| key.starts_with(start))
}

/// Returns whether `key` begins with one of `keys`.
pub(crate) fn within(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|start| key.starts_with(start))
}
