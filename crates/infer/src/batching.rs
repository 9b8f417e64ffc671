//! Division of sentences into batches, and of batches among processor cores. One thread decodes a
//! part of a batch from beginning to end, without waiting for others. If there is only one part,
//! its matrix products use all threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use crate::error::Result;
use crate::settings::{SettingsError, check};

/// The limits of a batch. They change speed and memory, but not results; on a CPU even the bits
/// stay equal, unless a batch has a source of more than 64 tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The largest number of sentences in a batch.
    pub max_sentences: usize,
    /// The largest number of tokens in a batch, padding included. A longer sentence is a batch of
    /// its own.
    pub max_tokens: usize,
}

impl Default for Batching {
    fn default() -> Self {
        Self {
            max_sentences: 64,
            max_tokens: 4096,
        }
    }
}

impl Batching {
    /// Checks that the settings are in their ranges.
    ///
    /// # Errors
    /// Returns [`SettingsError::Value`] if a bound is 0.
    pub fn validate(&self) -> Result<(), SettingsError> {
        for (name, bound) in [
            ("max_sentences", self.max_sentences),
            ("max_tokens", self.max_tokens),
        ] {
            check(bound > 0, name, &bound, "at least 1 is needed")?;
        }
        Ok(())
    }

    /// Divides `indices` into batches of similar `lengths`, the longest first, so that a lack of
    /// memory shows at once.
    pub(crate) fn group(&self, mut indices: Vec<usize>, lengths: &[usize]) -> Vec<Vec<usize>> {
        indices.sort_by(|&a, &b| lengths[b].cmp(&lengths[a]).then(a.cmp(&b)));
        let mut batches = Vec::new();
        let mut rest = &indices[..];
        while let Some(&longest) = rest.first() {
            let fitting = (self.max_tokens / lengths[longest].max(1)).max(1);
            let (batch, tail) = rest.split_at(fitting.min(self.max_sentences).min(rest.len()));
            batches.push(batch.to_vec());
            rest = tail;
        }
        batches
    }
}

/// The number of batches decoded at the same time, which bounds memory.
const BATCHES_AT_ONCE: usize = 4;
/// The largest number of sentences in a part. The logits of more sentences exceed the second-level
/// cache: translation then takes 5 % more time in 8-bit integers, and 1 % less in float32.
const MAX_PART_SENTENCES: usize = 32;

/// Divides batches into parts for `threads` threads, in order. The last `2 * threads` batches are
/// divided into up to `threads` parts of nearly equal size, so that no thread is idle for long. An
/// earlier batch stays whole for up to [`BATCHES_AT_ONCE`] threads, because a product of many rows
/// is fastest; for more threads it is divided so that about [`BATCHES_AT_ONCE`] batches are decoded
/// at the same time. A part has at most [`MAX_PART_SENTENCES`] sentences.
pub(crate) fn divide(batches: Vec<Vec<usize>>, threads: usize) -> Vec<Vec<usize>> {
    let threads = threads.max(1);
    let many = batches.len().saturating_sub(2 * threads);
    let mut parts = Vec::new();
    for (index, batch) in batches.into_iter().enumerate() {
        let at_once = if index < many { BATCHES_AT_ONCE } else { 1 };
        let size = (batch.len() * at_once)
            .div_ceil(threads)
            .clamp(1, MAX_PART_SENTENCES);
        parts.extend(batch.chunks(size).map(<[usize]>::to_vec));
    }
    parts
}

/// Runs `work` on every part and passes each result to `take`. Several parts run on `threads`
/// single threads. A single part, and all parts of a single thread, run as a task of rayon's pool:
/// outside of the pool, the caller would sleep and wake up for each matrix product. Without
/// `threads` (another device computes) everything runs on the caller's thread.
///
/// # Errors
/// Returns the error of the first part that fails.
pub(crate) fn run<T: Send>(
    parts: &[Vec<usize>],
    threads: Option<usize>,
    work: impl Fn(&[usize]) -> Result<T> + Sync,
    mut take: impl FnMut(T),
) -> Result<()> {
    let Some(threads) = threads else {
        return parts.iter().try_for_each(|part| work(part).map(&mut take));
    };
    if threads < 2 || parts.len() < 2 {
        let results = rayon::scope(|_| {
            parts
                .iter()
                .map(|part| work(part))
                .collect::<Result<Vec<_>, _>>()
        });
        return results.map(|results| results.into_iter().for_each(take));
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(parts.len());
    let results = Mutex::new(Vec::with_capacity(parts.len()));
    let worker = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= parts.len() || index > failed.load(Ordering::Relaxed) {
            return;
        }
        let result = work(&parts[index]);
        if result.is_err() {
            failed.fetch_min(index, Ordering::Relaxed);
        }
        results
            .lock()
            .expect("no worker panics with the lock")
            .push((index, result));
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(parts.len()) {
            let started = Builder::new().spawn_scoped(scope, || alone(worker));
            if started.is_err() {
                // The system has no more threads. This one helps those that were started.
                worker();
                break;
            }
        }
    });
    let mut results = results
        .into_inner()
        .expect("no worker panics with the lock");
    results.sort_by_key(|&(index, _)| index);
    results
        .into_iter()
        .try_for_each(|(_, result)| result.map(&mut take))
}

/// Runs `work` with parallel loops on a single thread, its own.
fn alone(work: impl Fn() + Send) {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InferError;
    use crate::search::SentenceError;

    #[test]
    fn batches_keep_both_bounds_and_every_sentence() {
        let lengths: Vec<usize> = (0..100).map(|i| 1 + i * 37 % 50).collect();
        let batching = Batching {
            max_sentences: 7,
            max_tokens: 120,
        };
        let batches = batching.group((0..100).collect(), &lengths);
        for batch in &batches {
            let longest = batch
                .iter()
                .map(|&index| lengths[index])
                .max()
                .expect("no empty batch");
            assert!(batch.len() <= 7 && longest * batch.len() <= 120);
        }
        let mut all = batches.concat();
        all.sort();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_sentence_over_the_bound_goes_alone() {
        let batching = Batching {
            max_sentences: 8,
            max_tokens: 10,
        };
        assert_eq!(
            batching.group(vec![0, 1, 2], &[3, 50, 4]),
            [vec![1], vec![2, 0]]
        );
    }

    #[test]
    fn a_bound_of_zero_is_refused() {
        let bad = Batching {
            max_tokens: 0,
            ..Batching::default()
        };
        assert!(matches!(
            bad.validate(),
            Err(SettingsError::Value {
                name: "max_tokens",
                ..
            })
        ));
    }

    #[test]
    fn parts_keep_every_sentence_in_order() {
        let parts = divide(vec![vec![5, 4, 3], vec![2], vec![1, 0]], 2);
        assert_eq!(parts, [vec![5, 4], vec![3], vec![2], vec![1], vec![0]]);
        let sizes = |batches: usize, size: usize, threads| {
            let parts = divide(vec![(0..size).collect(); batches], threads);
            parts.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(7, 2, 2), [2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(sizes(17, 16, 8)[..3], [8, 8, 2]);
        assert_eq!(divide(vec![vec![3, 2, 1]], 1), [vec![3, 2, 1]]);
    }

    #[test]
    fn results_arrive_in_order_on_any_number_of_threads() {
        let parts: Vec<Vec<usize>> = (0..20).map(|i| vec![i]).collect();
        for threads in [None, Some(1), Some(2), Some(3), Some(50)] {
            let mut taken = Vec::new();
            run(
                &parts,
                threads,
                |part| Ok(part[0]),
                |index| taken.push(index),
            )
            .unwrap();
            assert_eq!(taken, (0..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn work_of_one_thread_runs_in_the_pool_on_a_cpu() {
        let inside = |threads, parts: &[Vec<usize>]| {
            let mut inside = Vec::new();
            let thread = |_: &[usize]| Ok(rayon::current_thread_index().is_some());
            run(parts, threads, thread, |found| inside.push(found)).unwrap();
            inside
        };
        assert_eq!(inside(Some(2), &[vec![0]]), [true]);
        assert_eq!(
            inside(Some(1), &[vec![0], vec![1]]),
            [true, true],
            "one core computes, too"
        );
        assert_eq!(inside(None, &[vec![0], vec![1]]), [false, false]);
    }

    #[test]
    fn the_first_error_is_reported() {
        let parts: Vec<Vec<usize>> = (0..20).map(|i| vec![i]).collect();
        let work = |part: &[usize]| match part[0] {
            index @ (7 | 8 | 15) => Err(SentenceError::NotFinite(0).of(index)),
            index => Ok(index),
        };
        let error = run(&parts, Some(3), work, |_| ()).unwrap_err();
        assert!(
            matches!(error, InferError::Sentence { sentence: 7, .. }),
            "{error}"
        );
    }
}
