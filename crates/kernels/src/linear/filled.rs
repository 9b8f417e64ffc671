//! Memory for packed weights.

use rayon::prelude::*;

/// The number of elements from which on a second thread helps.
const PARALLEL: usize = 1 << 12;

/// `count` times `value`, written by all threads where they are many: most of this time is the system's, which gives out the memory
/// page by page.
pub(super) fn filled<T: Copy + Send + Sync>(value: T, count: usize) -> Vec<T> {
    if count < PARALLEL {
        return vec![value; count];
    }
    let mut all = Vec::new();
    (0..count).into_par_iter().with_min_len(PARALLEL).map(|_| value).collect_into_vec(&mut all);
    all
}
