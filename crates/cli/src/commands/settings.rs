//! `settings`: prints and changes the default settings of a model.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burnformer_infer::{GenerationSettings, SettingsError, load_settings};
use burnformer_train::checkpoint::set_generation;
use burnformer_train::config::reference::SettingsFile;
use serde_json::{Value, json};

use super::OneModel;
use crate::conversion::try_settings;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::new_model::at_final_place;
use crate::output::{note, print, wrong_usage};
use crate::{embedded, named};

/// Arguments of `settings`.
#[derive(clap::Args)]
#[command(after_help = include_str!("settings.txt"))]
pub struct Args {
    #[command(flatten)]
    model: OneModel,
    /// Change one setting in the model's generation.json, for example --set beam_size=6; may be
    /// given several times. The model has to translate with it first
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default().reads_models([self.model.dir()?]))
    }
}

/// Changes the settings given by `--set`, then prints all settings.
///
/// # Errors
/// Returns an error if the settings cannot be read, a setting does not exist or is out of its
/// range, or they cannot be written.
pub fn run(args: Args) -> Result<()> {
    let dir = args.model.dir()?;
    let mut settings = load_settings(dir)?;
    if !args.set.is_empty() {
        changeable(std::slice::from_ref(dir))?;
        settings = args
            .set
            .iter()
            .try_fold(settings, |settings, set| changed(&settings, set))?;
        settings.validate().map_err(wrong_usage)?;
        let name = dir.display();
        try_settings(dir, settings.clone())
            .with_context(|| format!("{name}: cannot translate so, and stays as it is"))?;
        set_generation(dir, &settings).map_err(|error| at_final_place(error.into(), dir))?;
        note(format_args!("{name}: changed"));
    }
    let all = json!(settings);
    if args.json {
        return print(serde_json::to_string_pretty(&all)?);
    }
    let lines = all
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, it)| format!("{key} = {it}"));
    print(lines.collect::<Vec<_>>().join("\n"))
}

/// `settings` with the change `set` of the form `KEY=VALUE`. A value that is not JSON is a string.
fn changed(settings: &GenerationSettings, set: &str) -> Result<GenerationSettings> {
    let (key, text) = set.split_once('=').ok_or_else(|| {
        wrong_usage(format_args!(
            "--set {set}: write KEY=VALUE, such as beam_size=6"
        ))
    })?;
    let path = path_of(key.trim(), &json!(settings))
        .map_err(|hint| wrong_usage(format_args!("--set {set}: {hint}")))?;
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.trim()));
    let mut settings = settings.clone();
    settings.set(&path, value).map_err(|error| {
        let key = path.split('.').next().unwrap_or_default();
        let cause = match error {
            SettingsError::Key { cause, .. } => cause,
            error => error.to_string(),
        };
        wrong_usage(format_args!(
            "--set {set}: {cause}; `burnformer config {key}` explains it"
        ))
    })?;
    Ok(settings)
}

/// The path of the setting `key` in `all` settings.
///
/// # Errors
/// Returns an error if there is no such setting, with the nearest name.
fn path_of(key: &str, all: &Value) -> Result<String, String> {
    if all.get(key).is_some() || key.starts_with("length_penalty.") {
        return Ok(key.into());
    }
    match SettingsFile::Generation.find(key) {
        Ok(tables) if tables.iter().map(|table| table.keys.len()).sum::<usize>() == 1 => {
            Ok(tables[0].keys[0].path.clone())
        }
        found => Err(format!(
            "no setting is named \"{key}\"{}; `burnformer settings MODEL` lists all",
            found.err().unwrap_or_default()
        )),
    }
}

/// Returns the only model in `models` if its settings can be changed.
///
/// # Errors
/// Returns an error if there are several models, or the settings of the model are not in a file.
pub fn changeable(models: &[PathBuf]) -> Result<&Path> {
    let [model] = models else {
        bail!(
            "the settings of one model can be changed, not of {}; name one",
            models.len()
        )
    };
    let name = model.display();
    let shared = embedded::is_unpacked(model);
    ensure!(
        !shared && !model.starts_with(named::folder()),
        "{name}: is a model inside the program, or a fetched one, which all commands share; change a copy, \
         `cp -r {name} my-model`, and name my-model"
    );
    check_no_folders(model)?;
    Ok(model)
}

/// Refuses to replace a model directory with folders in it, because they would be lost.
///
/// # Errors
/// Returns an error if `dir` holds a folder or cannot be read.
pub fn check_no_folders(model: &Path) -> Result<()> {
    let name = model.display();
    let entries = fs::read_dir(model).with_context(|| name.to_string())?;
    ensure!(
        !entries.flatten().any(|entry| entry.path().is_dir()),
        "{name}: would be replaced as a whole, and it holds folders beside the model; name a copy of its files"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use burnformer_infer::{LengthPenalty, Sampling};

    use super::*;

    fn changed_by(set: &str) -> Result<GenerationSettings, String> {
        changed(&GenerationSettings::default(), set).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_takes_the_value_that_it_has() {
        let all = json!(GenerationSettings::default());
        for (key, value) in all.as_object().unwrap() {
            assert_eq!(
                changed_by(&format!("{key}={value}")),
                Ok(GenerationSettings::default())
            );
        }
    }

    #[test]
    fn penalties_replace_each_other_and_tables_grow() {
        for (set, penalty) in [
            ("length_penalty.gnmt=1.2", LengthPenalty::Gnmt(1.2)),
            ("length_penalty.power=1", LengthPenalty::Power(1.0)),
            ("length_penalty=average", LengthPenalty::Average),
            ("length_penalty={\"gnmt\": 0}", LengthPenalty::Gnmt(0.0)),
        ] {
            assert_eq!(
                changed_by(set).unwrap().search.length_penalty,
                penalty,
                "{set}"
            );
        }
        for set in ["sampling.top_k=5", "top_k=5", "sampling={\"top_k\": 5}"] {
            let sampling = Some(Sampling {
                top_k: 5,
                ..Sampling::default()
            });
            assert_eq!(changed_by(set).unwrap().search.sampling, sampling, "{set}");
        }
        assert_eq!(
            changed_by("max_length=null").unwrap().search.max_length,
            None
        );
    }

    #[test]
    fn a_typo_names_the_setting_and_the_remedy() {
        for (set, needle) in [
            ("beam_size", "KEY=VALUE"),
            ("beam_sise=6", "did you mean \"beam_size\""),
            ("num_beams=6", "here it is \"beam_size\""),
            ("alpha=1", "length_penalty.gnmt=0.6"),
            ("beam_size=six", "burnformer config beam_size"),
            ("length_penalty.gmnt=1", "gmnt"),
            ("sampling.topk=1", "here it is \"sampling.top_k\""),
        ] {
            let message = changed_by(set).unwrap_err();
            assert!(
                message.contains(needle) && message.contains(set),
                "{message}"
            );
        }
    }
}
