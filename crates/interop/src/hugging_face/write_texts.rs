//! The tokeniser files of an exported model.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::config::{Family, TEXTS};
use super::languages;
use crate::error::Result;
use crate::files::parse_json;
use crate::pretrained::{Files, Pretrained};
use crate::vocabulary::{self, TOKENIZER};

/// Returns the tokeniser files of `model` for a class of `family` with sentences of up to `longest`
/// tokens.
///
/// # Errors
/// Returns [`InteropError::CannotExport`](crate::InteropError::CannotExport) for a tokeniser that
/// the class does not have.
pub(super) fn texts(model: &Pretrained, family: Family, longest: usize) -> Result<Files> {
    match family {
        Family::Marian => of_marian(model, longest),
        Family::M2m100 => languages::write_texts(model, longest),
    }
}

/// The tokeniser files: Marian's files unchanged, or ours for `PreTrainedTokenizerFast`.
fn of_marian(model: &Pretrained, longest: usize) -> Result<Files> {
    let texts = model
        .texts
        .iter()
        .filter(|(name, _)| TEXTS.contains(&&name[..]));
    let mut texts: Files = texts
        .map(|(name, bytes)| (name.clone(), bytes.clone()))
        .collect();
    let Some(bytes) = model.texts.get(TOKENIZER) else {
        return Ok(texts);
    };
    let [tokens, _] = vocabulary::tokens(model)?;
    let mut tokenizer: Map<String, Value> = parse_json(Path::new(TOKENIZER), bytes)?;
    let eos = &tokens[model.config.eos as usize];
    let pad = &tokens[model.config.pad as usize];
    let first = json!({ "Sequence": { "id": "A", "type_id": 0 } });
    let second = json!({ "Sequence": { "id": "B", "type_id": 0 } });
    let end = json!({ "SpecialToken": { "id": eos, "type_id": 0 } });
    let single = json!([first, end]);
    let pair = json!([first, second, end]);
    let special = json!({ eos: { "id": eos, "ids": [model.config.eos], "tokens": [eos] } });
    let closing = json!({
        "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special,
    });
    tokenizer.insert("post_processor".into(), closing);
    let settings = json!({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos,
        "pad_token": pad, "model_max_length": longest,
        "clean_up_tokenization_spaces": false,
    });
    for (name, json) in [
        (TOKENIZER, Value::Object(tokenizer)),
        ("tokenizer_config.json", settings),
    ] {
        let bytes = serde_json::to_vec_pretty(&json).expect("a tokeniser is plain data");
        texts.insert(name.into(), bytes);
    }
    Ok(texts)
}
