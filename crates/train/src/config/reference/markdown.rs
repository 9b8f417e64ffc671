//! The configuration reference as a page of the guide.

use serde_json::Value;

use super::schema::{Key, Section};
use super::settings_file::{SettingsFile, at, presets};
use crate::config::presets::DEFAULT_PRESET;

/// The text above the keys.
const OPENING: &str = include_str!("opening.md");
/// The text above the keys of `generation.json`.
const GENERATION: &str = include_str!("generation.md");

/// The page `docs/configuration.md`: how a configuration is put together, the presets, and every key.
pub fn markdown() -> String {
    let training = SettingsFile::Training.sections();
    let mut page = OPENING.replace("{default}", DEFAULT_PRESET);
    page += &presets_table(&training);
    for section in &training {
        page += &format!("\n## `[{}]`\n\n{}\n", section.path, section.description);
        page.extend(section.keys.iter().map(entry));
    }
    page.push('\n');
    page += GENERATION;
    let generation = SettingsFile::Generation.sections();
    page.extend(generation.iter().flat_map(|section| &section.keys).map(entry));
    page
}

/// A row for each key that some preset sets, a column for each preset.
fn presets_table(sections: &[Section]) -> String {
    let presets = presets();
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = presets.iter().map(|(name, _)| format!("`{name}`"));
    let mut table = row(["key".into(), "default".into()].into_iter().chain(names).collect());
    table += &row(vec!["---".into(); presets.len() + 2]);
    let keys = sections.iter().flat_map(|section| &section.keys);
    for key in keys.filter(|key| !key.presets.is_empty()) {
        let link = format!("[`{}`](#{})", key.path, key.path.replace('.', ""));
        let values = presets.iter().map(|(_, whole)| at(whole, &key.path));
        let bold = |value: &Value| match Some(value) == key.default.as_ref() {
            true => value.to_string(),
            false => format!("**{value}**"),
        };
        let first = [link, key.default_text()];
        table += &row(first.into_iter().chain(values.map(bold)).collect());
    }
    table
}

fn entry(key: &Key) -> String {
    let mut text = format!("\n### `{}`\n", key.path);
    text += &format!("*{}*, default `{}`", key.kind, key.default_text());
    for (preset, value) in &key.presets {
        text += &format!(", {preset} `{value}`");
    }
    if key.fixed {
        text += "; fixed once a run has begun";
    }
    text += &format!(". {}\n", key.description);
    if !key.choices.is_empty() {
        text.push('\n');
    }
    for choice in &key.choices {
        text += &format!("- `{}`: {}\n", choice.value, choice.description);
    }
    text
}
