//! The tokens of a model directory, indexed by id.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::error::{InteropError, Result};
use crate::files::parse_json;
use crate::package::Package;
use crate::padding::unused;

/// The tokens of source and target, one per row of the embeddings. A row without a token is named
/// `<unusedN>`.
///
/// # Errors
/// [`InteropError::Missing`] if the package has no vocabulary, [`InteropError::Damaged`].
pub(crate) fn tokens(package: &Package) -> Result<[Vec<String>; 2]> {
    let config = &package.config;
    let find = |names: &[&str]| {
        names.iter().find_map(|&name| Some((name.to_string(), package.texts.get(name)?)))
    };
    let source = find(&["vocab.json", "tokenizer.json", "source_tokenizer.json"]);
    let target =
        find(&["target_vocab.json", "vocab.json", "tokenizer.json", "target_tokenizer.json"]);
    let side = |file: Option<(String, &Vec<u8>)>, rows: usize| {
        let (name, bytes) = file.ok_or_else(|| InteropError::Missing {
            path: "the model directory".into(),
            wanted: "vocab.json or tokenizer.json".into(),
            remedy: "copy the tokeniser that the model was trained with into it",
        })?;
        of_file(Path::new(&name), bytes, rows)
    };
    Ok([side(source, config.source_vocab)?, side(target, config.target_vocab)?])
}

/// The tokens of a `vocab.json` or `tokenizer.json`, one for each of `rows` ids. Ids that no token
/// has are `<unusedN>`.
///
/// # Errors
/// [`InteropError::Damaged`].
pub(crate) fn of_file(path: &Path, bytes: &[u8], rows: usize) -> Result<Vec<String>> {
    let json: Value = parse_json(path, bytes)?;
    let mut ids = BTreeMap::new();
    // A vocabulary may have a token that is called "model".
    let model = json.get("model").filter(|model| model.is_object());
    let vocabulary = model.map_or(&json, |model| &model["vocab"]);
    match vocabulary {
        Value::Object(entries) => {
            let pairs =
                entries.iter().filter_map(|(token, id)| Some((id.as_u64()?, token.clone())));
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
    let token = |id: usize| ids.remove(&(id as u64)).unwrap_or_else(|| unused(id));
    Ok((0..rows).map(token).collect())
}

/// The number of `tokens` without the unused ones at their end.
pub(crate) fn real(tokens: &[String]) -> usize {
    let is_real = |id: &usize| tokens[*id] != unused(*id);
    (0..tokens.len()).rev().find(is_real).map_or(0, |last| last + 1)
}

/// A JSON object of tokens and their ids, in the order of the ids.
pub(crate) fn json(tokens: &[String]) -> Vec<u8> {
    let entries = tokens.iter().enumerate();
    let entries = entries.map(|(id, token)| format!("  {}: {id}", serde_json::json!(token)));
    let entries: Vec<String> = entries.collect();
    format!("{{\n{}\n}}\n", entries.join(",\n")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vocabulary_may_have_tokens_with_the_names_of_a_tokenisers_parts() {
        let bytes = br#"{"</s>": 0, "model": 1, "added_tokens": 3}"#;
        let tokens = of_file(Path::new("vocab.json"), bytes, 5).unwrap();
        assert_eq!(tokens, ["</s>", "model", "<unused2>", "added_tokens", "<unused4>"]);
        assert_eq!(real(&tokens), 4);
    }
}
