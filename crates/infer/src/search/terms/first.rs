//! The search without terms, which comes first: if it finds the terms, no other search is needed.

use std::borrow::Cow;

use super::tracker::Tracker;
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::search::Request;

/// `requests` without their terms.
pub(crate) fn without_terms(requests: &[Request]) -> Cow<'_, [Request]> {
    match requests.iter().any(|request| !request.terms.is_empty()) {
        false => Cow::Borrowed(requests),
        true => requests.iter().map(Request::without_terms).collect(),
    }
}

/// Whether `found` is a translation of `request` that the model ended and that has all terms.
pub(crate) fn is_complete(request: &Request, found: &Hypothesis) -> bool {
    let Some(tracker) = Tracker::new(&request.terms) else { return true };
    let Some((_, tokens)) = found.tokens.split_last() else { return false };
    let left = tracker.left(tracker.along(tokens), tokens);
    found.finish == FinishReason::EndOfSentence && left == 0
}

/// At most `count` hypotheses: `best`, and those of `others` that are not better.
///
/// The search for terms is wider and sometimes finds a better one. It is left out, so that the best
/// hypothesis does not depend on how many are asked for.
pub(crate) fn behind(best: Hypothesis, others: Vec<Hypothesis>, count: usize) -> Vec<Hypothesis> {
    let better = |other: &Hypothesis| {
        other.finish == FinishReason::EndOfSentence && other.score > best.score
    };
    let others = others.into_iter().filter(|other| other.tokens != best.tokens && !better(other));
    let others: Vec<Hypothesis> = others.take(count.saturating_sub(1)).collect();
    [vec![best], others].concat()
}
