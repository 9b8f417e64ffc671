//! Settings that stay the same once a run has begun.

/// Settings, or whole sections, that the state of a run belongs to: under others the position in
/// the corpus, the random state or the best validation so far would mean nothing.
pub(crate) const FIXED: &str = "\
    model. training.from training.freeze training.seed training.budget \
    training.multiple training.accumulate optimizer.algorithm validation.metric validation.bleu \
    validation.max_sentences validation.beam validation.alpha";

/// Returns whether a resumed run must have the value of `key` with which it began.
pub(crate) fn is_fixed(key: &str) -> bool {
    FIXED.split(' ').any(|start| key.starts_with(start))
}

/// Returns whether `key` begins with one of `keys`.
pub(crate) fn within(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|start| key.starts_with(start))
}
