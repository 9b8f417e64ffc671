//! Checks of a sentence's ids before a model reads them.

use crate::error::InferError;
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

/// The number, from 1, and the number of tokens with `</s>`, of the first of `sentences` that is
/// longer than `limit`.
pub(crate) fn first_too_long<'a>(
    sentences: impl Iterator<Item = &'a [u32]>,
    eos: u32,
    limit: usize,
) -> Option<(usize, usize)> {
    let lengths = sentences.map(|ids| closed_len(ids, eos));
    (1..).zip(lengths).find(|&(_, length)| length > limit)
}

/// Checks that the numbers of sources and targets are equal, all ending with `</s>`, and that the
/// model accepts each.
///
/// # Errors
/// [`InferError::Count`], [`InferError::UnknownId`], [`InferError::SourceTooLong`],
/// [`InferError::TargetTooLong`].
pub(crate) fn check_pairs(
    model: &dyn StepModel,
    sources: &[Vec<u32>],
    targets: &[Vec<u32>],
) -> Result<(), InferError> {
    if sources.len() != targets.len() {
        let (sources, others) = (sources.len(), targets.len());
        return Err(InferError::Count { sources, others, what: "targets" });
    }
    for (place, (source, target)) in sources.iter().zip(targets).enumerate() {
        check_source(model, place + 1, source)?;
        check_target(model, place + 1, target)?;
    }
    Ok(())
}

/// Checks the source with the number `sentence`, from 1, which ends with `</s>`.
///
/// # Errors
/// [`InferError::UnknownId`], [`InferError::SourceTooLong`].
pub(crate) fn check_source(
    model: &dyn StepModel,
    sentence: usize,
    source: &[u32],
) -> Result<(), InferError> {
    check_ids(sentence, "source", source, model.source_vocab())?;
    match model.max_positions() {
        Some(limit) if source.len() > limit => {
            Err(InferError::SourceTooLong { sentence, length: source.len(), limit })
        }
        _ => Ok(()),
    }
}

fn check_target(model: &dyn StepModel, sentence: usize, target: &[u32]) -> Result<(), InferError> {
    check_ids(sentence, "target", target, model.target_vocab())?;
    match model.max_positions() {
        Some(limit) if target.len() > limit => {
            Err(InferError::TargetTooLong { sentence, length: target.len(), limit })
        }
        _ => Ok(()),
    }
}

/// Checks that all ids are in the vocabulary.
///
/// # Errors
/// [`InferError::UnknownId`].
pub(crate) fn check_ids(
    sentence: usize,
    side: &'static str,
    ids: &[u32],
    vocab: usize,
) -> Result<(), InferError> {
    match ids.iter().find(|&&id| id as usize >= vocab) {
        Some(&id) => Err(InferError::UnknownId { sentence, side, id, vocab }),
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
