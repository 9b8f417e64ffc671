//! The files of a model directory that an export carries beside those of the other system, whose
//! programs ignore them, and an import takes back: tokenisers and search settings.

use std::collections::BTreeMap;
use std::path::Path;

use burnformer_infer::{GENERATION_FILE, SearchSettings};
use serde_json::Value;

use crate::error::Result;
use crate::files::{parse_json, read_if_there, write_file};
use crate::package::Package;
use crate::vocabulary;

const JOINT: &str = "tokenizer.json";
/// Tokenisers of Hugging Face's format, with the side whose tokens each has.
const TOKENIZERS: [(&str, &[usize]); 3] =
    [(JOINT, &[0, 1]), ("source_tokenizer.json", &[0]), ("target_tokenizer.json", &[1])];

/// Writes the tokenisers of `package` that are not in `dir` yet, and its search settings.
pub(crate) fn write(package: &Package, dir: &Path) -> Result<()> {
    for (name, bytes) in &package.texts {
        let path = dir.join(name);
        if !path.exists() {
            write_file(&path, bytes)?;
        }
    }
    Ok(package.search.save(&dir.join(GENERATION_FILE))?)
}

/// The search settings in `dir`, if it has them in the form of a model directory.
pub(crate) fn search(dir: &Path) -> Result<Option<SearchSettings>> {
    let path = dir.join(GENERATION_FILE);
    let bytes = read_if_there(&path)?;
    Ok(bytes.map(|bytes| SearchSettings::from_bytes(&path, &bytes)).transpose()?)
}

/// The tokenisers of Hugging Face's format in `dir` whose tokens are `tokens`, those of source and
/// target: one for both sides, or one for each. A file with other tokens belongs to another
/// program, and is left out.
pub(crate) fn tokenizers(dir: &Path, tokens: [&[String]; 2]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for (name, sides) in TOKENIZERS {
        let path = dir.join(name);
        let Some(bytes) = read_if_there(&path)? else { continue };
        parse_json::<Value>(&path, &bytes)?;
        let has = |&side: &usize| {
            vocabulary::of_file(&path, &bytes, tokens[side].len())
                .is_ok_and(|carried| carried == tokens[side])
        };
        if sides.iter().all(has) {
            found.insert(name.to_string(), bytes);
        }
    }
    if found.contains_key(JOINT) {
        found.retain(|name, _| name == JOINT);
    } else if found.len() < 2 {
        found.clear();
    }
    Ok(found)
}
