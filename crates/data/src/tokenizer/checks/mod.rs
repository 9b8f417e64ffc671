//! Refuses settings of a `tokenizer.json` that the `tokenizers` library cannot run.
//!
//! The `tokenizers` library trusts its files: some settings make it panic, never end, overflow the
//! stack or fill the memory. A file may come from anywhere, so such settings are refused when it is
//! loaded, and the error names the part. The faults were found in the source of the library,
//! release 0.23.
//!
//! A panic is caught while the file is parsed and in a [`trial`] of the tokeniser on texts chosen
//! to provoke faults. The settings are read only for faults that a trial cannot show or survive:
//!
//! - a table or a growing text that fills the memory ([`precompiled`], [`growth`]),
//! - a search that never ends or takes too long ([`pattern`], [`MAX_WORD_PIECE_CHARS`]),
//! - a stack overflow ([`MAX_PIECE_BYTES`]),
//! - text that is no longer UTF-8 ([`affixes`]),
//! - panics on characters or tokens of the file's own ([`precompiled`], [`added_tokens`], and two
//!   of [`steps`], because an earlier step can hide them from every text of a trial).

mod growth;
mod pattern;
mod precompiled;
mod trial;

use growth::{Check, Growth, json, refusal};
use serde_json::Value;
use tokenizers::AddedToken;

use super::pipeline;

pub(super) use growth::Refusal;
pub(super) use trial::trial;

/// Length of the longest accepted piece of a unigram vocabulary, in bytes. The library walks its
/// tree of bytes by recursion, and a piece of about 10,000 bytes overflows the stack.
pub(super) const MAX_PIECE_BYTES: usize = 1024;
/// Length of the longest accepted prefix or suffix of subwords, in bytes. It is copied for every
/// character of a text.
const MAX_AFFIX_BYTES: usize = 64;
/// Length of the longest word for WordPiece, in characters. The library tries every substring of
/// every remainder of the word.
const MAX_WORD_PIECE_CHARS: u64 = 200;
/// Largest total size of the added tokens in bytes. The library builds an automaton of about 50
/// times that size.
const MAX_ADDED_BYTES: usize = 1 << 20;

/// Checks the settings that can do harm while the library parses them, and the model's settings.
pub(super) fn before_parsing(json: &Value) -> Check {
    precompiled::every(&json["normalizer"])?;
    let model = &json["model"];
    for piece in model["vocab"].as_array().into_iter().flatten() {
        let length = piece[0].as_str().map_or(0, str::len);
        if length > MAX_PIECE_BYTES {
            let message =
                format!("a piece has {length} bytes, but at most {MAX_PIECE_BYTES} are possible");
            return refusal("model (Unigram)", message);
        }
    }
    let chars = model["max_input_chars_per_word"]
        .as_u64()
        .unwrap_or_default();
    if chars > MAX_WORD_PIECE_CHARS {
        let message = format!(
            "max_input_chars_per_word is {chars}; at most {MAX_WORD_PIECE_CHARS} are possible, since the time goes \
             with its cube"
        );
        return refusal("model (WordPiece)", message);
    }
    affixes(model)
}

/// Checks the prefix that marks subwords. The right half of every merge must have it, because the
/// library cuts it off without looking, even in the middle of a character.
fn affixes(model: &Value) -> Check {
    for affix in ["continuing_subword_prefix", "end_of_word_suffix"] {
        let length = model[affix].as_str().map_or(0, str::len);
        if length > MAX_AFFIX_BYTES {
            let message =
                format!("its {affix} has {length} bytes; at most {MAX_AFFIX_BYTES} are possible");
            return refusal("model", message);
        }
    }
    let prefix = model["continuing_subword_prefix"]
        .as_str()
        .unwrap_or_default();
    for merge in model["merges"].as_array().into_iter().flatten() {
        let written = merge.as_str().and_then(|merge| merge.split(' ').nth(1));
        let right = written.or(merge[1].as_str()).unwrap_or_default();
        if !right.starts_with(prefix) {
            let message = format!(
                "the right half {right:?} of a merge lacks the continuing_subword_prefix {prefix:?}"
            );
            return refusal("model (BPE)", message);
        }
    }
    Ok(())
}

/// Checks the added tokens, which are searched for before a text is divided into words.
pub(super) fn added_tokens(tokenizer: &tokenizers::Tokenizer, tokens: &[AddedToken]) -> Check {
    let part = "list of added_tokens";
    let mut bytes = 0;
    for token in tokens {
        let content = &token.content;
        // A token of white space that also strips white space can end before it starts.
        if token.lstrip && content.trim().is_empty() {
            let message = format!("{content:?} is white space; set its \"lstrip\" to false");
            return refusal(part, message);
        }
        let normalized = if token.normalized {
            let result = trial::survives("normalizer", content, || {
                pipeline::normalized(tokenizer, content)
            })?;
            // If a step fails, the library gives the error when it adds the token.
            result.unwrap_or_else(|_| content.clone())
        } else {
            content.clone()
        };
        // An empty token would be found between all bytes, also within a character.
        if normalized.is_empty() && !content.is_empty() {
            let message =
                format!("nothing is left of {content:?}; set its \"normalized\" to false");
            return refusal(part, message);
        }
        bytes += normalized.len();
        if bytes > MAX_ADDED_BYTES {
            let message = format!("normalised, they have more than {MAX_ADDED_BYTES} bytes");
            return refusal(part, message);
        }
    }
    Ok(())
}

/// Checks every step of every part.
pub(super) fn parts(tokenizer: &tokenizers::Tokenizer) -> Check {
    let normalizer = json(&tokenizer.get_normalizer());
    let pre_tokenizer = json(&tokenizer.get_pre_tokenizer());
    let decoder = json(&tokenizer.get_decoder());
    let mut encoding = Growth::up_to(growth::MAX_ENCODING);
    steps("normalizer", &normalizer, &mut encoding)?;
    steps("pre_tokenizer", &pre_tokenizer, &mut encoding)?;
    let mut decoding = Growth::up_to(growth::MAX_DECODING);
    steps("decoder", &decoder, &mut decoding)
}

/// Checks the steps of a part as the library writes it: every step names its type.
fn steps(part: &str, step: &Value, growth: &mut Growth) -> Check {
    let lists = ["normalizers", "pretokenizers", "decoders"].map(|list| step[list].as_array());
    if let Some(list) = lists.into_iter().flatten().next() {
        return list.iter().try_for_each(|step| steps(part, step, growth));
    }
    let kind = step["type"].as_str().unwrap_or_default();
    let name = format!("{part} ({kind})");
    let factor = match kind {
        _ if step.is_null() => return Ok(()),
        "FixedLength" if step["length"] == 0 => {
            let message = "words of 0 characters are asked for; set \"length\" to 1 or more";
            return refusal(&name, message);
        }
        // The normaliser of this name has no "stop".
        "Strip" if step["stop"].as_u64().is_some_and(|stop| stop > 0) => {
            let message = format!(
                "it strips {} characters from the end, which fails on shorter text; set \"stop\" to 0",
                step["stop"]
            );
            return refusal(&name, message);
        }
        "Replace" => pattern::replacement(&name, step)?,
        "Split" => pattern::split(&name, step)?,
        "Precompiled" => precompiled::growth(step)?,
        "Prepend" => 1.0 + text_bytes(&step["prepend"]),
        // Unicode's FAQ on normalisation: one byte becomes at most three, or eleven with
        // compatibility forms.
        "NFC" | "NFD" => 3.0,
        "NFKC" | "NFKD" => 11.0,
        "BertNormalizer" => 10.0,
        "Lowercase" | "WordPiece" => 2.0,
        // A byte becomes two, and there is a space before each word. A decoder that replaces the
        // empty text puts a space before, between and after all characters.
        "ByteLevel" | "BPEDecoder" | "CTC" => 3.0,
        // There is a character before each word, and one for each space.
        "Metaspace" => 2.0 * text_bytes(&step["replacement"]),
        _ => 1.0,
    };
    growth.step(part, factor)
}

/// Returns the number of bytes of a text; 0 for anything else.
fn text_bytes(value: &Value) -> f64 {
    value.as_str().map_or(0, str::len) as f64
}
