//! The configuration reference as a page of the guide.

use serde_json::Value;

use super::super::schema::{Choice, Key, Section};
use super::super::settings_file::{SettingsFile, at, presets, wrapped};
use crate::config::presets::DEFAULT_PRESET;

/// The largest number of columns of a line of prose.
const WIDTH: usize = 100;
/// The text above the keys.
const OPENING: &str = include_str!("opening.md");
/// The text above the keys of `generation.json`.
const GENERATION: &str = include_str!("generation.md");

/// The page `docs/configuration.md`: how a configuration is put together, the presets, and every
/// key.
pub(super) fn markdown() -> String {
    let training = SettingsFile::Training.sections();
    let mut page = OPENING.replace("{default}", DEFAULT_PRESET);
    page += &presets_table(&training);
    for section in &training {
        let description = wrapped(&section.description, "", WIDTH);
        page += &format!("\n## `[{}]`\n\n{description}\n\n", section.path);
        page.extend(section.keys.iter().map(entry));
    }
    page.push('\n');
    page += GENERATION;
    page.push('\n');
    let generation = SettingsFile::Generation.sections();
    page.extend(
        generation
            .iter()
            .flat_map(|section| &section.keys)
            .map(entry),
    );
    page
}

/// A row for each key that some preset sets, a column for each preset.
fn presets_table(sections: &[Section]) -> String {
    let presets = presets();
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = presets.iter().map(|(name, _)| format!("`{name}`"));
    let mut table = row(["key".into(), "default".into()]
        .into_iter()
        .chain(names)
        .collect());
    table += &row(vec!["---".into(); presets.len() + 2]);
    let keys = sections.iter().flat_map(|section| &section.keys);
    for key in keys.filter(|key| !key.presets.is_empty()) {
        let link = format!("[`{}`](#{})", key.path, anchor(&key.path));
        let values = presets.iter().map(|(_, whole)| at(whole, &key.path));
        let bold = |value: &Value| {
            if Some(value) == key.default.as_ref() {
                value.to_string()
            } else {
                format!("**{value}**")
            }
        };
        let first = [link, key.default_text()];
        table += &row(first.into_iter().chain(values.map(bold)).collect());
    }
    table
}

/// A key as an item of a list. The values of presets stand in the table of presets alone.
fn entry(key: &Key) -> String {
    let fixed = if key.fixed {
        ", *fixed once a run has begun*"
    } else {
        ""
    };
    let anchor = anchor(&key.path);
    let default = key.default_text();
    let text = format!(
        "<a id=\"{anchor}\"></a>**`{}`** ({}, default `{default}`{fixed}): {}",
        key.path, key.kind, key.description
    );
    let choice =
        |choice: &Choice| item("  ", &format!("`{}`: {}", choice.value, choice.description));
    item("", &text) + &key.choices.iter().map(choice).collect::<String>()
}

/// `text` as an item of a list that begins in the column of `indent`.
fn item(indent: &str, text: &str) -> String {
    let lines = wrapped(text, &format!("{indent}  "), WIDTH);
    format!("{indent}- {}\n", lines.trim())
}

/// The name under which a link finds the key at `path`.
fn anchor(path: &str) -> String {
    path.replace('.', "")
}
