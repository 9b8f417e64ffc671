//! The configuration of a training run: a preset, the user's TOML file, and `--set`.

mod data;
mod document;
mod error;
mod language_pair;
mod layers;
mod model;
mod pairs;
mod peers;
mod presets;
pub mod reference;
mod requirements;
mod train_config;
mod training;
mod validation;

pub(crate) use data::MIX;
pub use data::{ContextSizes, DataSettings, MixedText, corpus_paths};
pub(crate) use document::entries;
pub use error::ConfigFileError;
pub(crate) use error::nearest;
pub use language_pair::{Direction, LanguagePair, LanguageTokens};
pub(crate) use language_pair::{TRAIN as PAIRS_TRAIN, VALID as PAIRS_VALID};
pub(crate) use layers::{START, start_model_in};
pub use model::{Architecture, ModelSettings, RnnSizes};
pub use presets::{DEFAULT_PRESET, preset_description, preset_names};
#[cfg(test)]
pub(crate) use train_config::FIXED;
pub use train_config::{CheckpointSettings, RecoverySettings, TokenizerSection, TrainConfig};
pub(crate) use train_config::{is_fixed, within};
pub use training::{ExchangePrecision, PrecisionSetting, TrainingSettings};
pub use validation::{EarlyStoppingMetric, ValidationScore, ValidationSettings};

#[cfg(test)]
mod tests;
