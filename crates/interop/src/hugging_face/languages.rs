//! The tokenisers of M2M100 and NLLB: a SentencePiece model, and a vocabulary with language tokens.
//!
//! [`align`] handles separate vocabularies with different ids of special tokens.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::nllb;
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_file, read_optional};
use crate::pretrained::{Files, Pretrained};
use crate::vocabulary::{self, TOKENIZER};

const MODEL: &str = "sentencepiece.bpe.model";
const VOCABULARY: &str = "vocab.json";
const SPECIAL: &str = "special_tokens_map.json";

/// The languages of M2M100 in the order of their ids (`FAIRSEQ_LANGUAGE_CODES` in transformers).
const M2M100: &str = "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr \
    ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru \
    sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";

/// Converts the tokeniser in `dir` to the files of a model directory, with tokens for `rows` ids.
///
/// # Errors
/// Returns an [`InteropError`] with the file.
pub(super) fn read_texts(dir: &Path, rows: usize) -> Result<Files> {
    let Some(model) = read_optional(&dir.join(MODEL))? else {
        // A model without a tokeniser can still translate ids.
        return Ok(BTreeMap::new());
    };
    let path = dir.join(TOKENIZER);
    let tokens = match read_optional(&path)? {
        Some(bytes) => vocabulary::of_file(&path, &bytes, rows)?,
        None => {
            let path = dir.join(VOCABULARY);
            let pieces = vocabulary::of_file(&path, &read_file(&path)?, rows)?;
            m2m100(dir, pieces, rows)?
        }
    };
    let vocabulary = vocabulary::json(&tokens);
    Ok([
        ("source.spm".to_string(), model),
        (VOCABULARY.to_string(), vocabulary),
    ]
    .into())
}

/// The special tokens of old files.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SpecialTokens {
    additional_special_tokens: Vec<Value>,
}

/// `tokens` followed by the language tokens.
fn m2m100(dir: &Path, mut tokens: Vec<String>, rows: usize) -> Result<Vec<String>> {
    let pieces = vocabulary::real(&tokens);
    let path = dir.join(SPECIAL);
    let special_tokens: SpecialTokens = match read_optional(&path)? {
        Some(bytes) => parse_json(&path, &bytes)?,
        None => SpecialTokens::default(),
    };
    let mut languages: Vec<String> = special_tokens
        .additional_special_tokens
        .iter()
        .filter_map(|token| {
            token
                .as_str()
                .or(token["content"].as_str())
                .map(str::to_string)
        })
        .collect();
    if languages.is_empty() {
        languages = codes().map(|code| format!("__{code}__")).collect();
    }
    let count = languages.len();
    let slots = tokens.get_mut(pieces..pieces + count).ok_or_else(|| {
        let message =
            format!("{pieces} pieces and {count} languages, but the model has {rows} rows");
        InteropError::damaged(&dir.join(VOCABULARY), message)
    })?;
    slots.clone_from_slice(&languages);
    Ok(tokens)
}

/// Returns the files of `M2M100Tokenizer` for `model` and sentences of up to `longest` tokens. If
/// its languages are not M2M100's, they are the files of `NllbTokenizer`, which has languages of
/// its own.
///
/// # Errors
/// Returns [`InteropError::CannotExport`] for a tokeniser that neither class has.
pub(super) fn write_texts(model: &Pretrained, longest: usize) -> Result<Files> {
    let Some(pieces) = model.texts.get("source.spm") else {
        return Ok(BTreeMap::new());
    };
    let [tokens, _] = vocabulary::tokens(model)?;
    let languages: Vec<String> = codes().map(|code| format!("__{code}__")).collect();
    let first = tokens.iter().position(|token| *token == languages[0]);
    let m2m100_languages = first.and_then(|first| tokens.get(first..first + languages.len()));
    if m2m100_languages != Some(&languages[..]) {
        return nllb::write_texts(pieces, &tokens, longest);
    }
    let special = json!({
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
        "sep_token": "</s>", "additional_special_tokens": languages,
    });
    let mut settings = special.clone();
    settings["tokenizer_class"] = "M2M100Tokenizer".into();
    settings["language_codes"] = "m2m100".into();
    settings["model_max_length"] = longest.into();
    let pretty = |json: &Value| serde_json::to_vec_pretty(json).expect("a tokeniser is plain data");
    Ok([
        (MODEL.to_string(), pieces.clone()),
        (
            VOCABULARY.to_string(),
            vocabulary::json(&tokens[..first.unwrap_or(0)]),
        ),
        (SPECIAL.to_string(), pretty(&special)),
        ("tokenizer_config.json".to_string(), pretty(&settings)),
    ]
    .into())
}

/// The codes of M2M100's languages.
fn codes() -> impl Iterator<Item = &'static str> {
    M2M100.split_whitespace()
}

/// Exchanges rows of the embeddings, so that `</s>` and `<pad>` have the ids of the configuration
/// on both sides. `MarianTokenizer` may have different ids in each vocabulary; a model directory
/// has one id for both.
pub(super) fn align(model: &mut Pretrained) -> Result<()> {
    if !model.texts.contains_key("target_vocab.json") {
        return Ok(());
    }
    side(
        model,
        "vocab.json",
        model.config.source_vocab,
        &["source_embedding.weight"],
    )?;
    let target = ["target_embedding.weight", "generator.weight", "output_bias"];
    side(
        model,
        "target_vocab.json",
        model.config.target_vocab,
        &target,
    )
}

fn side(model: &mut Pretrained, name: &str, rows: usize, weights: &[&str]) -> Result<()> {
    let Some(bytes) = model.texts.get(name) else {
        return Ok(());
    };
    let mut tokens = vocabulary::of_file(name.as_ref(), bytes, rows)?;
    let before = tokens.clone();
    for (token, id) in [("</s>", model.config.eos), ("<pad>", model.config.pad)] {
        let id = id as usize;
        let Some(index) = tokens
            .iter()
            .position(|t| t == token)
            .filter(|&index| index != id)
        else {
            continue;
        };
        tokens.swap(index, id);
        for weight in weights {
            model
                .weights
                .get_mut(*weight)
                .into_iter()
                .for_each(|rows| rows.exchange(index, id));
        }
        if weights.contains(&"target_embedding.weight") {
            let exchanged = [index as u32, id as u32];
            model.config.bos = exchange(model.config.bos, exchanged);
            model
                .generation
                .search
                .renumber(|token| exchange(token, exchanged));
        }
    }
    if tokens != before {
        model.texts.insert(name.into(), vocabulary::json(&tokens));
    }
    Ok(())
}

/// The place of `token` after the exchange of the tokens `a` and `b`.
fn exchange(token: u32, [a, b]: [u32; 2]) -> u32 {
    match token {
        token if token == a => b,
        token if token == b => a,
        token => token,
    }
}
