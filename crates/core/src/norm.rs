use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{DropoutMask, layer_norm, residual_dropout, residual_dropout_norm};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::cost::Cost;
use crate::dropout::Dropout;
use crate::init;

/// The formula of a normalisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum NormKind {
    /// Layer normalisation (Ba et al., 2016), as in the paper.
    #[default]
    #[serde(alias = "Layer")]
    Layer,
    /// Division by the root mean square, with a gain alone (Zhang and Sennrich, 2019).
    #[serde(alias = "Rms")]
    Rms,
    /// ScaleNorm (Nguyen and Salazar, 2019): g · x / ‖x‖ with one trained number g.
    Scale,
}

/// The sizes of a [`LayerNorm`].
#[derive(Config, Debug)]
pub struct LayerNormConfig {
    /// The number of features.
    pub d_model: usize,
    /// The number added to the variance, or to the mean square.
    #[config(default = "LayerNorm::EPSILON")]
    pub epsilon: f64,
    /// The formula.
    #[config(default = "NormKind::Layer")]
    pub kind: NormKind,
}

impl LayerNormConfig {
    /// Initialises the layer: gain 1 (`[d_model]`; for [`NormKind::Scale`] a single gain of
    /// √`d_model`) and, for [`NormKind::Layer`] alone, an offset of zeros (`[d_model]`).
    pub fn init(&self, device: &Device) -> LayerNorm {
        let width = self.d_model;
        LayerNorm {
            weight: match self.kind {
                NormKind::Scale => init::constant((width as f32).sqrt(), 1, device),
                _ => init::constant(1.0, width, device),
            },
            bias: (self.kind == NormKind::Layer).then(|| init::constant(0.0, width, device)),
            epsilon: self.epsilon,
        }
    }

    /// The cost: gain and offset. [`ResidualNorm`](crate::ResidualNorm) counts the values that it
    /// keeps.
    pub fn cost(&self) -> Cost {
        Cost::parameters(match self.kind {
            NormKind::Layer => 2 * self.d_model,
            NormKind::Rms => self.d_model,
            NormKind::Scale => 1,
        })
    }
}

/// Layer normalisation over the last axis, with a trained gain `weight` and offset `bias`; without
/// an offset, it is RMS normalisation ([`NormKind::Rms`]) or ScaleNorm ([`NormKind::Scale`]).
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// The gain, `[d_model]`; its initial value is one. For [`NormKind::Scale`] it is one number,
    /// `[1]`, which starts at √d_model.
    pub weight: Param<Tensor<1>>,
    /// The offset, `[d_model]`; its initial value is zero. `None` for the other kinds.
    pub bias: Option<Param<Tensor<1>>>,
    epsilon: f64,
}

impl LayerNorm {
    /// The default for the value that is added to the variance; PyTorch has the same default.
    pub const EPSILON: f64 = 1e-5;

    /// Creates a layer normalisation over `d_model` features; `epsilon` is added to the variance.
    pub fn new(d_model: usize, epsilon: f64, device: &Device) -> Self {
        LayerNormConfig::new(d_model)
            .with_epsilon(epsilon)
            .init(device)
    }

    /// Computes (x − mean) / √(variance + ε) of each row, or x / √(mean of x² + ε), multiplies by
    /// the gain and adds the offset. ScaleNorm divides by √d_model as well.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → the same shape
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        match &self.bias {
            Some(bias) => layer_norm(x, self.weight.val(), bias.val(), self.epsilon),
            None => {
                let width = x.dims()[D - 1] as f64;
                let gain = self.weight.val().unsqueeze();
                let rms = (x.clone().square().mean_dim(D - 1) + self.epsilon).sqrt();
                match self.weight.lazy_shape()[0] {
                    // ‖x‖ = √d_model · rms. A row has one factor.
                    1 => x * (gain / (rms * width.sqrt())),
                    _ => x / rms * gain,
                }
            }
        }
    }

    /// Computes `forward(x + dropout(y))`, for layer normalisation in one pass over the data.
    pub(crate) fn forward_sum<const D: usize>(
        &self,
        x: Tensor<D>,
        y: Tensor<D>,
        mask: Option<DropoutMask>,
    ) -> Tensor<D> {
        let Some(bias) = &self.bias else {
            return self.forward(residual_dropout(x, y, mask));
        };
        residual_dropout_norm(x, y, self.weight.val(), bias.val(), self.epsilon, mask)
    }
}

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
        Self {
            dropout: Dropout::new(dropout),
            position,
        }
    }

    /// Returns the cost of the connection with its layer normalisation, without the sub-layer: it
    /// keeps its two inputs.
    pub fn cost(norm: &LayerNormConfig) -> Cost {
        Cost {
            activations: 2 * norm.d_model,
            ..norm.cost()
        }
    }

    /// Runs `sublayer` on `x` inside the residual connection, with the layer normalisation `norm`.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → the same shape
    pub fn forward<'a, const D: usize>(
        &self,
        x: Tensor<D>,
        norm: &LayerNorm,
        context: impl Into<Context<'a>>,
        sublayer: impl FnOnce(Tensor<D>) -> Tensor<D>,
    ) -> Tensor<D> {
        let context = context.into();
        let y = sublayer(match self.position {
            NormPosition::Post => x.clone(),
            NormPosition::Pre => norm.forward(x.clone()),
        });
        context.record_residual(&x, &y);
        let dropout = self.dropout.mask(context.mode);
        match self.position {
            NormPosition::Post => norm.forward_sum(x, y, dropout),
            NormPosition::Pre => residual_dropout(x, y, dropout),
        }
    }
}
