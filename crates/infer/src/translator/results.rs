//! Further searches for sentences whose first search found a wrong translation.

use std::collections::HashSet;

use super::load::Translator;
use super::options::TranslateOptions;
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::quality_warning::repeats;
use crate::search::{Request, search_counting};
use crate::settings::{BeamRule, MAX_HYPOTHESES, SearchSettings};

/// Sorts the hypotheses of a search: first those that the model ended, then the better ones.
pub(super) fn sort(all: &mut [Hypothesis]) {
    let is_cut = |hypothesis: &Hypothesis| hypothesis.finish == FinishReason::Limit;
    all.sort_by(|a, b| is_cut(a).cmp(&is_cut(b)).then(b.score.total_cmp(&a.score)));
}

/// Returns whether `found` is a loop of the search for `request`: neither the source nor a forced
/// prefix repeats a sequence.
pub(super) fn is_loop(Request { source, prefix, .. }: &Request, found: &Hypothesis) -> bool {
    repeats(&found.tokens) && !repeats(source) && !repeats(prefix)
}

/// The second search after a loop forbids repeated n-grams of this length.
const WITHOUT_LOOPS: usize = 3;

/// The widths, as multiples of the first, of the searches that fill a list in which texts were
/// repeated.
const WIDER: [usize; 3] = [2, 4, 8];

/// The hypotheses of a search with its requests.
pub(super) struct Results<'a> {
    pub translator: &'a Translator,
    pub requests: &'a [Request],
    pub options: &'a TranslateOptions,
    /// The hypotheses for each request, the best first.
    pub all: Vec<Vec<Hypothesis>>,
}

impl Results<'_> {
    /// The hypotheses of a further search for `requests`; empty if it fails, so that the first ones
    /// stay.
    pub(super) fn again<'a>(
        &'a self,
        requests: &'a [Request],
        settings: &SearchSettings,
    ) -> Results<'a> {
        let Self {
            translator,
            options,
            ..
        } = *self;
        let batching = &options.batching;
        let all = search_counting(&*translator.model, requests, settings, batching, &|_| ());
        Results {
            translator,
            requests,
            options,
            all: all.unwrap_or_default(),
        }
    }

    /// Leaves each text in a list once. Where hypotheses had one text, searches with twice, four
    /// and eight times the beam find others behind the best one, until there are `n_best` texts or
    /// no further hypotheses.
    pub(super) fn make_distinct(&mut self) {
        let Self {
            translator,
            requests,
            options,
            ..
        } = *self;
        let n_best = options.search.n_best;
        if !may_repeat(&options.search) {
            return;
        }
        let loses = |found: &mut Vec<Hypothesis>| {
            let count = found.len();
            translator.remove_repeated(found);
            found.len() < count && !found[0].is_second && !found[0].is_uppercased
        };
        let mut indices: Vec<usize> = (0..requests.len()).collect();
        indices.retain(|&i| loses(&mut self.all[i]));
        for factor in WIDER {
            let again: Vec<Request> = indices.iter().map(|&i| requests[i].clone()).collect();
            let mut wider = options.search.clone();
            let widened = |count: usize| (factor * count).min(MAX_HYPOTHESES);
            (wider.n_best, wider.beam_size) = (widened(n_best), widened(wider.beam_size));
            let mut found = self.again(&again, &wider);
            translator.copy_unknown(&again, &mut found.all);
            found.write_amounts();
            let mut found = found.all.into_iter();
            indices.retain(|&i| {
                let (list, found) = (&mut self.all[i], found.next().unwrap_or_default());
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

    /// Searches again for the requests whose best hypothesis is a loop, and takes the new
    /// hypotheses if they are not. If that fails, loops stay.
    pub(super) fn leave_loops(&mut self) {
        let (requests, settings) = (self.requests, &self.options.search);
        if !settings.second_search || settings.no_repeat_ngram > 0 || settings.sampling.is_some() {
            return;
        }
        let is_loop = |&index: &usize| is_loop(&requests[index], &self.all[index][0]);
        let indices: Vec<usize> = (0..requests.len()).filter(is_loop).collect();
        let again: Vec<Request> = indices
            .iter()
            .map(|&index| requests[index].clone())
            .collect();
        let settings = SearchSettings {
            no_repeat_ngram: WITHOUT_LOOPS,
            ..settings.clone()
        };
        let found = self.again(&again, &settings).all;
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
    /// The searches, as multiples of the first, that fill a list in which texts were repeated.
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

/// Returns whether a search can find a text twice and has to look for others.
fn may_repeat(search: &SearchSettings) -> bool {
    // The list of transformers is that of its search.
    let is_theirs = search.beam_rule == BeamRule::Transformers;
    search.n_best > 1 && search.sampling.is_none() && !is_theirs
}
