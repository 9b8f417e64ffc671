//! Work on sentences up to the first one that fails.

use crate::error::{InferError, Result};

/// The result of `work` for the sentences before the first error, and that error. `work` takes a
/// number of sentences from the start, of `count` in all. After each error it starts again with the
/// sentences before that one. Sentences are checked in order before any search, so one error is
/// usual; a model that gives NaN for n sentences, and for later ones first, costs n + 1 rounds.
pub(super) fn until_error<T>(
    mut count: usize,
    mut work: impl FnMut(usize) -> Result<Vec<T>>,
) -> (Vec<T>, Option<InferError>) {
    let mut failure = None;
    loop {
        match work(count) {
            Ok(done) => return (done, failure),
            Err(error) => {
                // A model may give NaN for several sentences in any order.
                count = error.sentence().map_or(0, |sentence| sentence - 1);
                failure = Some(error);
                if count == 0 {
                    return (Vec::new(), failure);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::SentenceError;

    #[test]
    fn results_before_the_first_bad_sentence_are_kept() {
        // Sentences 7 and 4 are bad, and the later is found first.
        let work = |count: usize| match count {
            7.. => Err(SentenceError::NotFinite(0).of(7)),
            4.. => Err(SentenceError::NotFinite(0).of(4)),
            _ => Ok((0..count).collect()),
        };
        let (done, failure) = until_error(10, work);
        assert_eq!(done, [0, 1, 2]);
        assert!(matches!(
            failure,
            Some(InferError::Sentence { sentence: 4, .. })
        ));
        let (done, failure) = until_error(3, work);
        assert_eq!((done.len(), failure.is_none()), (3, true));
        let other = || InferError::NoAttention;
        let (done, failure) = until_error(3, |_| Err::<Vec<()>, _>(other()));
        assert!(done.is_empty() && failure.is_some());
    }
}
