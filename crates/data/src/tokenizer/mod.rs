//! Text to token ids and back: BPE or unigram with byte fallback, in Hugging Face's `tokenizer.json`.
//!
//! Ids 0 to 3 are the [special tokens](crate::special), then come the 256 bytes, the characters and the learnt pieces.
//! What a character outside the vocabulary needs is spelt in bytes, so no input is unknown and
//! `decode(encode(x)) == x` for NFC text with single spaces.

mod bpe;
mod caught;
mod checks;
mod layout;
mod load;
mod pipeline;
mod sample;
mod settings;
mod train;
mod unigram;
mod words;

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tokenizers::models::ModelWrapper;

pub use settings::{TokenizerKind, TokenizerSettings};
pub use train::TokenizerTrainer;

use crate::error::Result;
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
    /// So is dropout of merges, which would encode the same text differently each time.
    fn wrap(mut inner: tokenizers::Tokenizer) -> Self {
        inner.set_encode_special_tokens(true);
        inner.with_padding(None);
        inner.with_truncation(None).expect("no truncation is always valid");
        if let ModelWrapper::BPE(model) = inner.get_model()
            && model.dropout.is_some()
        {
            let mut model = model.clone();
            model.dropout = None;
            inner.with_model(model);
        }
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

    /// Saves a `tokenizer.json`, atomically: the file is written whole or not at all.
    ///
    /// # Errors
    /// [`DataError::Unwritable`](crate::DataError::Unwritable).
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
    /// A loaded tokeniser that cannot spell a text at all gives [`special::UNK`], also where the library panics; one trained
    /// here always can.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let ids = caught::survived(|| pipeline::encode(&self.inner, text));
        ids.and_then(Result::ok).unwrap_or_else(|| vec![special::UNK])
    }

    /// [`Tokenizer::encode`] of every text, in parallel, in order.
    pub fn encode_batch<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Vec<Vec<u32>> {
        texts.par_iter().map(|text| self.encode(text.as_ref())).collect()
    }

    /// The text of `ids`. Special tokens and ids outside the vocabulary are left out; bytes that form no character
    /// become U+FFFD. What a loaded tokeniser cannot decode at all gives no text.
    pub fn decode(&self, ids: &[u32]) -> String {
        let text = caught::survived(|| self.inner.decode(ids, true));
        text.and_then(Result::ok).unwrap_or_default()
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
