//! The arithmetic of SiLU on slices.

use rayon::prelude::*;

use crate::simd::{exp, vectorised};

/// The number of elements that one task handles.
const TASK_ELEMENTS: usize = 8 * 1024;

/// Applies SiLU to the elements of `source`, or of `out` without it.
pub(super) fn forward(out: &mut [f32], source: Option<&[f32]>) {
    let tasks = out.par_chunks_mut(TASK_ELEMENTS).enumerate();
    tasks.for_each(|(index, out)| {
        copy(out, source, index * TASK_ELEMENTS);
        silu_row(out);
    });
}

/// Multiplies the gradients in `source`, or in `grad` without it, by the derivatives at `x`.
pub(super) fn backward(grad: &mut [f32], source: Option<&[f32]>, x: &[f32]) {
    let tasks = grad
        .par_chunks_mut(TASK_ELEMENTS)
        .zip(x.par_chunks(TASK_ELEMENTS))
        .enumerate();
    tasks.for_each(|(index, (grad, x))| {
        copy(grad, source, index * TASK_ELEMENTS);
        gradient(grad, x);
    });
}

/// Copies the elements of `source` from `start` on to `out`.
fn copy(out: &mut [f32], source: Option<&[f32]>, start: usize) {
    if let Some(source) = source {
        out.copy_from_slice(&source[start..start + out.len()]);
    }
}

vectorised! {
    /// Applies SiLU to each element.
    pub(crate) fn silu_row(xs: &mut [f32]) {
        for x in xs {
            *x /= 1.0 + exp(-*x);
        }
    }

    fn gradient(grad: &mut [f32], xs: &[f32]) {
        for (g, &x) in grad.iter_mut().zip(xs) {
            let sigmoid = 1.0 / (1.0 + exp(-x));
            *g *= sigmoid * (1.0 + x * (1.0 - sigmoid));
        }
    }
}
