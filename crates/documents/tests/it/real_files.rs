//! Real files of every format: an engine that returns its input changes no byte, and with an engine
//! that numbers words, none is lost or duplicated.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::common::identity;
use burnformer_documents::{Document, Link, PendingSentence, Translated, WholeFile};

/// The files under `folder` with a known extension, their kind.
fn under(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for path in fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        let extension = path
            .extension()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let extension = extension.to_ascii_lowercase();
        if path.is_dir() {
            under(&path, found);
        } else if WholeFile::extensions().any(|known| known == extension) {
            found.push((path, extension));
        }
    }
}

/// A number in letters, because a document puts digits back that a translation changes.
fn letters(mut number: usize) -> String {
    const ALL: &[u8] = b"bcdfghjklmnprstvwyzu";
    let mut all = Vec::new();
    loop {
        all.insert(0, ALL[number % ALL.len()]);
        number /= ALL.len();
        if number == 0 {
            return format!("qx{}xq", String::from_utf8(all).unwrap());
        }
    }
}

/// A numbered word: the round of its translation, and its text.
type Word = (usize, String);

/// Each word of letters with a number behind it, its index in `all`.
fn numbered(round: usize, sentence: &PendingSentence, all: &mut Vec<Word>) -> Translated {
    let mut text = String::new();
    let mut links = Vec::new();
    for word in sentence.text.split_inclusive(' ') {
        let at = word.as_ptr() as usize - sentence.text.as_ptr() as usize;
        let source = at..at + word.trim_end().len();
        let target = text.len();
        let stem = word.trim_end_matches([' ', '.', ',', ';', ':', '!', '?']);
        text += stem;
        if !stem.is_empty() && stem.chars().all(char::is_alphabetic) {
            text = text + " " + &letters(all.len());
            all.push((round, stem.into()));
        }
        text += &word[stem.len()..];
        links.push(Link {
            source,
            target: target..text.trim_end().len(),
        });
    }
    Translated { text, links }
}

/// The members of an archive, which may be compressed in another way; another file as it is.
fn members(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut zip = match zip::ZipArchive::new(Cursor::new(bytes)) {
        Ok(zip) if bytes.starts_with(b"PK") => zip,
        _ => return vec![bytes.to_vec()],
    };
    let count = zip.len();
    (0..count)
        .map(|index| {
            let mut all = Vec::new();
            // Archives of others may have broken members, which are not texts.
            let _ = zip
                .by_index(index)
                .map(|mut member| member.read_to_end(&mut all));
            all
        })
        .collect()
}

/// The text of a file, of all members of an archive.
fn text(bytes: &[u8], kind: &str) -> String {
    if bytes.starts_with(b"PK") {
        members(bytes)
            .iter()
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .collect()
    } else {
        WholeFile::read(bytes.to_vec(), kind).unwrap().text
    }
}

/// Each of `all` and how often it is there.
fn counted<'a>(all: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    all.for_each(|it| *counts.entry(it).or_default() += 1);
    counts
}

/// Returns the words with numbers that are not `found`. A sentence that loses a placeholder is
/// translated again in parts, and its words get new numbers.
fn lost<'a>(words: &'a [Word], found: &HashMap<&str, usize>) -> Vec<&'a str> {
    let mut again = HashMap::<&str, usize>::new();
    let mut lost = Vec::new();
    for (number, (round, word)) in words.iter().enumerate().rev() {
        let left = again.entry(word).or_default();
        match (found.contains_key(&*letters(number)), round) {
            (true, 0) => {}
            (true, _) => *left += 1,
            (false, 0) if *left > 0 => *left -= 1,
            (false, _) => lost.push(&**word),
        }
    }
    lost
}

/// Returns the file's bytes translated by `model`. The model gets the number of the round: in the
/// second, sentences are translated again without their placeholders.
fn translated(
    file: &WholeFile,
    model: &mut dyn FnMut(usize, &PendingSentence) -> Translated,
) -> Result<Vec<u8>, String> {
    let document = Document::try_parse(
        &file.text,
        file.format,
        [Some("en"), None],
        &[],
        &|sentence: &str| sentence.len() <= 400,
    );
    let mut document = document.map_err(|error| error.to_string())?;
    for round in 0.. {
        let pending = document.pending();
        if pending.is_empty() {
            break;
        }
        document.accept(
            pending
                .iter()
                .map(|sentence| model(round, sentence))
                .collect(),
        );
    }
    Ok(file.write(document.finish(), [None; 2]))
}

/// Counts of the files of a kind.
#[derive(Default, Debug)]
struct Counts {
    files: usize,
    refused: usize,
    changed: usize,
    words: usize,
    doubled: usize,
    lost: usize,
    /// Words that the engine was shown and that stand as they were.
    untouched: usize,
}

/// Returns `text`, from an archive, without its tags. The end of a paragraph is a space.
fn without_tags(text: &str, archive: &[u8]) -> String {
    if !archive.starts_with(b"PK") {
        return text.into();
    }
    let end = regex::Regex::new(r"</([a-z]+:)?(p|h|h\d|si|li|td|th|div|title)>").unwrap();
    let tag = regex::Regex::new("<[^>]*>").unwrap();
    tag.replace_all(&end.replace_all(text, " "), "").into()
}

/// Adds `path` to `counts`; the file with numbered words is written to `out`.
fn judge(path: &Path, kind: &str, out: &Path, counts: &mut Counts) -> Result<(), String> {
    let bytes = fs::read(path).unwrap();
    let file = WholeFile::read(bytes.clone(), kind).map_err(|error| error.to_string())?;
    let unchanged = translated(&file, &mut |_, sentence| identity(sentence))?;
    // A translation that is the same as its source is written into a file with both, once.
    let (before, after) = if file.format.has_translations() {
        let filled = WholeFile::read(unchanged.clone(), kind).map_err(|error| error.to_string())?;
        let again = translated(&filled, &mut |_, sentence| identity(sentence))?;
        (unchanged, again)
    } else {
        (bytes.clone(), unchanged)
    };
    if members(&after) != members(&before) {
        println!("{}: changes without a translation", path.display());
        counts.changed += 1;
    }
    let mut words = Vec::new();
    let result = translated(&file, &mut |round, sentence| {
        numbered(round, sentence, &mut words)
    })?;
    // The sign of an accelerator may stand in a number.
    let number = regex::Regex::new(" ?(q[&_]?x[bcdfghjklmnprstvwyzu&_]+x[&_]?q)").unwrap();
    let [source, target] = [&bytes, &result].map(|bytes| text(bytes, kind));
    let numbers: Vec<String> = number
        .captures_iter(&target)
        .map(|it| it[1].replace(['&', '_'], ""))
        .collect();
    let found = counted(numbers.iter().map(String::as_str));
    let doubled = found.values().filter(|count| **count > 1).count();
    let mut lost = lost(&words, &found);
    // Code and placeholders are put back as they were. Tags of office documents name fonts, and
    // may divide a word.
    let target = number.replace_all(&target, "");
    let [source, target] = [&*source, &*target].map(|text| without_tags(text, &bytes));
    let [before, after] =
        [&*source, &*target].map(|text| counted(text.split(|c: char| !c.is_alphabetic())));
    let all = lost.len();
    lost.retain(|word| after.get(word) < before.get(word));
    counts.untouched += all - lost.len();
    if doubled + lost.len() > 0 {
        println!("{}: {doubled} doubled, lost {lost:?}", path.display());
    }
    counts.words += found.len();
    counts.doubled += doubled;
    counts.lost += lost.len();
    fs::create_dir_all(out.parent().unwrap()).unwrap();
    fs::write(out, result).unwrap();
    Ok(())
}

/// Translates the files under the folder `FILES` and writes those with numbered words to the
/// folder `OUT`, where `benches/judge_documents.py` compares them: `FILES=FOLDER OUT=FOLDER cargo
/// test --release -p burnformer-documents --test it real_files -- --ignored --nocapture`.
#[test]
#[ignore = "needs a folder of files"]
fn real_files_keep_their_bytes_and_each_word_once() {
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("FILES and OUT are folders"));
    let [from, to] = ["FILES", "OUT"].map(folder);
    let mut all = Vec::new();
    under(&from, &mut all);
    all.sort();
    let mut by_kind = BTreeMap::<String, Counts>::new();
    let mut panics = 0;
    for (path, kind) in all {
        let counts = by_kind.entry(kind.clone()).or_default();
        counts.files += 1;
        let out = to.join(path.strip_prefix(&from).unwrap());
        match catch_unwind(AssertUnwindSafe(|| judge(&path, &kind, &out, counts))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                println!("{}: refused: {error}", path.display());
                counts.refused += 1;
            }
            Err(_) => {
                println!("{}: panics", path.display());
                panics += 1;
            }
        }
    }
    for (kind, counts) in &by_kind {
        println!("{kind}: {counts:?}");
    }
    let sum = |count: fn(&Counts) -> usize| by_kind.values().map(count).sum::<usize>();
    assert_eq!(
        [panics, sum(|it| it.changed)],
        [0; 2],
        "files that panic or change"
    );
}
