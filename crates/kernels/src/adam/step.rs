use burn::tensor::Tensor;

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
