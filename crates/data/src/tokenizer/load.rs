//! Loading a `tokenizer.json` that may come from anywhere.

use std::path::Path;

use serde_json::Value;

use super::caught::quietly;
use super::checks::{self, Refusal};
use super::{Tokenizer, pipeline};
use crate::corpus::open_error;
use crate::error::{DataError, Result};
use crate::special;

impl Tokenizer {
    /// Loads a `tokenizer.json`.
    ///
    /// # Errors
    /// A missing or malformed file; special tokens that are missing or at other ids than those of [`special`]; a part that
    /// the `tokenizers` library cannot run without a panic, an endless loop or unbounded memory.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|cause| open_error(path, cause))?;
        Self::from_bytes(path, &bytes)
    }

    /// Parses the content of a `tokenizer.json`; `name` is what error messages call it.
    ///
    /// # Errors
    /// As [`Tokenizer::load`].
    pub fn from_bytes(name: &Path, bytes: &[u8]) -> Result<Self> {
        let refused = |Refusal { part, message }| DataError::TokenizerPart {
            path: name.into(),
            part,
            message,
        };
        let json: Value = serde_json::from_slice(bytes).map_err(|error| invalid(name, error))?;
        checks::before_parsing(&json).map_err(refused)?;
        // What was checked is what is parsed: a key that stands twice in the file stands once in `json`.
        let parsed = quietly(|| serde_json::from_value(json));
        let inner: tokenizers::Tokenizer = parsed
            .map_err(|panic| invalid(name, format!("the tokenizers library fails: {panic}")))?
            .map_err(|error| invalid(name, error))?;
        check_special_tokens(name, &inner)?;
        let tokenizer = Self::wrap(inner);
        tokenizer.check_gaps(name)?;
        checks::parts(&tokenizer.inner).map_err(refused)?;
        checks::trial(&tokenizer.inner).map_err(refused)?;
        pipeline::encode(&tokenizer.inner, "a").map_err(|error| invalid(name, error))?;
        Ok(tokenizer)
    }

    /// An embedding table has a row for every id up to the highest: a file must not claim rows that it
    /// has no tokens for.
    fn check_gaps(&self, name: &Path) -> Result<()> {
        let tokens = self.inner.get_vocab_size(true);
        if self.vocab_size <= 2 * tokens {
            return Ok(());
        }
        let message = format!(
            "the highest id is {}, but there are only {tokens} tokens; number them without gaps",
            self.vocab_size - 1
        );
        Err(invalid(name, message))
    }
}

fn invalid(name: &Path, error: impl ToString) -> DataError {
    DataError::TokenizerInvalid { path: name.into(), message: error.to_string() }
}

fn check_special_tokens(name: &Path, inner: &tokenizers::Tokenizer) -> Result<()> {
    for (expected, token) in (0..).zip(special::TOKENS) {
        let found = inner.token_to_id(token);
        if found != Some(expected) {
            let path = name.into();
            return Err(DataError::TokenizerSpecialToken { path, token, expected, found });
        }
    }
    Ok(())
}
