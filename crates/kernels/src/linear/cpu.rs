//! The arithmetic of affine maps on slices.

use rayon::prelude::*;

use super::affine::{Sizes, affine_product};
use super::epilogue::Epilogue;
use super::float32;
use crate::cpu::{increase, ordered_sum, rows_per_task, sums_of_task};
use crate::simd::vectorised;

/// The number of rows that one task of the element-wise passes handles.
const ROWS: usize = 32;

/// `epilogue(x·weightᵀ + bias)`, `[rows, output]`: `x` `[rows, input]`, `weight` `[output, input]`, `bias` `[output]` or empty.
pub(super) fn forward(
    sizes: Sizes,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    epilogue: Epilogue,
) -> Vec<f32> {
    if let Some(out) = float32::forward(sizes, x, weight, bias, epilogue) {
        return out;
    }
    let mut out = vec![0.0; sizes.rows * sizes.output];
    if out.is_empty() {
        return out;
    }
    affine_product(sizes, x, weight, &mut out);
    if bias.is_empty() && epilogue == Epilogue::None {
        return out;
    }
    out.par_chunks_mut(ROWS * sizes.output).for_each(|rows| {
        for row in rows.chunks_exact_mut(sizes.output) {
            if !bias.is_empty() {
                increase(row, bias);
            }
            if epilogue == Epilogue::Relu {
                relu(row);
            }
        }
    });
    out
}

/// Sets the gradient in `grad`, taken from `source` if there is one, to 0 where a ReLU gave 0 in `out`. If `wanted`,
/// returns the sums of its columns, which are the gradient of the bias.
pub(super) fn through_relu(
    sizes: Sizes,
    grad: &mut [f32],
    source: Option<&[f32]>,
    out: &[f32],
    wanted: bool,
) -> Option<Vec<f32>> {
    let width = sizes.output;
    let chunk = rows_per_task(sizes.rows) * width;
    let task = |(index, grad): (usize, &mut [f32])| {
        let part = index * chunk..index * chunk + grad.len();
        if let Some(source) = source {
            grad.copy_from_slice(&source[part.clone()]);
        }
        relu_gradient(grad, &out[part]);
        if wanted { sums_of_task(grad, width) } else { Vec::new() }
    };
    let parts: Vec<Vec<f32>> = grad.par_chunks_mut(chunk.max(1)).enumerate().map(task).collect();
    wanted.then(|| ordered_sum(&parts, width))
}

vectorised! {
    fn relu(xs: &mut [f32]) {
        for x in xs {
            // Written so that NaN stays NaN.
            *x = if *x < 0.0 { 0.0 } else { *x };
        }
    }

    fn relu_gradient(grad: &mut [f32], out: &[f32]) {
        for (g, &y) in grad.iter_mut().zip(out) {
            *g = if y > 0.0 { *g } else { 0.0 };
        }
    }
}
