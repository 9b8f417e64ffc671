//! Lists of translations with distinct texts.

use std::collections::HashSet;

use super::Results;
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::settings::{BeamRule, MAX_HYPOTHESES, SearchSettings};
use crate::translator::Translator;
use crate::translator::options::TranslateOptions;
use crate::translator::request::TextRequest;

/// The widths, as multiples of the first, of the searches that fill a list after repeated texts.
const WIDER_BEAM_FACTORS: [usize; 3] = [2, 4, 8];

/// Sorts hypotheses: hypotheses cut by the limit last, then by score.
pub(super) fn sort(all: &mut [Hypothesis]) {
    all.sort_by(|a, b| {
        let a_is_cut = a.finish == FinishReason::Limit;
        let b_is_cut = b.finish == FinishReason::Limit;
        a_is_cut.cmp(&b_is_cut).then(b.score.total_cmp(&a.score))
    });
}

impl Results<'_> {
    /// Removes repeated texts from each list. Searches with twice, four and eight times the beam
    /// fill such a list after its best hypothesis, until it has `n_best` texts or there are no
    /// further hypotheses.
    pub(super) fn make_distinct(&mut self) {
        let translator = self.translator;
        let search = &self.options.search;
        let n_best = search.n_best;
        if !may_repeat(search) {
            return;
        }
        let mut indices: Vec<usize> = (0..self.requests.len()).collect();
        indices.retain(|&index| {
            let found = &mut self.hypotheses[index];
            let count = found.len();
            translator.remove_repeated(found);
            found.len() < count && !found[0].is_second && !found[0].is_uppercased
        });
        for factor in WIDER_BEAM_FACTORS {
            let mut wider = search.clone();
            wider.n_best = (factor * n_best).min(MAX_HYPOTHESES);
            wider.beam_size = (factor * wider.beam_size).min(MAX_HYPOTHESES);
            let mut found = self.wider(&indices, &wider).into_iter();
            indices.retain(|&index| {
                let list = &mut self.hypotheses[index];
                let found = found.next().unwrap_or_default();
                let is_full = found.len() == wider.n_best;
                let best = list[0].score;
                list.extend(found.into_iter().filter(|new| new.score <= best));
                sort(&mut list[1..]);
                translator.remove_repeated(list);
                list.truncate(n_best);
                is_full && list.len() < n_best
            });
        }
    }

    /// The hypotheses of a search with the settings `wider` for the requests at `indices`, without
    /// those that lose a part.
    fn wider(&self, indices: &[usize], wider: &SearchSettings) -> Vec<Vec<Hypothesis>> {
        let requests: Vec<TextRequest> = indices
            .iter()
            .map(|&index| self.requests[index].clone())
            .collect();
        let mut results = Results {
            translator: self.translator,
            hypotheses: self.search_again(&requests, wider),
            requests,
            options: self.options,
        };
        results.drop_lossy();
        results.write_amounts();
        results.hypotheses
    }
}

impl Translator {
    /// The cost, as a multiple of the first search, of filling a list after repeated texts.
    pub(super) fn searches_for_texts(options: &TranslateOptions) -> usize {
        if may_repeat(&options.search) {
            WIDER_BEAM_FACTORS.iter().sum()
        } else {
            0
        }
    }

    /// Keeps only the first hypothesis of each text.
    fn remove_repeated(&self, found: &mut Vec<Hypothesis>) {
        let mut texts = HashSet::new();
        found.retain(|hypothesis| texts.insert(self.text_of(hypothesis)));
    }
}

/// Returns whether a search can find a text twice and must fill the list.
fn may_repeat(search: &SearchSettings) -> bool {
    // transformers, Marian and CTranslate2 return the list of their search.
    let is_theirs = matches!(
        search.beam_rule,
        BeamRule::Transformers | BeamRule::Marian | BeamRule::Ctranslate2
    );
    search.n_best > 1 && search.sampling.is_none() && !is_theirs
}
