//! Requests: the sentences to translate, as ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burnformer_core::RandomKey;

use super::terms::{Terms, WordEdges};
use crate::model::StepModel;
use crate::settings::SearchSettings;

/// The largest number of terms per sentence for which the search continues after the term. Further
/// terms replace words, and the rest of the translation stays.
pub(super) const MOST_ROUNDS: usize = 8;

/// A flag that tells a search that a translation is no longer needed. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the search for the sentence before its next step.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    /// A request that is cancelled when the flag becomes true.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// One sentence to translate, as ids.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The ids of the source. `</s>` is added if it is missing.
    pub source: Vec<u32>,
    /// The ids with which the translation must begin. Their log-probabilities count, except under
    /// [`BeamRule::Transformers`](crate::BeamRule::Transformers), which takes forced tokens for
    /// certain. Constraints apply only to the tokens after them. An empty source is translated by
    /// its prefix and `</s>`.
    pub prefix: Vec<u32>,
    /// The word boundaries of tokens, if the prefix has to end with a whole word: no token that
    /// continues a word follows it.
    pub prefix_edges: Option<Arc<WordEdges>>,
    /// Distinguishes the samples of this sentence from those of others. `None` uses the ids of the
    /// source, so that equal sources have equal samples wherever they are in the list.
    pub key: Option<u64>,
    /// The terms that the translation has to contain. Beam search and greedy search support terms;
    /// sampling does not.
    pub terms: Terms,
    /// The target ids among which the search chooses, in any order; `None` allows all. `</s>`, the
    /// prefix and the tokens of the terms are allowed in any case. Probabilities are those among
    /// the allowed tokens.
    pub shortlist: Option<Vec<u32>>,
    /// The text of the source, from which unknown tokens are copied. If it is empty, the text of
    /// the ids is used.
    pub text: String,
    /// The translation from a translation memory; the source is empty then.
    pub memory: Option<String>,
    /// Ends the search early, with the empty translation.
    pub cancel: Cancel,
}

impl Request {
    /// A request to translate `source`, without a prefix.
    pub fn new(source: Vec<u32>) -> Self {
        Self { source, ..Self::default() }
    }

    /// Returns the request without its terms, whose tokens the shortlist still allows.
    pub(super) fn without_terms(&self) -> Self {
        let mut request = Self { terms: Terms::default(), ..self.clone() };
        if let Some(shortlist) = &mut request.shortlist {
            let phrases = self.terms.phrases.iter().flatten();
            shortlist.extend(phrases.flat_map(|phrase| &phrase.tokens));
        }
        request
    }

    /// The ids of the source, ending with `</s>`.
    pub(crate) fn source_with_eos(&self, eos: u32) -> Vec<u32> {
        with_eos(&self.source, eos)
    }

    /// Returns whether the source holds no token but `</s>`.
    pub(crate) fn is_empty(&self, eos: u32) -> bool {
        self.source.is_empty() || self.source == [eos]
    }

    /// The largest number of tokens of the translation, with `</s>`: the limit of the settings and
    /// the tokens that its terms need.
    pub(super) fn limit(&self, settings: &SearchSettings, model: &dyn StepModel) -> usize {
        let positions = model.max_positions();
        let limit = settings.limit(len_with_eos(&self.source, model.special().eos), positions);
        match self.terms.tokens() {
            0 => limit,
            needed => {
                let most = positions.map_or(usize::MAX, |positions| positions.saturating_sub(1));
                limit.saturating_add(needed + 1).min(most)
            }
        }
    }

    /// The largest number of live hypotheses: the width of a search, times the number of searches
    /// that the terms may need.
    pub fn rows(&self, settings: &SearchSettings) -> usize {
        settings.width() * (1 + self.terms.phrases.len().min(MOST_ROUNDS))
    }

    pub(super) fn random_key(&self, seed: u64) -> RandomKey {
        let key = RandomKey::new(seed);
        match self.key {
            Some(index) => key.fold(0).fold(index),
            None => self.source.iter().fold(key.fold(1), |key, &id| key.fold(u64::from(id))),
        }
    }
}

/// `ids` ending with `</s>`, which is added if it is missing.
pub(crate) fn with_eos(ids: &[u32], eos: u32) -> Vec<u32> {
    let open = ids.last() != Some(&eos);
    ids.iter().copied().chain(open.then_some(eos)).collect()
}

/// The number of tokens of `ids`, including the `</s>` that may be missing.
pub(crate) fn len_with_eos(ids: &[u32], eos: u32) -> usize {
    ids.len() + usize::from(ids.last() != Some(&eos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_sentence_is_closed_and_a_closed_one_left_alone() {
        assert_eq!(with_eos(&[5, 6], 2), [5, 6, 2]);
        assert_eq!(with_eos(&[5, 2], 2), [5, 2]);
        assert_eq!(with_eos(&[], 2), [2]);
        for ids in [&[5, 6][..], &[5, 2], &[]] {
            assert_eq!(len_with_eos(ids, 2), with_eos(ids, 2).len());
        }
    }
}
