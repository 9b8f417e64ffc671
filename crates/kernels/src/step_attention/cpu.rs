//! Attention of single queries to keys at any addresses: a step of decoding.

use rayon::prelude::*;

use crate::simd::{fold_pairs, softmax_row, vectorised};

/// With fewer queries than this, one thread computes all of them.
const PARALLEL: usize = 16;

/// The heads of a query and their widths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    pub count: usize,
    pub d_k: usize,
    pub d_v: usize,
}

/// What one query sees: keys `[heads·d_k]` and values `[heads·d_v]`, position by position, and which positions are
/// hidden (not 0 for a hidden one; empty if none is hidden).
#[derive(Debug, Default)]
pub(super) struct Seen<'a> {
    pub keys: Vec<&'a [f32]>,
    pub values: Vec<&'a [f32]>,
    pub hidden: &'a [u8],
}

/// The contexts `[queries, heads·d_v]` of `queries` `[queries, heads·d_k]`. The function `see` lists what a query sees.
pub(super) fn forward<'a>(
    heads: Heads,
    queries: &[f32],
    see: impl Fn(usize, &mut Seen<'a>) + Sync,
) -> Vec<f32> {
    let (width, value_width) = (heads.count * heads.d_k, heads.count * heads.d_v);
    let mut contexts = vec![0.0; queries.len() / width * value_width];
    let tasks = queries.par_chunks(width).zip(contexts.par_chunks_mut(value_width)).enumerate();
    tasks.with_min_len(PARALLEL).for_each_init(
        Scratch::default,
        |scratch, (row, (query, context))| {
            let Scratch { seen, scores } = scratch;
            seen.keys.clear();
            seen.values.clear();
            see(row, seen);
            assert_eq!(seen.keys.len(), seen.values.len(), "a value for each key");
            scores.clear();
            scores.resize(heads.count * seen.keys.len(), 0.0);
            one(heads, query, seen, scores, context);
        },
    );
    contexts
}

#[derive(Default)]
struct Scratch<'a> {
    seen: Seen<'a>,
    /// `[heads, keys]`.
    scores: Vec<f32>,
}

vectorised! {
    /// Adds the values, weighted by softmax(query·keys/√d_k) in each head, to `context`, which holds zeros.
    fn one(heads: Heads, query: &[f32], seen: &Seen, scores: &mut [f32], context: &mut [f32]) {
        let Heads { d_k, d_v, .. } = heads;
        let count = seen.keys.len();
        let scale = 1.0 / (d_k as f32).sqrt();
        for (place, key) in seen.keys.iter().enumerate() {
            let hidden = seen.hidden.get(place).is_some_and(|&hidden| hidden != 0);
            let parts = query.chunks_exact(d_k).zip(key.chunks_exact(d_k));
            for (head, (query, key)) in parts.enumerate() {
                let product = scale * fold_pairs(query, key, |sum, q, k| sum + q * k);
                scores[head * count + place] = if hidden { f32::NEG_INFINITY } else { product };
            }
        }
        let all_hidden = !seen.hidden.is_empty() && seen.hidden.iter().all(|&hidden| hidden != 0);
        if count == 0 || all_hidden {
            return;
        }
        scores.chunks_exact_mut(count).for_each(softmax_row);
        for (place, value) in seen.values.iter().enumerate() {
            let parts = context.chunks_exact_mut(d_v).zip(value.chunks_exact(d_v));
            for (head, (context, value)) in parts.enumerate() {
                let weight = scores[head * count + place];
                for (c, v) in context.iter_mut().zip(value) {
                    *c += weight * v;
                }
            }
        }
    }
}
