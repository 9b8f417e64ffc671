use burn::tensor::Tensor;

/// The scalars of one Adam update (Kingma and Ba, 2015; paper §5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// The learning rate of this update.
    pub rate: f64,
    /// β₁, the decay of the first moment.
    pub beta_1: f64,
    /// β₂, the decay of the second moment.
    pub beta_2: f64,
    /// ε, which is added to the square root of the corrected second moment.
    pub epsilon: f64,
    /// The number of this update, counted from 1.
    pub time: u64,
    /// A factor for the gradient, applied before anything else: it clips the norm and divides by
    /// the tokens of the update.
    pub gradient_scale: f64,
}

impl AdamStep {
    /// Returns the corrections 1 / (1 − βᵗ) of both moments, which begin at zero.
    pub(crate) fn corrections(self) -> [f64; 2] {
        [self.beta_1, self.beta_2].map(|beta| 1.0 / (1.0 - beta.powf(self.time as f64)))
    }
}

/// A parameter and the moments of its gradients.
#[derive(Clone, Debug)]
pub struct Moving<const D: usize> {
    /// The parameter itself.
    pub parameter: Tensor<D>,
    /// The first moment: the moving average of the gradients.
    pub first: Tensor<D>,
    /// The second moment: the moving average of the squared gradients.
    pub second: Tensor<D>,
}
