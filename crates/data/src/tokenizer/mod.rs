//! Tokenisers: text to token ids and back, by BPE or unigram with byte fallback in Hugging Face's
//! `tokenizer.json`, or by SentencePiece models of other systems, with the ids of their
//! vocabularies.
//!
//! In a `tokenizer.json`, ids 0 to 3 are the [special tokens](crate::special). In one that is
//! trained here they are followed by the 256 bytes, the characters and the learned pieces. A
//! character outside the vocabulary is spelled in bytes, so no input is unknown, and
//! `decode(encode(x)) == x` for NFC text with single spaces and without
//! [invisible](burnformer_text::visible) characters.

mod bpe;
mod caught;
mod checks;
mod error;
mod languages;
mod layout;
mod load;
mod pipeline;
mod sentencepiece;
mod settings;
mod sides;
mod special_ids;
mod train;
mod window;
mod word_cache;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use tokenizers::NormalizerWrapper;
use tokenizers::models::ModelWrapper;

pub use error::TokenizerError;
pub use settings::TokenizerSettings;
pub use sides::Tokenizers;
pub use special_ids::{SpecialIds, TokenizerFiles, TokenizerSpecialIds};
pub use train::TokenizerTrainer;

use crate::error::Result;
use crate::special;
use crate::write::write_atomically;
use sentencepiece::SentencePieceTokenizer;
use window::{Window, words_in};
use word_cache::WordCache;

/// A subword tokeniser. It can be used from many threads at once, for example behind an [`Arc`].
#[derive(Clone, derive_more::Debug)]
#[debug("Tokenizer {{ vocab_size: {vocab_size}, .. }}")]
pub struct Tokenizer {
    kind: Kind,
    vocab_size: usize,
    /// If true, invisible characters are encoded too.
    keeps_invisible_chars: bool,
    /// If true, its `tokenizer.json` tells other readers to remove invisible characters.
    writes_normalizer: bool,
    /// The ids of words that occurred in large batches of texts, if the tokeniser can be cached by
    /// words.
    words: Arc<OnceLock<Option<WordCache>>>,
}

/// Smallest number of texts in a batch that uses the word cache.
const MIN_CACHED_BATCH: usize = 1024;
/// Number of texts that a thread encodes at a time.
const CHUNK_TEXTS: usize = 256;

/// The library that wrote the files of a tokeniser.
#[derive(Clone)]
enum Kind {
    HuggingFace(Box<tokenizers::Tokenizer>),
    SentencePiece(Box<SentencePieceTokenizer>),
}

impl Tokenizer {
    /// Sets up a tokeniser of the library. Text that looks like a special token (`</s>`) is treated
    /// as ordinary text, so that input cannot end its own sentence. Truncation and padding in the
    /// file are ignored: cleaning and [`Batch`](crate::Batch) decide on lengths. Dropout of merges
    /// is ignored too, because it would encode the same text differently each time.
    fn from_hugging_face(mut inner: tokenizers::Tokenizer) -> Self {
        inner.set_encode_special_tokens(true);
        inner.with_padding(None);
        inner
            .with_truncation(None)
            .expect("no truncation is always valid");
        if let ModelWrapper::BPE(model) = inner.get_model() {
            let mut model = model.clone();
            model.dropout = None;
            // The library would keep 10,000 words in each thread, also of tokenisers that are gone
            // (`findings/tokenizers-words-kept.sh`). Large texts have a cache of their own.
            model.resize_cache(0);
            inner.with_model(model);
        }
        // The highest id plus one: an embedding matrix must also fit a loaded vocabulary with gaps.
        let highest = inner.get_vocab(true).into_values().max();
        let vocab_size = highest.map_or(0, |id| id as usize + 1);
        Self {
            kind: Kind::HuggingFace(Box::new(inner)),
            vocab_size,
            keeps_invisible_chars: false,
            writes_normalizer: false,
            words: Arc::default(),
        }
    }

    /// Saves a `tokenizer.json`, or the model of a SentencePiece tokeniser without its vocabulary,
    /// atomically: the file is written completely or not at all. [`files`](Self::files) gives all
    /// files.
    ///
    /// # Errors
    /// Returns [`DataError::Unwritable`](crate::DataError::Unwritable) if the file cannot be
    /// written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (TokenizerFiles::HuggingFace { json: bytes }
        | TokenizerFiles::SentencePiece { model: bytes, .. }) = self.files();
        write_atomically(path, &bytes)
    }

    /// Returns the files of the tokeniser.
    pub fn files(&self) -> TokenizerFiles {
        match &self.kind {
            Kind::HuggingFace(inner) => {
                let mut inner = inner.clone();
                if self.writes_normalizer {
                    let whole: Option<NormalizerWrapper> =
                        serde_json::from_value(layout::whole_normalizer()).ok();
                    inner
                        .with_normalizer(whole)
                        .expect("the patterns of the rule are valid");
                }
                let json = inner.to_string(false);
                let json = json
                    .expect("a tokeniser that was parsed can be written")
                    .into_bytes();
                TokenizerFiles::HuggingFace { json }
            }
            Kind::SentencePiece(inner) => inner.files(),
        }
    }

    /// Returns the canonical bytes of the `tokenizer.json`, or the bytes of the SentencePiece model
    /// followed by the bytes of its vocabulary.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self.files() {
            TokenizerFiles::HuggingFace { json } => json,
            TokenizerFiles::SentencePiece { model, vocab } => [model, vocab].concat(),
        }
    }

    /// SHA-256 of [`Tokenizer::to_bytes`], in hexadecimal.
    pub fn hash(&self) -> String {
        crate::hash::hex(&Sha256::digest(self.to_bytes()))
    }

    /// Encodes `text` as token ids, without special tokens.
    ///
    /// If a loaded tokeniser cannot encode a text, or the library panics, the result is
    /// [`special::UNK`]. A tokeniser that was trained by this crate can encode every text. A
    /// SentencePiece tokeniser gives the unknown token for each piece that its vocabulary lacks.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let text = &self.visible(text);
        match &self.kind {
            Kind::HuggingFace(inner) => encode(inner, text).unwrap_or_else(|| vec![special::UNK]),
            Kind::SentencePiece(inner) => inner.encode(text),
        }
    }

    /// Encodes `text` like [`encode`](Self::encode), but takes a language token at its start
    /// (`>>fra<<`) for text, too.
    pub fn encode_untagged(&self, text: &str) -> Vec<u32> {
        match &self.kind {
            Kind::HuggingFace(_) => self.encode(text),
            Kind::SentencePiece(inner) => inner.encode_untagged(&self.visible(text)),
        }
    }

    /// Returns `text` as [`encode`](Self::encode) reads it: without
    /// [invisible](burnformer_text::visible) characters, except for those that the tokeniser's
    /// normaliser replaces (some normalisers turn zero-width spaces into spaces).
    pub fn visible<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.keeps_invisible_chars {
            return Cow::Borrowed(text);
        }
        burnformer_text::visible_but(text, |c| self.replaces(c))
    }

    /// Makes this tokeniser leave out [invisible](Self::visible) characters. By default, a
    /// tokeniser [of a SentencePiece model](Self::from_sentencepiece) encodes every character as
    /// the library does.
    #[must_use]
    pub fn without_invisible(self) -> Self {
        Self {
            keeps_invisible_chars: false,
            ..self
        }
    }

    /// Returns whether the normaliser replaces `c` by something else.
    fn replaces(&self, c: char) -> bool {
        let between = self
            .normalize(&format!("a{c}b"))
            .filter(|normal| !normal.contains(c));
        between.is_some() && between != self.normalize("ab")
    }

    /// Returns the normalised text; `None` if the library cannot normalise it or panics.
    fn normalize(&self, text: &str) -> Option<String> {
        match &self.kind {
            Kind::HuggingFace(inner) => caught::survived(|| pipeline::normalized(inner, text)),
            Kind::SentencePiece(inner) => Some(inner.normalize(text)),
        }
    }

    /// Encodes every text like [`Tokenizer::encode`], in parallel. The results have the order of
    /// the texts.
    pub fn encode_batch<S: AsRef<str> + Sync>(&self, texts: &[S]) -> Vec<Vec<u32>> {
        if let Kind::HuggingFace(inner) = &self.kind
            && texts.len() >= MIN_CACHED_BATCH
            && let Some(words) = self.words.get_or_init(|| WordCache::of(inner))
        {
            let encoded = texts.par_chunks(CHUNK_TEXTS).flat_map_iter(|texts| {
                let texts: Vec<_> = texts
                    .iter()
                    .map(|text| self.visible(text.as_ref()))
                    .collect();
                words.encode(&texts, |text| encode(inner, text))
            });
            return encoded
                .map(|ids| ids.unwrap_or_else(|| vec![special::UNK]))
                .collect();
        }
        texts
            .par_iter()
            .map(|text| self.encode(text.as_ref()))
            .collect()
    }

    /// Decodes `ids` to text. Special tokens and ids outside the vocabulary are left out, and bytes
    /// that form no character become U+FFFD. If a loaded tokeniser cannot decode the ids, the text
    /// is empty.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.decode_copying(ids, &[])
    }

    /// Decodes `ids` like [`decode`](Self::decode), but replaces each unknown token by the next
    /// text in `copies`.
    pub fn decode_copying(&self, ids: &[u32], copies: &[String]) -> String {
        match &self.kind {
            Kind::HuggingFace(_) if copies.is_empty() => self.spaced(ids),
            Kind::HuggingFace(inner) => {
                caught::survived(|| pipeline::decode_copying(inner, ids, copies))
                    .unwrap_or_default()
            }
            Kind::SentencePiece(inner) => inner.decode(ids, copies).trim().to_owned(),
        }
    }

    /// Returns the text of each unknown token of [`encode`](Self::encode), in order.
    pub fn unknown_texts(&self, text: &str) -> Vec<String> {
        let text = &*self.visible(text);
        match &self.kind {
            Kind::HuggingFace(inner) => caught::survived(|| pipeline::unknown(inner, text))
                .unwrap_or_else(|| vec![text.to_owned()]),
            Kind::SentencePiece(inner) => inner.unknown_texts(text),
        }
    }

    /// Returns the text of `ids` with its trailing spaces.
    fn spaced(&self, ids: &[u32]) -> String {
        match &self.kind {
            Kind::HuggingFace(inner) => {
                caught::survived(|| pipeline::decode(inner, ids)).unwrap_or_default()
            }
            Kind::SentencePiece(inner) => inner.decode(ids, &[]),
        }
    }

    /// Returns the word index of each of `ids`, counted from 0. Words are separated by white space
    /// in the decoded text.
    ///
    /// This works for any tokeniser that can decode. A token of white space belongs to the word
    /// after it, and a special token to the word before it.
    pub fn words_of(&self, ids: &[u32]) -> Vec<usize> {
        let last = words_in(&self.spaced(ids)).saturating_sub(1);
        let mut window = Window::default();
        let mut indices = Vec::with_capacity(ids.len());
        for &id in ids {
            window.push(id, |ids| self.spaced(ids));
            let begun = window.words_before + words_in(&window.text);
            indices.push(if window.is_between_words() {
                begun.min(last)
            } else {
                begun - 1
            });
        }
        indices
    }

    /// Returns the token with this id, in the form of the vocabulary (`▁house`, `<0x0A>`, `</s>`).
    pub fn token(&self, id: u32) -> Option<String> {
        match &self.kind {
            Kind::HuggingFace(inner) => inner.id_to_token(id),
            Kind::SentencePiece(inner) => inner.token(id).map(str::to_owned),
        }
    }

    /// Returns the id of a token, given in the form of the vocabulary.
    pub fn id(&self, token: &str) -> Option<u32> {
        match &self.kind {
            Kind::HuggingFace(inner) => inner.token_to_id(token),
            Kind::SentencePiece(inner) => inner.id(token),
        }
    }

    /// Returns the SentencePiece tokeniser, if this is one.
    fn sentencepiece(&self) -> Option<&SentencePieceTokenizer> {
        match &self.kind {
            Kind::HuggingFace(_) => None,
            Kind::SentencePiece(inner) => Some(inner),
        }
    }

    /// Returns the ids of padding, of a sentence's ends and of unknown text.
    pub fn special_ids(&self) -> TokenizerSpecialIds {
        self.sentencepiece()
            .map_or(TokenizerSpecialIds::OURS, |inner| inner.special)
    }

    /// Returns the id of the token `>>code<<`, which names the target language `code` at the start
    /// of a source; `None` if the vocabulary has none.
    pub fn target_tag(&self, code: &str) -> Option<u32> {
        match &self.kind {
            Kind::HuggingFace(_) => self.special_token(code, languages::code_of_tag),
            Kind::SentencePiece(inner) => inner.target_tag(code),
        }
    }

    /// Returns the id of the token that names the language `code` as the first token of its side,
    /// as in M2M100 (`fr`) and NLLB (`fra_Latn`); `None` if the vocabulary has none.
    pub fn language_token(&self, code: &str) -> Option<u32> {
        match &self.kind {
            Kind::HuggingFace(_) => self.special_token(code, languages::code_of_language),
            Kind::SentencePiece(inner) => inner.language_token(code),
        }
    }

    /// Returns the id of the special token [`SEPARATOR_TOKEN`](special::SEPARATOR_TOKEN), which no
    /// text is encoded as; `None` if the vocabulary has none.
    pub fn separator(&self) -> Option<u32> {
        let is_separator = |token: &str| token == special::SEPARATOR_TOKEN;
        let Kind::HuggingFace(inner) = &self.kind else {
            return None;
        };
        let mut tokens = languages::special_tokens(inner).into_iter();
        let token = tokens.find(|token| is_separator(token))?;
        inner.token_to_id(token)
    }

    /// Returns the id of the special token in which `code_of` finds `code`.
    fn special_token(&self, code: &str, code_of: fn(&str) -> Option<&str>) -> Option<u32> {
        let Kind::HuggingFace(inner) = &self.kind else {
            return None;
        };
        let mut tokens = languages::special_tokens(inner).into_iter();
        let token = tokens.find(|token| code_of(token) == Some(code))?;
        inner.token_to_id(token)
    }

    /// Returns the codes that `code_of` finds in the special tokens, in the order of their ids.
    fn special_codes(&self, code_of: fn(&str) -> Option<&str>) -> Vec<String> {
        let Kind::HuggingFace(inner) = &self.kind else {
            return Vec::new();
        };
        let tokens = languages::special_tokens(inner);
        let codes = tokens.into_iter().filter_map(code_of);
        codes.map(str::to_owned).collect()
    }

    /// Returns the language codes that [`target_tag`](Self::target_tag) knows.
    pub fn target_tags(&self) -> Vec<String> {
        match &self.kind {
            Kind::HuggingFace(_) => self.special_codes(languages::code_of_tag),
            Kind::SentencePiece(inner) => inner.target_tags(),
        }
    }

    /// Returns the language codes that [`language_token`](Self::language_token) knows. If there are
    /// any, the texts of each side begin with a token that names their language.
    pub fn language_codes(&self) -> Vec<String> {
        match &self.kind {
            Kind::HuggingFace(_) => self.special_codes(languages::code_of_language),
            Kind::SentencePiece(inner) => inner.language_codes(),
        }
    }

    /// Number of rows that an embedding matrix needs: the highest id plus one.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }
}

/// Returns the ids of `text`; `None` if the library cannot encode it or panics.
fn encode(tokenizer: &tokenizers::Tokenizer, text: &str) -> Option<Vec<u32>> {
    caught::survived(|| pipeline::encode(tokenizer, text))
}
