use burn::module::Module;
use burn::tensor::Tensor;
use burnformer_kernels::residual_dropout;

use crate::config::NormPosition;
use crate::dropout::Dropout;
use crate::norm::LayerNorm;
use crate::random::Mode;

/// The wiring around every sub-layer (paper §3.1): residual connection, dropout, normalisation.
///
/// `post`: `norm(x + dropout(f(x)))`, the paper's; `pre`: `x + dropout(f(norm(x)))`.
#[derive(Module, Debug)]
pub struct ResidualNorm {
    dropout: Dropout,
    #[module(skip)]
    position: NormPosition,
}

impl ResidualNorm {
    /// Wiring with the given place of the norm and dropout rate.
    pub fn new(position: NormPosition, dropout: f64) -> Self {
        Self { dropout: Dropout::new(dropout), position }
    }

    /// Runs `sublayer` inside the wiring.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → the same
    pub fn forward<const D: usize>(
        &self,
        x: Tensor<D>,
        norm: &LayerNorm,
        mode: Mode,
        sublayer: impl FnOnce(Tensor<D>) -> Tensor<D>,
    ) -> Tensor<D> {
        match self.position {
            NormPosition::Post => {
                let y = sublayer(x.clone());
                norm.forward_sum(x, y, self.dropout.mask(mode))
            }
            NormPosition::Pre => {
                let y = sublayer(norm.forward(x.clone()));
                residual_dropout(x, y, self.dropout.mask(mode))
            }
        }
    }
}
