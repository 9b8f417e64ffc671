//! The arithmetic of embeddings on slices.

use rayon::prelude::*;

use crate::simd::vectorised;

/// The number of rows that one task handles.
const ROWS: usize = 64;

/// Computes `out[i] = scale·weight[ids[i]]` for rows of `width` numbers.
pub(super) fn forward(weight: &[f32], ids: &[i64], width: usize, scale: f32, out: &mut [f32]) {
    let tasks = out.par_chunks_mut(ROWS * width).zip(ids.par_chunks(ROWS));
    tasks.for_each(|(out, ids)| {
        for (out, &id) in out.chunks_exact_mut(width).zip(ids) {
            scale_into(out, &weight[id as usize * width..][..width], scale);
        }
    });
}

/// The gradient of the weight, `[vocab, width]`. Each row is the sum over the occurrences of its
/// id, in their order.
pub(super) fn backward(
    grad: &[f32],
    ids: &[i64],
    vocab: usize,
    width: usize,
    scale: f32,
) -> Vec<f32> {
    let (starts, indices) = occurrences(ids, vocab);
    let mut dweight = vec![0.0; vocab * width];
    let tasks = dweight.par_chunks_mut(ROWS * width).enumerate();
    tasks.for_each(|(task, rows)| {
        for (row, id) in rows.chunks_exact_mut(width).zip(task * ROWS..) {
            for &index in &indices[starts[id]..starts[id + 1]] {
                add_scaled(row, &grad[index * width..][..width], scale);
            }
        }
    });
    dweight
}

/// The indices of each id among `ids`, in order. Those of `id` are `indices[starts[id]..starts[id +
/// 1]]`.
fn occurrences(ids: &[i64], vocab: usize) -> (Vec<usize>, Vec<usize>) {
    let mut starts = vec![0; vocab + 1];
    for &id in ids {
        starts[id as usize + 1] += 1;
    }
    for id in 0..vocab {
        starts[id + 1] += starts[id];
    }
    let mut next = starts.clone();
    let mut indices = vec![0; ids.len()];
    for (index, &id) in ids.iter().enumerate() {
        indices[next[id as usize]] = index;
        next[id as usize] += 1;
    }
    (starts, indices)
}

vectorised! {
    fn scale_into(out: &mut [f32], xs: &[f32], scale: f32) {
        for (out, x) in out.iter_mut().zip(xs) {
            *out = x * scale;
        }
    }

    fn add_scaled(sums: &mut [f32], xs: &[f32], scale: f32) {
        for (sum, x) in sums.iter_mut().zip(xs) {
            *sum += x * scale;
        }
    }
}
