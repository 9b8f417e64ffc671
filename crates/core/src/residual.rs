use burn::module::Module;
use burn::tensor::Tensor;
use burnformer_kernels::residual_dropout;

use crate::config::NormPosition;
use crate::dropout::Dropout;
use crate::norm::LayerNorm;
use crate::random::Mode;

/// Residual connection, dropout and layer normalisation around a sub-layer f (paper §3.1).
///
/// Post-norm, as in the paper: `norm(x + dropout(f(x)))`. Pre-norm: `x + dropout(f(norm(x)))`.
#[derive(Module, Debug)]
pub struct ResidualNorm {
    dropout: Dropout,
    #[module(skip)]
    position: NormPosition,
}

impl ResidualNorm {
    /// A residual connection with the given position of the layer normalisation and rate of dropout.
    pub fn new(position: NormPosition, dropout: f64) -> Self {
        Self { dropout: Dropout::new(dropout), position }
    }

    /// Runs `sublayer` on `x` inside the residual connection, with the layer normalisation `norm`.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → the same shape
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
