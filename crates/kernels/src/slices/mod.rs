//! The arithmetic of the fused operations on plain `f32` slices, parallel over rows by rayon.
//!
//! How the rows are divided depends on their number alone, never on the threads at hand.

pub(crate) mod adam;
pub(crate) mod attention;
pub(crate) mod cross_entropy;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod linear;
pub(crate) mod matrix;
pub(crate) mod norm;
pub(crate) mod packed;
pub(crate) mod step;

/// Rows a task handles: a function of the problem's size only, so that partial sums never depend
/// on the thread count.
pub(crate) fn rows_per_task(rows: usize) -> usize {
    rows.div_ceil(64).max(8)
}

/// Sums `parts`, each `[width]`, in their order and in 64 bits.
pub fn ordered_sum(parts: &[Vec<f32>], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0f64; width];
    for part in parts {
        for (sum, &x) in sums.iter_mut().zip(part) {
            *sum += f64::from(x);
        }
    }
    sums.into_iter().map(|x| x as f32).collect()
}
