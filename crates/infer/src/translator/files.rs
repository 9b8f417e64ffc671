use std::path::Path;

use burnformer_core::model_dir;
use burnformer_data::{Tokenizer, Tokenizers};

use crate::error::InferError;
use crate::settings::{GENERATION_FILE, SearchSettings};

/// The tokeniser of both sides in a model directory.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// The source's own tokeniser in a model directory.
pub const SOURCE_TOKENIZER_FILE: &str = "source_tokenizer.json";
/// The target's own tokeniser in a model directory.
pub const TARGET_TOKENIZER_FILE: &str = "target_tokenizer.json";

/// Loads the tokenisers of the model directory `dir`: [`TOKENIZER_FILE`], or one file for each side. Files
/// that the manifest does not list are ignored.
///
/// # Errors
/// [`InferError::NoTokenizer`] if there is none, [`InferError::Tokenizer`] if one is damaged,
/// [`InferError::ModelDir`] if one is not the file that the manifest lists.
pub fn load_tokenizers(dir: &Path) -> Result<Tokenizers, InferError> {
    if let Some(joint) = load_tokenizer(dir, TOKENIZER_FILE)? {
        return Ok(Tokenizers::joint(joint));
    }
    let source = load_tokenizer(dir, SOURCE_TOKENIZER_FILE)?;
    let target = load_tokenizer(dir, TARGET_TOKENIZER_FILE)?;
    match (source, target) {
        (Some(source), Some(target)) => Ok(Tokenizers::separate(source, target)),
        _ => Err(InferError::NoTokenizer { dir: dir.into() }),
    }
}

fn load_tokenizer(dir: &Path, name: &str) -> Result<Option<Tokenizer>, InferError> {
    let bytes = model_dir::read(dir, name)?;
    let parse = |bytes: Vec<u8>| Tokenizer::from_bytes(&dir.join(name), &bytes);
    Ok(bytes.map(parse).transpose()?)
}

/// Writes tokenisers and default search settings into the model directory `dir`: what makes a saved
/// model translate text. To be called before
/// [`model_dir::seal`](burnformer_core::model_dir::seal).
///
/// # Errors
/// [`InferError::Tokenizer`] or [`InferError::SettingsFile`] if a file cannot be written,
/// [`InferError::Setting`] if a setting is out of its range.
pub fn save_text_files(
    dir: &Path,
    tokenizers: &Tokenizers,
    settings: &SearchSettings,
) -> Result<(), InferError> {
    if tokenizers.is_joint() {
        tokenizers.target.save(&dir.join(TOKENIZER_FILE))?;
    } else {
        tokenizers.source.save(&dir.join(SOURCE_TOKENIZER_FILE))?;
        tokenizers.target.save(&dir.join(TARGET_TOKENIZER_FILE))?;
    }
    settings.save(&dir.join(GENERATION_FILE))
}

/// The default search settings of the model directory `dir`; the paper's if its manifest lists no
/// [`GENERATION_FILE`].
///
/// # Errors
/// [`InferError::SettingsFile`] if the file holds anything unknown or a value out of its range,
/// [`InferError::ModelDir`] if it is not the file that the manifest lists.
pub fn load_settings(dir: &Path) -> Result<SearchSettings, InferError> {
    match model_dir::read(dir, GENERATION_FILE)? {
        Some(bytes) => SearchSettings::from_bytes(&dir.join(GENERATION_FILE), &bytes),
        None => Ok(SearchSettings::default()),
    }
}
