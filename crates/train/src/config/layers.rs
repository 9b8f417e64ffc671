//! A configuration from its layers: a preset, the user's file, and `--set`.

use std::path::{Path, PathBuf};

use burnformer_core::model_dir::{self, ModelDirProblem};
use burnformer_data::TokenizerSettings;
use toml::{Table, Value};

use super::document::{self, Document, Source, check_key, typed};
use super::error::{ConfigFileError, Result, nearest};
use super::model::ModelSettings;
use super::presets::{DEFAULT_PRESET, PRESETS, preset_names};
use super::train_config::TrainConfig;

/// The folder of the start model's copy in a run.
pub(crate) const START: &str = "start";

/// The copy of the start model in the folder `run`, if there is one.
pub(crate) fn start_model_in(run: &Path) -> Option<PathBuf> {
    let start = run.join(START);
    (start.is_dir() && run.join("config.toml").exists()).then_some(start)
}

impl TrainConfig {
    /// Builds a configuration from the preset `preset`, the TOML file `file` and `key.path=value`
    /// settings. Each of these layers overrides the one before. Without `preset`, the file's
    /// `preset` key names the preset; without either, it is [`DEFAULT_PRESET`]. If `training.from`
    /// names a model directory, the section `model` is read from it.
    ///
    /// # Errors
    /// Returns a [`ConfigFileError`] that names the file or setting, the key, and a remedy.
    pub fn resolve(preset: Option<&str>, file: Option<&Path>, settings: &[String]) -> Result<Self> {
        Self::resolve_in(preset, file, settings, None)
    }

    /// Resolves a configuration like [`resolve`](Self::resolve), for a run that may continue in the
    /// folder `run`. If the folder holds a copy of the start model, it is read instead of
    /// `training.from`.
    ///
    /// # Errors
    /// Returns the errors of [`resolve`](Self::resolve).
    pub fn resolve_in(
        preset: Option<&str>,
        file: Option<&Path>,
        settings: &[String],
        run: Option<&Path>,
    ) -> Result<Self> {
        let file_document = file.map(document::read).transpose()?.unwrap_or_default();
        let Document {
            preset: named,
            table: mut given,
        } = file_document;
        // A whole configuration, such as a run's config.toml, replaces every key of the preset
        // under it.
        let named = preset.or(named.as_deref());
        let mut merged = preset_table(named.unwrap_or(DEFAULT_PRESET))?;
        for setting in settings {
            let table = setting_table(setting)?;
            let name = format!("--set {setting}");
            typed(
                Value::Table(table.clone()),
                &Source {
                    name: &name,
                    text: "",
                },
            )?;
            merge(&mut given, table);
        }
        merge(&mut merged, given.clone());
        let mut config = typed(
            Value::Table(merged),
            &Source {
                name: "configuration",
                text: "",
            },
        )?;
        if !config.training.from.as_os_str().is_empty() {
            let start_copy = run.and_then(start_model_in);
            let dir = start_copy.as_deref().unwrap_or(&config.training.from);
            config.model = model_of(dir, given.get("model").and_then(Value::as_table))?;
            // An older version wrote the settings of its preset into the run's folder.
            if start_copy.is_none() {
                refuse_tokenizer(&given, dir)?;
            }
            config.tokenizer.train = TokenizerSettings::default();
        }
        config.validate()?;
        Ok(config)
    }
}

/// The section `[model]` of a run that starts from the model directory `dir`, where the user gives
/// the keys `given`.
fn model_of(dir: &Path, given: Option<&Table>) -> Result<ModelSettings> {
    let shape = model_dir::load_config(dir);
    let shape = shape.map_err(ConfigFileError::From)?;
    let settings = ModelSettings::of(shape.as_ref()).ok_or_else(|| {
        let problem = ModelDirProblem::Architecture(shape.architecture().into());
        ConfigFileError::From(problem.at(dir.join("config.json")))
    })?;
    settings.with(given.unwrap_or(&Table::new()), dir)
}

/// Refuses settings of a new tokeniser among `given` in a run that starts from the model in `dir`.
/// The defaults are accepted: such a run has them in its `config.toml`.
fn refuse_tokenizer(given: &Table, dir: &Path) -> Result<()> {
    let train = given.get("tokenizer").and_then(|table| table.get("train"));
    let default = Table::try_from(TokenizerSettings::default()).expect("settings are plain data");
    let changed = train
        .and_then(Value::as_table)
        .into_iter()
        .flatten()
        .find(|(key, value)| default.get(*key) != Some(value));
    changed.map_or(Ok(()), |(key, value)| {
        Err(ConfigFileError::OtherTokenizer {
            key: format!("tokenizer.train.{key}"),
            value: value.to_string(),
            dir: dir.into(),
        })
    })
}

fn preset_table(name: &str) -> Result<Table> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok(document::parse(&format!("preset {name}"), text)?.table),
        None => {
            let nearest = nearest(name, preset_names().into_iter());
            Err(ConfigFileError::UnknownPreset {
                name: name.into(),
                nearest,
            })
        }
    }
}

/// `a.b=c` as the table `{a = {b = c}}`; a value that is not valid TOML is taken as text.
fn setting_table(setting: &str) -> Result<Table> {
    let (key, text) = setting
        .split_once('=')
        .ok_or_else(|| ConfigFileError::Setting(setting.into()))?;
    let key = key.split('.').map(str::trim).collect::<Vec<_>>().join(".");
    if key.is_empty() {
        return Err(ConfigFileError::Setting(setting.into()));
    }
    // Checked first: a key with thousands of dots must not nest tables.
    check_key(&format!("--set {setting}"), &key)?;
    let value = format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("v"));
    let value = value.unwrap_or_else(|| Value::String(text.trim().into()));
    let nested = key.rsplit('.').fold(value, |value, part| {
        Value::Table(Table::from_iter([(part.to_string(), value)]))
    });
    match nested {
        Value::Table(table) => Ok(table),
        _ => Err(ConfigFileError::Setting(setting.into())),
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
