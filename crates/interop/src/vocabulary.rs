//! The tokens of a model directory, indexed by id.
//!
//! An export also carries the tokenisers and search settings of a model directory. The other system
//! ignores these files, and an import reads them again.

use std::collections::BTreeMap;
use std::path::Path;

use burnformer_infer::{GENERATION_FILE, GenerationSettings};
use serde_json::Value;

use crate::embeddings::unused;
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_optional, write_file};
use crate::pretrained::{Files, Pretrained};

/// The tokens of source and target, one per row of the embeddings. A row without a token is named
/// `<unusedN>`.
///
/// # Errors
/// Returns [`InteropError::Missing`] if the model has no vocabulary, and
/// [`InteropError::Damaged`] if a vocabulary is broken or too large.
pub(crate) fn tokens(model: &Pretrained) -> Result<[Vec<String>; 2]> {
    let config = &model.config;
    let source = ["vocab.json", "tokenizer.json", "source_tokenizer.json"];
    let target = [
        "target_vocab.json",
        "vocab.json",
        "tokenizer.json",
        "target_tokenizer.json",
    ];
    Ok([
        of_first(model, &source, config.source_vocab)?,
        of_first(model, &target, config.target_vocab)?,
    ])
}

/// The tokens in the first of the files `names` that `model` has, for `rows` ids.
fn of_first(model: &Pretrained, names: &[&str], rows: usize) -> Result<Vec<String>> {
    for name in names {
        if let Some(bytes) = model.texts.get(*name) {
            return of_file(Path::new(name), bytes, rows);
        }
    }
    let dir = Path::new("the model directory");
    let wanted = "vocab.json or tokenizer.json";
    let remedy = "copy the tokeniser that the model was trained with into it";
    Err(InteropError::missing(dir, wanted, remedy))
}

/// The tokens of a `vocab.json` or `tokenizer.json`, one for each of `rows` ids. Ids without a
/// token are `<unusedN>`.
///
/// # Errors
/// Returns [`InteropError::Damaged`] if the file is not JSON, has no vocabulary, or has an id of at
/// least `rows`.
pub(crate) fn of_file(path: &Path, bytes: &[u8], rows: usize) -> Result<Vec<String>> {
    let json: Value = parse_json(path, bytes)?;
    let mut ids = BTreeMap::new();
    // A vocabulary may have a token "model".
    let model = json.get("model").filter(|model| model.is_object());
    let vocabulary = model.map_or(&json, |model| &model["vocab"]);
    match vocabulary {
        Value::Object(entries) => {
            let pairs = entries
                .iter()
                .filter_map(|(token, id)| Some((id.as_u64()?, token.clone())));
            ids.extend(pairs);
        }
        Value::Array(entries) => {
            let tokens = (0..)
                .zip(entries)
                .filter_map(|(id, entry)| Some((id, entry.get(0)?.as_str()?.to_string())));
            ids.extend(tokens);
        }
        _ => return Err(InteropError::damaged(path, "it has no vocabulary")),
    }
    for added in json["added_tokens"].as_array().into_iter().flatten() {
        if let (Some(id), Some(token)) = (added["id"].as_u64(), added["content"].as_str()) {
            ids.insert(id, token.to_string());
        }
    }
    if let Some((&id, token)) = ids.iter().next_back().filter(|&(&id, _)| id >= rows as u64) {
        let message = format!("token {token} has id {id}, but the model has {rows} rows");
        return Err(InteropError::damaged(path, message));
    }
    Ok((0..rows)
        .map(|id| ids.remove(&(id as u64)).unwrap_or_else(|| unused(id)))
        .collect())
}

/// The number of `tokens` without trailing unused ones.
pub(crate) fn real(tokens: &[String]) -> usize {
    (0..tokens.len())
        .rev()
        .find(|id| tokens[*id] != unused(*id))
        .map_or(0, |last| last + 1)
}

/// A JSON object of tokens and their ids, in order.
pub(crate) fn json(tokens: &[String]) -> Vec<u8> {
    let entries = tokens.iter().enumerate();
    let entries = entries.map(|(id, token)| format!("  {}: {id}", serde_json::json!(token)));
    let entries: Vec<String> = entries.collect();
    format!("{{\n{}\n}}\n", entries.join(",\n")).into_bytes()
}

pub(crate) const TOKENIZER: &str = "tokenizer.json";
/// Tokenisers in Hugging Face's format, with their sides.
const TOKENIZERS: [(&str, &[usize]); 3] = [
    (TOKENIZER, &[0, 1]),
    ("source_tokenizer.json", &[0]),
    ("target_tokenizer.json", &[1]),
];

/// Writes the tokenisers of `model` that `dir` lacks, and its default settings.
pub(crate) fn write_carried(model: &Pretrained, dir: &Path) -> Result<()> {
    for (name, bytes) in &model.texts {
        let path = dir.join(name);
        if !path.exists() {
            write_file(&path, bytes)?;
        }
    }
    Ok(model.generation.save(&dir.join(GENERATION_FILE))?)
}

/// The default settings in `dir` in the form of a model directory, if any.
pub(crate) fn carried_settings(dir: &Path) -> Result<Option<GenerationSettings>> {
    let path = dir.join(GENERATION_FILE);
    let bytes = read_optional(&path)?;
    Ok(bytes
        .map(|bytes| GenerationSettings::from_bytes(&path, &bytes))
        .transpose()?)
}

/// The tokenisers in Hugging Face's format in `dir` with the `tokens` of source and target: one for
/// both sides, or one per side. A file with other tokens belongs to another program.
pub(crate) fn carried_tokenizers(dir: &Path, tokens: [&[String]; 2]) -> Result<Files> {
    let mut tokenizers = BTreeMap::new();
    for (name, sides) in TOKENIZERS {
        let path = dir.join(name);
        let Some(bytes) = read_optional(&path)? else {
            continue;
        };
        parse_json::<Value>(&path, &bytes)?;
        if sides.iter().all(|&side| {
            of_file(&path, &bytes, tokens[side].len()).is_ok_and(|carried| carried == tokens[side])
        }) {
            tokenizers.insert(name.to_string(), bytes);
        }
    }
    if tokenizers.contains_key(TOKENIZER) {
        tokenizers.retain(|name, _| name == TOKENIZER);
    } else if tokenizers.len() < 2 {
        tokenizers.clear();
    }
    Ok(tokenizers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vocabulary_may_have_a_token_named_model() {
        let bytes = br#"{"</s>": 0, "model": 1, "added_tokens": 3}"#;
        let tokens = of_file(Path::new("vocab.json"), bytes, 5).unwrap();
        assert_eq!(
            tokens,
            ["</s>", "model", "<unused2>", "added_tokens", "<unused4>"]
        );
        assert_eq!(real(&tokens), 4);
    }
}
