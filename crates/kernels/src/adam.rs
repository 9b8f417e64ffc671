use burn::tensor::Tensor;

use crate::twin;

/// The numbers of one Adam update (Kingma and Ba, 2015; paper §5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// Learning rate of this update.
    pub rate: f64,
    /// Decay of the first moment.
    pub beta_1: f64,
    /// Decay of the second moment.
    pub beta_2: f64,
    /// Added to the root of the corrected second moment.
    pub epsilon: f64,
    /// Which update this is, from 1.
    pub time: u64,
    /// What the gradient is multiplied by first: the clipping and averaging of the update.
    pub gradient_scale: f64,
}

impl AdamStep {
    /// 1 / (1 − βᵗ) of both moments.
    pub(crate) fn corrections(self) -> [f64; 2] {
        [self.beta_1, self.beta_2].map(|beta| 1.0 / (1.0 - beta.powf(self.time as f64)))
    }
}

/// A parameter and the moments of its gradients.
#[derive(Clone, Debug)]
pub struct Moving<const D: usize> {
    /// The parameter itself.
    pub parameter: Tensor<D>,
    /// Moving mean of the gradients.
    pub first: Tensor<D>,
    /// Moving mean of their squares.
    pub second: Tensor<D>,
}

/// One Adam update: m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², p ← p − rate·m̂/(√v̂ + ε).
///
/// Fused (for tensors without gradients of their own): one parallel pass, over the tensors
/// themselves where nothing else holds them.
///
/// # Shapes
/// All four tensors have one shape.
pub fn adam_step<const D: usize>(
    moving: Moving<D>,
    gradient: Tensor<D>,
    step: AdamStep,
) -> Moving<D> {
    let shape = moving.parameter.dims();
    let given = [moving.first.dims(), moving.second.dims(), gradient.dims()];
    assert_eq!(given, [shape; 3], "moments and gradient of a parameter {shape:?}");
    #[cfg(feature = "flex")]
    if [&moving.parameter, &moving.first, &moving.second, &gradient]
        .into_iter()
        .all(crate::flex::plain)
    {
        return crate::flex::adam::fused(moving, gradient, step);
    }
    twin::adam_step(moving, gradient, step)
}

/// Σ x² over all elements; the root of their total over a model's gradients is its global norm.
///
/// Fused (for tensors without gradients of their own): in parallel, in 64 bits, in a fixed order.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    #[cfg(feature = "flex")]
    if crate::flex::plain(&x) {
        return crate::flex::adam::sum_of_squares(x);
    }
    twin::sum_of_squares(x)
}
