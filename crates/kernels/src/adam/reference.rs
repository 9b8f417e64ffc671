use burn::tensor::Tensor;

use super::step::{AdamStep, Moving};

/// The reference of [`adam_step`](crate::adam_step) in plain tensor arithmetic.
///
/// # Shapes
/// The parameter, its moments and `gradient` have one shape, `[out, in]` for a weight → the same
/// shape
pub fn adam_step<const D: usize>(
    moving: Moving<D>,
    gradient: Tensor<D>,
    step: AdamStep,
) -> Moving<D> {
    let [first_correction, second_correction] = step.corrections();
    let gradient = gradient * step.gradient_scale;
    let first = moving.first * step.beta_1 + gradient.clone() * (1.0 - step.beta_1);
    let second = moving.second * step.beta_2 + gradient.square() * (1.0 - step.beta_2);
    let root = (second.clone() * second_correction).sqrt() + step.epsilon;
    let parameter = moving.parameter - first.clone() * (step.rate * first_correction) / root;
    Moving {
        parameter,
        first,
        second,
    }
}
