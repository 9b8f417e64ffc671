//! The reference of the configuration: the type, default, values and presets of each key, from the
//! doc comments and serde attributes of its struct.
//!
//! The struct is the only source: [`SettingsFile::sections`] walks the JSON schema that `schemars`
//! derives, and [`SettingsFile::find`] searches it. A test writes `docs/configuration.md` from it,
//! and fails if they differ or if a key has no description.

pub(super) mod schema;
mod settings_file;

pub use schema::{Choice, Key, Section};
pub use settings_file::{SettingsFile, commented, wrapped};

#[cfg(test)]
mod tests;
