//! Element by element and row by row.

use rayon::prelude::*;

use crate::simd::vectorised;

/// Rows that a task handles: a function of the size of the problem alone, so that partial sums never depend on the
/// number of threads.
pub fn rows_per_task(rows: usize) -> usize {
    rows.div_ceil(64).max(8)
}

/// Sums `parts`, each `[width]`, in their order and in float64.
pub fn ordered_sum(parts: &[Vec<f32>], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0f64; width];
    for part in parts {
        for (sum, &x) in sums.iter_mut().zip(part) {
            *sum += f64::from(x);
        }
    }
    sums.into_iter().map(|x| x as f32).collect()
}

/// The sums of the columns of `rows`, `[rows, width]`: the gradient of a bias.
pub fn column_sums(rows: &[f32], width: usize) -> Vec<f32> {
    let chunk = rows_per_task(rows.len() / width.max(1)) * width;
    let parts: Vec<Vec<f32>> =
        rows.par_chunks(chunk.max(1)).map(|rows| sums_of_task(rows, width)).collect();
    ordered_sum(&parts, width)
}

vectorised! {
    /// The sums of the columns of one task's rows, added in float32 in the order of the rows.
    pub(crate) fn sums_of_task(rows: &[f32], width: usize) -> Vec<f32> {
        let mut sums = vec![0.0; width];
        for row in rows.chunks_exact(width) {
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
        sums
    }

    /// `xs *= ys`.
    pub fn multiply_by(xs: &mut [f32], ys: &[f32]) {
        for (x, y) in xs.iter_mut().zip(ys) {
            *x *= y;
        }
    }

    /// `out = xs · ys`, element by element.
    pub fn products(out: &mut [f32], xs: &[f32], ys: &[f32]) {
        for ((out, x), y) in out.iter_mut().zip(xs).zip(ys) {
            *out = x * y;
        }
    }

    /// `xs += ys`.
    pub fn increase(xs: &mut [f32], ys: &[f32]) {
        for (x, y) in xs.iter_mut().zip(ys) {
            *x += y;
        }
    }
}
