use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::{Precision, RandomKey};

use crate::attention::AttentionBias;
use crate::context::Context;
use crate::conventions::ClosingNorm;
use crate::cost::Cost;
use crate::feed_forward::{PositionWiseFeedForward, PositionWiseFeedForwardConfig};
use crate::init;
use crate::linear::Linear;
use crate::multi_head::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig};
use crate::norm::{LayerNorm, LayerNormConfig, NormKind, NormPosition, ResidualNorm};
use crate::window::Window;

/// The encoded source, the memory of the decoder's cross-attention.
#[derive(Clone, Debug)]
pub struct EncodedSource {
    /// The output of the encoder, `[batch, source_len, d_model]`.
    pub states: Tensor<3>,
    /// The padding mask of the source, `[batch, 1, 1, source_len]`; `true` where the source is
    /// padding.
    pub padding: Tensor<4, Bool>,
}

/// The sub-layers of an [`EncoderLayer`], and the norm and dropout of their residual connections. A
/// [`DecoderLayerConfig`](crate::DecoderLayerConfig) adds the parts that only a decoder has.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burnformer_core::{
///     AttentionBias, LayerConfig, Mode, MultiHeadAttentionConfig, NormPosition,
///     PositionWiseFeedForwardConfig,
/// };
///
/// let device = Device::default();
/// let attention = MultiHeadAttentionConfig::new(64, 4);
/// let network = PositionWiseFeedForwardConfig::new(64, 256);
/// let config = LayerConfig::new(attention, network).with_norm(NormPosition::Pre);
/// let x = Tensor::<3>::ones([2, 10, 64], &device);
/// let y = config.init(&device).forward(x, &AttentionBias::None, Mode::Inference);
/// assert_eq!(y.dims(), [2, 10, 64]);
/// ```
#[derive(Config, Debug)]
pub struct LayerConfig {
    /// The self-attention.
    pub self_attention: MultiHeadAttentionConfig,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForwardConfig,
    /// The position of layer normalisation around each sub-layer.
    #[config(default = "NormPosition::Post")]
    pub norm: NormPosition,
    /// The rate of dropout on the output of each sub-layer.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// The number added to the variance in layer normalisation.
    #[config(default = "LayerNorm::EPSILON")]
    pub epsilon: f64,
    /// The formula of the normalisation.
    #[config(default = "NormKind::Layer")]
    pub norm_kind: NormKind,
    /// Determines whether a pre-norm stack of such layers ends with a norm.
    #[config(default = "ClosingNorm::Present")]
    pub closing: ClosingNorm,
}

impl LayerConfig {
    /// Creates an encoder layer with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> EncoderLayer {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates an encoder layer with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> EncoderLayer {
        let norm = self.layer_norm();
        EncoderLayer {
            self_attention: self.self_attention.init_with_key(key.fold(0), device),
            self_attention_norm: norm.init(device),
            feed_forward: self.feed_forward.init_with_key(key.fold(1), device),
            feed_forward_norm: norm.init(device),
            residual: ResidualNorm::new(self.norm, self.dropout),
        }
    }

    /// Returns the cost of the encoder layer over `len` positions.
    pub fn cost(&self, len: usize, window: Option<usize>, precision: Precision) -> Cost {
        let residuals = ResidualNorm::cost(&self.layer_norm()) * 2;
        self.self_attention.cost(len, window, precision) + self.feed_forward.cost() + residuals
    }

    /// The normalisation around each sub-layer.
    pub fn layer_norm(&self) -> LayerNormConfig {
        LayerNormConfig::new(self.self_attention.d_model)
            .with_epsilon(self.epsilon)
            .with_kind(self.norm_kind)
    }

    /// Returns whether a stack of such layers ends with a norm.
    fn has_closing_norm(&self) -> bool {
        self.norm == NormPosition::Pre && self.closing == ClosingNorm::Present
    }

    /// Returns the last normalisation of a stack of such layers, if there is one.
    pub(crate) fn closing_norm(&self, device: &Device) -> Option<LayerNorm> {
        self.has_closing_norm()
            .then(|| self.layer_norm().init(device))
    }

    /// Returns the cost of [`closing_norm`](Self::closing_norm).
    pub(crate) fn closing_cost(&self) -> Cost {
        self.layer_norm().cost() * usize::from(self.has_closing_norm())
    }
}

/// One layer of the encoder (paper §3.1): self-attention, then the feed-forward network.
#[derive(Module, Debug)]
pub struct EncoderLayer {
    /// Attention over all positions of the source.
    pub self_attention: MultiHeadAttention,
    /// Layer normalisation of the self-attention.
    pub self_attention_norm: LayerNorm,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForward,
    /// Layer normalisation of the feed-forward network.
    pub feed_forward_norm: LayerNorm,
    residual: ResidualNorm,
}

impl EncoderLayer {
    /// Runs self-attention and the feed-forward network over every position. A position sees the
    /// positions that `bias` does not hide.
    ///
    /// # Shapes
    /// `x`: `[batch, len, d_model]` → the same shape
    pub fn forward<'a>(
        &self,
        x: Tensor<3>,
        bias: &AttentionBias,
        context: impl Into<Context<'a>>,
    ) -> Tensor<3> {
        let context = context.into();
        let attention = &self.self_attention;
        let x = self
            .residual
            .forward(x, &self.self_attention_norm, context.fold(0), |x| {
                let input = MhaInput::self_attention(x).bias(bias.clone());
                attention.forward(input, context.fold(1))
            });
        self.residual
            .forward(x, &self.feed_forward_norm, context.fold(2), |x| {
                self.feed_forward.forward(x, context.mode.fold(3))
            })
    }

    /// Returns the linear maps of both sub-layers, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.self_attention
            .linears_mut()
            .chain(self.feed_forward.linears_mut())
    }
}

/// The sizes of an [`Encoder`].
#[derive(Config, Debug)]
pub struct EncoderConfig {
    /// The configuration of each layer.
    pub layer: LayerConfig,
    /// The number of layers.
    pub layers: usize,
    /// The largest distance that a position sees; `None` if it sees all positions.
    pub window: Option<usize>,
}

impl EncoderConfig {
    /// Creates an encoder with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> Encoder {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates an encoder with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> Encoder {
        Encoder {
            layers: (0..self.layers as u64)
                .map(|n| self.layer.init_with_key(key.fold(n), device))
                .collect(),
            norm: self.layer.closing_norm(device),
            window: self.window,
        }
    }

    /// Returns the cost of the encoder over `len` positions.
    pub fn cost(&self, len: usize, precision: Precision) -> Cost {
        let layers = self.layer.cost(len, self.window, precision) * self.layers;
        layers + self.layer.closing_cost()
    }
}

/// The stack of encoder layers (paper §3.1). In a pre-norm model a last layer normalisation
/// follows.
#[derive(Module, Debug)]
pub struct Encoder {
    /// The layers, in order.
    pub layers: Vec<EncoderLayer>,
    /// The last layer normalisation of a pre-norm model.
    pub norm: Option<LayerNorm>,
    window: Option<usize>,
}

impl Encoder {
    /// Encodes the embedded positions `x` under `bias`, such as a padding mask
    /// (`AttentionBias::from(Some(mask))`) or numbers added to the scores. The encoder's window, if
    /// it has one, hides further keys.
    ///
    /// # Shapes
    /// `x`: `[batch, len, d_model]` → the same shape
    ///
    /// # Panics
    /// Panics if `bias` does not fit `[batch, heads, len, len]`.
    pub fn forward<'a>(
        &self,
        mut x: Tensor<3>,
        bias: &AttentionBias,
        context: impl Into<Context<'a>>,
    ) -> Tensor<3> {
        let context = context.into();
        let bias = match self.window {
            None => bias.clone(),
            Some(radius) => {
                let window = Window {
                    radius,
                    causal: false,
                };
                bias.within(window, x.dims()[1], &x.device())
            }
        };
        for (n, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x, &bias, context.fold(n as u64));
        }
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    /// Returns the linear maps of all layers, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.layers.iter_mut().flat_map(EncoderLayer::linears_mut)
    }
}
