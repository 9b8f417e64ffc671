//! Loads a `tokenizer.json` from an untrusted source.

use std::path::Path;

use burnformer_files::{FileKind, read_whole};
use serde::Deserialize;
use serde_json::Value;
use tokenizers::AddedToken;

use super::caught::quietly;
use super::checks::{self, Refusal};
use super::sentencepiece::SentencePieceTokenizer;
use super::{Kind, Tokenizer, TokenizerError, layout, pipeline};
use crate::corpus::open_error;
use crate::error::{DataError, Result};
use crate::special;

impl Tokenizer {
    /// Loads a `tokenizer.json`, or a SentencePiece model (a file named `.spm` or `.model`) with
    /// the ids of its pieces.
    ///
    /// # Errors
    /// Returns the errors of [`from_sentencepiece`](Self::from_sentencepiece) for a SentencePiece
    /// model. For a `tokenizer.json`, returns an error if the file is missing or malformed, if
    /// special tokens are missing or have other ids than in [`special`], or if the `tokenizers`
    /// library cannot run a part without a panic, an endless loop or unbounded memory.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_whole(path, FileKind::TOKENIZER)
            .map_err(|error| open_error(path, error.into_io()))?;
        if path
            .extension()
            .is_some_and(|extension| extension == "spm" || extension == "model")
        {
            return Ok(Self::from_sentencepiece(path, bytes, None)?.without_invisible());
        }
        Self::from_bytes(path, &bytes)
    }

    /// Parses the content of a `tokenizer.json`. Error messages call it `name`.
    ///
    /// # Errors
    /// Returns the errors of [`Tokenizer::load`].
    pub fn from_bytes(name: &Path, bytes: &[u8]) -> Result<Self> {
        let mut json: Value =
            serde_json::from_slice(bytes).map_err(|error| invalid(name, error))?;
        let added = json
            .as_object_mut()
            .and_then(|fields| fields.remove("added_tokens"));
        let writes_normalizer = layout::leave_out_rule(&mut json);
        checks::before_parsing(&json).map_err(|refusal| refused(name, refusal))?;
        // The checked value is parsed, not the bytes: a key that occurs twice in the file occurs
        // once in `json`.
        let mut inner: tokenizers::Tokenizer = parsed(name, || serde_json::from_value(json))?;
        checks::parts(&inner).map_err(|refusal| refused(name, refusal))?;
        let added = added.map(serde_json::from_value).transpose();
        let added: Vec<NumberedToken> = added
            .map_err(|error| invalid(name, error))?
            .unwrap_or_default();
        let added: Vec<AddedToken> = added.into_iter().map(|added| added.token).collect();
        checks::added_tokens(&inner, &added).map_err(|refusal| refused(name, refusal))?;
        parsed(name, || inner.add_tokens(added))?;
        check_special_tokens(name, &inner)?;
        let tokenizer = Self {
            writes_normalizer,
            ..Self::from_hugging_face(inner)
        };
        let Kind::HuggingFace(inner) = &tokenizer.kind else {
            return Ok(tokenizer);
        };
        check_gaps(name, tokenizer.vocab_size, inner.get_vocab_size(true))?;
        checks::trial(inner).map_err(|refusal| refused(name, refusal))?;
        pipeline::encode(inner, "a").map_err(|error| invalid(name, error))?;
        Ok(tokenizer)
    }

    /// Makes a tokeniser from a SentencePiece model, for example of one of Hugging Face's Marian
    /// models.
    ///
    /// `vocab` is the name and the content of a `vocab.json`, which maps pieces to ids. A piece
    /// that it lacks is unknown. Its `</s>`, `<unk>` and `<pad>` (or `<blank>`) are the special
    /// tokens. Without `vocab`, pieces have the ids of the model. A text may begin with a token of
    /// the vocabulary like `>>fra<<`, which names the target language and is not divided into
    /// pieces. The tokeniser gives the ids of the C++ library, also for invisible characters,
    /// unless [`without_invisible`](Self::without_invisible) is called. Error messages name the
    /// files by `name` and by the name in `vocab`.
    ///
    /// # Errors
    /// Returns [`TokenizerError::SentencePiece`] for a bad model and
    /// [`TokenizerError::VocabularyFile`] for a bad vocabulary.
    pub fn from_sentencepiece(
        name: &Path,
        model: Vec<u8>,
        vocab: Option<(&Path, Vec<u8>)>,
    ) -> Result<Self> {
        let inner = SentencePieceTokenizer::new(name, model, vocab)?;
        let vocab_size = inner.vocab_size();
        Ok(Self {
            kind: Kind::SentencePiece(Box::new(inner)),
            vocab_size,
            keeps_invisible_chars: true,
            writes_normalizer: false,
            words: Default::default(),
        })
    }
}

/// Refuses a vocabulary with more gaps than tokens. An embedding table has a row for every id up to
/// the highest.
fn check_gaps(name: &Path, vocab_size: usize, tokens: usize) -> Result<()> {
    if vocab_size <= 2 * tokens {
        return Ok(());
    }
    let message = format!(
        "the highest id is {}, but there are only {tokens} tokens; number them without gaps",
        vocab_size - 1
    );
    Err(invalid(name, message))
}

/// An added token in the form of the file. It takes the id of the model's token with the same text,
/// or the next free id.
#[derive(Deserialize)]
struct NumberedToken {
    #[serde(rename = "id")]
    _id: u32,
    #[serde(flatten)]
    token: AddedToken,
}

/// Runs the library on a file. Its errors and panics become errors of this crate.
fn parsed<T, E: ToString>(name: &Path, work: impl FnOnce() -> Result<T, E>) -> Result<T> {
    let result = quietly(work)
        .map_err(|panic| invalid(name, format!("the tokenizers library fails: {panic}")))?;
    result.map_err(|error| invalid(name, error))
}

/// Returns the error for a part of the file that the library cannot run.
fn refused(name: &Path, refusal: Refusal) -> TokenizerError {
    TokenizerError::Part {
        path: name.into(),
        part: refusal.part,
        message: refusal.message,
    }
}

fn invalid(name: &Path, error: impl ToString) -> DataError {
    TokenizerError::Invalid(name.into(), error.to_string()).into()
}

fn check_special_tokens(name: &Path, inner: &tokenizers::Tokenizer) -> Result<()> {
    for (expected, token) in (0..).zip(special::TOKENS) {
        let found = inner.token_to_id(token);
        if found != Some(expected) {
            return Err(TokenizerError::SpecialToken {
                path: name.into(),
                token,
                expected,
                found,
            }
            .into());
        }
    }
    Ok(())
}
