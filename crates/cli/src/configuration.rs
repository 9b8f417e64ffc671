//! The configuration of a training run, as the command line describes it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_data::CorpusPaths;
use burnformer_train::TrainConfig;
use burnformer_train::config::{ConfigFileError, DataSettings, corpus_paths};

use crate::output::wrong_usage;

/// The configuration of `preset`, `file` and the `settings` of `--set`, for a run that may resume
/// in the folder `run`.
///
/// # Errors
/// Returns the errors of [`TrainConfig::resolve_in`]. If the file alone is valid, the command line
/// is at fault, and the error is a usage error.
pub fn resolve(
    preset: Option<&str>,
    file: Option<&Path>,
    settings: &[String],
    run: Option<&Path>,
) -> Result<TrainConfig> {
    let resolved = TrainConfig::resolve_in(preset, file, settings, run);
    resolved.map_err(|error| match error {
        ConfigFileError::From { .. } => error.into(),
        _ if file
            .is_none_or(|file| TrainConfig::resolve_in(None, Some(file), &[], run).is_ok()) =>
        {
            wrong_usage(error)
        }
        _ => error.into(),
    })
}

/// Replaces the texts of `data`, in its order, with the texts on the command line.
///
/// # Errors
/// Returns an error if an option names too many files.
pub fn set_texts<'a>(
    data: &mut DataSettings,
    given: impl IntoIterator<Item = (&'static str, &'a Vec<PathBuf>)>,
) -> Result<()> {
    for ((_, names), (option, given)) in data.texts_mut().into_iter().zip(given) {
        if !given.is_empty() {
            corpus(option, given)?;
            names.clone_from(given);
        }
    }
    Ok(())
}

/// The one or two files of `option` as a corpus.
///
/// # Errors
/// Returns an error of usage for any other number of files.
pub(crate) fn corpus(option: &'static str, paths: &[PathBuf]) -> Result<CorpusPaths> {
    corpus_paths(option, paths).map_err(wrong_usage)
}
