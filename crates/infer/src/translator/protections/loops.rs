//! Loops of a search, which repeats a sequence to the length limit.

use super::Results;
use crate::hypothesis::Hypothesis;
use crate::quality_warning::repeats;
use crate::search::Request;
use crate::settings::SearchSettings;
use crate::translator::request::TextRequest;

/// The length of forbidden repeated n-grams in the second search after a loop.
const WITHOUT_LOOPS: usize = 3;

/// Returns whether `found` is a loop of the search: it repeats a sequence, and neither the source
/// nor a forced prefix does.
pub(super) fn is_loop(request: &TextRequest, found: &Hypothesis) -> bool {
    let Request { source, prefix, .. } = &request.search;
    repeats(&found.tokens) && !repeats(source) && !repeats(prefix)
}

impl Results<'_> {
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
            .filter(|&index| is_loop(&requests[index], &self.hypotheses[index][0]))
            .collect();
        let again: Vec<TextRequest> = indices
            .iter()
            .map(|&index| requests[index].clone())
            .collect();
        let settings = SearchSettings {
            no_repeat_ngram: WITHOUT_LOOPS,
            ..settings.clone()
        };
        let found = self.search_again(&again, &settings);
        for (index, mut found) in indices.into_iter().zip(found) {
            if !repeats(&found[0].tokens) {
                found
                    .iter_mut()
                    .for_each(|hypothesis| hypothesis.is_second = true);
                self.hypotheses[index] = found;
            }
        }
    }
}
