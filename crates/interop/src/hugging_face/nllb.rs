//! The `tokenizer.json` of `NllbTokenizer`, from a SentencePiece model and a vocabulary with language
//! tokens.
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

/// Returns the files of `NllbTokenizer` for the SentencePiece model `pieces`, the vocabulary `tokens`
/// and sentences of up to `longest` tokens.
///
/// # Errors
/// Returns [`InteropError::CannotExport`] unless the model is of byte-pair encoding and the
/// vocabulary begins as in NLLB.
pub(super) fn write_texts(pieces: &[u8], tokens: &[String], longest: usize) -> Result<Files> {
    let cannot = |what: &str| InteropError::CannotExport {
        format: "NllbTokenizer",
        what: what.into(),
        remedy: "export to ctranslate2",
    };
    let tokens = &tokens[..vocabulary::real(tokens)];
    let special = ["<s>", "<pad>", "</s>", "<unk>"];
    if tokens.len() < 4 || tokens[..4] != special {
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
    let ids: HashMap<&str, usize> = tokens.iter().map(String::as_str).zip(0..).collect();
    let is_added = |token: &&String| model.id(token).is_none() && !special.contains(&&token[..]);
    let languages: Vec<&String> = tokens
        .iter()
        .filter(|token| is_added(token) && *token != MASK)
        .collect();
    let added = special
        .into_iter()
        .chain(languages.iter().map(|token| token.as_str()))
        .chain(ids.contains_key(MASK).then_some(MASK));
    let added: Vec<Value> = added
        .map(|token| {
            json!({
                "id": ids[token], "content": token, "single_word": false, "lstrip": token == MASK,
                "rstrip": false, "normalized": token == MASK, "special": true,
            })
        })
        .collect();
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
    let words = json!({
        "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true,
    });
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": added,
        "normalizer": { "type": "Sequence", "normalizers": normalizers },
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
            "vocab": ids, "merges": merges(&model, &ids),
        },
    });
    let settings = json!({
        "tokenizer_class": "NllbTokenizer", "additional_special_tokens": languages,
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
        "sep_token": "</s>", "cls_token": "<s>", "mask_token": MASK, "model_max_length": longest,
        // Otherwise the source has the language of `eng_Latn`, known or not.
        "src_lang": languages.first(),
    });
    let bytes = |json: &Value| serde_json::to_vec(json).expect("a tokeniser is plain data");
    Ok([
        ("sentencepiece.bpe.model".to_string(), pieces.to_vec()),
        (TOKENIZER.to_string(), bytes(&tokenizer)),
        ("tokenizer_config.json".to_string(), bytes(&settings)),
    ]
    .into())
}

/// The pairs of pieces that make a piece, the best piece first. Of pairs for the same score, the one
/// with the longer left side comes first, as in the conversion of transformers.
fn merges<'a>(model: &'a SentencePiece, ids: &HashMap<&str, usize>) -> Vec<[&'a str; 2]> {
    let mut found = Vec::new();
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
                found.push((score, lengths, [left, right]));
            }
        }
    }
    found.sort_by(|(a, lengths, _), (b, others, _)| b.total_cmp(a).then(lengths.cmp(others)));
    found.into_iter().map(|(_, _, pair)| pair).collect()
}
