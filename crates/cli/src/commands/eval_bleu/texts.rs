//! The texts that `eval-bleu` scores, read whole.

use std::path::Path;

use anyhow::{Result, ensure};
use burnformer_data::corpus::{CorpusPaths, Side, is_tsv};
use burnformer_data::{LineReader, ParallelReader, TextError, Utf8Policy};

use super::args::Args;
use crate::output::wrong_usage;
use crate::texts::shown;

/// The largest size of the lines of a text in bytes. A pipe may never end.
const MAX_TEXT_BYTES: usize = 512 << 20;

/// The TSV file of sources and references; `None` if `--reference` names the references.
pub(super) fn table(args: &Args) -> Result<Option<&Path>> {
    match (&args.reference[..], &args.input) {
        ([], Some(source)) if is_tsv(source) => Ok(Some(source)),
        ([], _) => Err(wrong_usage(
            "no reference translations; name them with --reference, or give --input a .tsv of both sides",
        )),
        _ => Ok(None),
    }
}

/// The columns of the TSV file at `path`, checked like [`lines`].
pub(super) fn columns_of(path: &Path) -> Result<[Vec<String>; 2]> {
    let mut columns = [vec![], vec![]];
    let mut bytes = 0;
    for pair in ParallelReader::open(&CorpusPaths::tsv(path), Utf8Policy::Error)? {
        let pair = pair?;
        bytes += pair.source.len() + pair.target.len() + 2 * size_of::<String>();
        check_size(path, bytes)?;
        columns[0].push(pair.source);
        columns[1].push(pair.target);
    }
    if columns[0].is_empty() {
        return Err(TextError::Empty(path.into()).into());
    }
    Ok(columns)
}

fn check_size(path: &Path, bytes: usize) -> Result<()> {
    ensure!(
        bytes <= MAX_TEXT_BYTES,
        "{}: has more than {} MiB of text; score it in parts",
        shown(path),
        MAX_TEXT_BYTES >> 20
    );
    Ok(())
}

/// Every line of a file, or the column `side` of TSV. Invalid UTF-8 is an error, because replacing
/// it would change the score.
pub(super) fn lines(path: &Path, side: Side) -> Result<Vec<String>> {
    let mut reader = LineReader::open_side(path, side, Utf8Policy::Error)?;
    let mut lines = Vec::new();
    let mut bytes = 0;
    for line in reader.by_ref() {
        let text = line?.text;
        bytes += text.len() + size_of::<String>();
        check_size(path, bytes)?;
        lines.push(text);
    }
    if lines.is_empty() {
        return Err(TextError::Empty(reader.path().into()).into());
    }
    Ok(lines)
}
