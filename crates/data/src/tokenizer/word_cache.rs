//! A cache of the ids of words. Most words of a text are repeated, and a look-up takes a tenth of
//! the time in which the `tokenizers` library normalises, splits and merges a word.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use serde_json::json;

use super::layout;
use super::settings::TokenizerSettings;

/// The largest number of words that are kept, and the length of the longest in bytes: at most about
/// 40 MB.
const MOST_WORDS: usize = 1 << 18;
const LONGEST: usize = 48;

/// The ids of words between spaces, for a tokeniser whose ids of a text are those of its words, one
/// after the other.
#[derive(Debug, Default)]
pub(super) struct WordCache(RwLock<HashMap<Box<str>, Box<[u32]>>>);

impl WordCache {
    /// A cache for `tokenizer`, if it normalises and divides text like the tokenisers that this
    /// crate trains: no token has parts of two words, and no word changes another.
    pub(super) fn of(tokenizer: &tokenizers::Tokenizer) -> Option<Self> {
        let form = |tokenizer: &tokenizers::Tokenizer| {
            let parts = (tokenizer.get_normalizer(), tokenizer.get_pre_tokenizer());
            json!([parts.0, parts.1, tokenizer.get_added_vocabulary()])
        };
        let is_of = |split_digits| {
            let settings = TokenizerSettings {
                split_digits,
                ..TokenizerSettings::default()
            };
            layout::empty(&settings).is_ok_and(|empty| form(&empty) == form(tokenizer))
        };
        (is_of(false) || is_of(true)).then(Self::default)
    }

    /// The ids of each of `texts`; `encode` gives those of a new word, and `None` for a text that
    /// cannot be encoded.
    pub(super) fn encode<S: AsRef<str>>(
        &self,
        texts: &[S],
        encode: impl Fn(&str) -> Option<Vec<u32>>,
    ) -> Vec<Option<Vec<u32>>> {
        let mut new = HashMap::new();
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let of_word = |ids: &mut Vec<u32>, word| -> Option<()> {
            if let Some(found) = known.get(word) {
                ids.extend_from_slice(found);
            } else {
                ids.extend_from_slice(new.entry(word).or_insert_with(|| encode(word)).as_ref()?);
            }
            Some(())
        };
        let encoded = encode_all(texts, of_word, &encode);
        let room = MOST_WORDS.saturating_sub(known.len());
        drop(known);
        let new = new
            .into_iter()
            .filter(|(word, _)| word.len() <= LONGEST)
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

/// The ids of each of `texts`, to which `of_word` adds those of a word. A text with white space
/// other than single characters U+0020, or with the character that stands for a space, is encoded
/// as a whole.
fn encode_all<'a, S: AsRef<str>>(
    texts: &'a [S],
    mut of_word: impl FnMut(&mut Vec<u32>, &'a str) -> Option<()>,
    encode: impl Fn(&str) -> Option<Vec<u32>>,
) -> Vec<Option<Vec<u32>>> {
    let is_odd = |c: char| c == '▁' || (c != ' ' && c.is_whitespace());
    let ids = |text: &'a S| {
        let text = text.as_ref();
        if text.contains(is_odd) {
            return encode(text);
        }
        let mut ids = Vec::with_capacity(text.len() / 3);
        let words = text.split(' ').filter(|word| !word.is_empty());
        words
            .into_iter()
            .try_for_each(|word| of_word(&mut ids, word))
            .map(|()| ids)
    };
    texts.iter().map(ids).collect()
}
