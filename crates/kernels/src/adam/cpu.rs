//! The arithmetic of Adam on slices.

use rayon::prelude::*;

use super::step::AdamStep;
use crate::simd::vectorised;

/// The number of elements that one task handles.
const TASK: usize = 16 * 1024;

/// The factors of one update, in 32 bits.
#[derive(Clone, Copy)]
struct Factors {
    scale: f32,
    beta: [f32; 2],
    /// 1 − β.
    share: [f32; 2],
    /// rate / (1 − β₁ᵗ).
    rate: f32,
    /// 1 / (1 − β₂ᵗ).
    correction: f32,
    epsilon: f32,
}

impl From<AdamStep> for Factors {
    fn from(step: AdamStep) -> Self {
        let [first, second] = step.corrections();
        Self {
            scale: step.gradient_scale as f32,
            beta: [step.beta_1 as f32, step.beta_2 as f32],
            share: [(1.0 - step.beta_1) as f32, (1.0 - step.beta_2) as f32],
            rate: (step.rate * first) as f32,
            correction: second as f32,
            epsilon: step.epsilon as f32,
        }
    }
}

/// One update of `parameter` and its moments by `gradient`.
pub(super) fn update(
    parameter: &mut [f32],
    gradient: &[f32],
    [first, second]: [&mut [f32]; 2],
    step: AdamStep,
) {
    let factors = Factors::from(step);
    let moments = first.par_chunks_mut(TASK).zip(second.par_chunks_mut(TASK));
    let tasks = parameter.par_chunks_mut(TASK).zip(gradient.par_chunks(TASK)).zip(moments);
    tasks.for_each(|((parameter, gradient), (first, second))| {
        update_task(parameter, gradient, first, second, factors);
    });
}

vectorised! {
    fn update_task(
        parameter: &mut [f32],
        gradient: &[f32],
        first: &mut [f32],
        second: &mut [f32],
        factors: Factors,
    ) {
        let moments = first.iter_mut().zip(second);
        for ((p, g), (m, v)) in parameter.iter_mut().zip(gradient).zip(moments) {
            let g = g * factors.scale;
            *m = factors.beta[0] * *m + factors.share[0] * g;
            *v = factors.beta[1] * *v + factors.share[1] * (g * g);
            *p -= factors.rate * *m / ((*v * factors.correction).sqrt() + factors.epsilon);
        }
    }
}
