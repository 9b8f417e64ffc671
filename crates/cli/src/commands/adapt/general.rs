//! The general text. The adapted model must not translate it worse than the original.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use burnformer_data::corpus::is_tsv;
use burnformer_infer::{Languages, Translator};
use burnformer_text::counted;

use super::guard::{Reference, translations};
use super::split::{Split, write};
use crate::embedded;
use crate::output::note;
use crate::output::say;
use crate::texts::read_document;
use burnformer_translation::translation_memory::{self, Pair};

/// The largest number of general pairs to measure with, and of general pairs to learn from where
/// the model writes the translations.
const MAX_GENERAL: usize = 500;
const MAX_TRANSLATED: usize = 2000;
/// The smallest number of general pairs: one of them is to measure with.
const MIN_GENERAL: usize = 5;

/// A general text.
pub(super) struct General {
    /// The files to learn from, sources and translations.
    pub(super) learned: Vec<PathBuf>,
    /// The pairs to measure with.
    pub(super) held: Vec<Pair>,
    /// The origin of the translations in `held`.
    pub(super) reference: Reference,
}

impl General {
    /// Returns the text of the `files` of the command line. Without files it is the embedded corpus
    /// if it has both languages. If there is only a source text, the model `base` translates it.
    /// The source text is the given file, the embedded text of the source language, or the sources
    /// of the memory.
    pub(super) fn new(
        files: &[PathBuf],
        split: &Split,
        base: (&Translator, &Languages),
        work: &Path,
    ) -> Result<Self> {
        let languages = codes(base.1);
        let has = languages.map(|it| matches!(it, Some("de" | "en")));
        let (mut held, reference) = match files {
            [] if has == [true; 2] && languages[0] != languages[1] => {
                let [source, target] =
                    corpus("test", languages).map(|it| embedded::text_file(Path::new(&it)));
                let mut held = pairs(&[source?, target?], languages)?;
                held.truncate(MAX_GENERAL);
                let learned = corpus("train", languages).map(PathBuf::from).to_vec();
                return Ok(Self {
                    learned,
                    held,
                    reference: Reference::People,
                });
            }
            [text] if !is_tsv(text) => (self_translated(base, text)?, Reference::Model),
            [_, ..] => (pairs(files, languages)?, Reference::People),
            _ if has[0] => {
                let [source, _] = corpus("train", languages);
                let text = embedded::text_file(Path::new(&source))?;
                (self_translated(base, &text)?, Reference::Model)
            }
            _ => {
                let sources: Vec<&str> = split.train.iter().map(|[source, _]| &**source).collect();
                (translated(base, &sources)?, Reference::TranslationMemory)
            }
        };
        if held.len() < MIN_GENERAL {
            let size = counted(held.len() as u64, "pair");
            bail!(
                "the general text has {size}, and {MIN_GENERAL} are the fewest; name more text with --general"
            );
        }
        let rest = held.split_off((held.len() / MIN_GENERAL).min(MAX_GENERAL));
        let path = work.join("general.tsv");
        write(&path, &rest)?;
        Ok(Self {
            learned: vec![path],
            held,
            reference,
        })
    }
}

/// The codes of the languages that are known.
pub(super) fn codes(languages: &Languages) -> [Option<&str>; 2] {
    let codes = languages.codes();
    codes.map_or([None; 2], |[from, to]| [Some(&**from), Some(&**to)])
}

/// The names of both sides of a part of the embedded corpus.
fn corpus(part: &str, languages: [Option<&str>; 2]) -> [String; 2] {
    languages.map(|it| format!("embedded:tatoeba-de-en/{part}.{}", it.unwrap_or_default()))
}

/// The model's own translations of a text.
fn self_translated(base: (&Translator, &Languages), text: &Path) -> Result<Vec<Pair>> {
    translated(
        base,
        &read_document(text, "txt")?.text.lines().collect::<Vec<_>>(),
    )
}

fn translated((base, languages): (&Translator, &Languages), sources: &[&str]) -> Result<Vec<Pair>> {
    // Sentences from everywhere in the text.
    let step = sources.len().div_ceil(MAX_TRANSLATED).max(1);
    let sources: Vec<&str> = sources.iter().copied().step_by(step).collect();
    note(format_args!(
        "general text: translating {} sentences by the model itself",
        sources.len()
    ));
    let translations = translations(base, languages, &sources)?;
    let pairs = sources
        .iter()
        .zip(translations)
        .map(|(source, target)| [source.to_string(), target]);
    Ok(pairs
        .filter(|[_, target]| !target.trim().is_empty())
        .collect())
}

fn pairs(files: &[PathBuf], languages: [Option<&str>; 2]) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    translation_memory::read(
        files,
        languages,
        &mut |unit| pairs.push(unit.whole),
        &mut |note| say(note),
    )?;
    Ok(pairs)
}
