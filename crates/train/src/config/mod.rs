//! A training run as a TOML file: a preset, what the user's file changes, what `--set` changes.

mod data;
mod document;
mod error;
mod fixed;
mod layers;
mod model;
mod peers;
mod precision;
mod presets;
pub mod reference;
mod train_config;
mod training;
mod validate;
mod validation;

pub(crate) use data::MIX;
pub use data::{DataSettings, MixedText, corpus_paths};
pub(crate) use document::entries;
pub use error::ConfigFileError;
pub(crate) use error::nearest;
#[cfg(test)]
pub(crate) use fixed::FIXED;
pub(crate) use fixed::{is_fixed, within};
pub(crate) use layers::{START, start_model_in};
pub use model::{Architecture, ModelSettings, RnnSizes};
pub use precision::{ExchangePrecision, PrecisionSetting};
pub use presets::{DEFAULT_PRESET, preset_description, preset_names};
pub use train_config::{CheckpointSettings, RecoverySettings, TokenizerSection, TrainConfig};
pub use training::TrainingSettings;
pub use validation::{EarlyStoppingMetric, Standing, ValidationSettings};

#[cfg(test)]
mod tests;
