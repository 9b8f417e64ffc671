use burn::tensor::{Device, Distribution, Tensor};

/// The output of a layer.
#[derive(Clone, Debug)]
pub struct Output {
    /// The output sequence, `[batch, len, d]`.
    pub states: Tensor<3>,
    /// The number of sequential steps.
    pub steps: usize,
}

/// Normally distributed random weights with variance 1/`inputs`.
pub(super) fn random<const D: usize>(
    shape: [usize; D],
    inputs: usize,
    device: &Device,
) -> Tensor<D> {
    let std = (inputs as f64).powf(-0.5);
    Tensor::random(shape, Distribution::Normal(0.0, std), device)
}
