//! The pairs of a text that are checked.

use std::path::PathBuf;

use burnformer_data::corpus::LinePair;
use burnformer_data::{CorpusPaths, ParallelReader, Utf8Policy};

use crate::config::corpus_paths;

/// The largest number of checked pairs of a text.
pub(super) const MAX_PAIRS: usize = 100_000;
/// The smallest number of pairs from which a share is estimated.
pub(super) const MIN_SAMPLED_PAIRS: usize = 30;

/// Source and target.
pub(super) type Pair = (String, String);

/// The first pairs of a text.
pub(super) fn read(paths: &[PathBuf], utf8: Utf8Policy) -> Vec<Pair> {
    pairs(paths, utf8).take(MAX_PAIRS).collect()
}

/// The pairs of a text, without invisible characters. Reading stops at an error; preparing the
/// corpus reports it.
fn pairs(paths: &[PathBuf], utf8: Utf8Policy) -> impl Iterator<Item = Pair> {
    let corpus = corpus_paths("data", paths).ok();
    let pairs = corpus.and_then(|corpus| opened(corpus, utf8));
    let pairs = pairs.into_iter().flatten().map_while(Result::ok);
    // Empty pairs may divide documents.
    let is_blank = |text: &str| text.trim().is_empty();
    let is_text =
        move |pair: &LinePair| pair.valid && !(is_blank(&pair.source) && is_blank(&pair.target));
    pairs.filter(is_text).map(|pair| {
        let source = burnformer_text::visible(&pair.source).into_owned();
        let target = burnformer_text::visible(&pair.target).into_owned();
        (source, target)
    })
}

/// A reader of `corpus`, whose lines may name their documents in a third column.
fn opened(corpus: CorpusPaths, utf8: Utf8Policy) -> Option<ParallelReader> {
    let is_plain = ParallelReader::open(&corpus, utf8)
        .ok()?
        .next_pair()
        .is_ok();
    let corpus = if is_plain {
        corpus
    } else {
        corpus.in_documents()
    };
    ParallelReader::open(&corpus, utf8).ok()
}
