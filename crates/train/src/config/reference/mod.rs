//! The meaning of each key of a configuration: its type, default, values and presets, read from the
//! doc comments and serde attributes of the structs that hold it.
//!
//! There is one source, the struct: [`SettingsFile::sections`] walks its JSON schema, which
//! `schemars` derives, and [`SettingsFile::find`] and [`markdown`] show what it finds.
//! `docs/configuration.md` is the page that [`markdown`] writes; a test fails where they differ, or
//! where a key has no description.

mod file;
mod markdown;
mod schema;
mod settings_file;

pub use file::commented;
pub use markdown::markdown;
pub use schema::{Choice, Key, Section};
pub use settings_file::{SettingsFile, wrapped};

#[cfg(test)]
mod tests;
