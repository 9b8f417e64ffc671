//! Reads both sides of a corpus together.

use std::path::Path;

use super::error::{Result, TextError};
use super::lines::{LastColumn, columns};
use super::{CorpusPaths, Line, LineReader, Side, Utf8Policy, is_tsv, repeated_pipe};

/// A sentence and its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePair {
    /// Line number on both sides, from 1.
    pub line: u64,
    /// The source sentence.
    pub source: String,
    /// The target sentence.
    pub target: String,
    /// `false` if a side was not UTF-8 and such lines are skipped.
    pub valid: bool,
    /// If true, the pair is the first of a document, or an empty pair between two. Always false in
    /// a text that is not [divided into documents](CorpusPaths::Documents).
    pub begins: bool,
}

enum Input {
    Pair(LineReader, LineReader),
    Tsv(LineReader),
}

/// A streaming reader of sentence pairs.
pub struct ParallelReader {
    input: Input,
    started: bool,
    /// If true, the sides of each pair are exchanged.
    is_reversed: bool,
    /// The last document of a text that is divided into documents.
    document: Option<Document>,
}

/// The document of the last pair.
#[derive(Default)]
struct Document {
    name: Option<String>,
    /// If true, the next pair is the first of a document.
    is_over: bool,
}

impl ParallelReader {
    /// Opens both sides. If the file name of a side marks it as TSV, only the column of that side
    /// is read.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::open`]; [`TextError::PipeTwice`] if both sides are the
    /// same pipe; [`TextError::TwoTables`] if they are two TSV files.
    pub fn open(paths: &CorpusPaths, policy: Utf8Policy) -> Result<Self> {
        if let CorpusPaths::Reversed { reversed } = paths {
            let reader = Self::open(reversed, policy)?;
            let is_reversed = !reader.is_reversed;
            return Ok(Self {
                is_reversed,
                ..reader
            });
        }
        if let CorpusPaths::Documents { documents } = paths {
            return Ok(Self::open(documents, policy)?.in_documents());
        }
        let input = match paths {
            CorpusPaths::Pair { source, target } => open_pair(source, target, policy)?,
            CorpusPaths::Tsv { tsv } => Input::Tsv(LineReader::open(tsv, policy)?),
            CorpusPaths::Reversed { .. } | CorpusPaths::Documents { .. } => {
                unreachable!("it was opened above")
            }
        };
        Ok(Self {
            input,
            started: false,
            is_reversed: false,
            document: None,
        })
    }

    /// Makes the reader divide the text into documents.
    fn in_documents(self) -> Self {
        let input = match self.input {
            Input::Pair(source, target) => {
                Input::Pair(source.with_documents(), target.with_documents())
            }
            Input::Tsv(tsv) => Input::Tsv(tsv),
        };
        let document = Document {
            name: None,
            is_over: true,
        };
        Self {
            input,
            document: Some(document),
            ..self
        }
    }

    /// Returns whether the text is divided into documents.
    pub fn has_documents(&self) -> bool {
        self.document.is_some()
    }

    /// Reads the next pair. Returns `None` at the end of the corpus.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::next_line`], and an error for an empty corpus, unequal
    /// line counts, a TSV line without exactly two columns, or in a text that is divided into
    /// documents a pair that is empty on one side only.
    pub fn next_pair(&mut self) -> Result<Option<LinePair>> {
        let last = match self.document {
            Some(_) => LastColumn::Document,
            None => LastColumn::Target,
        };
        let read = match &mut self.input {
            Input::Pair(source, target) => next_of_two(source, target)?.map(|pair| (pair, None)),
            Input::Tsv(tsv) => next_of_tsv(tsv, last)?,
        };
        let pair = read
            .map(|(pair, name)| self.in_its_document(pair, name))
            .transpose()?;
        if pair.is_none() && !self.started {
            return Err(TextError::Empty(self.first_path().into()));
        }
        self.started = true;
        Ok(pair.map(|pair| {
            if self.is_reversed {
                exchanged(pair)
            } else {
                pair
            }
        }))
    }

    /// Finds whether `pair` begins a document. `name` is the name of its document, if it has one.
    fn in_its_document(&mut self, pair: LinePair, name: Option<String>) -> Result<LinePair> {
        let Some(document) = &mut self.document else {
            return Ok(pair);
        };
        if !pair.valid {
            return Ok(pair);
        }
        let [no_source, no_target] =
            [&pair.source, &pair.target].map(|text| burnformer_text::is_blank(text));
        if no_source != no_target {
            let side = if no_source {
                Side::Source
            } else {
                Side::Target
            };
            return Err(TextError::EmptyOnOneSide {
                path: self.input.path(side).into(),
                line: pair.line,
                side,
            });
        }
        let is_other = !no_source && document.name != name;
        let begins = document.is_over || no_source || is_other;
        document.is_over = no_source;
        if !no_source {
            document.name = name;
        }
        Ok(LinePair { begins, ..pair })
    }

    /// Skips the next `count` pairs, as [`LineReader::skip_lines`] skips lines.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::skip_lines`].
    pub fn skip_pairs(&mut self, count: u64) -> Result<()> {
        match &mut self.input {
            Input::Pair(source, target) => {
                source.skip_lines(count)?;
                target.skip_lines(count)
            }
            Input::Tsv(tsv) => tsv.skip_lines(count),
        }
    }

    fn first_path(&self) -> &Path {
        self.input.path(Side::Source)
    }
}

impl Input {
    /// Returns the file of a side.
    fn path(&self, side: Side) -> &Path {
        match (self, side) {
            (Self::Pair(source, _), Side::Source) => source.path(),
            (Self::Pair(_, target), Side::Target) => target.path(),
            (Self::Tsv(tsv), _) => tsv.path(),
        }
    }
}

impl Iterator for ParallelReader {
    type Item = Result<LinePair>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_pair().transpose()
    }
}

/// Reads the whole corpus, without the lines that the policy skips: the two sides of each pair.
///
/// # Errors
/// Returns the errors of [`ParallelReader::open`] and [`ParallelReader::next_pair`].
pub fn read_pairs(paths: &CorpusPaths, policy: Utf8Policy) -> Result<Vec<(String, String)>> {
    let pairs = ParallelReader::open(paths, policy)?;
    let valid = pairs.filter(|pair| pair.as_ref().map_or(true, |pair| pair.valid));
    valid
        .map(|pair| pair.map(|pair| (pair.source, pair.target)))
        .collect()
}

/// Reads the whole corpus like [`read_pairs`]: the two sides of each pair, and whether it begins a
/// document. A pair behind one that the policy skips begins a document, too.
///
/// # Errors
/// Returns the errors of [`ParallelReader::open`] and [`ParallelReader::next_pair`].
pub fn read_documents(
    paths: &CorpusPaths,
    policy: Utf8Policy,
) -> Result<Vec<((String, String), bool)>> {
    let mut all = Vec::new();
    let mut was_skipped = false;
    for pair in ParallelReader::open(paths, policy)? {
        let pair = pair?;
        if pair.valid {
            all.push(((pair.source, pair.target), pair.begins || was_skipped));
        }
        was_skipped = !pair.valid;
    }
    Ok(all)
}

fn exchanged(pair: LinePair) -> LinePair {
    LinePair {
        source: pair.target,
        target: pair.source,
        ..pair
    }
}

fn open_pair(source: &Path, target: &Path, policy: Utf8Policy) -> Result<Input> {
    if let Some(path) = repeated_pipe([source, target]) {
        return Err(TextError::PipeTwice(path.into()));
    }
    if source != target && is_tsv(source) && is_tsv(target) {
        return Err(TextError::TwoTables {
            first: source.into(),
            second: target.into(),
        });
    }
    Ok(Input::Pair(
        LineReader::open_side(source, Side::Source, policy)?,
        LineReader::open_side(target, Side::Target, policy)?,
    ))
}

fn next_of_two(source: &mut LineReader, target: &mut LineReader) -> Result<Option<LinePair>> {
    match (source.next_line()?, target.next_line()?) {
        (Some(s), Some(t)) => Ok(Some(LinePair {
            line: s.number,
            source: s.text,
            target: t.text,
            valid: s.valid && t.valid,
            begins: false,
        })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(mismatch(target, source)?),
        (None, Some(_)) => Err(mismatch(source, target)?),
    }
}

/// Checks that all texts have the same number of lines. `texts` yields the number of lines and the
/// path of each text.
///
/// # Errors
/// Returns [`TextError::LineCountMismatch`] with the shortest and the longest text.
pub fn check_line_counts<'a>(texts: impl Iterator<Item = (u64, &'a Path)> + Clone) -> Result<()> {
    match texts.clone().min().zip(texts.max()) {
        Some(((shorter_lines, shorter), (longer_lines, longer)))
            if shorter_lines < longer_lines =>
        {
            Err(TextError::LineCountMismatch {
                shorter: shorter.into(),
                shorter_lines,
                longer: longer.into(),
                longer_lines,
            })
        }
        _ => Ok(()),
    }
}

/// Returns the error for sides of unequal length; an empty side is reported as empty.
fn mismatch(shorter: &LineReader, longer: &mut LineReader) -> Result<TextError> {
    if shorter.lines_read() == 0 {
        return Ok(TextError::Empty(shorter.path().into()));
    }
    Ok(TextError::LineCountMismatch {
        shorter: shorter.path().into(),
        shorter_lines: shorter.lines_read(),
        longer_lines: longer.count_rest()?,
        longer: longer.path().into(),
    })
}

/// Returns the next pair, and the name of its document.
fn next_of_tsv(
    tsv: &mut LineReader,
    last: LastColumn,
) -> Result<Option<(LinePair, Option<String>)>> {
    let Some(line) = tsv.next_line()? else {
        return Ok(None);
    };
    let Line {
        number,
        text,
        valid,
        ..
    } = line;
    let (source, target, document) = if valid {
        columns(tsv.path(), number, &text, last)?
    } else {
        ("", "", None)
    };
    let pair = LinePair {
        line: number,
        source: source.into(),
        target: target.into(),
        valid,
        begins: false,
    };
    Ok(Some((pair, document.map(str::to_owned))))
}
