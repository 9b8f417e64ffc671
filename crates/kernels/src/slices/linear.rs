use rayon::prelude::*;

use super::matrix::{Matrix, MatrixMut, Parallelism, multiply};
use super::{ordered_sum, rows_per_task};
use crate::vector::vectorised;

/// Multiplications below which a product stays on one thread.
const PARALLEL: usize = 128 * 128 * 128;
/// Rows a task of the element-wise passes handles.
const ROWS: usize = 32;

/// What follows the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    Identity,
    Relu,
}

/// Rows, inputs and outputs of an affine map.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows of the input and of the output.
    pub rows: usize,
    /// Features of an input row.
    pub input: usize,
    /// Features of an output row.
    pub output: usize,
}

impl Sizes {
    fn parallelism(self) -> Parallelism {
        let work = self.rows.saturating_mul(self.input).saturating_mul(self.output);
        if work < PARALLEL { Parallelism::None } else { Parallelism::Rayon(0) }
    }
}

/// `out = activation(x·weightᵀ + bias)`: `x` `[rows, input]`, `weight` `[output, input]`, `bias`
/// `[output]` or empty.
pub(crate) fn forward(
    sizes: Sizes,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    activation: Activation,
    out: &mut [f32],
) {
    let Sizes { rows, input, output } = sizes;
    let product = MatrixMut::new(out, rows, output, output);
    let weight = Matrix::new(weight, output, input, input).transposed();
    multiply(product, Matrix::new(x, rows, input, input), weight, 1.0, sizes.parallelism());
    if bias.is_empty() && activation == Activation::Identity {
        return;
    }
    out.par_chunks_mut(ROWS * output).for_each(|rows| {
        for row in rows.chunks_exact_mut(output) {
            if !bias.is_empty() {
                super::dropout::increase(row, bias);
            }
            if activation == Activation::Relu {
                relu(row);
            }
        }
    });
}

/// Finishes the output's gradient in `grad` (0 where a ReLU gave 0 in `out`), and gives its column
/// sums, the gradient of the bias.
pub fn grad_of_sum(
    sizes: Sizes,
    grad: &mut [f32],
    source: Option<&[f32]>,
    out: Option<&[f32]>,
) -> Vec<f32> {
    let width = sizes.output;
    let chunk = rows_per_task(sizes.rows) * width;
    let tasks = grad.par_chunks_mut(chunk).enumerate();
    let task = |(index, grad): (usize, &mut [f32])| {
        let part = index * chunk..index * chunk + grad.len();
        if let Some(source) = source {
            grad.copy_from_slice(&source[part.clone()]);
        }
        if let Some(out) = out {
            relu_gradient(grad, &out[part]);
        }
        column_sums(grad, width)
    };
    let partial: Vec<Vec<f32>> = tasks.map(task).collect();
    ordered_sum(&partial, width)
}

/// `grad·weight`, `[rows, input]`.
pub(crate) fn grad_of_x(sizes: Sizes, grad: &[f32], weight: &[f32]) -> Vec<f32> {
    let Sizes { rows, input, output } = sizes;
    let mut dx = vec![0.0; rows * input];
    let grad = Matrix::new(grad, rows, output, output);
    let weight = Matrix::new(weight, output, input, input);
    let out = MatrixMut::new(&mut dx, rows, input, input);
    multiply(out, grad, weight, 1.0, sizes.parallelism());
    dx
}

/// `gradᵀ·x`, `[output, input]`.
pub fn grad_of_weight(sizes: Sizes, grad: &[f32], x: &[f32]) -> Vec<f32> {
    let Sizes { rows, input, output } = sizes;
    let mut dweight = vec![0.0; output * input];
    let grad = Matrix::new(grad, rows, output, output).transposed();
    let x = Matrix::new(x, rows, input, input);
    let out = MatrixMut::new(&mut dweight, output, input, input);
    multiply(out, grad, x, 1.0, sizes.parallelism());
    dweight
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

    fn column_sums(rows: &[f32], width: usize) -> Vec<f32> {
        let mut sums = vec![0.0; width];
        for row in rows.chunks_exact(width) {
            for (sum, x) in sums.iter_mut().zip(row) {
                *sum += x;
            }
        }
        sums
    }
}
