use std::path::Path;

use burnformer_core::model_dir;
use burnformer_data::{DataError, Tokenizer, TokenizerFiles, Tokenizers};

use crate::error::InferError;
use crate::settings::{GENERATION_FILE, SearchSettings};

/// The file of a model directory with the tokeniser of both sides, in Hugging Face's format.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// The file of a model directory with the tokeniser of the source, if each side has its own.
pub const SOURCE_TOKENIZER_FILE: &str = "source_tokenizer.json";
/// The file of a model directory with the tokeniser of the target, if each side has its own.
pub const TARGET_TOKENIZER_FILE: &str = "target_tokenizer.json";

/// The file of a model directory with the SentencePiece model of the source, or of both sides if
/// there is none for the target.
pub const SOURCE_SENTENCEPIECE_FILE: &str = "source.spm";
/// The file of a model directory with the SentencePiece model of the target.
pub const TARGET_SENTENCEPIECE_FILE: &str = "target.spm";
/// The file of a model directory with the ids of the pieces of its SentencePiece models.
pub const VOCABULARY_FILE: &str = "vocab.json";
/// The file of a model directory with the ids of the target's pieces, if they differ from those in
/// [`VOCABULARY_FILE`].
pub const TARGET_VOCABULARY_FILE: &str = "target_vocab.json";

/// Every tokeniser file that a model directory may hold.
pub const TOKENIZER_FILES: [&str; 7] = [
    TOKENIZER_FILE,
    SOURCE_TOKENIZER_FILE,
    TARGET_TOKENIZER_FILE,
    SOURCE_SENTENCEPIECE_FILE,
    TARGET_SENTENCEPIECE_FILE,
    VOCABULARY_FILE,
    TARGET_VOCABULARY_FILE,
];

/// Loads the tokenisers of the model directory `dir`: [`TOKENIZER_FILE`], or one file for each
/// side, which may be a SentencePiece model with its vocabulary. Files that the manifest does not
/// list are ignored.
///
/// # Errors
/// [`InferError::NoTokenizer`] if there is none, [`InferError::Tokenizer`] if one is damaged,
/// [`InferError::ModelDir`] if one is not the file that the manifest lists.
pub fn load_tokenizers(dir: &Path) -> Result<Tokenizers, InferError> {
    if let Some(joint) = load_tokenizer(dir, TOKENIZER_FILE)? {
        return Ok(Tokenizers::joint(joint));
    }
    let source = match load_tokenizer(dir, SOURCE_TOKENIZER_FILE)? {
        None => load_sentencepiece(dir, SOURCE_SENTENCEPIECE_FILE, &[VOCABULARY_FILE])?,
        found => found,
    };
    let target = match load_tokenizer(dir, TARGET_TOKENIZER_FILE)? {
        None => {
            let vocabularies = [TARGET_VOCABULARY_FILE, VOCABULARY_FILE];
            load_sentencepiece(dir, TARGET_SENTENCEPIECE_FILE, &vocabularies)?
        }
        found => found,
    };
    match (source, target) {
        (Some(source), Some(target)) => Ok(Tokenizers::separate(source, target)),
        (Some(source), None) if is_sentencepiece(&source) => Ok(Tokenizers::joint(source)),
        _ => Err(InferError::NoTokenizer { dir: dir.into() }),
    }
}

fn is_sentencepiece(tokenizer: &Tokenizer) -> bool {
    matches!(tokenizer.files(), TokenizerFiles::SentencePiece { .. })
}

/// The SentencePiece model `name`, with the first of `vocabularies` that exists.
fn load_sentencepiece(
    dir: &Path,
    name: &str,
    vocabularies: &[&str],
) -> Result<Option<Tokenizer>, InferError> {
    let Some(model) = model_dir::read(dir, name)? else { return Ok(None) };
    for vocabulary in vocabularies {
        if let Some(bytes) = model_dir::read(dir, vocabulary)? {
            let vocabulary = dir.join(vocabulary);
            let vocabulary = Some((vocabulary.as_path(), bytes));
            let tokenizer = Tokenizer::from_sentencepiece(&dir.join(name), model, vocabulary)?;
            return Ok(Some(tokenizer.without_invisible()));
        }
    }
    let tokenizer = Tokenizer::from_sentencepiece(&dir.join(name), model, None)?;
    Ok(Some(tokenizer.without_invisible()))
}

fn load_tokenizer(dir: &Path, name: &str) -> Result<Option<Tokenizer>, InferError> {
    let bytes = model_dir::read(dir, name)?;
    let parse = |bytes: Vec<u8>| Tokenizer::from_bytes(&dir.join(name), &bytes);
    Ok(bytes.map(parse).transpose()?)
}

/// Writes tokenisers and default search settings into the model directory `dir`, so that its model
/// can translate text. Must be called before [`model_dir::seal`](burnformer_core::model_dir::seal).
///
/// # Errors
/// [`InferError::Tokenizer`] or [`InferError::SettingsFile`] if a file cannot be written,
/// [`InferError::Setting`] if a setting is out of its range.
pub fn save_text_files(
    dir: &Path,
    tokenizers: &Tokenizers,
    settings: &SearchSettings,
) -> Result<(), InferError> {
    for (name, bytes) in tokenizer_files(tokenizers) {
        let path = dir.join(name);
        burnformer_files::write(&path, &bytes)
            .map_err(|cause| DataError::Unwritable { path, cause })?;
    }
    settings.save(&dir.join(GENERATION_FILE))
}

/// The name and the content of every file that `tokenizers` consist of.
fn tokenizer_files(tokenizers: &Tokenizers) -> Vec<(&'static str, Vec<u8>)> {
    let mut files = match tokenizers.source.files() {
        TokenizerFiles::HuggingFace { json } if tokenizers.is_joint() => {
            return vec![(TOKENIZER_FILE, json)];
        }
        TokenizerFiles::HuggingFace { json } => vec![(SOURCE_TOKENIZER_FILE, json)],
        TokenizerFiles::SentencePiece { model, vocab } => {
            vec![(SOURCE_SENTENCEPIECE_FILE, model), (VOCABULARY_FILE, vocab)]
        }
    };
    if tokenizers.is_joint() {
        return files;
    }
    match tokenizers.target.files() {
        TokenizerFiles::HuggingFace { json } => files.push((TARGET_TOKENIZER_FILE, json)),
        TokenizerFiles::SentencePiece { model, vocab } => {
            files.push((TARGET_SENTENCEPIECE_FILE, model));
            let is_shared =
                files.iter().any(|(name, bytes)| *name == VOCABULARY_FILE && *bytes == vocab);
            if !is_shared {
                files.push((TARGET_VOCABULARY_FILE, vocab));
            }
        }
    }
    files
}

/// The default search settings of the model directory `dir`: those of the paper if its manifest
/// lists no [`GENERATION_FILE`].
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
