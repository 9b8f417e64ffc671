//! From text to ids by the parts of the `tokenizers` library.
//!
//! The library's own `encode` would add post-processing at the end: special tokens, padding, truncation. Here lengths are
//! decided by cleaning and by [`Batch`](crate::Batch), which also adds the special tokens, so that step is left out.

use tokenizers::{Model, OffsetType, PreTokenizedString, PreTokenizer, Result, Tokenizer};

/// The text without the added tokens it holds, normalised.
pub(super) fn normalize(tokenizer: &Tokenizer, text: &str) -> PreTokenizedString {
    tokenizer.get_added_vocabulary().extract_and_normalize(tokenizer.get_normalizer(), text)
}

/// Cuts a text into words.
pub(super) fn split(tokenizer: &Tokenizer, text: &mut PreTokenizedString) -> Result<()> {
    tokenizer.get_pre_tokenizer().map_or(Ok(()), |step| step.pre_tokenize(text))
}

/// The ids of words.
pub(super) fn ids(tokenizer: &Tokenizer, mut words: PreTokenizedString) -> Result<Vec<u32>> {
    tokenizer.get_model().tokenize_in_pretokenized(&mut words, None)?;
    Ok(words.into_encoding(None, 0, OffsetType::None)?.get_ids().to_vec())
}

/// All of the above.
pub(super) fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let mut text = normalize(tokenizer, text);
    split(tokenizer, &mut text)?;
    ids(tokenizer, text)
}
