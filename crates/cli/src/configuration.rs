//! The configuration of a training run, as the command line describes it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_data::CorpusPaths;
use burnformer_train::TrainConfig;
use burnformer_train::config::{ConfigFileError, corpus_paths};

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

/// Replaces `text` of the configuration with the `files` that `option` names, if there are any.
///
/// # Errors
/// Returns an error if the option names too many files.
pub fn set_text(text: &mut Vec<PathBuf>, option: &'static str, files: &[PathBuf]) -> Result<()> {
    if !files.is_empty() {
        corpus(option, files)?;
        *text = files.to_vec();
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
