//! The pairs of sentences in the files of a translation memory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burnformer_data::corpus::{CorpusPaths, is_tsv, read_text};
use burnformer_data::{ParallelReader, Utf8Policy};
use burnformer_documents::{Catalogue, Document, Format, MessageState};

/// A sentence and its translation.
pub type Pair = [String; 2];

/// A pair with its origin.
pub struct Entry {
    /// The sentence and its translation.
    pub pair: Pair,
    /// The index of its file.
    pub file: usize,
}

/// Everything that is read of the files of a memory.
#[derive(Default)]
pub struct Reading<'a> {
    /// The pairs in their order.
    pub entries: Vec<Entry>,
    /// The number of files.
    pub files: usize,
    /// The number of messages that were read, and of those that were dropped for each reason.
    pub counts: Vec<(&'static str, usize)>,
    languages: [Option<&'a str>; 2],
}

impl<'a> Reading<'a> {
    /// Reads `files`: catalogues, tables, and texts, of which two in a row are the sources and
    /// their translations. `languages` are those of the model, if they are known.
    ///
    /// # Errors
    /// If a file is broken or has other languages.
    pub fn of(files: &[PathBuf], languages: [Option<&'a str>; 2]) -> Result<Self> {
        let mut reading = Self { languages, ..Self::default() };
        let mut rest = files;
        while let [file, after @ ..] = rest {
            rest = reading.file(file, after)?;
            reading.files += 1;
        }
        Ok(reading)
    }

    /// Counts `more` messages for `reason`.
    pub fn count(&mut self, reason: &'static str, more: usize) {
        match self.counts.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += more,
            None => self.counts.push((reason, more)),
        }
    }

    /// Reads `file`, which may be one of a pair with the first of `rest`, and returns the others.
    fn file<'r>(&mut self, file: &Path, rest: &'r [PathBuf]) -> Result<&'r [PathBuf]> {
        let stem = match file.extension().is_some_and(|end| end == "gz" || end == "zst") {
            true => file.with_extension(""),
            false => file.into(),
        };
        let extension = stem.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let format = Format::from_extension(extension).filter(|format| format.is_catalogue());
        if let Some(format) = format {
            self.catalogue(file, format)?;
        } else if extension.eq_ignore_ascii_case("csv") {
            self.csv(file)?;
        } else if is_tsv(file) {
            self.lines(&CorpusPaths::tsv(file))?;
        } else if let [target, rest @ ..] = rest {
            self.lines(&CorpusPaths::pair(file, target))?;
            return Ok(rest);
        } else {
            bail!(
                "{}: is no catalogue and no table by its name, and no text with its translations follows it; \
                 name two texts, or a .po, .tsv or .csv",
                file.display()
            );
        }
        Ok(rest)
    }

    fn catalogue(&mut self, file: &Path, format: Format) -> Result<()> {
        let name = file.display();
        let (text, replaced) = read_text(file)?;
        ensure!(!replaced, "{name}: has bytes that are not UTF-8; `iconv` converts it");
        let catalogue =
            Catalogue::read(&text, format, self.languages).with_context(|| name.to_string())?;
        self.count("messages read", catalogue.messages.len());
        for message in catalogue.messages {
            match message.state {
                MessageState::Translated => {
                    self.add([message.source, message.target]);
                }
                MessageState::Fuzzy => self.count("fuzzy", 1),
                MessageState::Untranslated | MessageState::Kept => self.count("untranslated", 1),
            }
        }
        Ok(())
    }

    fn lines(&mut self, paths: &CorpusPaths) -> Result<()> {
        let pairs =
            ParallelReader::open(paths, Utf8Policy::Error)?.collect::<Result<Vec<_>, _>>()?;
        self.count("messages read", pairs.len());
        pairs.into_iter().for_each(|pair| self.add([pair.source, pair.target]));
        Ok(())
    }

    fn csv(&mut self, file: &Path) -> Result<()> {
        let name = file.display();
        let (text, _) = read_text(file)?;
        let tables = [',', ';', '\t'].map(|separator| rows(&text, separator));
        let pairs = |rows: &Vec<(usize, Vec<String>)>| {
            rows.iter().filter(|(_, row)| row.len() == 2).count()
        };
        for (line, row) in tables.into_iter().max_by_key(pairs).unwrap_or_default() {
            let found = row.len();
            let Ok(pair) = Pair::try_from(row) else {
                bail!(
                    "{name}:{line}: the row has {found} columns, and a memory has two, source and translation; \
                     put a text with commas in quotes, or take columns away"
                );
            };
            self.count("messages read", 1);
            self.add(pair);
        }
        Ok(())
    }

    /// Adds the sentences of a message. Where its sides have not as many, they are one sentence.
    fn add(&mut self, pair: Pair) {
        let [source, target] = [0, 1].map(|side| {
            let document = Document::message(&pair[side], self.languages[side], &|_| true);
            document.pending().into_iter().map(|sentence| sentence.text).collect::<Vec<_>>()
        });
        let mut entry = |source: String, target: String| {
            self.entries.push(Entry { pair: [source, target], file: self.files });
        };
        match source.len() == target.len() && !source.is_empty() {
            true => {
                source.into_iter().zip(target).for_each(|(source, target)| entry(source, target))
            }
            false => entry(source.join(" "), target.join(" ")),
        }
    }
}

/// The rows of comma-separated values (RFC 4180) with the numbers of their lines.
fn rows(text: &str, separator: char) -> Vec<(usize, Vec<String>)> {
    let mut all = vec![(1, vec![String::new()])];
    let (mut line, mut is_quoted) = (1, false);
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(c) = chars.next() {
        let (_, row) = all.last_mut().expect("a row was begun");
        let cell = row.last_mut().expect("a cell was begun");
        line += usize::from(c == '\n');
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' if is_quoted || cell.is_empty() => is_quoted = !is_quoted,
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => all.push((line, vec![String::new()])),
            c if c == separator && !is_quoted => row.push(String::new()),
            c => cell.push(c),
        }
    }
    all.retain(|(_, row)| row.iter().any(|cell| !cell.trim().is_empty()));
    all
}
