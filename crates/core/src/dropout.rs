use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;
use burnformer_kernels::{DropoutMask, dropout};

use crate::context::Mode;

/// The rate of a [`Dropout`].
#[derive(Config, Debug)]
pub struct DropoutConfig {
    /// The probability that an element is set to zero.
    pub rate: f64,
}

impl DropoutConfig {
    /// Dropout of this rate.
    ///
    /// # Panics
    /// Panics if the rate is not in `[0, 1)`.
    pub fn init(&self) -> Dropout {
        Dropout::new(self.rate)
    }
}

/// Dropout (paper §5.4): sets each element to zero with probability `rate` and multiplies the
/// others by `1 / (1 - rate)`. The random choice is a function of the key in the [`Mode`].
#[derive(Module, Debug)]
pub struct Dropout {
    rate: f64,
}

impl Dropout {
    /// Dropout with probability `rate`.
    ///
    /// # Panics
    /// Panics if `rate` is not in `[0, 1)`.
    pub fn new(rate: f64) -> Self {
        assert!(
            (0.0..1.0).contains(&rate),
            "dropout rate {rate} is not in [0, 1)"
        );
        Self { rate }
    }

    /// Applies dropout to `x` (any shape) in training. At inference it returns `x` unchanged.
    pub fn forward<const D: usize>(&self, x: Tensor<D>, mode: Mode) -> Tensor<D> {
        dropout(x, self.mask(mode))
    }

    /// Returns the dropout mask under `mode`; `None` at inference or at rate 0.
    pub(crate) fn mask(&self, mode: Mode) -> Option<DropoutMask> {
        match mode {
            Mode::Training(key) if self.rate > 0.0 => Some(DropoutMask::new(key, self.rate)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn inference_drops_nothing_and_training_keeps_the_mean() {
        let x = Tensor::<2>::ones([64, 1024], &Device::default());
        let dropout = Dropout::new(0.25);
        let same = dropout.forward(x.clone(), Mode::Inference);
        same.into_data().assert_eq(&x.to_data(), true);
        let mean: f32 = dropout
            .forward(x, Mode::training(1, 1))
            .mean()
            .into_scalar();
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
