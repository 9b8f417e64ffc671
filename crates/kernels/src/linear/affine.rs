//! The products of an affine map x·Wᵀ and of its backward pass in float32: by our own instructions where the processor has them,
//! by a library elsewhere.

use super::float32;
use crate::cpu::{Matrix, MatrixMut, Parallelism, multiply};

/// A product with fewer multiplications than this stays on one thread.
const PARALLEL: usize = 128 * 128 * 128;

/// The sizes of an affine map.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The number of rows of the input and of the output.
    pub rows: usize,
    /// The number of features in an input row.
    pub input: usize,
    /// The number of features in an output row.
    pub output: usize,
}

impl Sizes {
    fn parallelism(self) -> Parallelism {
        let work = self.rows.saturating_mul(self.input).saturating_mul(self.output);
        if work < PARALLEL { Parallelism::None } else { Parallelism::Rayon(0) }
    }
}

/// Writes `x·weightᵀ` into `out` by the library: `x` `[rows, input]`, `weight` `[output, input]`, `out` `[rows, output]`.
pub(super) fn affine_product(sizes: Sizes, x: &[f32], weight: &[f32], out: &mut [f32]) {
    let Sizes { rows, input, output } = sizes;
    let out = MatrixMut::new(out, rows, output, output);
    let weight = Matrix::new(weight, output, input, input).transposed();
    multiply(out, Matrix::new(x, rows, input, input), weight, 1.0, sizes.parallelism());
}

/// The gradient of the input, `grad·weight`, `[rows, input]`, given the gradient of the output, `[rows, output]`.
pub fn grad_of_input(sizes: Sizes, grad: &[f32], weight: &[f32]) -> Vec<f32> {
    if let Some(dx) = float32::grad_of_input(sizes, grad, weight) {
        return dx;
    }
    let Sizes { rows, input, output } = sizes;
    let mut dx = vec![0.0; rows * input];
    let grad = Matrix::new(grad, rows, output, output);
    let weight = Matrix::new(weight, output, input, input);
    let out = MatrixMut::new(&mut dx, rows, input, input);
    multiply(out, grad, weight, 1.0, sizes.parallelism());
    dx
}

/// The gradient of the weight, `gradᵀ·x`, `[output, input]`, given the gradient of the output, `[rows, output]`.
pub fn grad_of_weight(sizes: Sizes, grad: &[f32], x: &[f32]) -> Vec<f32> {
    if let Some(dweight) = float32::grad_of_weight(sizes, grad, x) {
        return dweight;
    }
    let Sizes { rows, input, output } = sizes;
    let mut dweight = vec![0.0; output * input];
    let grad = Matrix::new(grad, rows, output, output).transposed();
    let x = Matrix::new(x, rows, input, input);
    let out = MatrixMut::new(&mut dweight, output, input, input);
    multiply(out, grad, x, 1.0, sizes.parallelism());
    dweight
}
