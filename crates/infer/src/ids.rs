//! Checks of a sentence's ids before a model reads them.

use crate::error::{InferError, Result, SentenceError};
use crate::model::StepModel;

/// `ids` ending with `</s>`, which is added if it is missing.
pub(crate) fn closed(ids: &[u32], eos: u32) -> Vec<u32> {
    let open = ids.last() != Some(&eos);
    ids.iter().copied().chain(open.then_some(eos)).collect()
}

/// The number of tokens of `ids`, including the `</s>` that may be missing.
pub(crate) fn closed_len(ids: &[u32], eos: u32) -> usize {
    ids.len() + usize::from(ids.last() != Some(&eos))
}

/// Checks that none of the texts of a `side` is longer than `limit`, `</s>` included.
///
/// # Errors
/// [`SentenceError::TooLong`].
pub(crate) fn check_lengths<T: AsRef<[u32]>>(
    side: &'static str,
    texts: impl IntoIterator<Item = T>,
    eos: u32,
    limit: usize,
) -> Result<()> {
    let check = |ids: T| check_length(side, closed_len(ids.as_ref(), eos), limit);
    (1..).zip(texts).try_for_each(|(sentence, ids)| check(ids).map_err(|error| error.of(sentence)))
}

fn check_length(side: &'static str, length: usize, limit: usize) -> Result<(), SentenceError> {
    if length > limit { Err(SentenceError::TooLong { side, length, limit }) } else { Ok(()) }
}

/// Checks that the numbers of sources and targets are equal, all ending with `</s>`, and that the
/// model accepts each.
///
/// # Errors
/// [`InferError::Count`], [`SentenceError::UnknownId`], [`SentenceError::TooLong`].
pub(crate) fn check_pairs(
    model: &dyn StepModel,
    sources: &[Vec<u32>],
    targets: &[Vec<u32>],
) -> Result<()> {
    if sources.len() != targets.len() {
        let (sources, others) = (sources.len(), targets.len());
        return Err(InferError::Count { sources, others, what: "targets" });
    }
    let check = |(source, target): (&Vec<u32>, &Vec<u32>)| {
        check_text(model, "source", source).and_then(|()| check_text(model, "target", target))
    };
    let mut pairs = (1..).zip(sources.iter().zip(targets));
    pairs.try_for_each(|(sentence, pair)| check(pair).map_err(|error| error.of(sentence)))
}

/// Checks a text of a `side` that ends with `</s>`.
///
/// # Errors
/// [`SentenceError::UnknownId`], [`SentenceError::TooLong`].
pub(crate) fn check_text(
    model: &dyn StepModel,
    side: &'static str,
    ids: &[u32],
) -> Result<(), SentenceError> {
    check_ids(model, side, ids)?;
    check_length(side, ids.len(), model.max_positions().unwrap_or(usize::MAX))
}

/// Checks that all ids of a `side` are in its vocabulary.
///
/// # Errors
/// [`SentenceError::UnknownId`].
pub(crate) fn check_ids(
    model: &dyn StepModel,
    side: &'static str,
    ids: &[u32],
) -> Result<(), SentenceError> {
    let vocab = if side == "source" { model.source_vocab() } else { model.target_vocab() };
    match ids.iter().find(|&&id| id as usize >= vocab) {
        Some(&id) => Err(SentenceError::UnknownId { side, id, vocab }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_sentence_is_closed_and_a_closed_one_left_alone() {
        assert_eq!(closed(&[5, 6], 2), [5, 6, 2]);
        assert_eq!(closed(&[5, 2], 2), [5, 2]);
        assert_eq!(closed(&[], 2), [2]);
        for ids in [&[5, 6][..], &[5, 2], &[]] {
            assert_eq!(closed_len(ids, 2), closed(ids, 2).len());
        }
    }
}
