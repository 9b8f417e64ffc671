//! What each key of a configuration means: its type, default, values and presets, read from the doc comments and
//! serde attributes of the structs that hold it.
//!
//! There is one source, the struct: [`SettingsFile::sections`] walks its JSON schema, which `schemars` derives, and
//! [`SettingsFile::find`] and [`markdown`] show what it finds. `docs/configuration.md` is the page that
//! [`markdown`] writes; a test fails where they differ, or where a key has no description.

mod markdown;
mod schema;

use burnformer_infer::{GENERATION_FILE, SearchSettings};
use serde::Serialize;
use serde_json::Value;

pub use markdown::markdown;

use super::layers::nearest;
use super::{TrainConfig, preset_names};
use crate::origin;

/// A file that holds settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFile {
    /// The TOML file of a training run, a [`TrainConfig`].
    Training,
    /// `generation.json` of a model directory, a [`SearchSettings`].
    Generation,
}

/// A table of settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its path, such as `tokenizer.train`; empty for the settings outside of any table.
    pub path: String,
    /// What it holds.
    pub description: String,
    /// Its keys, in the order of the struct.
    pub keys: Vec<Key>,
}

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its path, such as `tokenizer.train.vocab_size`.
    pub path: String,
    /// Its type in words: integer, number, boolean, string, list of strings.
    pub kind: String,
    /// The value of a file that leaves it out, as the file would write it.
    pub default: Option<Value>,
    /// What it means, in paragraphs.
    pub description: String,
    /// What it can be, if it is one of a few values.
    pub choices: Vec<Choice>,
    /// The presets with another value than the default, and those values.
    pub presets: Vec<(&'static str, Value)>,
    /// Whether a run that is resumed must have the value it began with.
    pub fixed: bool,
}

impl Key {
    /// The default as the file would write it.
    pub fn default_text(&self) -> String {
        self.default.as_ref().map_or_else(|| "none".into(), Value::to_string)
    }
}

/// One of the values that a setting can have.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The value, as the file writes it.
    pub value: String,
    /// What it stands for.
    pub description: String,
}

impl SettingsFile {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Training, Self::Generation];

    /// What it is called where users read about it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "the configuration of a training run",
            Self::Generation => GENERATION_FILE,
        }
    }

    /// Its tables with their keys, in the order of the structs.
    pub fn sections(self) -> Vec<Section> {
        match self {
            Self::Training => {
                let mut sections = schema::sections::<TrainConfig>();
                let presets = presets();
                for key in sections.iter_mut().flat_map(|section| &mut section.keys) {
                    key.presets = differing(key, &presets);
                    key.fixed = origin::is_fixed(&key.path);
                }
                sections
            }
            Self::Generation => schema::sections::<SearchSettings>(),
        }
    }

    /// The sections with the keys that `name` means: a key or a table by its path, or every key whose last part
    /// is `name`.
    ///
    /// # Errors
    /// The path that is most like `name`, if one is near.
    pub fn find(self, name: &str) -> Result<Vec<Section>, Option<String>> {
        let sections = self.sections();
        let below = format!("{name}.");
        let tables = sections.iter().filter(|s| s.path == name || s.path.starts_with(&below));
        let tables: Vec<Section> = tables.cloned().collect();
        if !name.is_empty() && !tables.is_empty() {
            return Ok(tables);
        }
        let found =
            [keys(&sections, |path| path == name), keys(&sections, |path| last(path) == name)];
        if let Some(found) = found.into_iter().find(|found| !found.is_empty()) {
            return Ok(found);
        }
        let keys = sections.iter().flat_map(|section| &section.keys).map(|key| key.path.as_str());
        Err(nearest(name, keys.chain(sections.iter().map(|section| section.path.as_str()))))
    }
}

/// `sections` with only the keys whose path is `wanted`.
fn keys(sections: &[Section], wanted: impl Fn(&str) -> bool) -> Vec<Section> {
    let only = sections.iter().cloned().map(|mut section| {
        section.keys.retain(|key| wanted(&key.path));
        section
    });
    only.filter(|section| !section.keys.is_empty()).collect()
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// Every preset by name, resolved.
fn presets() -> Vec<(&'static str, Value)> {
    let resolved = |name| TrainConfig::resolve(Some(name), None, &[]).expect("presets are valid");
    preset_names().into_iter().map(|name| (name, json(&resolved(name)))).collect()
}

fn json(settings: &impl Serialize) -> Value {
    serde_json::to_value(settings).expect("settings are plain data")
}

fn differing(key: &Key, presets: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let own = presets.iter().map(|(name, whole)| (*name, at(whole, &key.path).clone()));
    own.filter(|(_, value)| Some(value) != key.default.as_ref()).collect()
}

/// The value at a dotted path; null if there is none.
fn at<'a>(whole: &'a Value, path: &str) -> &'a Value {
    whole.pointer(&format!("/{}", path.replace('.', "/"))).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests;
