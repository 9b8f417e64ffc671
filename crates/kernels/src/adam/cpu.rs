//! The arithmetic of Adam on slices.

use rayon::prelude::*;

use super::step::AdamStep;
use crate::simd::vectorised;

/// The number of elements that one task handles.
const TASK_ELEMENTS: usize = 16 * 1024;

/// One update of `parameter` and its moments by `gradient`.
pub(super) fn update(
    parameter: &mut [f32],
    gradient: &[f32],
    [first, second]: [&mut [f32]; 2],
    step: AdamStep,
) {
    let moments = first
        .par_chunks_mut(TASK_ELEMENTS)
        .zip(second.par_chunks_mut(TASK_ELEMENTS));
    let tasks = parameter
        .par_chunks_mut(TASK_ELEMENTS)
        .zip(gradient.par_chunks(TASK_ELEMENTS))
        .zip(moments);
    tasks.for_each(|((parameter, gradient), (first, second))| {
        update_task(parameter, gradient, first, second, step);
    });
}

vectorised! {
    fn update_task(
        parameter: &mut [f32],
        gradient: &[f32],
        first: &mut [f32],
        second: &mut [f32],
        step: AdamStep,
    ) {
        let beta_1 = step.beta_1 as f32;
        let beta_2 = step.beta_2 as f32;
        let share_1 = (1.0 - step.beta_1) as f32;
        let share_2 = (1.0 - step.beta_2) as f32;
        let [correction_1, correction_2] = step.corrections();
        let rate = (step.rate * correction_1) as f32;
        let correction_2 = correction_2 as f32;
        let scale = step.gradient_scale as f32;
        let epsilon = step.epsilon as f32;
        let moments = first.iter_mut().zip(second);
        for ((p, g), (m, v)) in parameter.iter_mut().zip(gradient).zip(moments) {
            let g = g * scale;
            *m = beta_1 * *m + share_1 * g;
            *v = beta_2 * *v + share_2 * (g * g);
            *p -= rate * *m / ((*v * correction_2).sqrt() + epsilon);
        }
    }
}
