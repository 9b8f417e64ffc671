//! Sums of squares of slices.

use burn::tensor::Tensor;
use rayon::prelude::*;

use crate::cpu::{contiguous, floats, primitive};
use crate::simd::vectorised;

/// The number of elements that one task handles.
const TASK_ELEMENTS: usize = 16 * 1024;

/// Σ x² of a tensor on the CPU without gradients, summed in float64, in the order of the tasks.
pub(super) fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    let parts: Vec<f64> = floats(&contiguous(primitive(x)))
        .par_chunks(TASK_ELEMENTS)
        .map(squares)
        .collect();
    parts.iter().sum()
}

vectorised! {
    fn squares(xs: &[f32]) -> f64 {
        let mut lanes = [0.0f64; 16];
        let mut chunks = xs.chunks_exact(16);
        for chunk in &mut chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane += f64::from(x) * f64::from(x);
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(chunks.remainder()) {
            *lane += f64::from(x) * f64::from(x);
        }
        lanes.iter().sum()
    }
}
