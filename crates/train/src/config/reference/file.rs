//! A preset as a file in which every key is explained.

use serde_json::Value;

use super::schema::Section;
use super::settings_file::{SettingsFile, at, json, wrapped};
use crate::config::error::ConfigFileError;
use crate::config::presets::preset_description;
use crate::config::train_config::TrainConfig;

/// The width of the comments, in columns.
const WIDTH: usize = 100;

/// A configuration file that starts from `preset` and changes nothing: each key stands in a
/// comment, with its meaning and the value of the preset.
///
/// # Errors
/// [`ConfigFileError::UnknownPreset`].
pub fn commented(preset: &str) -> Result<String, ConfigFileError> {
    let values = json(&TrainConfig::resolve(Some(preset), None, &[])?);
    let mut text = wrapped(&preset_description(preset), "# ", WIDTH);
    text += "\n# Every key has the value of the preset. To change one, remove the # before it.\n";
    text += &format!("preset = \"{preset}\"\n");
    for Section { path, keys, .. } in SettingsFile::Training.sections() {
        // A table that the preset leaves out stays out.
        let mark = if at(&values, &path).is_null() { "#" } else { "" };
        text += &format!("\n{mark}[{path}]\n");
        for key in keys {
            text += &format!("\n{}\n", wrapped(&key.description, "# ", WIDTH));
            let name = key.path.strip_prefix(&format!("{path}.")).unwrap_or(&key.path);
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
            let open = |line| {
                is_left_out =
                    !str::starts_with(line, "[") && (is_left_out || line.starts_with("#["));
                match line.strip_prefix('#') {
                    Some(key) if !key.starts_with(' ') && !is_left_out => key,
                    _ => line,
                }
            };
            let open: Vec<&str> = text.lines().map(open).collect();
            assert_eq!(read(&open.join("\n")), expected, "{preset}, without comments");
            assert!(
                text.lines().all(|line| line.chars().count() <= WIDTH || !line.starts_with("# "))
            );
        }
        assert!(commented("huge").is_err());
    }
}
