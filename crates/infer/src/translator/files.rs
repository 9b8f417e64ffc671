use std::path::Path;

use burnformer_core::model_dir::{self, Source};
use burnformer_data::{DataError, Tokenizer, TokenizerFiles, Tokenizers};

use super::error::TranslatorError;
use crate::error::Result;
use crate::generation::{GENERATION_FILE, GenerationSettings};

/// The file with the tokeniser of both sides, in Hugging Face's format.
const JOINT: &str = "tokenizer.json";
/// The files of the source and of the target: a tokeniser in Hugging Face's format, or a
/// SentencePiece model with the ids of its pieces. Without files for the target, the source's
/// SentencePiece model and ids are for both sides.
const SIDES: [[&str; 3]; 2] = [
    ["source_tokenizer.json", "source.spm", "vocab.json"],
    ["target_tokenizer.json", "target.spm", "target_vocab.json"],
];

/// All tokeniser files of a model directory.
pub const TOKENIZER_FILES: [&str; 7] = {
    let [[json, model, ids], [target_json, target_model, target_ids]] = SIDES;
    [
        JOINT,
        json,
        target_json,
        model,
        target_model,
        ids,
        target_ids,
    ]
};

/// Loads the tokenisers of the model directory `source`: tokenizer.json, or one file per side,
/// which may be a SentencePiece model with its vocabulary. Files outside of the manifest are
/// ignored.
///
/// # Errors
/// Returns [`TranslatorError::NoTokenizer`] if there is no tokeniser,
/// [`InferError::Tokenizer`](crate::InferError::Tokenizer) if a file is damaged, and
/// [`InferError::ModelDir`](crate::InferError::ModelDir) if a file differs from the manifest.
pub fn load_tokenizers<'a>(source: impl Into<Source<'a>>) -> Result<Tokenizers> {
    let dir = source.into();
    if let Some(bytes) = model_dir::read(dir, JOINT)? {
        return Ok(Tokenizers::joint(Tokenizer::from_bytes(
            &dir.join(JOINT),
            &bytes,
        )?));
    }
    let [source, target] = SIDES;
    let source_names = &source[2..];
    let target_names = [target[2], source[2]];
    let is_sentencepiece =
        |side: &Tokenizer| matches!(side.files(), TokenizerFiles::SentencePiece { .. });
    match (
        load_side(dir, source, source_names)?,
        load_side(dir, target, &target_names)?,
    ) {
        (Some(source), Some(target)) => Ok(Tokenizers::separate(source, target)),
        (Some(source), None) if is_sentencepiece(&source) => Ok(Tokenizers::joint(source)),
        _ => Err(TranslatorError::NoTokenizer(dir.dir().into()).into()),
    }
}

/// The tokeniser of one side, a SentencePiece model with the first of `vocabularies` that exists.
fn load_side(
    dir: Source,
    [json, model, _]: [&str; 3],
    vocabularies: &[&str],
) -> Result<Option<Tokenizer>> {
    if let Some(bytes) = model_dir::read(dir, json)? {
        return Ok(Some(Tokenizer::from_bytes(&dir.join(json), &bytes)?));
    }
    let Some(bytes) = model_dir::read(dir, model)? else {
        return Ok(None);
    };
    let mut vocabulary = None;
    for &name in vocabularies.iter().rev() {
        let ids = model_dir::read(dir, name)?;
        vocabulary = ids.map(|ids| (dir.join(name), ids)).or(vocabulary);
    }
    let vocabulary = vocabulary
        .as_ref()
        .map(|(path, ids)| (path.as_path(), ids.clone()));
    let tokenizer = Tokenizer::from_sentencepiece(&dir.join(model), bytes, vocabulary)?;
    Ok(Some(tokenizer.without_invisible()))
}

/// Writes tokenisers and default settings into the model directory `dir`, so that its model
/// can translate text. Must be called before [`model_dir::seal`](burnformer_core::model_dir::seal).
///
/// # Errors
/// Returns [`InferError::Tokenizer`](crate::InferError::Tokenizer) or a
/// [`SettingsError`](crate::SettingsError) if a file cannot be written, or a setting is out of its
/// range.
pub fn save_text_files(
    dir: &Path,
    tokenizers: &Tokenizers,
    settings: &GenerationSettings,
) -> Result<()> {
    for (name, bytes) in tokenizer_files(tokenizers) {
        let path = dir.join(name);
        burnformer_files::write(&path, &bytes)
            .map_err(|cause| DataError::Unwritable(path, cause))?;
    }
    Ok(settings.save(&dir.join(GENERATION_FILE))?)
}

/// The name and the content of every file of `tokenizers`.
fn tokenizer_files(tokenizers: &Tokenizers) -> Vec<(&'static str, Vec<u8>)> {
    let is_joint = tokenizers.is_joint();
    let sides = [&tokenizers.source, &tokenizers.target]
        .into_iter()
        .zip(SIDES);
    let mut files = Vec::new();
    for (tokenizer, [name, spm, ids]) in sides.take(if is_joint { 1 } else { 2 }) {
        match tokenizer.files() {
            TokenizerFiles::HuggingFace { json } => {
                files.push((if is_joint { JOINT } else { name }, json));
            }
            TokenizerFiles::SentencePiece { model, vocab } => {
                files.push((spm, model));
                // Equal ids of both sides need one file.
                if files.iter().all(|(_, bytes)| *bytes != vocab) {
                    files.push((ids, vocab));
                }
            }
        }
    }
    files
}

/// Loads the default settings of the model directory `source`, or the paper's settings if its
/// manifest lists no [`GENERATION_FILE`].
///
/// # Errors
/// Returns [`SettingsError::File`](crate::SettingsError::File) if the file has an unknown key or a
/// value out of its range, and [`InferError::ModelDir`](crate::InferError::ModelDir) if it differs
/// from the manifest.
pub fn load_settings<'a>(source: impl Into<Source<'a>>) -> Result<GenerationSettings> {
    let source = source.into();
    match model_dir::read(source, GENERATION_FILE)? {
        Some(bytes) => Ok(GenerationSettings::from_bytes(
            &source.join(GENERATION_FILE),
            &bytes,
        )?),
        None => Ok(GenerationSettings::default()),
    }
}
