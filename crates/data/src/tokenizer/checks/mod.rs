//! Refuses settings of a `tokenizer.json` that the `tokenizers` library cannot run.
//!
//! The `tokenizers` library trusts its files: there are settings with which it panics, never ends,
//! overflows the stack or fills the memory. A file may come from anywhere, so such settings are
//! refused when it is loaded, and the error names the part that has them. [`before_parsing`] checks
//! the settings that break parsing itself, [`parts`] the steps of each part, and [`added_tokens`]
//! the added tokens. [`trial`] uses the tokeniser on texts chosen to provoke faults. The faults
//! were found in the source of the library, release 0.23.

mod growth;
mod pattern;
mod precompiled;
mod trial;

use growth::{Check, Growth, json, refusal};
use serde_json::Value;
use tokenizers::AddedToken;
use tokenizers::models::ModelWrapper;

pub(super) use growth::Refusal;
pub(super) use trial::trial;

/// Length of the longest accepted piece of a unigram vocabulary, in bytes. The library walks its
/// tree of bytes by recursion, and a piece of about 10,000 bytes overflows the stack.
pub(super) const MAX_PIECE_BYTES: usize = 1024;
/// Length of the longest accepted prefix or suffix of subwords, in bytes. It is copied for every
/// character of a text.
const MAX_AFFIX_BYTES: usize = 64;
/// Length of the longest word that WordPiece may divide, in characters. The library tries every
/// substring of every remainder of the word.
const MAX_WORD_PIECE_CHARS: usize = 200;
/// Largest total size of the added tokens in bytes. The library builds an automaton of about 50
/// times that size.
const MAX_ADDED_BYTES: usize = 1 << 20;
/// Checks for settings with which the library would panic, or worse, while it parses.
pub(super) fn before_parsing(json: &Value) -> Check {
    precompiled::every(&json["normalizer"], &mut |map| precompiled::growth(map).map(drop))?;
    let model = &json["model"];
    for piece in model["vocab"].as_array().into_iter().flatten() {
        let length = piece[0].as_str().map_or(0, str::len);
        if length > MAX_PIECE_BYTES {
            let message =
                format!("a piece has {length} bytes, but at most {MAX_PIECE_BYTES} are possible");
            return refusal("model (Unigram)", message);
        }
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
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    let right = |merge: &Value| {
        let written = merge.as_str().and_then(|merge| merge.split(' ').nth(1));
        written.or(merge[1].as_str()).unwrap_or_default().to_owned()
    };
    let merges = model["merges"].as_array().into_iter().flatten();
    match merges.map(right).find(|right| !right.starts_with(prefix)) {
        Some(right) => {
            let message = format!(
                "the right half {right:?} of a merge lacks the continuing_subword_prefix {prefix:?}"
            );
            refusal("model (BPE)", message)
        }
        None => Ok(()),
    }
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
        let normalized = match tokenizer.get_normalizer().filter(|_| token.normalized) {
            Some(normalizer) => trial::normalized(normalizer, content)?,
            None => content.clone(),
        };
        // An empty token would be found again and again at the same place.
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
    let mut encoding = Growth::up_to(growth::ENCODING);
    steps("normalizer", &json(&tokenizer.get_normalizer()), &mut encoding)?;
    steps("pre_tokenizer", &json(&tokenizer.get_pre_tokenizer()), &mut encoding)?;
    let mut decoding = Growth::up_to(growth::DECODING);
    steps("decoder", &json(&tokenizer.get_decoder()), &mut decoding)?;
    model(tokenizer.get_model())
}

/// Checks the steps of a part in the form in which the library writes it, in which every step names
/// its type.
fn steps(part: &str, step: &Value, growth: &mut Growth) -> Check {
    let lists = ["normalizers", "pretokenizers", "decoders"].map(|list| step[list].as_array());
    if let Some(list) = lists.into_iter().flatten().next() {
        return list.iter().try_for_each(|step| steps(part, step, growth));
    }
    let kind = step["type"].as_str().unwrap_or_default();
    let name = format!("{part} ({kind})");
    let bytes = |key: &str| step[key].as_str().map_or(0, str::len) as f64;
    let factor = match (part, kind) {
        _ if step.is_null() => return Ok(()),
        ("pre_tokenizer", "FixedLength") if step["length"] == 0 => {
            let message = "words of 0 characters are asked for; set \"length\" to 1 or more";
            return refusal(&name, message);
        }
        ("decoder", "Strip") if step["stop"] != 0 => {
            let message = format!(
                "it strips {} characters from the end, which fails on shorter text; set \"stop\" to 0",
                step["stop"]
            );
            return refusal(&name, message);
        }
        (_, "Replace") => pattern::replacement(&name, step)?,
        (_, "Split") => pattern::split(&name, step)?,
        (_, "Precompiled") => precompiled::growth(step)?,
        (_, "Prepend") => 1.0 + bytes("prepend"),
        // Unicode's FAQ on normalisation: one byte becomes at most three, or eleven with
        // compatibility forms.
        (_, "NFC" | "NFD") => 3.0,
        (_, "NFKC" | "NFKD") => 11.0,
        (_, "BertNormalizer") => 10.0,
        // A byte becomes two, and before pre-tokenised words there is a space.
        ("normalizer", "ByteLevel") | (_, "Lowercase") | ("decoder", "WordPiece") => 2.0,
        (_, "ByteLevel") => 3.0,
        // There is a character before each word, and one for each space.
        ("pre_tokenizer", "Metaspace") => 2.0 * bytes("replacement"),
        // If the empty text is replaced by a space, there is a space before, between and after all
        // characters.
        (_, "BPEDecoder") if bytes("suffix") == 0.0 => 3.0,
        (_, "CTC") if bytes("word_delimiter_token") == 0.0 => 3.0,
        _ => 1.0,
    };
    growth.step(part, factor)
}

fn model(model: &ModelWrapper) -> Check {
    let ModelWrapper::WordPiece(model) = model else {
        return Ok(());
    };
    if model.max_input_chars_per_word > MAX_WORD_PIECE_CHARS {
        let message = format!(
            "max_input_chars_per_word is {}; at most {MAX_WORD_PIECE_CHARS} are possible, since the time goes with \
             its cube",
            model.max_input_chars_per_word
        );
        return refusal("model (WordPiece)", message);
    }
    Ok(())
}
