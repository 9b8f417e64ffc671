//! A preset as a file in which every key is explained.

use burnformer_infer::GenerationSettings;
use serde::Serialize;
use serde_json::Value;

use super::schema::{self, Key, Section};
use crate::config::error::Result;
use crate::config::peers::hint;
use crate::config::presets::{preset_description, preset_names};
use crate::config::train_config::{TrainConfig, is_fixed};

/// A file that holds settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFile {
    /// The TOML file of a training run, a [`TrainConfig`].
    Training,
    /// `generation.json` of a model directory, a [`GenerationSettings`].
    Generation,
}

impl SettingsFile {
    /// All files that hold settings.
    pub const ALL: [Self; 2] = [Self::Training, Self::Generation];

    /// The tables of the file with their keys, in the order of the structs.
    pub fn sections(self) -> Vec<Section> {
        match self {
            Self::Training => {
                let mut sections = schema::sections::<TrainConfig>();
                let presets = presets();
                for key in sections.iter_mut().flat_map(|section| &mut section.keys) {
                    key.presets = differing(key, &presets);
                    key.fixed = is_fixed(&key.path);
                }
                sections
            }
            Self::Generation => schema::sections::<GenerationSettings>(),
        }
    }

    /// Finds the tables and keys named `name`: a key or a table by its path, or every key with the
    /// last part `name`.
    ///
    /// # Errors
    /// Returns a hint that completes an error message. The hint is empty if no key has a similar
    /// name.
    pub fn find(self, name: &str) -> Result<Vec<Section>, String> {
        let sections = self.sections();
        let below = format!("{name}.");
        let tables = sections
            .iter()
            .filter(|s| s.path == name || s.path.starts_with(&below));
        let tables: Vec<Section> = tables.cloned().collect();
        if !name.is_empty() && !tables.is_empty() {
            return Ok(tables);
        }
        let found = [
            keys(&sections, |path| path == name),
            keys(&sections, |path| last(path) == name),
        ];
        if let Some(found) = found.into_iter().find(|found| !found.is_empty()) {
            return Ok(found);
        }
        let keys = sections
            .iter()
            .flat_map(|section| &section.keys)
            .map(|key| key.path.as_str());
        let tables = sections.iter().map(|section| section.path.as_str());
        Err(hint(name, &keys.chain(tables).collect::<Vec<_>>()))
    }
}

/// Wraps `text` into lines of at most `width` columns that begin with `prefix`. No line begins with
/// a word that is a list marker or a heading in Markdown.
pub fn wrapped(text: &str, prefix: &str, width: usize) -> String {
    let mut words = Vec::<String>::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if word.starts_with(['-', '+', '*', '#', '>', '|']) => {
                *last += &format!(" {word}");
            }
            _ => words.push(word.into()),
        }
    }
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines.last_mut().expect("at least one line");
        if line.chars().count() + 1 + word.chars().count() > width - prefix.len() {
            lines.push(word);
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += &word;
        }
    }
    lines
        .iter()
        .map(|line| format!("{prefix}{line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// `sections` with only the `wanted` keys.
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
pub(super) fn presets() -> Vec<(&'static str, Value)> {
    preset_names()
        .into_iter()
        .map(|name| {
            let config = TrainConfig::resolve(Some(name), None, &[]).expect("presets are valid");
            (name, json(&config))
        })
        .collect()
}

pub(super) fn json(settings: &impl Serialize) -> Value {
    serde_json::to_value(settings).expect("settings are plain data")
}

fn differing(key: &Key, presets: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let values = presets
        .iter()
        .map(|(name, whole)| (*name, at(whole, &key.path).clone()));
    values
        .filter(|(_, value)| Some(value) != key.default.as_ref())
        .collect()
}

/// The value at a dotted path; null if there is none.
pub(super) fn at<'a>(whole: &'a Value, path: &str) -> &'a Value {
    whole
        .pointer(&format!("/{}", path.replace('.', "/")))
        .unwrap_or(&Value::Null)
}

/// The width of the comments, in columns.
const WIDTH: usize = 100;

/// Writes a configuration file that starts from `preset` and changes nothing. Each key is commented
/// out, with its meaning and the value of the preset.
///
/// # Errors
/// Returns [`ConfigFileError::UnknownPreset`](crate::ConfigFileError::UnknownPreset) if there is no
/// such preset.
pub fn commented(preset: &str) -> Result<String> {
    let values = json(&TrainConfig::resolve(Some(preset), None, &[])?);
    let mut text = wrapped(&preset_description(preset), "# ", WIDTH);
    text += "\n# Every key has the value of the preset. To change one, remove the # before it.\n";
    text += &format!("preset = \"{preset}\"\n");
    for Section { path, keys, .. } in SettingsFile::Training.sections() {
        // A table that the preset leaves out stays out.
        let mark = if at(&values, &path).is_null() {
            "#"
        } else {
            ""
        };
        text += &format!("\n{mark}[{path}]\n");
        for key in keys {
            text += &format!("\n{}\n", wrapped(&key.description, "# ", WIDTH));
            let name = key
                .path
                .strip_prefix(&format!("{path}."))
                .unwrap_or(&key.path);
            text += &match at(&values, &key.path) {
                Value::Null if mark.is_empty() => format!("# ({name} is not set)\n"),
                Value::Null => format!("#{name} = {}\n", key.default_text()),
                value => format!("#{name} = {value}\n"),
            };
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset_names;

    /// The configuration that `text` describes.
    fn read(text: &str) -> TrainConfig {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("burnformer.toml");
        std::fs::write(&path, text).unwrap();
        TrainConfig::resolve(None, Some(&path), &[]).unwrap()
    }

    #[test]
    fn the_file_changes_nothing_with_its_keys_in_comments_or_without() {
        for preset in preset_names() {
            let expected = TrainConfig::resolve(Some(preset), None, &[]).unwrap();
            let text = commented(preset).unwrap();
            assert_eq!(read(&text), expected, "{preset}");
            let mut is_left_out = false;
            let open = text.lines().map(|line| {
                is_left_out = !line.starts_with('[') && (is_left_out || line.starts_with("#["));
                match line.strip_prefix('#') {
                    Some(key) if !key.starts_with(' ') && !is_left_out => key,
                    _ => line,
                }
            });
            let open: Vec<&str> = open.collect();
            assert_eq!(
                read(&open.join("\n")),
                expected,
                "{preset}, without comments"
            );
            assert!(
                text.lines()
                    .all(|line| line.chars().count() <= WIDTH || !line.starts_with("# "))
            );
        }
        assert!(commented("huge").is_err());
    }
}
