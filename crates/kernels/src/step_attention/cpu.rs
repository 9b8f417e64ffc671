//! Attention of single queries to keys at any addresses: a step of decoding.

use rayon::prelude::*;

use crate::simd::{LANES, fold_pairs, softmax_row, vectorised};
#[cfg(target_arch = "x86_64")]
use crate::simd::{dot_avx2, has_avx2};

/// Smallest number of queries that a thread computes.
const MIN_TASK: usize = 16;
/// The number of sums of a context that stay in registers while all values are added. More sums at
/// a time wait less for one another.
const WIDE: usize = 64;
/// The number of sums for the rest of a context.
const NARROW: usize = 32;

/// The heads of a query and their widths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    pub count: usize,
    pub d_k: usize,
    pub d_v: usize,
}

/// The keys `[heads·d_k]` and values `[heads·d_v]` of one query, one position after the other. A
/// byte of `hidden` other than 0 hides its position; `hidden` is empty if all are visible.
#[derive(Debug, Default)]
pub(super) struct KeyValues<'a> {
    pub keys: Vec<&'a [f32]>,
    pub values: Vec<&'a [f32]>,
    pub hidden: &'a [u8],
}

/// Returns the contexts `[queries, heads·d_v]` of `queries` `[queries, heads·d_k]`. The function
/// `collect` lists the keys and values of a query.
pub(super) fn forward<'a>(
    heads: Heads,
    queries: &[f32],
    collect: impl Fn(usize, &mut KeyValues<'a>) + Sync,
) -> Vec<f32> {
    let width = heads.count * heads.d_k;
    let value_width = heads.count * heads.d_v;
    let mut contexts = vec![0.0; queries.len() / width * value_width];
    let tasks = queries
        .par_chunks(width)
        .zip(contexts.par_chunks_mut(value_width))
        .enumerate();
    tasks.with_min_len(MIN_TASK).for_each_init(
        Scratch::default,
        |scratch, (row, (query, context))| {
            let Scratch { pairs, scores } = scratch;
            pairs.keys.clear();
            pairs.values.clear();
            collect(row, pairs);
            assert_eq!(pairs.keys.len(), pairs.values.len(), "a value for each key");
            scores.clear();
            let padded = pairs.keys.len().next_multiple_of(LANES);
            scores.resize(heads.count * padded, f32::NEG_INFINITY);
            one(heads, query, pairs, scores, context);
        },
    );
    contexts
}

#[derive(Default)]
struct Scratch<'a> {
    pairs: KeyValues<'a>,
    /// `[heads, keys]`, the keys filled up with −∞ to whole vectors, so that no loop has a
    /// remainder.
    scores: Vec<f32>,
}

/// Adds the values, weighted by softmax(query·keys/√d_k) in each head, to `context`, which holds
/// zeros.
fn one(heads: Heads, query: &[f32], pairs: &KeyValues, scores: &mut [f32], context: &mut [f32]) {
    let all_hidden = !pairs.hidden.is_empty() && pairs.hidden.iter().all(|&hidden| hidden != 0);
    if pairs.keys.is_empty() || all_hidden {
        return;
    }
    compare(heads.d_k, query, pairs, scores);
    mix(heads.d_v, pairs, scores, context);
}

/// Writes query·keys/√d_k in each head to `scores`, which holds −∞ for hidden keys.
fn compare(d_k: usize, query: &[f32], pairs: &KeyValues, scores: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: `has_avx2` found the instructions.
        return unsafe { compare_avx2(d_k, query, pairs, scores) };
    }
    compare_by(d_k, query, pairs, scores, |query, key| {
        fold_pairs(query, key, |sum, q, k| sum + q * k)
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn compare_avx2(d_k: usize, query: &[f32], pairs: &KeyValues, scores: &mut [f32]) {
    compare_by(d_k, query, pairs, scores, |query, key| dot_avx2(query, key));
}

/// [`compare`] with `dot` for the sums of products.
#[inline(always)]
fn compare_by(
    d_k: usize,
    query: &[f32],
    pairs: &KeyValues,
    scores: &mut [f32],
    dot: impl Fn(&[f32], &[f32]) -> f32,
) {
    let padded = pairs.keys.len().next_multiple_of(LANES);
    let scale = 1.0 / (d_k as f32).sqrt();
    for (index, key) in pairs.keys.iter().enumerate() {
        if pairs.hidden.get(index).is_some_and(|&hidden| hidden != 0) {
            continue;
        }
        let parts = query.chunks_exact(d_k).zip(key.chunks_exact(d_k));
        for ((query, key), scores) in parts.zip(scores.chunks_exact_mut(padded)) {
            scores[index] = scale * dot(query, key);
        }
    }
}

vectorised! {
    /// Adds the values, weighted by softmax(scores) in each head, to `context`. `scores` is used
    /// up.
    fn mix(d_v: usize, pairs: &KeyValues, scores: &mut [f32], context: &mut [f32]) {
        let padded = pairs.values.len().next_multiple_of(LANES);
        // A loop, because a function that is passed on is compiled without the instructions of this
        // one.
        for scores in scores.chunks_exact_mut(padded) {
            softmax_row(scores);
        }
        let heads = context.chunks_exact_mut(d_v).zip(scores.chunks_exact(padded)).enumerate();
        for (head, (context, weights)) in heads {
            let mut first = head * d_v;
            let (wide, rest) = context.as_chunks_mut::<WIDE>();
            for block in wide {
                *block = weighted::<WIDE>(*block, weights, &pairs.values, first);
                first += WIDE;
            }
            let (narrow, rest) = rest.as_chunks_mut::<NARROW>();
            for block in narrow {
                *block = weighted::<NARROW>(*block, weights, &pairs.values, first);
                first += NARROW;
            }
            for (weight, value) in weights.iter().zip(&pairs.values) {
                for (c, v) in rest.iter_mut().zip(&value[first..]) {
                    *c += weight * v;
                }
            }
        }
    }
}

/// Returns `sums` plus the weighted `values` from number `first` on.
#[inline(always)]
fn weighted<const BLOCK: usize>(
    mut sums: [f32; BLOCK],
    weights: &[f32],
    values: &[&[f32]],
    first: usize,
) -> [f32; BLOCK] {
    for (weight, value) in weights.iter().zip(values) {
        for (sum, v) in sums.iter_mut().zip(&value[first..first + BLOCK]) {
            *sum += weight * v;
        }
    }
    sums
}
