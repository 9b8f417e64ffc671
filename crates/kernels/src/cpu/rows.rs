//! Arithmetic element by element and row by row.

use rayon::prelude::*;

use crate::simd::vectorised;

/// Returns the number of rows that one task handles. It is a function of the size of the problem
/// alone, so that partial sums never depend on the number of threads.
pub fn rows_per_task(rows: usize) -> usize {
    rows.div_ceil(64).max(8)
}

/// Returns the sum of `parts`, each `[width]`, in their order and in float64.
pub fn ordered_sum(parts: &[Vec<f32>], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0f64; width];
    for part in parts {
        for (sum, &x) in sums.iter_mut().zip(part) {
            *sum += f64::from(x);
        }
    }
    sums.into_iter().map(|x| x as f32).collect()
}

/// Returns the sums of the columns of `rows`, which is `[rows, width]`: the gradient of a bias.
pub fn column_sums(rows: &[f32], width: usize) -> Vec<f32> {
    let chunk = rows_per_task(rows.len() / width.max(1)) * width;
    let parts: Vec<Vec<f32>> = rows
        .par_chunks(chunk.max(1))
        .map(|rows| sums_of_task(rows, width))
        .collect();
    ordered_sum(&parts, width)
}

vectorised! {
    /// Returns the sums of the columns of one task's rows, added in float32 in the order of the
    /// rows.
    pub(crate) fn sums_of_task(rows: &[f32], width: usize) -> Vec<f32> {
        let mut sums = vec![0.0; width];
        for row in rows.chunks_exact(width) {
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
        sums
    }

    /// Multiplies each element of `xs` by its counterpart in `ys`, in place.
    pub fn multiply_by(xs: &mut [f32], ys: &[f32]) {
        for (x, y) in xs.iter_mut().zip(ys) {
            *x *= y;
        }
    }

    /// Writes the products of the elements of `xs` and `ys` to `out`.
    pub fn products(out: &mut [f32], xs: &[f32], ys: &[f32]) {
        for ((out, x), y) in out.iter_mut().zip(xs).zip(ys) {
            *out = x * y;
        }
    }

    /// Adds each element of `ys` to its counterpart in `xs`, in place.
    pub fn increase(xs: &mut [f32], ys: &[f32]) {
        for (x, y) in xs.iter_mut().zip(ys) {
            *x += y;
        }
    }
}
