//! Muon (Jordan et al., 2024): steps along the orthogonal matrix nearest to the momentum.

use std::ops::Range;

use burn::tensor::Tensor;
use burnformer_core::Precision;
use burnformer_kernels::{Epilogue, is_bfloat16_fast_on, linear, linear_with, sum};

/// The coefficients of one Newton–Schulz iteration X ← aX + b(XXᵀ)X + c(XXᵀ)²X by Jordan et al.
/// Five iterations bring singular values from 0 to 1 between 0.7 and 1.2.
const COEFFICIENTS: [f64; 3] = [3.4445, -4.7750, 2.0315];

/// The decay rate of the running sum of the gradients (Jordan et al.).
pub(super) const MOMENTUM: f64 = 0.95;

/// The number of Newton–Schulz iterations.
const ITERATIONS: usize = 5;

/// The largest entry of a matrix for which squares and their sums stay within float32.
const SAFE_ENTRIES: Range<f32> = 1e-12..1e12;

/// The root mean square of Adam's steps. Muon's steps are scaled to it (Liu et al., 2025), so that
/// both use the same learning rates.
const ADAM_RMS: f64 = 0.2;

/// A matrix and its momentum, both flattened to one dimension.
#[derive(Clone)]
pub(super) struct Matrix {
    /// The matrix, `[rows · columns]`.
    pub parameter: Tensor<1>,
    /// Σ μⁿ·(the gradient n steps ago), `[rows · columns]`.
    pub momentum: Tensor<1>,
    /// Rows and columns.
    pub shape: [usize; 2],
}

impl Matrix {
    /// The matrix after a step along `gradient`: M ← μM + G, W ← W − rate · 0.2·√max(rows, columns)
    /// · orthogonal(G + μM), with μ = `momentum` (Nesterov's form, as in Jordan et al.). The
    /// products are computed in `precision`.
    pub fn step(self, gradient: Tensor<1>, momentum: f64, rate: f64, precision: Precision) -> Self {
        let Self {
            parameter,
            momentum: sum,
            shape,
        } = self;
        let sum = sum * momentum + gradient.clone();
        let ahead = gradient + sum.clone() * momentum;
        let [rows, columns] = shape;
        let length = rate * ADAM_RMS * (rows.max(columns) as f64).sqrt();
        let direction = orthogonal(ahead.reshape(shape), precision).reshape([-1]);
        Self {
            parameter: parameter - direction * length,
            momentum: sum,
            shape,
        }
    }
}

/// Approximates the orthogonal matrix nearest to `x`: its singular vectors with singular values
/// between 0.7 and 1.2. A matrix of zeros stays unchanged.
fn orthogonal(x: Tensor<2>, precision: Precision) -> Tensor<2> {
    let in_half = precision == Precision::BFloat16 && is_bfloat16_fast_on(&x.device());
    let [rows, columns] = x.dims();
    if rows > columns {
        iterate(x.transpose(), in_half).transpose()
    } else {
        iterate(x, in_half)
    }
}

/// Divides `x` by its largest magnitude if its squares would underflow or overflow. Other matrices
/// keep their bits.
fn scaled(x: Tensor<2>) -> Tensor<2> {
    let largest = x.clone().abs().max();
    let usual = largest.clone().greater_equal_elem(SAFE_ENTRIES.start);
    let usual = usual.bool_and(largest.clone().lower_elem(SAFE_ENTRIES.end));
    let usual = usual.bool_or(largest.clone().equal_elem(0.0));
    x / largest.mask_fill(usual, 1.0).unsqueeze()
}

fn iterate(x: Tensor<2>, in_half: bool) -> Tensor<2> {
    let [a, b, c] = COEFFICIENTS;
    let x = scaled(x);
    let norm = sum(x.clone().square()).sqrt().add_scalar(1e-30);
    let mut x = x / norm.unsqueeze();
    for _ in 0..ITERATIONS {
        // `gram` is symmetric, so that gram·gramᵀ is its square.
        let gram = product(x.clone(), x.clone(), in_half);
        let polynomial = gram.clone() * b + product(gram.clone(), gram, in_half) * c;
        x = x.clone() * a + product(polynomial, x.transpose(), in_half);
    }
    x
}

/// A·Bᵀ, in bfloat16 if `in_half`, as in Jordan et al.: the rounding error is smaller than the
/// remaining distance from an orthogonal matrix.
fn product(a: Tensor<2>, b: Tensor<2>, in_half: bool) -> Tensor<2> {
    if in_half {
        linear_with(a, b, None, Epilogue::None, Precision::BFloat16)
    } else {
        linear(a, b, None)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use burnformer_core::RandomKey;

    use super::*;

    fn normal(seed: u64, shape: [usize; 2]) -> Tensor<2> {
        let values = RandomKey::new(seed).normal(shape[0] * shape[1]);
        Tensor::from_data(TensorData::new(values, shape), &Device::default())
    }

    /// The Gram matrix of the smaller side's vectors: the identity if they are orthonormal.
    fn gram(x: Tensor<2>) -> Tensor<2> {
        let [rows, columns] = x.dims();
        if rows > columns {
            x.clone().transpose().matmul(x)
        } else {
            x.clone().matmul(x.transpose())
        }
    }

    #[test]
    fn an_orthogonalised_matrix_has_singular_values_near_one() {
        // At the smallest scales of float32, squares are 0; at the largest, infinite.
        let scales = [1e-36, 1e-30, 1e-20, 1e-6, 1.0, 1e6, 1e20, 1e36];
        let shapes = [[8, 8], [5, 16], [16, 5], [1, 16]];
        let precisions = [Precision::Float32, Precision::BFloat16];
        let cases = shapes
            .into_iter()
            .flat_map(|shape| scales.map(|scale| (shape, scale)));
        for ((shape, scale), precision) in cases.flat_map(|case| precisions.map(|p| (case, p))) {
            let o = orthogonal(normal(3, shape) * scale, precision);
            // The largest eigenvalue of the Gram matrix is at most its largest absolute row sum.
            let bound = gram(o.clone()).abs().sum_dim(1).max().into_scalar::<f32>();
            let mean = o.square().sum().into_scalar::<f32>() / shape[0].min(shape[1]) as f32;
            assert!(bound < 2.2, "{shape:?} · {scale}: {bound}");
            assert!(
                (0.45..1.5).contains(&mean),
                "{shape:?} · {scale}: mean square of the singular values {mean}"
            );
        }
    }

    #[test]
    fn bfloat16_directions_match_float32_up_to_rounding() {
        let x = normal(7, [24, 40]);
        // Independent of `is_bfloat16_fast_on`.
        let [exact, rounded] = [false, true].map(|in_half| iterate(x.clone(), in_half));
        let apart = (exact.clone() - rounded.clone())
            .abs()
            .max()
            .into_scalar::<f32>();
        assert!(apart > 1e-5, "nothing was rounded: {apart}");
        let cosine = (exact.clone() * rounded.clone()).sum()
            / (exact.square().sum().sqrt() * rounded.square().sum().sqrt());
        let cosine = cosine.into_scalar::<f32>();
        assert!(cosine > 0.999, "{cosine}");
    }

    #[test]
    fn an_orthogonalised_matrix_keeps_the_singular_vectors() {
        // For A = U·diag(s)·Vᵀ, AᵀO is V·diag(s·o)·Vᵀ: symmetric, with the trace Σ s·o above 0.
        let a = normal(5, [6, 6]);
        let product = a
            .clone()
            .transpose()
            .matmul(orthogonal(a, Precision::Float32));
        let skew = (product.clone() - product.clone().transpose())
            .abs()
            .max()
            .into_scalar::<f32>();
        let size = product.abs().max().into_scalar::<f32>();
        assert!(skew < 1e-3 * size, "{skew} of {size}");
    }

    #[test]
    fn a_step_has_the_length_of_adams_and_lowers_the_loss() {
        let shape = [12, 20];
        let target = normal(1, shape);
        let zeros = Tensor::<1>::zeros([240], &Device::default());
        let mut matrix = Matrix {
            parameter: zeros.clone(),
            momentum: zeros,
            shape,
        };
        let loss = |matrix: &Matrix| {
            (matrix.parameter.clone().reshape(shape) - target.clone())
                .square()
                .mean()
                .into_scalar::<f32>()
        };
        let before = loss(&matrix);
        for _ in 0..60 {
            let gradient = matrix.parameter.clone() - target.clone().reshape([-1]);
            let moved = matrix.clone().step(gradient, 0.9, 0.1, Precision::Float32);
            let step = (moved.parameter.clone() - matrix.parameter.clone())
                .square()
                .mean()
                .sqrt();
            // 0.1 · 0.2 · √20 · √(12 / 240) is 0.02.
            assert!((0.013..0.027).contains(&step.into_scalar::<f32>()));
            matrix = moved;
        }
        assert!(loss(&matrix) < 0.2 * before, "{} {before}", loss(&matrix));
    }

    #[test]
    fn a_vanishing_momentum_makes_finite_steps() {
        let shape = [1, 6];
        let gradient = normal(2, shape).reshape([-1]);
        let zeros = Tensor::<1>::zeros([6], &Device::default());
        let matrix = Matrix {
            parameter: zeros.clone(),
            momentum: gradient,
            shape,
        };
        // With gradients of 0, the momentum falls to a few times the smallest float32.
        let moved = (0..1000).fold(matrix, |matrix, _| {
            let moved = matrix.step(zeros.clone(), 0.9, 0.01, Precision::Float32);
            assert!(
                moved
                    .parameter
                    .clone()
                    .is_finite()
                    .all()
                    .into_scalar::<bool>()
            );
            moved
        });
        assert!(moved.momentum.abs().max().into_scalar::<f32>() < 1e-43);
    }

    #[test]
    fn a_gradient_of_zeros_moves_nothing() {
        let zeros = Tensor::<1>::zeros([6], &Device::default());
        let ones = zeros.clone() + 1.0;
        let matrix = Matrix {
            parameter: ones.clone(),
            momentum: zeros.clone(),
            shape: [2, 3],
        };
        let moved = matrix.step(zeros, 0.95, 0.1, Precision::Float32);
        moved
            .parameter
            .into_data()
            .assert_eq(&ones.into_data(), true);
    }
}
