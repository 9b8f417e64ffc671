//! Validation or test text that is also training text.

use burnformer_data::PairSample;

use super::pairs::{MIN_SAMPLED_PAIRS, Pair};

/// The share of a text's pairs that may also be in the training text, as short sentences often are.
const MAX_SHARED_PAIRS: f64 = 0.2;

/// A warning about a validation or test text with many pairs that are in the training text, too.
pub(super) fn leaked(key: &str, text: &[Pair], trained: &[PairSample]) -> Option<String> {
    let sampled: Vec<&Pair> = text
        .iter()
        .filter(|pair| is_sampled(pair, trained))
        .collect();
    let seen = sampled.iter().filter(|pair| is_in(pair, trained)).count();
    let share = seen as f64 / sampled.len().max(1) as f64;
    // A few pairs of a large text tell nothing about the others.
    let is_enough = sampled.len() == text.len() || sampled.len() >= MIN_SAMPLED_PAIRS;
    (is_enough && share > MAX_SHARED_PAIRS).then(|| {
        format!(
            "warning: {:.0} % of the pairs of {key} are in the training text, too. Its scores then tell how well the model has \
             memorised them, not how well it translates. Name a text that is not trained on, or take these pairs out of \
             data.train",
            100.0 * share
        )
    })
}

/// Returns whether the samples tell if training has `pair`.
fn is_sampled((source, target): &Pair, trained: &[PairSample]) -> bool {
    trained.iter().all(|sample| sample.covers(source, target))
}

fn is_in((source, target): &Pair, trained: &[PairSample]) -> bool {
    trained.iter().any(|sample| sample.contains(source, target))
}
