//! The parts of a `tokenizer.json` around the subword model: normaliser, splitting into words,
//! decoder, special tokens.
//!
//! A text is divided into words as in SentencePiece: without its [invisible
//! characters](burnformer_text::visible), NFC, control characters removed, white space collapsed
//! and stripped, `▁` before each word. A piece never contains parts of two words, and never mixes
//! letters, digits and punctuation, so that `house`, `house,` and `house.` share a token. An
//! apostrophe stays with the letters before it (`l'`, `don'`), as in the usual tokenisation of
//! French and English. NFKC is deliberately not used: it would change characters that the target
//! side has to produce (`…`, `½`, full-width forms).

use serde_json::{Value, json};

use super::TokenizerError;
use super::settings::TokenizerSettings;
use crate::error::Result;
use crate::special;

/// Control and format characters that carry no text: C0 and C1 except white space, and the
/// byte-order mark.
const CONTROL: &str = r"[\x{0}-\x{8}\x{e}-\x{1f}\x{7f}-\x{84}\x{86}-\x{9f}\x{feff}]";
/// Scripts written without spaces that SentencePiece keeps together.
const EAST_ASIAN: &str = r"\p{Han}\p{Hiragana}\p{Katakana}ー";

fn replace(pattern: Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

/// Returns the normaliser with the steps `first` before the usual ones. Every step is a function of
/// the text only, and is the same in training, encoding and Python.
fn normalizer(first: Vec<Value>) -> Value {
    let steps = [
        json!({"type": "NFC"}),
        replace(json!({"Regex": CONTROL}), ""),
        replace(json!({"Regex": r"[\s▁]+"}), " "),
        json!({"type": "Strip", "strip_left": true, "strip_right": true}),
        json!({"type": "Prepend", "prepend": "▁"}),
        replace(json!({"String": " "}), "▁"),
    ];
    json!({"type": "Sequence", "normalizers": ([&first[..], &steps].concat())})
}

/// Returns the normaliser in files. It first removes invisible characters, for programs that read
/// the file without this crate. A [`Tokenizer`](super::Tokenizer) removes them itself, which is
/// faster.
pub(super) fn whole_normalizer() -> Value {
    let rule = burnformer_text::patterns().map(|pattern| replace(json!({ "Regex": pattern }), ""));
    let blank = replace(json!({"String": "\u{2800}"}), " ");
    normalizer([blank].into_iter().chain(rule).collect())
}

/// Removes the rule for invisible characters from a `tokenizer.json`, and returns whether it was
/// there.
pub(super) fn leave_out_rule(document: &mut Value) -> bool {
    let Some(found) = document.get_mut("normalizer") else {
        return false;
    };
    if *found != whole_normalizer() {
        return false;
    }
    *found = normalizer(Vec::new());
    true
}

/// Splits normalised text into words; pieces do not cross their boundaries.
fn pre_tokenizer(settings: &TokenizerSettings) -> Value {
    let letters = format!(r"[\p{{L}}\p{{M}}&&[^{EAST_ASIAN}]]");
    let digits = if settings.split_digits {
        r"\p{N}"
    } else {
        r"\p{N}+"
    };
    let words = format!(r"▁?(?:[{EAST_ASIAN}]+|{letters}+['’]?|{digits})");
    let pattern = format!(r"{words}|▁?[^\p{{L}}\p{{M}}\p{{N}}▁]+|▁");
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}

/// Returns the decoder, which undoes the normaliser: `▁` becomes a space, bytes become characters,
/// and the first space is removed.
fn decoder() -> Value {
    json!({"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ]})
}

/// Returns the special tokens with their ids: the tokens of every vocabulary, and the `further`
/// ones, which begin at `first`.
fn added_tokens(further: &[String], first: usize) -> Vec<Value> {
    let usual = special::TOKENS.into_iter().enumerate();
    let further = further.iter().map(String::as_str);
    usual
        .chain((first..).zip(further))
        .map(|(id, content)| {
            json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                   "normalized": false, "special": true})
        })
        .collect()
}

/// Returns the complete `tokenizer.json` of the pieces `tokens` and their `merges`. The special
/// tokens `further` follow the pieces.
pub(super) fn document(
    tokens: &[String],
    merges: &[(String, String)],
    further: &[String],
    settings: &TokenizerSettings,
) -> Value {
    let added = added_tokens(further, tokens.len());
    let model = bpe_json(tokens, merges);
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": normalizer(Vec::new()), "pre_tokenizer": pre_tokenizer(settings), "post_processor": null,
        "decoder": decoder(), "model": model,
    })
}

/// Creates a tokeniser with only the special tokens, for its normaliser and its division into
/// words.
pub(super) fn empty(settings: &TokenizerSettings) -> Result<tokenizers::Tokenizer> {
    let tokens = special::TOKENS.map(String::from);
    parse(document(&tokens, &[], &[], settings))
}

/// Parses a `tokenizer.json`.
pub(super) fn parse(document: Value) -> Result<tokenizers::Tokenizer> {
    Ok(serde_json::from_value(document).map_err(TokenizerError::training)?)
}

/// Returns the model of a `tokenizer.json` by BPE.
fn bpe_json(tokens: &[String], merges: &[(String, String)]) -> Value {
    let vocab: serde_json::Map<String, Value> = tokens
        .iter()
        .cloned()
        .zip((0..).map(|id: u32| json!(id)))
        .collect();
    json!({
        "type": "BPE", "dropout": null, "unk_token": special::UNK_TOKEN, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
        "vocab": vocab, "merges": merges,
    })
}

/// Returns the name of the token for `byte`.
fn byte_token(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// Returns the tokens that do not depend on the text, in the order of their ids: the special
/// tokens, then the 256 bytes.
pub(super) fn fixed_tokens() -> Vec<String> {
    special::TOKENS
        .iter()
        .map(ToString::to_string)
        .chain((0..=255).map(byte_token))
        .collect()
}
