use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::RandomKey;

use crate::bias::AttentionBias;
use crate::cost::Cost;
use crate::feed_forward::{PositionWiseFeedForward, PositionWiseFeedForwardConfig};
use crate::init;
use crate::linear::Linear;
use crate::multi_head::{AttentionSource, MultiHeadAttention, MultiHeadAttentionConfig};
use crate::norm::LayerNorm;
use crate::precision::Precision;
use crate::random::Mode;
use crate::residual::{NormPosition, ResidualNorm};
use crate::window::Window;

/// The encoded source, to which the decoder attends.
#[derive(Clone, Debug)]
pub struct EncodedSource {
    /// The output of the encoder, `[batch, source_len, d_model]`.
    pub states: Tensor<3>,
    /// The padding mask of the source, `[batch, 1, 1, source_len]`; `true` where the source is
    /// padding.
    pub padding: Tensor<4, Bool>,
}

/// The sub-layers of an [`EncoderLayer`] and what connects them.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burnformer_core::{
///     AttentionBias, EncoderLayerConfig, Mode, MultiHeadAttentionConfig, NormPosition, PositionWiseFeedForwardConfig,
/// };
///
/// let device = Device::default();
/// let attention = MultiHeadAttentionConfig::new(64, 4);
/// let network = PositionWiseFeedForwardConfig::new(64, 256);
/// let layer = EncoderLayerConfig::new(attention, network).with_norm(NormPosition::Pre).init(&device);
/// let x = Tensor::<3>::ones([2, 10, 64], &device);
/// assert_eq!(layer.forward(x, &AttentionBias::None, Mode::Inference).dims(), [2, 10, 64]);
/// ```
#[derive(Config, Debug)]
pub struct EncoderLayerConfig {
    /// The self-attention.
    pub attention: MultiHeadAttentionConfig,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForwardConfig,
    /// Where layer normalisation stands around each sub-layer.
    #[config(default = "NormPosition::Post")]
    pub norm: NormPosition,
    /// The rate of dropout on the output of each sub-layer.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// The number added to the variance in layer normalisation.
    #[config(default = "LayerNorm::EPSILON")]
    pub epsilon: f64,
}

impl EncoderLayerConfig {
    /// A layer whose initial weights are drawn from Burn's random numbers of `device`:
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> EncoderLayer {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// A layer whose initial weights are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> EncoderLayer {
        let norm = || LayerNorm::new(self.attention.d_model, self.epsilon, device);
        EncoderLayer {
            self_attention: self.attention.init_with_key(key.fold(0), device),
            self_attention_norm: norm(),
            feed_forward: self.feed_forward.init_with_key(key.fold(1), device),
            feed_forward_norm: norm(),
            residual: ResidualNorm::new(self.norm, self.dropout),
        }
    }

    /// The cost of the layer over `len` positions.
    pub fn cost(&self, len: usize, window: Option<usize>, precision: Precision) -> Cost {
        let residuals = 2 * ResidualNorm::cost(self.attention.d_model);
        self.attention.cost(len, window, precision) + self.feed_forward.cost() + residuals
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
    pub fn forward(&self, x: Tensor<3>, bias: &AttentionBias, mode: Mode) -> Tensor<3> {
        self.forward_recording(x, bias, mode, None)
    }

    /// Computes [`forward`](Self::forward) and appends the attention weights,
    /// `[batch, heads, len, len]`, to `record` if there is one.
    pub fn forward_recording(
        &self,
        x: Tensor<3>,
        bias: &AttentionBias,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let x = self.residual.forward(x, &self.self_attention_norm, mode.fold(0), |x| {
            let source = AttentionSource::KeyValues(self.self_attention.key_values(x.clone()));
            self.self_attention.attend_recording(x, source, bias, mode.fold(1), record)
        });
        self.residual.forward(x, &self.feed_forward_norm, mode.fold(2), |x| {
            self.feed_forward.forward(x, mode.fold(3))
        })
    }

    /// The linear maps of both sub-layers, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.self_attention.linears_mut().chain(self.feed_forward.linears_mut())
    }
}

/// The sizes of an [`Encoder`].
#[derive(Config, Debug)]
pub struct EncoderConfig {
    /// Each of the layers.
    pub layer: EncoderLayerConfig,
    /// The number of layers.
    pub layers: usize,
    /// The largest distance that a position sees; `None` if it sees all positions.
    pub window: Option<usize>,
}

impl EncoderConfig {
    /// An encoder whose initial weights are drawn from Burn's random numbers of `device`:
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> Encoder {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// An encoder whose initial weights are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> Encoder {
        let layer = |n| self.layer.init_with_key(key.fold(n), device);
        let EncoderLayerConfig { norm, attention, epsilon, .. } = &self.layer;
        Encoder {
            layers: (0..self.layers as u64).map(layer).collect(),
            norm: norm.closing(attention.d_model, *epsilon, device),
            window: self.window,
        }
    }

    /// The cost of the encoder over `len` positions.
    pub fn cost(&self, len: usize, precision: Precision) -> Cost {
        let layers = self.layers * self.layer.cost(len, self.window, precision);
        layers + self.layer.norm.closing_cost(self.layer.attention.d_model)
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
    /// Encodes the embedded positions `x`.
    ///
    /// # Shapes
    /// - `x`: `[batch, len, d_model]` → the same shape
    /// - `padding`: `[batch, 1, 1, len]`, `true` hides; `None` hides nothing. An encoder without a
    ///   window takes any mask, such as a [`look_ahead_mask`](crate::look_ahead_mask)
    pub fn forward(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        self.forward_recording(x, padding, mode, None)
    }

    /// Computes [`forward`](Self::forward) and appends the attention weights of each layer,
    /// `[batch, heads, len, len]`, to `record` if there is one.
    pub fn forward_recording(
        &self,
        mut x: Tensor<3>,
        padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
        mut record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let bias = match self.window.map(|radius| Window { radius, causal: false }) {
            None => padding.cloned().into(),
            Some(window) => AttentionBias::window(window, x.dims()[1], padding, &x.device()),
        };
        for (n, layer) in self.layers.iter().enumerate() {
            x = layer.forward_recording(x, &bias, mode.fold(n as u64), record.as_deref_mut());
        }
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    /// The linear maps of all layers, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.layers.iter_mut().flat_map(EncoderLayer::linears_mut)
    }
}
