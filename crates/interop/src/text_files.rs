//! The tokeniser files of a model, and their sides.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burnformer_sentencepiece::SentencePiece;

use crate::error::{InteropError, Result};
use crate::files::{names, read_file, start};
use crate::pretrained::Files;
use crate::vocabulary;

/// Tokeniser files named by the user, if the model's folder does not show their sides. Empty lists
/// are filled from the folder.
#[derive(Clone, Debug, Default)]
pub struct TextFiles {
    /// Marian's vocabularies: one for the source and one for the target, or one for both.
    pub vocabularies: Vec<PathBuf>,
    /// The SentencePiece models: one for the source and one for the target, or one for both.
    pub sentencepiece: Vec<PathBuf>,
}

/// The names of the sides in file names.
const SIDES: [&[&str]; 2] = [&["src", "source"], &["trg", "tgt", "target"]];
const NAME_SENTENCEPIECE: &str =
    "name them in this order: `import --sentencepiece SOURCE TARGET`, or one for both sides";

/// The side in the name of `path`, as in `source.spm`, `vocab.trg.yml` and `srcvocab.deen.spm`.
fn side(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    match SIDES.map(|words| {
        name.split(|c: char| !c.is_alphanumeric()).any(|part| {
            let part = part.strip_prefix("vocab").unwrap_or(part);
            words.contains(&part.strip_suffix("vocab").unwrap_or(part))
        })
    }) {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    }
}

/// The files of source and target among `paths`. A single file without a side in its name is for
/// both. `None` if the names do not show the sides.
pub(crate) fn of_sides(paths: &[PathBuf]) -> Option<[PathBuf; 2]> {
    match (
        paths,
        paths.iter().map(|path| side(path)).collect::<Vec<_>>()[..].as_ref(),
    ) {
        ([one], [None]) => Some([one.clone(), one.clone()]),
        ([a, b], [Some(0), Some(1)]) => Some([a.clone(), b.clone()]),
        ([a, b], [Some(1), Some(0)]) => Some([b.clone(), a.clone()]),
        _ => None,
    }
}

/// The files named by the user: one for both sides, or one per side.
pub(crate) fn named(paths: &[PathBuf]) -> Option<[PathBuf; 2]> {
    match paths {
        [one] => Some([one.clone(), one.clone()]),
        [source, target] => Some([source.clone(), target.clone()]),
        _ => None,
    }
}

/// The pieces of a SentencePiece model in the order of their ids; `None` for other `bytes`.
pub(crate) fn pieces(bytes: &[u8]) -> Option<Vec<String>> {
    let model = SentencePiece::from_bytes("model.spm", bytes).ok()?;
    (0..model.len() as u32)
        .map(|id| model.piece(id).map(str::to_string))
        .collect()
}

/// The names of the files in a text, for a message.
pub(crate) fn listed(paths: &[PathBuf]) -> String {
    let names = paths.iter().filter_map(|path| path.file_name());
    names
        .map(|name| name.to_string_lossy())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The SentencePiece models of source and target for the vocabularies `tokens`: named by the user,
/// or in the first of `dirs` with any; `None` if there are none. `source.spm` alone is for both
/// sides of one vocabulary.
///
/// # Errors
/// Returns [`InteropError::Missing`] if the file names do not show the sides, or
/// [`InteropError::Damaged`] if the files belong to another model.
pub(crate) fn sentencepiece(
    dirs: &[&Path],
    files: &TextFiles,
    tokens: [&[String]; 2],
) -> Result<Option<[Vec<u8>; 2]>> {
    let mut models = files.sentencepiece.clone();
    for dir in dirs.iter().filter(|_| files.sentencepiece.is_empty()) {
        if models.is_empty() {
            models = in_folder(dir)?;
        }
    }
    let paths = match (&models[..], files.sentencepiece.is_empty()) {
        ([], _) => return Ok(None),
        (_, false) => named(&models),
        ([one], _) if side(one) == Some(0) && tokens[0] == tokens[1] => named(&models),
        _ => of_sides(&models),
    };
    let Some([source, target]) = paths else {
        let wanted = format!(
            "SentencePiece model for each side among {}",
            listed(&models)
        );
        return Err(InteropError::missing(dirs[0], wanted, NAME_SENTENCEPIECE));
    };
    Ok(Some([
        read_model(&source, tokens[0])?,
        read_model(&target, tokens[1])?,
    ]))
}

/// Reads the SentencePiece model `path` for the vocabulary `tokens`.
fn read_model(path: &Path, tokens: &[String]) -> Result<Vec<u8>> {
    let bytes = read_file(path)?;
    check(path, &bytes, tokens)?;
    Ok(bytes)
}

/// The files of `dir` that are SentencePiece models.
fn in_folder(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for name in names(dir)? {
        let path = dir.join(&name);
        // Other programs, such as subword-nmt, also use such names.
        if name.ends_with(".spm")
            || name.ends_with(".model") && pieces(&read_file(&path)?).is_some()
        {
            found.push(path);
        }
    }
    Ok(found)
}

/// A note on a tokeniser of subword-nmt beside the model at `path`, if there is one.
pub(crate) fn note_on_subword_nmt(path: &Path) -> Option<String> {
    let dir = if path.is_dir() { path } else { path.parent()? };
    let name = names(dir).ok()?.into_iter().find(|name| {
        name.ends_with(".bpe") || start(&dir.join(name), 9).starts_with(b"#version:")
    })?;
    Some(format!(
        "{name} belongs to a tokeniser of subword-nmt, which is not read"
    ))
}

/// Refuses a SentencePiece model with less than a quarter of its pieces among `tokens`: it belongs
/// to the other side or to another model.
fn check(path: &Path, bytes: &[u8], tokens: &[String]) -> Result<()> {
    let pieces =
        pieces(bytes).ok_or_else(|| InteropError::damaged(path, "it is no SentencePiece model"))?;
    let known_tokens: std::collections::HashSet<&String> = tokens.iter().collect();
    let count = pieces
        .iter()
        .filter(|piece| known_tokens.contains(piece))
        .count();
    if 4 * count >= pieces.len() {
        return Ok(());
    }
    let all = pieces.len();
    let what = format!("a SentencePiece model of another vocabulary ({count} of {all} in it)");
    Err(InteropError::unsupported(path, what, NAME_SENTENCEPIECE))
}

/// The files of a model directory with the tokens and the SentencePiece models of source and
/// target.
pub(crate) fn texts([source, target]: [&[String]; 2], models: Option<[Vec<u8>; 2]>) -> Files {
    let mut texts = BTreeMap::from([("vocab.json".to_string(), vocabulary::json(source))]);
    if source != target {
        texts.insert("target_vocab.json".into(), vocabulary::json(target));
    }
    if let Some([of_source, of_target]) = models {
        if source != target || of_source != of_target {
            texts.insert("target.spm".into(), of_target);
        }
        texts.insert("source.spm".into(), of_source);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_recognised_by_name_in_any_order() {
        let pairs = [
            ("vocab.src.spm", "vocab.trg.spm"),
            ("srcvocab.deen.spm", "trgvocab.deen.spm"),
            ("source.spm", "target.spm"),
            (
                "opus.spm32k-spm32k.src.vocab",
                "opus.spm32k-spm32k.trg.vocab",
            ),
            ("z_Source.model", "a.TGT.model"),
            ("vocab-source.yml", "vocab-target.yml"),
        ];
        for (source, target) in pairs.map(|(a, b)| (PathBuf::from(a), PathBuf::from(b))) {
            let right = Some([source.clone(), target.clone()]);
            assert_eq!(of_sides(&[source.clone(), target.clone()]), right);
            assert_eq!(of_sides(&[target.clone(), source.clone()]), right);
            assert_eq!(of_sides(&[source.clone(), source.clone()]), None);
            assert_eq!(of_sides(std::slice::from_ref(&target)), None);
        }
        for unknown in [
            ["a.spm", "b.spm"],
            ["vocab.de.spm", "vocab.en.spm"],
            ["src.spm", "b.spm"],
            ["src-trg.spm", "x.spm"],
            ["resource.spm", "retarget.spm"],
        ] {
            assert_eq!(of_sides(&unknown.map(PathBuf::from)), None, "{unknown:?}");
        }
        let one = PathBuf::from("vocab.spm");
        assert_eq!(
            of_sides(std::slice::from_ref(&one)),
            Some([one.clone(), one])
        );
    }
}
