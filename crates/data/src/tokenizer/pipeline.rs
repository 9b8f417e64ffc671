//! Turns text into ids with the parts of the `tokenizers` library.
//!
//! The library's own `encode` would end with post-processing: special tokens, padding, truncation.
//! That step is left out, because cleaning and [`Batch`](crate::Batch) decide on lengths, and the
//! batch adds the special tokens.

use tokenizers::{
    Decoder, DecoderWrapper, Model, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer, Result, Tokenizer,
};

use crate::special::UNK;

/// Normalises the text without the added tokens that it contains.
pub(super) fn normalize(tokenizer: &Tokenizer, text: &str) -> PreTokenizedString {
    tokenizer
        .get_added_vocabulary()
        .extract_and_normalize(tokenizer.get_normalizer(), text)
}

/// Returns the normalised text. Added tokens are treated as ordinary text.
pub(super) fn normalized(tokenizer: &Tokenizer, text: &str) -> Result<String> {
    let mut text = NormalizedString::from(text);
    tokenizer
        .get_normalizer()
        .map_or(Ok(()), |step| step.normalize(&mut text))?;
    Ok(text.get().to_owned())
}

/// Divides a text into words.
pub(super) fn split(tokenizer: &Tokenizer, text: &mut PreTokenizedString) -> Result<()> {
    tokenizer
        .get_pre_tokenizer()
        .map_or(Ok(()), |step| step.pre_tokenize(text))
}

/// Returns the words of a normalised text, none of them empty.
pub(super) fn words(tokenizer: &Tokenizer, normalized: &str) -> Result<Vec<String>> {
    let mut text = PreTokenizedString::from(normalized);
    split(tokenizer, &mut text)?;
    let words = text.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
    let words = words.into_iter().map(|(word, ..)| word.to_owned());
    Ok(words.filter(|word| !word.is_empty()).collect())
}

/// Returns the ids of words.
pub(super) fn ids(tokenizer: &Tokenizer, mut words: PreTokenizedString) -> Result<Vec<u32>> {
    tokenizer
        .get_model()
        .tokenize_in_pretokenized(&mut words, None)?;
    Ok(words
        .into_encoding(None, 0, OffsetType::None)?
        .get_ids()
        .to_vec())
}

/// Returns the text of each unknown token.
pub(super) fn unknown(tokenizer: &Tokenizer, text: &str) -> Result<Vec<String>> {
    let mut words = normalize(tokenizer, text);
    split(tokenizer, &mut words)?;
    tokenizer
        .get_model()
        .tokenize_in_pretokenized(&mut words, None)?;
    let tokens = words.into_encoding(None, 0, OffsetType::Byte)?;
    let mut unknown = Vec::new();
    for (&id, &(start, end)) in tokens.get_ids().iter().zip(tokens.get_offsets()) {
        if id == UNK {
            let text = text.get(start..end).unwrap_or_default();
            unknown.push(text.trim().to_owned());
        }
    }
    Ok(unknown)
}

/// Returns the text of ids without special tokens, with the next of `copies` for each unknown
/// token.
pub(super) fn decode_copying(
    tokenizer: &Tokenizer,
    ids: &[u32],
    copies: &[String],
) -> Result<String> {
    let added = tokenizer.get_added_vocabulary();
    let mut copies = copies.iter().cloned();
    let mut tokens = Vec::with_capacity(ids.len());
    for &id in ids {
        if id == UNK {
            tokens.extend(copies.next());
        } else {
            let token = tokenizer.id_to_token(id);
            tokens.extend(token.filter(|token| !added.is_special_token(token)));
        }
    }
    text_of(tokenizer, tokens)
}

/// Returns the text of ids without special tokens.
pub(super) fn decode(tokenizer: &Tokenizer, ids: &[u32]) -> Result<String> {
    let added = tokenizer.get_added_vocabulary();
    let tokens = ids.iter().filter_map(|&id| tokenizer.id_to_token(id));
    let tokens = tokens.filter(|token| !added.is_special_token(token));
    text_of(tokenizer, tokens.collect())
}

/// Returns the text of `tokens`.
///
/// The Metaspace decoder of `tokenizers` 0.23.2 removes every `▁` of the first token, and so joins
/// the words of a token that holds several (`▁I▁love`, where the pre-tokeniser does not split).
/// SentencePiece removes the first `▁` alone. The first token is therefore divided into words
/// before it is decoded.
fn text_of(tokenizer: &Tokenizer, mut tokens: Vec<String>) -> Result<String> {
    let Some(decoder) = tokenizer.get_decoder() else {
        return Ok(tokens.join(" "));
    };
    if let Some(space) = metaspace(decoder)
        && !tokens.is_empty()
    {
        let first = tokens.remove(0);
        tokens.splice(..0, words_of_token(&first, space));
    }
    decoder.decode(tokens)
}

/// Returns the character that stands for a space, if `decoder` has a Metaspace.
fn metaspace(decoder: &DecoderWrapper) -> Option<char> {
    match decoder {
        DecoderWrapper::Metaspace(metaspace) => Some(metaspace.get_replacement()),
        DecoderWrapper::Sequence(steps) => steps.get_decoders().iter().find_map(metaspace),
        _ => None,
    }
}

/// Returns `token` divided before each `space`.
fn words_of_token(token: &str, space: char) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in token.chars() {
        if c == space && words != [""] {
            words.push(String::new());
        }
        let word = words.last_mut().expect("at least one word");
        word.push(c);
    }
    words
}

/// Turns text into ids: normalises, splits and looks up.
pub(super) fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let mut text = normalize(tokenizer, text);
    split(tokenizer, &mut text)?;
    ids(tokenizer, text)
}
