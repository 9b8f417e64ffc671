//! Parsers of option values.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use burnformer_core::{ComputeType, Precision};
use burnformer_files::{FileKind, read_whole};
use burnformer_interop::Format;
use burnformer_interop::hub::ModelName;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};

use crate::output::{NoModel, note};
use crate::{embedded, named};

/// Parses the `name` of one of `all`.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = T>,
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<T> = all.into_iter().collect();
    let names = PossibleValuesParser::new(all.iter().map(|one| name(*one)));
    names.map(move |given: String| {
        let value = all.iter().copied().find(|one| name(*one) == given);
        value.expect("one of the names above")
    })
}

/// Parses the name of a precision.
pub fn precision() -> impl TypedValueParser<Value = Precision> {
    one_of(Precision::ALL, Precision::name)
}

/// Parses the name of a compute type.
pub fn compute_type() -> impl TypedValueParser<Value = ComputeType> {
    one_of(ComputeType::ALL, ComputeType::name)
}

/// Parses a model or run folder, the name of an embedded model, or a name such as `hf:OWNER/NAME`.
/// Embedded models are unpacked, and named models are fetched.
pub fn model() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|name| named_model(&name))
}

/// Parses as [`model`] does, and returns the given name together with the folder.
pub fn model_with_name() -> impl TypedValueParser<Value = (PathBuf, PathBuf)> {
    PathBufValueParser::new().try_map(|name| named_model(&name).map(|folder| (name, folder)))
}

/// Returns the model directory `name` as [`model_dir`] does, with the error type of command-line
/// parsers.
///
/// # Errors
/// Returns [`NoModel`] with the error of [`model_dir`].
pub fn named_model(name: &Path) -> Result<PathBuf, NoModel> {
    let is_fetched = name
        .to_str()
        .and_then(ModelName::parse)
        .is_some_and(|name| name.is_ok());
    model_dir(name).map_err(|cause| NoModel { cause, is_fetched })
}

/// Returns the model directory `name`: the folder of a model or of a run, an embedded model, or a
/// model to fetch.
///
/// # Errors
/// Returns an error if the folder contains a model of another system (with the command that
/// converts it), if an embedded model cannot be unpacked, or if a model cannot be fetched or read.
pub fn model_dir(name: &Path) -> Result<PathBuf> {
    if let Some(name) = name.to_str().and_then(ModelName::parse) {
        return named::model(&name?, &|| true);
    }
    let dir = model_of_run(embedded::model_dir(name)?);
    if !dir.join("manifest.json").exists()
        && let Ok(format) = Format::find(&dir)
        && (format != Format::HuggingFace || names_a_type(&dir))
    {
        let name_of_dir = dir.file_name().unwrap_or_default().display();
        let name = dir.display();
        bail!(
            "this is a model of the format {format}, which has to be converted first: \
             `burnformer import {name} --out models/{name_of_dir}`, and then models/{name_of_dir} takes its place"
        );
    }
    Ok(dir)
}

/// Returns whether the `config.json` of `dir` has the key `model_type` of Hugging Face. Model
/// directories of this toolkit never have it, even if damaged.
fn names_a_type(dir: &Path) -> bool {
    let text = read_whole(&dir.join("config.json"), FileKind::SETTINGS).unwrap_or_default();
    String::from_utf8_lossy(&text).contains("\"model_type\"")
}

/// The model of a run if `folder` is a run directory: `best/`, or `last/` before there is a best
/// one. Prints which one it is. Other folders are returned unchanged.
fn model_of_run(folder: PathBuf) -> PathBuf {
    if is_model(&folder) {
        return folder;
    }
    let mut models = ["best", "last"].map(|name| folder.join(name)).into_iter();
    match models.find(|model| is_model(model)) {
        Some(model) => {
            note(format_args!("model: {}", model.display()));
            model
        }
        None => folder,
    }
}

fn is_model(folder: &Path) -> bool {
    folder.join("manifest.json").exists()
}

/// Parses the path of a text, or the name of an embedded text, which is unpacked.
pub fn text() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|name| embedded::text_file(&name))
}
