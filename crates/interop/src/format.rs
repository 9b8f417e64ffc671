//! The formats of other systems, by name.

use std::path::Path;

use burnformer_core::TransformerConfig;
use derive_more::Display;

use crate::ctranslate2::{self, Content};
use crate::error::{InteropError, Result};
use crate::pretrained::Pretrained;
use crate::text_files::{TextFiles, note_on_subword_nmt};
use crate::zip::{root, unpacked};
use crate::{hugging_face, marian};

/// A file format of another system.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq)]
#[display("{}", self.name())]
pub enum Format {
    /// A folder of Hugging Face's `MarianMTModel`: `config.json`, `model.safetensors` or
    /// `pytorch_model.bin`, `generation_config.json`, `source.spm`, `target.spm`, `vocab.json`. Or
    /// a folder of M2M100 or NLLB.
    HuggingFace,
    /// A folder of CTranslate2: `model.bin`, `config.json`, and `shared_vocabulary.json` or one
    /// vocabulary for each side.
    CTranslate2,
    /// A folder of CTranslate2 with weights in int8. It is read like
    /// [`CTranslate2`](Self::CTranslate2).
    CTranslate2Int8,
    /// A `.npz` or `.bin` file of Marian with its vocabularies in the same folder, or that folder.
    /// The models of Firefox have this format too. It can be read, but not written.
    Marian,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [
        Self::HuggingFace,
        Self::CTranslate2,
        Self::CTranslate2Int8,
        Self::Marian,
    ];
    /// The formats that can be written: all but Marian's.
    pub const WRITTEN: [Self; 3] = [Self::HuggingFace, Self::CTranslate2, Self::CTranslate2Int8];

    /// The name of the format on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::HuggingFace => "hugging-face",
            Self::CTranslate2 => "ctranslate2",
            Self::CTranslate2Int8 => "ctranslate2-int8",
            Self::Marian => "marian",
        }
    }

    /// Checks that this format can express models of the shape `config`. The check needs no weights
    /// and can come before training.
    ///
    /// # Errors
    /// Returns [`InteropError::CannotExport`] with the inexpressible feature.
    pub fn check(self, config: &TransformerConfig) -> Result<()> {
        match self {
            Self::HuggingFace => hugging_face::check(config),
            Self::CTranslate2 | Self::CTranslate2Int8 => ctranslate2::check(config),
            Self::Marian => Err(not_written()),
        }
    }

    /// Recognises the format of the model at `path`.
    ///
    /// # Errors
    /// Returns [`InteropError::NotFound`] if there is nothing at `path`, [`InteropError::Ours`] for
    /// a model directory of this program, and [`InteropError::UnknownFormat`] for anything else.
    pub fn find(path: &Path) -> Result<Self> {
        check_exists(path)?;
        if hugging_face::recognizes(path) {
            return Ok(Self::HuggingFace);
        }
        if ctranslate2::recognizes(path) {
            return Ok(Self::CTranslate2);
        }
        if marian::recognizes(path) {
            return Ok(Self::Marian);
        }
        let path = path.to_path_buf();
        if path.join("manifest.json").exists() {
            Err(InteropError::Ours(path))
        } else {
            Err(InteropError::UnknownFormat(path))
        }
    }

    /// Reads the model at `path`.
    ///
    /// # Errors
    /// Returns an [`InteropError`] with the file, the tensor or key, and a remedy.
    pub fn read(self, path: &Path) -> Result<Pretrained> {
        self.read_with(path, &TextFiles::default())
    }

    /// Reads the model at `path` with the vocabularies and SentencePiece models `files`.
    ///
    /// # Errors
    /// Returns the errors of [`read`](Self::read).
    pub fn read_with(self, path: &Path, files: &TextFiles) -> Result<Pretrained> {
        check_exists(path)?;
        match self {
            Self::HuggingFace => hugging_face::read(path, files),
            Self::CTranslate2 | Self::CTranslate2Int8 => ctranslate2::read(path, files),
            Self::Marian => marian::read(path, files),
        }
    }

    /// Writes `model` into the new folder `path`.
    ///
    /// # Errors
    /// Returns [`InteropError::CannotExport`] if the format cannot express the model,
    /// [`InteropError::Missing`] if the vocabulary is not known, [`InteropError::Occupied`] if
    /// `path` is a folder that is not empty, and [`InteropError::Io`] if a file cannot be written.
    pub fn write(self, model: &Pretrained, path: &Path) -> Result<()> {
        let is_new = !path.exists();
        let result = match self {
            Self::HuggingFace => hugging_face::write(model, path),
            Self::CTranslate2 => ctranslate2::write(model, path, Content::Float),
            Self::CTranslate2Int8 => ctranslate2::write(model, path, Content::Int8),
            Self::Marian => Err(not_written()),
        };
        if result.is_err() && is_new {
            // With a partial folder, the next export would fail.
            let _ = std::fs::remove_dir_all(path);
        }
        result
    }
}

/// Reads the model at `path` with the vocabularies and SentencePiece models `files`. Without a
/// `format`, the format is detected. `path` is a folder, a file, or an archive (`.argosmodel`,
/// `.zip`).
///
/// # Errors
/// Returns the errors of [`Format::find`] and [`Format::read`], and [`InteropError::Damaged`] for a
/// damaged package.
pub fn import(
    path: &Path,
    format: Option<Format>,
    files: &TextFiles,
) -> Result<(Format, Pretrained)> {
    check_exists(path)?;
    let unpacked = if path.is_dir() { None } else { unpacked(path)? };
    let path = unpacked
        .as_ref()
        .map_or(path.into(), |folder| root(folder.path()));
    let format = format.map_or_else(|| Format::find(&path), Ok)?;
    let mut model = format.read_with(&path, files)?;
    if !model.has_tokenizers() {
        model.warnings.extend(note_on_subword_nmt(&path));
    }
    Ok((format, model))
}

fn not_written() -> InteropError {
    let what = "a model that it did not train";
    let remedy = "export to CTranslate2";
    InteropError::CannotExport {
        format: "Marian",
        what: what.into(),
        remedy,
    }
}

/// Returns an error if there is nothing at `path`.
fn check_exists(path: &Path) -> Result<()> {
    if path.exists() {
        Ok(())
    } else {
        Err(InteropError::NotFound(path.into()))
    }
}
