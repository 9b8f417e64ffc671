//! The reasons why settings cannot be used.

use std::path::PathBuf;

/// A result whose error is [`SettingsError`].
pub(super) type Result<T> = std::result::Result<T, SettingsError>;

/// The reasons why search settings cannot be used, read or written.
#[derive(thiserror::Error)]
pub enum SettingsError {
    /// A setting is out of its range.
    #[error("{name} = {value}: {remedy}")]
    Value {
        /// The name of the setting.
        name: &'static str,
        /// The given value.
        value: String,
        /// The allowed values.
        remedy: String,
    },
    /// A setting exceeds another setting that limits it.
    #[error("{name} = {value}: it cannot exceed {most} = {limit}; lower it, or raise {most}")]
    Above {
        /// The name of the setting.
        name: &'static str,
        /// The value given.
        value: usize,
        /// The name of the limiting setting.
        most: &'static str,
        /// The value of the limiting setting.
        limit: usize,
    },
    /// There is no such setting, or it has another type.
    #[error("{key}: {cause}")]
    Key {
        /// The given name.
        key: String,
        /// The problem: the known names, or the expected type.
        cause: String,
    },
    /// The file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, String),
}

burnformer_text::debug_as_message!(SettingsError);
