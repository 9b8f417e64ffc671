//! The sentences to translate, with their references.

use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use burnformer_data::corpus::{LinePair, Side};
use burnformer_data::{CorpusPaths, LineReader, ParallelReader, Utf8Policy};

use crate::shards::length;

/// Sentences of the source, in order.
pub(super) type Input = Box<dyn Iterator<Item = Result<Sentence>>>;

/// A sentence, and its reference if there is one.
pub(super) struct Sentence {
    pub(super) source: String,
    pub(super) reference: Option<String>,
}

/// Opens the sentences on `lines`, counted from 0.
pub(super) fn open(source: &Path, reference: Option<&Path>, lines: &Range<u64>) -> Result<Input> {
    let sentence = |source: &str, reference: Option<&str>| Sentence {
        source: one_column(source),
        reference: reference.map(one_column),
    };
    let rest: Input = match reference {
        None => {
            let mut all = LineReader::open_side(source, Side::Source, Utf8Policy::Error)?;
            all.skip_lines(lines.start)?;
            Box::new(all.map(move |line| Ok(sentence(&line?.text, None))))
        }
        Some(reference) => {
            let paths = CorpusPaths::pair(source, reference);
            let mut all = ParallelReader::open(&paths, Utf8Policy::Error)?;
            all.skip_pairs(lines.start)?;
            let of_pair = move |pair: LinePair| sentence(&pair.source, Some(&pair.target));
            Box::new(all.map(move |pair| Ok(of_pair(pair?))))
        }
    };
    Ok(Box::new(rest.take(length(lines))))
}

/// The text as a column of TSV: a tab, or a carriage return that a reader would take for a part of
/// a line's end, is a space.
pub(super) fn one_column(text: &str) -> String {
    text.replace(['\t', '\r', '\n'], " ")
}
