//! The `tokenizer.json` of `NllbTokenizer`, from a SentencePiece model and a vocabulary with
//! language tokens.
//!
//! The class builds its tokeniser from the file's vocabulary, merges and table of replacements.
//! Without this file, transformers reads the SentencePiece model, and finds no language tokens.

use std::cmp::Reverse;
use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burnformer_sentencepiece::{ModelType, PieceType, SentencePiece};
use serde_json::{Value, json};

use crate::error::{InteropError, Result};
use crate::pretrained::Files;
use crate::vocabulary::{self, TOKENIZER};

const MASK: &str = "<mask>";
/// The first tokens of the vocabulary.
const FIRST_TOKENS: [&str; 4] = ["<s>", "<pad>", "</s>", "<unk>"];

/// Returns the files of `NllbTokenizer` for the SentencePiece model `pieces`, the vocabulary
/// `tokens` and sentences of up to `longest` tokens.
///
/// # Errors
/// Returns [`InteropError::CannotExport`] unless the model is of byte-pair encoding and the
/// vocabulary begins as in NLLB.
pub(super) fn write_texts(pieces: &[u8], tokens: &[String], longest: usize) -> Result<Files> {
    let tokens = &tokens[..vocabulary::real(tokens)];
    if tokens.len() < 4 || tokens[..4] != FIRST_TOKENS {
        return Err(cannot(
            "a vocabulary that does not begin with <s>, <pad>, </s> and <unk>",
        ));
    }
    let model = SentencePiece::from_bytes("source.spm", pieces)
        .map_err(|error| cannot(&error.to_string()))?;
    if model.model_type() != ModelType::Bpe {
        return Err(cannot(
            "a SentencePiece model other than byte-pair encoding",
        ));
    }
    let languages = languages(tokens, &model);
    let tokenizer = tokenizer(pieces, tokens, &model, &languages)?;
    let settings = settings(&languages, longest);
    let bytes = |json: &Value| serde_json::to_vec(json).expect("a tokeniser is plain data");
    Ok([
        ("sentencepiece.bpe.model".to_string(), pieces.to_vec()),
        (TOKENIZER.to_string(), bytes(&tokenizer)),
        ("tokenizer_config.json".to_string(), bytes(&settings)),
    ]
    .into())
}

fn cannot(what: &str) -> InteropError {
    InteropError::CannotExport {
        format: "NllbTokenizer",
        what: what.into(),
        remedy: "export to ctranslate2",
    }
}

/// The language tokens: the tokens that the SentencePiece model lacks, without special tokens.
fn languages<'a>(tokens: &'a [String], model: &SentencePiece) -> Vec<&'a str> {
    tokens
        .iter()
        .map(String::as_str)
        .filter(|token| model.id(token).is_none())
        .filter(|token| !FIRST_TOKENS.contains(token) && *token != MASK)
        .collect()
}

/// The content of `tokenizer.json`.
fn tokenizer(
    pieces: &[u8],
    tokens: &[String],
    model: &SentencePiece,
    languages: &[&str],
) -> Result<Value> {
    let ids: HashMap<&str, usize> = tokens.iter().map(String::as_str).zip(0..).collect();
    let words = json!({
        "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true,
    });
    Ok(json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": added_tokens(&ids, languages),
        "normalizer": { "type": "Sequence", "normalizers": normalizers(pieces)? },
        "pre_tokenizer": words, "decoder": words,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "SpecialToken": { "id": "</s>", "type_id": 0 } }],
            "pair": [
                { "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 0 } },
                { "SpecialToken": { "id": "</s>", "type_id": 0 } },
            ],
            "special_tokens": { "</s>": { "id": "</s>", "ids": [2], "tokens": ["</s>"] } },
        },
        "model": {
            "type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": false,
            "vocab": ids, "merges": merges(model, &ids),
        },
    }))
}

/// The special tokens and the language tokens.
fn added_tokens(ids: &HashMap<&str, usize>, languages: &[&str]) -> Vec<Value> {
    FIRST_TOKENS
        .into_iter()
        .chain(languages.iter().copied())
        .chain(ids.contains_key(MASK).then_some(MASK))
        .map(|token| {
            json!({
                "id": ids[token], "content": token, "single_word": false, "lstrip": token == MASK,
                "rstrip": false, "normalized": token == MASK, "special": true,
            })
        })
        .collect()
}

/// The table of replacements of the SentencePiece model `pieces`, and its rules for spaces.
fn normalizers(pieces: &[u8]) -> Result<Vec<Value>> {
    let charsmap = SentencePiece::charsmap("source.spm", pieces)
        .map_err(|error| cannot(&error.to_string()))?;
    let space = json!({ "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " });
    let strip = json!({ "type": "Strip", "strip_left": true, "strip_right": true });
    let mut normalizers = vec![space, strip];
    if !charsmap.is_empty() {
        let charsmap = STANDARD.encode(charsmap);
        normalizers.insert(
            0,
            json!({ "type": "Precompiled", "precompiled_charsmap": charsmap }),
        );
    }
    Ok(normalizers)
}

/// The content of `tokenizer_config.json`.
fn settings(languages: &[&str], longest: usize) -> Value {
    json!({
        "tokenizer_class": "NllbTokenizer", "additional_special_tokens": languages,
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
        "sep_token": "</s>", "cls_token": "<s>", "mask_token": MASK, "model_max_length": longest,
        // Otherwise the source has the language of `eng_Latn`, known or not.
        "src_lang": languages.first(),
    })
}

/// The pairs of pieces that make a piece, the best piece first. Of pairs for the same score, the
/// one with the longer left side comes first, as in the conversion of transformers.
fn merges<'a>(model: &'a SentencePiece, ids: &HashMap<&str, usize>) -> Vec<[&'a str; 2]> {
    let mut merges = Vec::new();
    for id in 0..model.len() as u32 {
        let (Some(piece), Some(score)) = (model.piece(id), model.score(id)) else {
            continue;
        };
        if model.piece_type(id) != Some(PieceType::Normal) || !ids.contains_key(piece) {
            continue;
        }
        for (at, _) in piece.char_indices().skip(1) {
            let (left, right) = piece.split_at(at);
            if ids.contains_key(left) && ids.contains_key(right) {
                let lengths = [left, right].map(|side| Reverse(side.chars().count()));
                merges.push((score, lengths, [left, right]));
            }
        }
    }
    merges.sort_by(|(a, lengths, _), (b, others, _)| b.total_cmp(a).then(lengths.cmp(others)));
    merges.into_iter().map(|(_, _, pair)| pair).collect()
}
