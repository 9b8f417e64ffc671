//! The sentences to translate, with their references.

use std::path::Path;

use anyhow::{Error, Result};
use burnformer_data::corpus::Side;
use burnformer_data::{CorpusPaths, LineReader, ParallelReader, Utf8Policy};

/// The sentences of the source, in order.
pub(super) enum Input {
    Source(LineReader),
    WithReferences(ParallelReader),
}

/// A sentence, and its reference if there is one.
pub(super) struct Sentence {
    pub(super) source: String,
    pub(super) reference: Option<String>,
}

impl Input {
    pub(super) fn open(source: &Path, reference: Option<&Path>) -> Result<Self> {
        Ok(match reference {
            None => Self::Source(LineReader::open_side(source, Side::Source, Utf8Policy::Error)?),
            Some(reference) => {
                let paths = CorpusPaths::pair(source, reference);
                Self::WithReferences(ParallelReader::open(&paths, Utf8Policy::Error)?)
            }
        })
    }

    /// The next sentence; `None` at the end.
    pub(super) fn next_sentence(&mut self) -> Result<Option<Sentence>> {
        let sentence = |source: &str, reference: Option<&str>| Sentence {
            source: one_column(source),
            reference: reference.map(one_column),
        };
        Ok(match self {
            Self::Source(lines) => lines.next_line()?.map(|line| sentence(&line.text, None)),
            Self::WithReferences(pairs) => {
                pairs.next_pair()?.map(|pair| sentence(&pair.source, Some(&pair.target)))
            }
        })
    }

    /// The next sentences, none at the end, and the error in the line after them, if any.
    pub(super) fn next_chunk(&mut self, count: usize) -> (Vec<Sentence>, Option<Error>) {
        let mut sentences = Vec::new();
        while sentences.len() < count {
            match self.next_sentence() {
                Ok(Some(sentence)) => sentences.push(sentence),
                Ok(None) => break,
                Err(failure) => return (sentences, Some(failure)),
            }
        }
        (sentences, None)
    }
}

/// The text as a column of TSV: a tab, or a carriage return that a reader would take for a part of a line's end, is a
/// space.
pub(super) fn one_column(text: &str) -> String {
    text.replace(['\t', '\r', '\n'], " ")
}
