use std::path::Path;

use burnformer_data::{Tokenizer, Tokenizers};

use crate::error::InferError;
use crate::settings::{GENERATION_FILE, SearchSettings};

/// The tokeniser of both sides in a model directory.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// The source's own tokeniser in a model directory.
pub const SOURCE_TOKENIZER_FILE: &str = "source_tokenizer.json";
/// The target's own tokeniser in a model directory.
pub const TARGET_TOKENIZER_FILE: &str = "target_tokenizer.json";

/// Loads the tokenisers of the model directory `dir`: [`TOKENIZER_FILE`], or one file a side.
///
/// # Errors
/// [`InferError::NoTokenizer`] if there is none, [`InferError::Tokenizer`] if one is damaged.
pub fn load_tokenizers(dir: &Path) -> Result<Tokenizers, InferError> {
    let [joint, source, target] =
        [TOKENIZER_FILE, SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE].map(|name| dir.join(name));
    if joint.is_file() {
        return Ok(Tokenizers::joint(Tokenizer::load(&joint)?));
    }
    if source.is_file() && target.is_file() {
        return Ok(Tokenizers::separate(Tokenizer::load(&source)?, Tokenizer::load(&target)?));
    }
    Err(InferError::NoTokenizer { dir: dir.into() })
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

/// The default search settings of the model directory `dir`; the paper's if it has no [`GENERATION_FILE`].
///
/// # Errors
/// As [`SearchSettings::load`].
pub fn load_settings(dir: &Path) -> Result<SearchSettings, InferError> {
    let path = dir.join(GENERATION_FILE);
    match path.is_file() {
        true => SearchSettings::load(&path),
        false => Ok(SearchSettings::default()),
    }
}
