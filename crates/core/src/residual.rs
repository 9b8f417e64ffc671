use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burnformer_kernels::residual_dropout;
use serde::{Deserialize, Serialize};

use crate::cost::Cost;
use crate::dropout::Dropout;
use crate::norm::{LayerNorm, LayerNormConfig};
use crate::random::Mode;

/// The position of layer normalisation (paper §3.1 against its successors).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NormPosition {
    /// After each residual connection, as in the paper (§3.1).
    #[default]
    Post,
    /// Before each sub-layer, with a closing normalisation on each stack.
    Pre,
}

impl NormPosition {
    /// The last normalisation of a pre-norm stack; `None` in a post-norm one.
    pub(crate) fn closing(self, norm: &LayerNormConfig, device: &Device) -> Option<LayerNorm> {
        (self == Self::Pre).then(|| norm.init(device))
    }

    /// The cost of [`closing`](Self::closing).
    pub(crate) fn closing_cost(self, norm: &LayerNormConfig) -> Cost {
        norm.cost() * usize::from(self == Self::Pre)
    }
}

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
    /// A residual connection with the given position of the layer normalisation and rate of
    /// dropout.
    pub fn new(position: NormPosition, dropout: f64) -> Self {
        Self { dropout: Dropout::new(dropout), position }
    }

    /// The cost of the connection with its layer normalisation, without the sub-layer: it keeps its
    /// two inputs.
    pub fn cost(norm: &LayerNormConfig) -> Cost {
        Cost { kept_values: 2 * norm.d_model, ..norm.cost() }
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
