//! The meaning of each key of a configuration: its type, default, values and presets, read from the
//! doc comments and serde attributes of the structs that hold it.
//!
//! There is one source, the struct: [`SettingsFile::sections`] walks its JSON schema, which
//! `schemars` derives, and [`SettingsFile::find`] shows what it finds. A test writes
//! `docs/configuration.md` from it, and fails where they differ, or where a key has no description.

pub(super) mod schema;
mod settings_file;

pub use schema::{Choice, Key, Section};
pub use settings_file::{SettingsFile, commented, wrapped};

#[cfg(test)]
mod tests;
