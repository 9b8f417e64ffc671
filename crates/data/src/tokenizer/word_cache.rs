//! A cache of the ids of words. Most words of a text are repeated, and a look-up takes a tenth of
//! the time that the `tokenizers` library needs to normalise, split and merge a word.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use serde_json::{Value, json};

use super::layout;
use super::settings::TokenizerSettings;

/// Largest number of cached words. With [`MAX_WORD_BYTES`] it bounds the memory to about 40 MB.
const MAX_WORDS: usize = 1 << 18;
/// Length of the longest cached word, in bytes.
const MAX_WORD_BYTES: usize = 48;

/// The ids of words between spaces, for a tokeniser that encodes each word by itself.
#[derive(Debug, Default)]
pub(super) struct WordCache(RwLock<HashMap<Box<str>, Box<[u32]>>>);

impl WordCache {
    /// Creates a cache for `tokenizer`, if it normalises and divides text like the tokenisers that
    /// this crate trains: no token has parts of two words, and no word changes another.
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> Option<Self> {
        let parts = parts(tokenizer);
        let is_trained_here = [false, true].into_iter().any(|split_digits| {
            let settings = TokenizerSettings {
                split_digits,
                ..TokenizerSettings::default()
            };
            layout::empty(&settings).is_ok_and(|empty| self::parts(&empty) == parts)
        });
        is_trained_here.then(Self::default)
    }

    /// Returns the ids of each of `texts`; `encode` gives the ids of a new word, and `None` for a
    /// text that cannot be encoded.
    pub(super) fn encode<S: AsRef<str>>(
        &self,
        texts: &[S],
        encode: impl Fn(&str) -> Option<Vec<u32>>,
    ) -> Vec<Option<Vec<u32>>> {
        let mut new = HashMap::new();
        let cached_words = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut encoded = Vec::with_capacity(texts.len());
        for text in texts {
            let text = text.as_ref();
            encoded.push(if text.contains(is_odd) {
                encode(text)
            } else {
                encode_words(text, &cached_words, &mut new, &encode)
            });
        }
        let room = MAX_WORDS.saturating_sub(cached_words.len());
        drop(cached_words);
        let new = new
            .into_iter()
            .filter(|(word, _)| word.len() <= MAX_WORD_BYTES)
            .take(room);
        let new: Vec<_> = new
            .filter_map(|(word, ids)| Some((word.into(), ids?.into())))
            .collect();
        if !new.is_empty() {
            self.0
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(new);
        }
        encoded
    }
}

/// Returns the parts of a tokeniser that divide a text into words. Special tokens are none of them,
/// as they are ordinary text in a text.
fn parts(tokenizer: &tokenizers::Tokenizer) -> Value {
    let added = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
    let divides = added.values().any(|token| !token.special);
    json!([
        tokenizer.get_normalizer(),
        tokenizer.get_pre_tokenizer(),
        divides
    ])
}

/// Returns whether a text with `c` is encoded as a whole: white space other than U+0020, or the
/// character that stands for a space.
fn is_odd(c: char) -> bool {
    c == '▁' || (c != ' ' && c.is_whitespace())
}

/// Returns the ids of the words of `text`. Words that are not `known` are encoded and added to
/// `new`.
fn encode_words<'a>(
    text: &'a str,
    known: &HashMap<Box<str>, Box<[u32]>>,
    new: &mut HashMap<&'a str, Option<Vec<u32>>>,
    encode: impl Fn(&str) -> Option<Vec<u32>>,
) -> Option<Vec<u32>> {
    let mut ids = Vec::with_capacity(text.len() / 3);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if let Some(found) = known.get(word) {
            ids.extend_from_slice(found);
        } else {
            let found = new.entry(word).or_insert_with(|| encode(word));
            ids.extend_from_slice(found.as_ref()?);
        }
    }
    Some(ids)
}
