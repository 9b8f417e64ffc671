//! The arguments of `train` as a plan.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_train::config::MixedText;
use burnformer_train::{RunMode, StartModel, TrainConfig};
use serde_json::json;

use super::args::Args;
use super::dry_run::DryRun;
use super::folder;
use crate::configuration::{resolve, set_text};
use crate::embedded;
use crate::output::wrong_usage;
use crate::texts::Unnamed;

/// A run as its arguments describe it. No text is read yet.
pub(super) struct Plan {
    /// The folder of the run.
    pub folder: PathBuf,
    /// Whether the run is new or resumed.
    pub mode: RunMode,
    /// The folder from which relative names of texts start.
    pub texts_folder: PathBuf,
    /// The resolved configuration.
    pub config: TrainConfig,
    /// The texts that come through pipes.
    pub unnamed: Unnamed,
    /// The model from which the run starts.
    pub start: Option<StartModel>,
    /// What `--dry-run` prints.
    pub dry_run: Option<DryRun>,
}

impl Plan {
    /// Reads the configuration file and the start model.
    ///
    /// # Errors
    /// Returns an error if a setting is wrong, or if a file or the start model cannot be read.
    pub fn of(args: &Args) -> Result<Self> {
        let folder = run_folder(args)?;
        let file = configuration_file(args, &folder);
        let mut config = configuration(args, file.as_deref(), &folder)?;
        let unnamed = Unnamed::take(&mut config.data)?;
        let start = StartModel::of_run(&config, args.run_to_resume(&folder))?;
        let dry_run = args
            .dry_run
            .then(|| DryRun::new(&config, start.as_ref()))
            .transpose()?;
        let texts_folder = file.as_deref().and_then(Path::parent).unwrap_or(&folder);
        Ok(Self {
            texts_folder: texts_folder.into(),
            mode: args.mode(),
            folder,
            config,
            unnamed,
            start,
            dry_run,
        })
    }
}

/// The folder `--out`, otherwise a folder under `runs` with the name of the preset or the
/// configuration file.
fn run_folder(args: &Args) -> Result<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let stem = args
        .config
        .as_ref()
        .and_then(|path| path.file_stem()?.to_str());
    folder::choose(
        Path::new("runs"),
        args.preset.as_deref().or(stem),
        args.mode(),
    )
}

/// The configuration file: the value of `--config`, otherwise the file of the resumed run.
fn configuration_file(args: &Args, folder: &Path) -> Option<PathBuf> {
    if args.config.is_some() {
        return args.config.clone();
    }
    let file = args.run_to_resume(folder)?.join("config.toml");
    file.exists().then_some(file)
}

/// The settings of `file`, overridden by the command line. The default text is the embedded corpus.
fn configuration(args: &Args, file: Option<&Path>, folder: &Path) -> Result<TrainConfig> {
    let max_memory = args
        .max_memory
        .map(|gb| format!("training.max_memory={gb:?}"));
    // A JSON string is also a TOML string.
    let from = args
        .from
        .as_ref()
        .map(|dir| format!("training.from={}", json!(dir.display().to_string())));
    let minutes = args
        .minutes
        .map(|minutes| format!("training.max_minutes={minutes:?}"));
    let given = [max_memory, minutes, from].into_iter().flatten();
    let settings: Vec<String> = args.set.iter().cloned().chain(given).collect();
    let run = args.run_to_resume(folder);
    let mut config = resolve(args.preset.as_deref(), file, &settings, run)?;
    set_text(&mut config.data.train, "--train", &args.train)?;
    set_text(&mut config.data.valid, "--valid", &args.valid)?;
    set_text(&mut config.data.test, "--test", &args.test)?;
    if !args.mix.is_empty() {
        // Each text is followed by its weight.
        let texts = args.mix.split_inclusive(|value| weight_in(value).is_some());
        config.data.mix = texts.map(mixed_text).collect::<Result<_>>()?;
    }
    if !args.languages.is_empty() {
        config.data.languages.clone_from(&args.languages);
    }
    config.data.check_languages().map_err(wrong_usage)?;
    embedded::fill(&mut config.data);
    Ok(config)
}

/// One or two texts and their weight.
fn mixed_text(values: &[PathBuf]) -> Result<MixedText> {
    let (last, train) = values.split_last().expect("no part of a split is empty");
    let weight = weight_in(last)
        .filter(|_| matches!(train.len(), 1 | 2))
        .ok_or_else(|| {
            wrong_usage(format_args!(
                "--mix … {}: give two files or one TSV file, and then a weight above 0, such as 2",
                last.display()
            ))
        })?;
    Ok(MixedText {
        train: train.to_vec(),
        weight,
    })
}

/// `value` as a weight, if it is one.
fn weight_in(value: &Path) -> Option<f64> {
    let weight = value.to_str()?.parse().ok();
    weight.filter(|weight: &f64| weight.is_finite() && *weight > 0.0)
}
