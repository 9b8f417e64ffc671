//! Turns text into ids with the parts of the `tokenizers` library.
//!
//! The library's own `encode` would end with post-processing: special tokens, padding, truncation. Here cleaning and
//! [`Batch`](crate::Batch) decide on lengths, and the latter adds the special tokens, so that step is left out.

use tokenizers::{
    Model, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, Result, Tokenizer,
};

/// Normalises the text without the added tokens that it contains.
pub(super) fn normalize(tokenizer: &Tokenizer, text: &str) -> PreTokenizedString {
    tokenizer.get_added_vocabulary().extract_and_normalize(tokenizer.get_normalizer(), text)
}

/// Divides a text into words.
pub(super) fn split(tokenizer: &Tokenizer, text: &mut PreTokenizedString) -> Result<()> {
    tokenizer.get_pre_tokenizer().map_or(Ok(()), |step| step.pre_tokenize(text))
}

/// The words of a normalised text, none of them empty.
pub(super) fn words(tokenizer: &Tokenizer, normalized: &str) -> Result<Vec<String>> {
    let mut text = PreTokenizedString::from(normalized);
    split(tokenizer, &mut text)?;
    let words = text.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
    let words = words.into_iter().map(|(word, ..)| word.to_owned());
    Ok(words.filter(|word| !word.is_empty()).collect())
}

/// The ids of words.
pub(super) fn ids(tokenizer: &Tokenizer, mut words: PreTokenizedString) -> Result<Vec<u32>> {
    tokenizer.get_model().tokenize_in_pretokenized(&mut words, None)?;
    Ok(words.into_encoding(None, 0, OffsetType::None)?.get_ids().to_vec())
}

/// Turns text into ids: normalises, splits and looks up.
pub(super) fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let mut text = normalize(tokenizer, text);
    split(tokenizer, &mut text)?;
    ids(tokenizer, text)
}
