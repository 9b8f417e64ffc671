//! Translation memories: files of segments with human translations.

use std::fmt;
use std::io::BufRead;
use std::mem;
use std::path::{Path, PathBuf};

use burnformer_data::corpus::{CorpusPaths, is_pipe, is_tsv, open_bytes};
use burnformer_data::{ParallelReader, Utf8Policy};
use burnformer_documents::{
    Catalogue, Document, Format, Message, MessageState, detect, stream_tmx,
};
use burnformer_terminology::{TranslationMemory, rows};

use crate::document;
use crate::error::{TranslationError, TranslationProblem};

/// A result with the error of this crate.
type Result<T> = std::result::Result<T, TranslationError>;

/// Loads a translation memory from `files`, with whole segments and with their sentences.
/// `languages` and `note` as in [`read`].
///
/// # Errors
/// Returns the errors of [`read`].
pub fn load(
    files: &[PathBuf],
    languages: [Option<&str>; 2],
    note: &mut dyn FnMut(String),
) -> Result<TranslationMemory> {
    let mut memory = TranslationMemory::default();
    read(files, languages, &mut |unit| add(&mut memory, &unit), note)?;
    Ok(memory)
}

/// Adds a unit to `memory`: its sentences, and the whole with and without tags.
fn add(memory: &mut TranslationMemory, unit: &Unit) {
    // The only sentence of a message has its context.
    let is_free = unit.context.is_empty() || unit.sentences.len() > 1;
    if unit.is_parallel && is_free {
        for [source, target] in &unit.sentences {
            memory.push(source, target);
        }
    }
    for [source, target] in unit.tagged.iter().chain([&unit.whole]) {
        memory.push_in(&unit.context, source, target);
    }
}

/// A segment and its translation.
pub type Pair = [String; 2];

/// The column separators of tables.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// The largest number of bytes of all segments and translations. They are kept in memory, whole and
/// as sentences, and a pipe may never end.
const MAX_TEXT_BYTES: usize = 512 << 20;

/// The length in bytes of the text for detecting the direction of a file, and the minimum
/// confidence.
const MAX_BYTES: usize = 4_000;
const SURE: f64 = 50.0;

/// A segment of a translation memory.
#[derive(Default)]
pub struct Unit {
    /// The segment and its translation, unchanged from the file.
    pub whole: Pair,
    /// Both with the tags of XLIFF or TMX, if they have some.
    pub tagged: Option<Pair>,
    /// What distinguishes messages with the same source, such as `msgctxt`; empty if nothing does.
    pub context: String,
    /// The sentences of both, without markup: a pair for each sentence, or one pair with all of
    /// them.
    pub sentences: Vec<Pair>,
    /// If true, each sentence has its translation.
    pub is_parallel: bool,
    /// The index of the file.
    pub file: usize,
    /// The time of the last change, if the file contains it, in a form that sorts as text.
    pub time: String,
}

/// The number of messages read, and the number dropped for each reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts(pub Vec<(&'static str, usize)>);

impl Counts {
    /// Counts `more` messages for `reason`.
    pub fn add(&mut self, reason: &'static str, more: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += more,
            None => self.0.push((reason, more)),
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self
            .0
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"));
        f.write_str(&counts.collect::<Vec<_>>().join(", "))
    }
}

/// Reads `files`: catalogues, TMX, tables, and pairs of texts, the sources and then their
/// translations. `take` is called with each segment and its translation, in order. A TMX file is
/// never in memory as a whole. `languages` are the model's, if known. `note` is called with a remark
/// on a file, such as its encoding. Returns the number of messages, and the number of messages
/// without a translation.
///
/// # Errors
/// Returns an error if a file is broken, has other languages than the model, or has the model's
/// languages in the opposite order.
pub fn read(
    files: &[PathBuf],
    languages: [Option<&str>; 2],
    take: &mut dyn FnMut(Unit),
    note: &mut dyn FnMut(String),
) -> Result<Counts> {
    let (words, counts) = Default::default();
    let mut reader = Reader {
        languages,
        file: 0,
        is_tmx: false,
        bytes: 0,
        words,
        counts,
        take,
        note,
    };
    let mut rest = files;
    while let [file, after @ ..] = rest {
        rest = reader.file(file, after)?;
        reader.check_size(file)?;
        reader.check_direction(file)?;
        reader.file += 1;
    }
    Ok(reader.counts)
}

/// The reader of translation memories.
struct Reader<'a> {
    languages: [Option<&'a str>; 2],
    /// The index of the file.
    file: usize,
    is_tmx: bool,
    /// The number of bytes of all segments and translations so far.
    bytes: usize,
    /// The first segments of the file, and their translations.
    words: [String; 2],
    counts: Counts,
    take: &'a mut dyn FnMut(Unit),
    note: &'a mut dyn FnMut(String),
}

impl Reader<'_> {
    /// Reads `file`, which may be one of a pair with the first of `rest`, and returns the others.
    fn file<'r>(&mut self, file: &Path, rest: &'r [PathBuf]) -> Result<&'r [PathBuf]> {
        let stem = if file
            .extension()
            .is_some_and(|end| end == "gz" || end == "zst")
        {
            file.with_extension("")
        } else {
            file.into()
        };
        let extension = stem
            .extension()
            .and_then(|end| end.to_str())
            .unwrap_or_default();
        let format = Format::from_extension(extension).filter(|format| format.has_translations());
        self.is_tmx = format == Some(Format::Tmx);
        if self.is_tmx {
            let text = open_bytes(file)?;
            let languages = self.languages;
            let found = stream_tmx(text, languages, &mut |message| self.message(message));
            let [from, _] = found.map_err(|error| TranslationProblem::from(error).of(file))?;
            if from.is_none() {
                return Err(TranslationProblem::NoUnit.of(file));
            }
        } else if let Some(format) = format {
            self.catalogue(file, format)?;
        } else if extension.eq_ignore_ascii_case("csv") || is_tsv(file) && is_wide(file)? {
            self.csv(file)?;
        } else if is_tsv(file) {
            self.lines(file, &CorpusPaths::tsv(file))?;
        } else if let [target, rest @ ..] = rest {
            self.lines(file, &CorpusPaths::pair(file, target))?;
            return Ok(rest);
        } else {
            return Err(TranslationProblem::Unpaired.of(file));
        }
        Ok(rest)
    }

    /// Refuses `file` if it makes the memory too large.
    fn check_size(&self, file: &Path) -> Result<()> {
        if self.bytes > MAX_TEXT_BYTES {
            return Err(TranslationProblem::TooLarge(MAX_TEXT_BYTES >> 20).of(file));
        }
        Ok(())
    }

    /// Checks that the languages of `file` are not swapped: segments in the target language and
    /// translations in the source language.
    fn check_direction(&mut self, file: &Path) -> Result<()> {
        let words = mem::take(&mut self.words);
        let [Some(from), Some(to)] = self.languages else {
            return Ok(());
        };
        let sure = words.map(|it| detect([&*it], &[from, to]).filter(|it| it.confidence >= SURE));
        let found = sure.map(|it| Some(it?.language));
        let swapped = [to, from].map(|it| Some(it.into()));
        if from != to && found == swapped {
            let from = from.into();
            let to = to.into();
            return Err(TranslationProblem::Direction { from, to }.of(file));
        }
        Ok(())
    }

    fn catalogue(&mut self, file: &Path, format: Format) -> Result<()> {
        let text = self.text(file, format.name())?;
        let catalogue = Catalogue::read(&text, format, self.languages)
            .map_err(|error| TranslationProblem::from(error).of(file))?;
        catalogue
            .messages
            .into_iter()
            .for_each(|message| self.message(message));
        Ok(())
    }

    /// Reads the text of `file`, and notes an encoding other than UTF-8.
    fn text(&mut self, file: &Path, kind: &str) -> Result<String> {
        let read = document::read(file, kind)?;
        if let Some(encoding) = read.encoding() {
            (self.note)(format!("{}: is not UTF-8 but {encoding}", file.display()));
        }
        Ok(read.text)
    }

    fn message(&mut self, message: Message) {
        match message.state {
            MessageState::Translated => self.add_message(message),
            MessageState::Fuzzy => self.leave_out("fuzzy"),
            MessageState::Untranslated | MessageState::Kept => self.leave_out("untranslated"),
        }
    }

    fn add_message(&mut self, message: Message) {
        let plain = message.plain();
        let tagged = [message.source, message.target];
        let tagged = (tagged != plain).then_some(tagged);
        // A unit of TMX has a number, which is no context.
        let context = if self.is_tmx {
            String::new()
        } else {
            message.context.to_string()
        };
        self.add(Unit {
            whole: plain,
            tagged,
            context,
            time: message.time,
            ..Unit::default()
        });
    }

    fn leave_out(&mut self, reason: &'static str) {
        self.counts.add("messages read", 1);
        self.counts.add(reason, 1);
    }

    fn lines(&mut self, file: &Path, paths: &CorpusPaths) -> Result<()> {
        for pair in ParallelReader::open(paths, Utf8Policy::Error)? {
            let pair = pair?;
            self.add(Unit {
                whole: [pair.source, pair.target],
                ..Unit::default()
            });
            self.check_size(file)?;
        }
        Ok(())
    }

    fn csv(&mut self, file: &Path) -> Result<()> {
        let text = self.text(file, "txt")?;
        let text = text.trim_start_matches('\u{feff}');
        let tables = SEPARATORS.map(|separator| rows(text, separator, true));
        let pairs =
            |rows: &Vec<(u64, Vec<String>)>| rows.iter().filter(|(_, row)| row.len() == 2).count();
        for (line, row) in tables
            .into_iter()
            .rev()
            .max_by_key(pairs)
            .unwrap_or_default()
        {
            let found = row.len();
            let Ok(pair) = Pair::try_from(row) else {
                let error = TranslationProblem::Columns(found).of(file);
                return Err(TranslationError {
                    line: Some(line),
                    ..error
                });
            };
            self.add(Unit {
                whole: pair,
                ..Unit::default()
            });
        }
        Ok(())
    }

    /// Passes on a segment and its translation, with their sentences. They are one pair if their
    /// numbers of sentences differ.
    fn add(&mut self, unit: Unit) {
        let whole = &unit.whole;
        self.counts.add("messages read", 1);
        self.bytes += whole[0].len() + whole[1].len();
        if self.bytes > MAX_TEXT_BYTES {
            return;
        }
        for (words, side) in self.words.iter_mut().zip(whole) {
            if words.len() < MAX_BYTES {
                words.extend([side, "\n"]);
            }
        }
        let source = Document::sentences(&whole[0], self.languages[0]);
        let target = Document::sentences(&whole[1], self.languages[1]);
        let is_parallel = source.len() == target.len() && !source.is_empty();
        let sentences = if is_parallel {
            source.into_iter().zip(target).map(Pair::from).collect()
        } else {
            vec![[source.join(" "), target.join(" ")]]
        };
        (self.take)(Unit {
            sentences,
            is_parallel,
            file: self.file,
            ..unit
        });
    }
}

/// Returns whether `table` is in UTF-16, the "Unicode text" of spreadsheets. Its cells are quoted.
fn is_wide(table: &Path) -> Result<bool> {
    Ok(!is_pipe(table)
        && matches!(
            open_bytes(table)?.fill_buf()?,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..]
        ))
}
