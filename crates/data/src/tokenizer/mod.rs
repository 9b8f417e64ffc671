//! Text to token ids and back: BPE or unigram with byte fallback, in Hugging Face's `tokenizer.json`.
//!
//! Ids 0 to 3 are the [special tokens](crate::special), then come the 256 bytes, the characters and the learnt pieces.
//! What a character outside the vocabulary needs is spelt in bytes, so no input is unknown and
//! `decode(encode(x)) == x` for NFC text with single spaces.

mod bpe;
mod layout;
mod sample;
mod settings;
mod train;
mod unigram;
mod words;

use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

pub use settings::{TokenizerKind, TokenizerSettings};
pub use train::TokenizerTrainer;

use crate::corpus::open_error;
use crate::error::{DataError, Result};
use crate::special;

/// A subword tokeniser. Cheap to share behind an [`Arc`], safe to use from many threads.
#[derive(Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocab_size: usize,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tokenizer").field("vocab_size", &self.vocab_size).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Text that looks like a special token (`</s>`) is ordinary text to us: input must not end its own sentence. What
    /// a file says of truncation and padding is ignored: lengths are decided by cleaning and by [`Batch`](crate::Batch).
    fn wrap(mut inner: tokenizers::Tokenizer) -> Self {
        inner.set_encode_special_tokens(true);
        inner.with_padding(None);
        inner.with_truncation(None).expect("no truncation is always valid");
        // One more than the highest id, so that a loaded vocabulary with gaps still fits an embedding table.
        let highest = inner.get_vocab(true).into_values().max();
        Self { inner, vocab_size: highest.map_or(0, |id| id as usize + 1) }
    }

    /// Trains on `lines`, which are streamed.
    ///
    /// # Errors
    /// As [`TokenizerTrainer::train`].
    pub fn train<S: AsRef<str>>(
        lines: impl IntoIterator<Item = S>,
        settings: &TokenizerSettings,
    ) -> Result<Self> {
        let mut trainer = TokenizerTrainer::new(settings.clone())?;
        lines.into_iter().for_each(|line| trainer.feed(line.as_ref()));
        trainer.train()
    }

    /// Loads a `tokenizer.json`.
    ///
    /// # Errors
    /// A missing or malformed file; special tokens that are missing or at other ids than those of [`special`].
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|cause| open_error(path, cause))?;
        Self::from_bytes(path, &bytes)
    }

    /// Parses the content of a `tokenizer.json`; `name` is what error messages call it.
    ///
    /// # Errors
    /// As [`Tokenizer::load`].
    pub fn from_bytes(name: &Path, bytes: &[u8]) -> Result<Self> {
        let invalid = |error: tokenizers::Error| DataError::TokenizerInvalid {
            path: name.into(),
            message: error.to_string(),
        };
        // The library panics on text that is no JSON, and on some that is.
        let json: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|error| invalid(error.into()))?;
        if let Some(stop) = strip_at_the_end(&json["decoder"]) {
            let message = format!(
                "its decoder strips {stop} characters from the end, which fails on shorter text; \
                 set \"stop\" of the Strip decoder to 0"
            );
            return Err(invalid(message.into()));
        }
        let parsed = catch_unwind(|| tokenizers::Tokenizer::from_bytes(bytes));
        let panicked = |_| invalid("the tokenizers library cannot read it".into());
        let inner = parsed.map_err(panicked)?.map_err(invalid)?;
        for (expected, token) in (0..).zip(special::TOKENS) {
            let found = inner.token_to_id(token);
            if found != Some(expected) {
                return Err(DataError::TokenizerSpecialToken {
                    path: name.into(),
                    token,
                    expected,
                    found,
                });
            }
        }
        inner.encode_fast("a", false).map_err(invalid)?;
        let tokenizer = Self::wrap(inner);
        tokenizer.check_gaps(name)?;
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
        Err(DataError::TokenizerInvalid { path: name.into(), message })
    }

    /// Saves a `tokenizer.json`, atomically: the file is written whole or not at all.
    ///
    /// # Errors
    /// [`DataError::Unwritable`].
    pub fn save(&self, path: &Path) -> Result<()> {
        crate::cache::write_atomically(path, &self.to_bytes())
    }

    /// The canonical bytes of the `tokenizer.json`.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.inner
            .to_string(false)
            .expect("a tokeniser that was parsed can be written")
            .into_bytes()
    }

    /// SHA-256 of [`Tokenizer::to_bytes`], in hexadecimal.
    pub fn hash(&self) -> String {
        crate::hash::hex(&Sha256::digest(self.to_bytes()))
    }

    /// Token ids of `text`, without special tokens.
    ///
    /// A loaded tokeniser that cannot spell a text at all gives [`special::UNK`]; one trained here always can.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        match self.inner.encode_fast(text, false) {
            Ok(encoding) => encoding.get_ids().to_vec(),
            Err(_) => vec![special::UNK],
        }
    }

    /// [`Tokenizer::encode`] of every text, in parallel, in order.
    pub fn encode_batch<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Vec<Vec<u32>> {
        texts.par_iter().map(|text| self.encode(text.as_ref())).collect()
    }

    /// The text of `ids`. Special tokens and ids outside the vocabulary are left out; bytes that form no character
    /// become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.inner.decode(ids, true).unwrap_or_default()
    }

    /// The word of each of `ids`, counted from 0: words are what white space separates in their text.
    ///
    /// Works for any tokeniser that can decode. A token that is white space alone belongs to the word after it, a
    /// special one to the word before it.
    pub fn words_of(&self, ids: &[u32]) -> Vec<usize> {
        let count = |text: &str| text.split_whitespace().count();
        let last = count(&self.decode(ids)).saturating_sub(1);
        let word = |end: usize| {
            let text = self.decode(&ids[..end]);
            let between = text.is_empty() || text.ends_with(char::is_whitespace);
            let begun = count(&text);
            if between { begun.min(last) } else { begun - 1 }
        };
        (1..=ids.len()).map(word).collect()
    }

    /// The token with this id, as written in the vocabulary (`▁house`, `<0x0A>`, `</s>`).
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The id of a token as written in the vocabulary.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// Rows that an embedding table needs: the highest id and one.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }
}

/// How many characters a `Strip` decoder somewhere in `decoder` takes from the end of a text: the library
/// panics where there are fewer.
fn strip_at_the_end(decoder: &serde_json::Value) -> Option<&serde_json::Value> {
    let here = (decoder["type"] == "Strip").then(|| &decoder["stop"]);
    let inner = decoder["decoders"].as_array();
    here.filter(|stop| **stop != 0)
        .or_else(|| inner.into_iter().flatten().find_map(strip_at_the_end))
}

/// The tokenisers of both sides; one and the same for a joint vocabulary.
#[derive(Clone, Debug)]
pub struct Tokenizers {
    /// Encodes source sentences.
    pub source: Arc<Tokenizer>,
    /// Encodes target sentences and decodes translations.
    pub target: Arc<Tokenizer>,
}

impl Tokenizers {
    /// One tokeniser for both sides.
    pub fn joint(tokenizer: Tokenizer) -> Self {
        let shared = Arc::new(tokenizer);
        Self { source: shared.clone(), target: shared }
    }

    /// One tokeniser a side.
    pub fn separate(source: Tokenizer, target: Tokenizer) -> Self {
        Self { source: Arc::new(source), target: Arc::new(target) }
    }

    /// Whether both sides share one vocabulary.
    pub fn is_joint(&self) -> bool {
        Arc::ptr_eq(&self.source, &self.target)
    }
}
