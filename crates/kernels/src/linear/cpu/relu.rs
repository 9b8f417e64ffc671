//! The backward pass of the epilogue on slices.

use rayon::prelude::*;

use super::affine::Sizes;
use crate::cpu::{ordered_sum, rows_per_task, sums_of_task};
use crate::simd::vectorised;

/// Sets the gradient in `grad`, taken from `source` if there is one, to 0 for each 0 of the ReLU in
/// `out`. If `wanted`, returns the sums of its columns, which are the gradient of the bias.
pub(in crate::linear) fn through_relu(
    sizes: Sizes,
    grad: &mut [f32],
    source: Option<&[f32]>,
    out: &[f32],
    wanted: bool,
) -> Option<Vec<f32>> {
    let width = sizes.output;
    let chunk = rows_per_task(sizes.rows) * width;
    let tasks = grad.par_chunks_mut(chunk.max(1)).enumerate();
    let parts: Vec<Vec<f32>> = tasks
        .map(|(index, grad)| {
            let part = index * chunk..index * chunk + grad.len();
            if let Some(source) = source {
                grad.copy_from_slice(&source[part.clone()]);
            }
            relu_gradient(grad, &out[part]);
            if wanted {
                sums_of_task(grad, width)
            } else {
                Vec::new()
            }
        })
        .collect();
    wanted.then(|| ordered_sum(&parts, width))
}

vectorised! {
    fn relu_gradient(grad: &mut [f32], out: &[f32]) {
        for (g, &y) in grad.iter_mut().zip(out) {
            *g = if y > 0.0 { *g } else { 0.0 };
        }
    }
}
