use std::path::{Path, PathBuf};

use burnformer_core::ConfigError;
use burnformer_core::model_dir::{self, ModelDirError};
use burnformer_data::DataError;
use toml::{Table, Value};

use super::document::{self, Document, one_line};
use super::{ModelSettings, TrainConfig};

/// The presets by name. Each lists only what differs from the defaults, which are those of the paper.
const PRESETS: [(&str, &str); 7] = [
    ("speedrun", include_str!("../../presets/speedrun.toml")),
    ("tiny", include_str!("../../presets/tiny.toml")),
    ("small", include_str!("../../presets/small.toml")),
    ("base", include_str!("../../presets/base.toml")),
    ("big", include_str!("../../presets/big.toml")),
    ("multi30k", include_str!("../../presets/multi30k.toml")),
    ("rnn", include_str!("../../presets/rnn.toml")),
];
/// The preset of a run if neither the command line nor the configuration file names one.
pub const DEFAULT_PRESET: &str = "speedrun";

/// A configuration that cannot be used.
#[derive(thiserror::Error)]
pub enum ConfigFileError {
    /// No preset has this name.
    #[error("no preset is named \"{name}\"{}; the presets are {}", suggestion(nearest), preset_names().join(", "))]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The nearest name, if one is near.
        nearest: Option<String>,
    },
    /// The file cannot be read.
    #[error("{}: {source}; check the path given to --config", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{place}: not valid TOML: {message}; every line is a [section] or key = value")]
    Syntax {
        /// The file, or the setting.
        place: String,
        /// What the parser said, with line and column.
        message: String,
    },
    /// A key that does not exist.
    #[error(
        "{place}: unknown key \"{key}\"{}; `burnformer config` lists every key",
        suggestion(nearest)
    )]
    UnknownKey {
        /// The file, or the setting.
        place: String,
        /// The key given, dotted.
        key: String,
        /// The nearest key, if one is near.
        nearest: Option<String>,
    },
    /// A value of the wrong type.
    #[error("{place}: {message}; `burnformer config KEY` explains a key and its type")]
    Type {
        /// The file, or the setting.
        place: String,
        /// Key, type found, type expected.
        message: String,
    },
    /// A setting that is not `key.path=value`.
    #[error("--set {setting}: expected key.path=value, such as --set model.d_model=256")]
    Setting {
        /// The setting given.
        setting: String,
    },
    /// A value out of its range.
    #[error("{key} is {value}; it must be {remedy}")]
    Value {
        /// The key, dotted.
        key: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        remedy: String,
    },
    /// A model that cannot be built.
    #[error("model.{source}")]
    Model {
        /// What is wrong.
        source: ConfigError,
    },
    /// Tokeniser settings that cannot be used.
    #[error("tokenizer.train.{source}")]
    Tokenizer {
        /// What is wrong.
        source: DataError,
    },
    /// A setting of the other architecture.
    #[error(
        "{key} is {value}, but a model of architecture \"{architecture}\" has no such part; leave the key out, \
         and start from a preset of that architecture (--preset, or `preset` in the file)"
    )]
    NoEffect {
        /// The key, dotted.
        key: String,
        /// Its value.
        value: String,
        /// The architecture.
        architecture: &'static str,
    },
    /// The model directory of `training.from` cannot be read.
    #[error("training.from (--from): {source}")]
    From {
        /// What is wrong.
        source: ModelDirError,
    },
    /// A setting that contradicts the model that the run starts from.
    #[error(
        "{key} is {value}, but the model in {} has {found}; leave the key out: the section [model] comes from \
         training.from (--from)",
        dir.display()
    )]
    OtherModel {
        /// The key, dotted.
        key: String,
        /// Its value.
        value: String,
        /// The model directory.
        dir: PathBuf,
        /// What its model has.
        found: String,
    },
    /// A pattern that names no parameter.
    #[error(
        "training.freeze: no parameter is named \"{pattern}\", and none begins so{}; `burnformer inspect` lists the \
         parameters of a model directory",
        suggestion(nearest)
    )]
    Freeze {
        /// The pattern.
        pattern: String,
        /// The nearest name, or beginning of one, if one is near.
        nearest: Option<String>,
    },
    /// A corpus of neither one nor two files.
    #[error("{key} names {found} files; give two (source, target) or one TSV")]
    Paths {
        /// The key, dotted.
        key: &'static str,
        /// How many paths were given.
        found: usize,
    },
}

/// The message: a program whose `main` returns the error prints its `Debug` form.
impl std::fmt::Debug for ConfigFileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default()
}

/// The names of the presets.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// What the preset `name` is for, in a sentence: the first paragraph of the comment at the top of its file. Empty if there is
/// no such preset.
pub fn preset_description(name: &str) -> String {
    let text = PRESETS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
    let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# ")).collect();
    lines.join(" ")
}

pub(super) fn resolve(
    preset: Option<&str>,
    file: Option<&Path>,
    settings: &[String],
    start: Option<&Path>,
) -> Result<TrainConfig, ConfigFileError> {
    let (named, user) = match file.map(document::read).transpose()? {
        Some(Document { preset, table }) => (preset, table),
        None => (None, Table::new()),
    };
    // A whole configuration, such as a run's config.toml, replaces every key of the preset under it.
    let named = preset.or(named.as_deref());
    let mut merged = preset_table(named.unwrap_or(DEFAULT_PRESET))?;
    let mut given = user;
    for setting in settings {
        let table = setting_table(setting)?;
        typed(&format!("--set {setting}"), &table)?;
        merge(&mut given, table);
    }
    merge(&mut merged, given.clone());
    let config = typed("configuration", &merged)?;
    if config.training.from.as_os_str().is_empty() {
        return Ok(config);
    }
    let dir = start.unwrap_or(&config.training.from);
    let model = model_of(dir, given.get("model").and_then(Value::as_table))?;
    Ok(TrainConfig { model, ..config })
}

/// The section `[model]` of a run that starts from the model directory `dir`, where the user gives the keys `given`.
fn model_of(dir: &Path, given: Option<&Table>) -> Result<ModelSettings, ConfigFileError> {
    let shape = model_dir::load_config(dir);
    let shape = shape.map_err(|source| ConfigFileError::From { source })?;
    ModelSettings::of(shape.as_ref()).with(given.unwrap_or(&Table::new()), dir)
}

fn preset_table(name: &str) -> Result<Table, ConfigFileError> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok(document::parse(&format!("preset {name}"), text)?.table),
        None => {
            let nearest = nearest(name, preset_names().into_iter());
            Err(ConfigFileError::UnknownPreset { name: name.into(), nearest })
        }
    }
}

/// `a.b=c` as the table `{a = {b = c}}`; what is no TOML value is taken as text.
fn setting_table(setting: &str) -> Result<Table, ConfigFileError> {
    let wrong = || ConfigFileError::Setting { setting: setting.into() };
    let (key, text) = setting.split_once('=').ok_or_else(wrong)?;
    let key = key.split('.').map(str::trim).collect::<Vec<_>>().join(".");
    if key.is_empty() {
        return Err(wrong());
    }
    // Checked before it is taken apart: a key of thousands of dots nests no tables.
    check_key(&format!("--set {setting}"), &key)?;
    let value = format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v"));
    let value = value.unwrap_or_else(|| Value::String(text.trim().into()));
    let nested = key
        .rsplit('.')
        .fold(value, |value, part| Value::Table(Table::from_iter([(part.to_string(), value)])));
    match nested {
        Value::Table(table) => Ok(table),
        _ => Err(wrong()),
    }
}

fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

fn typed(place: &str, table: &Table) -> Result<TrainConfig, ConfigFileError> {
    Value::Table(table.clone()).try_into().map_err(|e: toml::de::Error| ConfigFileError::Type {
        place: place.into(),
        message: one_line(&e),
    })
}

/// Every key that exists, dotted, sections included.
pub(super) fn known_keys() -> Vec<String> {
    fn walk(prefix: &str, table: &Table, keys: &mut Vec<String>) {
        for (key, value) in table {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            if let Value::Table(inner) = value {
                walk(&path, inner, keys);
            }
            keys.push(path);
        }
    }
    let table = Table::try_from(TrainConfig::default()).expect("a configuration is plain data");
    let mut keys = Vec::new();
    walk("", &table, &mut keys);
    keys
}

fn check_key(place: &str, key: &str) -> Result<(), ConfigFileError> {
    let known = known_keys();
    if known.iter().any(|name| name == key) {
        return Ok(());
    }
    let nearest = nearest(key, known.iter().map(String::as_str));
    Err(ConfigFileError::UnknownKey { place: place.into(), key: key.into(), nearest })
}

/// The name most like `name`: a right last part in the wrong section counts as near.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    // Nothing that long is a misspelt key, and the comparison takes time with its square.
    if name.len() > 100 {
        return None;
    }
    let last = |s: &str| s.rsplit('.').next().unwrap_or_default().to_string();
    let likeness = |known: &str| {
        let whole = strsim::jaro_winkler(name, known);
        let part = strsim::jaro_winkler(&last(name), &last(known));
        whole.max(part)
    };
    let best = names.map(|known| (likeness(known), known)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then(|| best.1.to_string())
}
