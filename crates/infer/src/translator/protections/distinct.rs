//! Further searches after a wrong translation.

use std::collections::HashSet;

use super::load::Translator;
use super::options::TranslateOptions;
use super::request::{TextRequest, searches};
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::quality_warning::repeats;
use crate::search::{Request, search_counting};
use crate::settings::{BeamRule, MAX_HYPOTHESES, SearchSettings};

/// Sorts hypotheses: hypotheses cut by the limit last, then by score.
pub(super) fn sort(all: &mut [Hypothesis]) {
    all.sort_by(|a, b| {
        let a_is_cut = a.finish == FinishReason::Limit;
        let b_is_cut = b.finish == FinishReason::Limit;
        a_is_cut.cmp(&b_is_cut).then(b.score.total_cmp(&a.score))
    });
}

/// Returns whether `found` is a loop of the search: it repeats a sequence, and neither the source nor
/// a forced prefix does.
pub(super) fn is_loop(request: &TextRequest, found: &Hypothesis) -> bool {
    let Request { source, prefix, .. } = &request.search;
    repeats(&found.tokens) && !repeats(source) && !repeats(prefix)
}

/// The length of forbidden repeated n-grams in the second search after a loop.
const WITHOUT_LOOPS: usize = 3;

/// The widths, as multiples of the first, of the searches that fill a list after repeated texts.
const WIDER: [usize; 3] = [2, 4, 8];

/// The requests and the hypotheses of a search.
pub(super) struct Results<'a> {
    pub translator: &'a Translator,
    /// The requests that gave the hypotheses: a source in capitals may be in small letters here.
    pub requests: Vec<TextRequest>,
    pub options: &'a TranslateOptions,
    /// The hypotheses for each request, the best first.
    pub all: Vec<Vec<Hypothesis>>,
}

impl Results<'_> {
    /// The hypotheses of a further search for `requests`, with copies of unknown text; empty if it
    /// fails.
    pub(super) fn again(
        &self,
        requests: &[TextRequest],
        settings: &SearchSettings,
    ) -> Vec<Vec<Hypothesis>> {
        let model = &*self.translator.model;
        let batching = &self.options.batching;
        let found = search_counting(model, &searches(requests), settings, batching, &|_| ());
        let mut found = found.unwrap_or_default();
        self.translator.copy_unknown(requests, &mut found);
        found
    }

    /// Removes repeated texts from each list. Searches with twice, four and eight times the beam fill
    /// such a list after its best hypothesis, until it has `n_best` texts or there are no further
    /// hypotheses.
    pub(super) fn make_distinct(&mut self) {
        let translator = self.translator;
        let search = &self.options.search;
        let n_best = search.n_best;
        if !may_repeat(search) {
            return;
        }
        let mut indices: Vec<usize> = (0..self.requests.len()).collect();
        indices.retain(|&index| {
            let found = &mut self.all[index];
            let count = found.len();
            translator.remove_repeated(found);
            found.len() < count && !found[0].is_second && !found[0].is_uppercased
        });
        for factor in WIDER {
            let mut wider = search.clone();
            wider.n_best = (factor * n_best).min(MAX_HYPOTHESES);
            wider.beam_size = (factor * wider.beam_size).min(MAX_HYPOTHESES);
            let mut found = self.wider(&indices, &wider).into_iter();
            indices.retain(|&index| {
                let list = &mut self.all[index];
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
            all: self.again(&requests, wider),
            requests,
            options: self.options,
        };
        results.drop_lossy();
        results.write_amounts();
        results.all
    }

    /// Searches again for requests with a loop as the best hypothesis, and takes the new hypotheses
    /// if they have no loop. If that fails, loops stay.
    pub(super) fn leave_loops(&mut self) {
        let requests = &self.requests;
        let settings = &self.options.search;
        let is_wanted = self.options.protections.second_search;
        if !is_wanted || settings.no_repeat_ngram > 0 || settings.sampling.is_some() {
            return;
        }
        let indices: Vec<usize> = (0..requests.len())
            .filter(|&index| is_loop(&requests[index], &self.all[index][0]))
            .collect();
        let again: Vec<TextRequest> = indices
            .iter()
            .map(|&index| requests[index].clone())
            .collect();
        let settings = SearchSettings {
            no_repeat_ngram: WITHOUT_LOOPS,
            ..settings.clone()
        };
        let found = self.again(&again, &settings);
        for (index, mut found) in indices.into_iter().zip(found) {
            if !repeats(&found[0].tokens) {
                found
                    .iter_mut()
                    .for_each(|hypothesis| hypothesis.is_second = true);
                self.all[index] = found;
            }
        }
    }
}

impl Translator {
    /// The cost, as a multiple of the first search, of filling a list after repeated texts.
    pub(super) fn searches_for_texts(options: &TranslateOptions) -> usize {
        if may_repeat(&options.search) {
            WIDER.iter().sum()
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
    // transformers and Marian return the list of their search.
    let is_theirs = matches!(search.beam_rule, BeamRule::Transformers | BeamRule::Marian);
    search.n_best > 1 && search.sampling.is_none() && !is_theirs
}
