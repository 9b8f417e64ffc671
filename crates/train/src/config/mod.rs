//! A training run as a TOML file: a preset, what the user's file changes, what `--set` changes.

mod document;
mod layers;
mod model;
mod validate;

use std::path::{Path, PathBuf};

use burnformer_core::Precision;
use burnformer_data::{CleaningSettings, CorpusPaths, TokenizerSettings, Utf8Policy};
use serde::{Deserialize, Serialize};

pub use layers::{ConfigFileError, preset_names};
pub use model::{ModelSettings, RnnSettings};

use crate::adam::AdamSettings;
use crate::early_stopping::Metric;
use crate::recovery::RecoverySettings;
use crate::schedule::ScheduleSettings;

/// Everything that decides a training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Corpora and how they are cleaned.
    pub data: DataSettings,
    /// The vocabulary.
    pub tokenizer: TokenizerSection,
    /// The model's shape.
    pub model: ModelSettings,
    /// Length of the run, size of an update.
    pub training: TrainingSettings,
    /// Learning rate.
    pub schedule: ScheduleSettings,
    /// Optimiser.
    pub optimizer: AdamSettings,
    /// What to do when the numbers stop being numbers.
    pub recovery: RecoverySettings,
    /// When and how to validate.
    pub validation: ValidationSettings,
    /// What to keep on disk.
    pub checkpoints: CheckpointSettings,
}

/// Corpora: each is two files (source, target) or one TSV of `source<TAB>target`; plain, .gz or .zst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// Text to learn from. Empty: the embedded Tatoeba German–English.
    pub train: Vec<PathBuf>,
    /// Text to validate on. Empty: none, or the embedded one beside the embedded training text.
    pub valid: Vec<PathBuf>,
    /// Text to test on after training, likewise.
    pub test: Vec<PathBuf>,
    /// Folder of trained tokenisers and tokenised corpora. Empty: the user's cache folder.
    pub cache: PathBuf,
    /// Longest source sentence kept, in tokens.
    pub max_source_len: usize,
    /// Longest target sentence kept, in tokens.
    pub max_target_len: usize,
    /// Pairs whose lengths differ by more than this factor are dropped; 0 keeps them.
    pub max_length_ratio: f64,
    /// Drop pairs that occurred before.
    pub drop_duplicates: bool,
    /// What to do with lines that are not UTF-8: `error`, `replace` or `skip`.
    pub utf8: Utf8Policy,
}

impl Default for DataSettings {
    fn default() -> Self {
        let cleaning = CleaningSettings::default();
        Self {
            train: vec![],
            valid: vec![],
            test: vec![],
            cache: PathBuf::new(),
            max_source_len: cleaning.max_source_len,
            max_target_len: cleaning.max_target_len,
            max_length_ratio: cleaning.max_length_ratio.unwrap_or(0.0),
            drop_duplicates: false,
            utf8: Utf8Policy::Error,
        }
    }
}

impl DataSettings {
    /// The cleaning of training text under a token budget.
    pub fn cleaning(&self, budget: usize) -> CleaningSettings {
        CleaningSettings {
            max_source_len: self.max_source_len,
            max_target_len: self.max_target_len,
            max_length_ratio: (self.max_length_ratio > 0.0).then_some(self.max_length_ratio),
            drop_duplicates: self.drop_duplicates,
            utf8: self.utf8,
            budget: Some(budget),
        }
    }
}

/// One or two paths as a corpus.
///
/// # Errors
/// [`ConfigFileError::Paths`] for any other number.
pub fn corpus_paths(key: &'static str, paths: &[PathBuf]) -> Result<CorpusPaths, ConfigFileError> {
    match paths {
        [source, target] => Ok(CorpusPaths::pair(source, target)),
        [tsv] => Ok(CorpusPaths::tsv(tsv)),
        _ => Err(ConfigFileError::Paths { key, found: paths.len() }),
    }
}

/// The vocabulary: trained on the corpus, or loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerSection {
    /// Existing `tokenizer.json`: one for both sides, or source and target. Empty: train one.
    pub files: Vec<PathBuf>,
    /// How to train.
    pub train: TokenizerSettings,
}

/// Length of the run, size and randomness of an update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// Where every random choice starts.
    pub seed: u64,
    /// Updates to make; 0 for no limit.
    pub max_updates: u64,
    /// Minutes to train for, validation included; 0 for no limit.
    pub max_minutes: f64,
    /// Passes over the corpus; 0 for no limit.
    pub max_epochs: u64,
    /// Most padded tokens a side of a batch.
    pub budget: usize,
    /// Most sentences of a batch; 0 for no limit.
    pub max_sentences: usize,
    /// Lengths are padded to a multiple of this: on a GPU 8 or 16 gives it few shapes to compile and tune its kernels
    /// for; on a CPU 1, no further padding, is best.
    pub multiple: usize,
    /// Batches an update; their gradients are averaged over all their real target tokens. Several devices
    /// share them: a new run takes at least one for each, and as many for all.
    pub accumulate: usize,
    /// Type in which matrices are multiplied: `float32`, `bfloat16` or `float16`. Weights, sums, norms and
    /// losses stay in float32; validation and translation multiply in float32 too.
    pub precision: Precision,
    /// Share of probability that label smoothing spreads over the vocabulary (paper §5.4).
    pub label_smoothing: f64,
    /// Updates between log lines; on a GPU also between two looks at whether they are finite, at most 100.
    pub log_every: u64,
    /// Batches prepared ahead by a background thread.
    pub prefetch: usize,
    /// Most memory to use, in GB (10⁹ bytes); 0 for what the machine has free at the start.
    pub max_memory: f64,
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            max_updates: 100_000,
            max_minutes: 0.0,
            max_epochs: 0,
            budget: 4096,
            max_sentences: 0,
            multiple: 1,
            accumulate: 1,
            precision: Precision::Float32,
            label_smoothing: 0.1,
            log_every: 50,
            prefetch: 8,
            max_memory: 0.0,
        }
    }
}

/// When and how to validate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationSettings {
    /// Updates between validations; 0 for none but the last.
    pub every: u64,
    /// Decode the validation text and score BLEU.
    pub bleu: bool,
    /// Sentences to decode, from the start of the text; 0 for all.
    pub max_sentences: usize,
    /// Hypotheses of the beam search that validates; 1 is greedy.
    pub beam: usize,
    /// Length penalty α of that search.
    pub alpha: f64,
    /// What decides which model is best: `bleu`, `ppl` or `loss`.
    pub metric: Metric,
    /// Validations without a better one before the run stops; 0 never stops.
    pub patience: u64,
    /// Hypotheses of the beam search on the test text after training.
    pub test_beam: usize,
    /// Length penalty α of that search.
    pub test_alpha: f64,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self {
            every: 1000,
            bleu: true,
            max_sentences: 0,
            beam: 1,
            alpha: 0.0,
            metric: Metric::Bleu,
            patience: 0,
            test_beam: 4,
            test_alpha: 0.6,
        }
    }
}

/// What to keep on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSettings {
    /// Updates between checkpoints; 0 for one only at the end.
    pub every: u64,
    /// Newest checkpoints kept; 0 keeps all.
    pub keep: usize,
    /// Checkpoints averaged after training (paper §6.1); 0 or 1 for none.
    pub average: usize,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self { every: 1000, keep: 5, average: 5 }
    }
}

impl TrainConfig {
    /// The preset `name`, then the TOML file `file`, then `key.path=value` settings, each over the
    /// one before. Without a preset, the file's own `preset` key, or `small`, is the start.
    ///
    /// # Errors
    /// A [`ConfigFileError`] naming the file or setting, the key, and what would be right.
    pub fn resolve(
        preset: Option<&str>,
        file: Option<&Path>,
        settings: &[String],
    ) -> Result<Self, ConfigFileError> {
        let config = layers::resolve(preset, file, settings)?;
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
