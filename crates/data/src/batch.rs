//! A padded batch of sentence pairs as plain arrays.

use crate::tokenizer::SpecialIds;

/// Sentence pairs of similar length, padded to rectangles. Rows are pairs; all arrays are
/// row-major.
///
/// The target is shifted by one position: `target_input` is `<s> a b c`, `target_output` is
/// `a b c </s>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of rows.
    pub batch: usize,
    /// Number of columns of `source`: at least the length of the longest source sentence with its
    /// `</s>`.
    pub source_len: usize,
    /// Number of columns of `target_input` and `target_output`: at least the length of the longest
    /// target sentence plus one.
    pub target_len: usize,
    /// The ids of padding and of a sentence's ends.
    pub special: SpecialIds,
    /// Source ids ending in `</s>`, padded: `[batch, source_len]`.
    pub source: Vec<u32>,
    /// Input of the decoder, starting with the token that opens a target, padded:
    /// `[batch, target_len]`.
    pub target_input: Vec<u32>,
    /// Tokens that the decoder has to predict, ending in `</s>`, padded: `[batch, target_len]`.
    pub target_output: Vec<u32>,
    /// Number of real tokens in each source row, `</s>` included: `[batch]`.
    pub source_lengths: Vec<u32>,
    /// Number of real tokens in each target row, `</s>` included: `[batch]`.
    pub target_lengths: Vec<u32>,
    /// Number of real source tokens in the batch, `</s>` included.
    pub source_tokens: usize,
    /// Number of real target tokens in the batch, `</s>` included. A mean loss is divided by it.
    pub target_tokens: usize,
    /// Indices of the pairs in the corpus: `[batch]`.
    pub pairs: Vec<u32>,
}

impl Batch {
    /// Makes a batch of `(source, target)` pairs of token ids without special tokens, and adds the
    /// special tokens of [`SpecialIds::OURS`]. `pairs` holds the index of each row in the corpus.
    ///
    /// # Panics
    /// Panics if the number of indices is not the number of pairs.
    pub fn new<S: AsRef<[u32]>, T: AsRef<[u32]>>(pairs: Vec<u32>, rows: &[(S, T)]) -> Self {
        Self::with_special_ids(pairs, rows, 1, SpecialIds::OURS)
    }

    /// Makes a batch like [`new`](Self::new), but with the given special ids, and with both sides
    /// padded to a multiple of `multiple` columns.
    ///
    /// # Panics
    /// Panics if the number of indices is not the number of pairs, or `multiple` is 0.
    pub fn with_special_ids<S: AsRef<[u32]>, T: AsRef<[u32]>>(
        pairs: Vec<u32>,
        rows: &[(S, T)],
        multiple: usize,
        special: SpecialIds,
    ) -> Self {
        let SpecialIds { pad, bos, eos } = special;
        assert_eq!(pairs.len(), rows.len(), "a batch needs one index per pair");
        let source: Vec<&[u32]> = rows.iter().map(|row| row.0.as_ref()).collect();
        let target: Vec<&[u32]> = rows.iter().map(|row| row.1.as_ref()).collect();
        let [source_lengths, target_lengths] = [&source, &target].map(|side| {
            side.iter()
                .map(|ids| ids.len() as u32 + 1)
                .collect::<Vec<_>>()
        });
        let [source_len, target_len] = [&source_lengths, &target_lengths].map(|lengths| {
            let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
            longest.next_multiple_of(multiple)
        });
        Self {
            batch: rows.len(),
            source_len,
            target_len,
            special,
            source: padded(&source, None, Some(eos), source_len, pad),
            target_input: padded(&target, Some(bos), None, target_len, pad),
            target_output: padded(&target, None, Some(eos), target_len, pad),
            source_tokens: total(&source_lengths),
            target_tokens: total(&target_lengths),
            source_lengths,
            target_lengths,
            pairs,
        }
    }

    /// Number of positions of both sides, padding included: `batch · (source_len + target_len)`.
    pub fn positions(&self) -> usize {
        self.batch * (self.source_len + self.target_len)
    }
}

fn total(lengths: &[u32]) -> usize {
    lengths.iter().map(|&length| length as usize).sum()
}

/// `rows`, each after the token `first` and before the token `last`, padded to `columns`.
fn padded(
    rows: &[&[u32]],
    first: Option<u32>,
    last: Option<u32>,
    columns: usize,
    pad: u32,
) -> Vec<u32> {
    let mut out = Vec::with_capacity(rows.len() * columns);
    for (row, ids) in (1..).zip(rows) {
        out.extend(first.into_iter().chain(ids.iter().copied()).chain(last));
        out.resize(row * columns, pad);
    }
    out
}
