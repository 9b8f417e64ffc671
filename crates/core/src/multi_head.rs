use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::{
    AttentionInputs, KvCache, Precision, RandomKey, attention, merge_heads, split_heads,
    step_attention,
};

use crate::attention::{AttentionBias, scaled_dot_product_attention};
use crate::context::{Context, Mode};
use crate::cost::Cost;
use crate::dropout::Dropout;
use crate::init;
use crate::linear::{Linear, LinearConfig};
use crate::norm::{LayerNorm, LayerNormConfig};
use crate::window::window_attention;

/// The sizes of a [`MultiHeadAttention`] layer.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burnformer_core::{MhaInput, Mode, MultiHeadAttentionConfig};
///
/// let device = Device::default();
/// // Projections without a bias, as in the paper's formulas.
/// let attention = MultiHeadAttentionConfig::new(32, 4).with_bias(false).init(&device);
/// let query = Tensor::<3>::ones([2, 5, 32], &device);
/// let memory = Tensor::<3>::ones([2, 9, 32], &device);
/// let output = attention.forward(MhaInput::new(query, memory), Mode::Inference);
/// assert_eq!(output.dims(), [2, 5, 32]);
/// ```
#[derive(Config, Debug)]
pub struct MultiHeadAttentionConfig {
    /// The number of features of a query, of a position that is attended to, and of the output.
    pub d_model: usize,
    /// The number of heads.
    pub heads: usize,
    /// The width of the queries and keys of a head; `None` for `d_model / heads`, as in the paper.
    pub d_k: Option<usize>,
    /// The width of the values of a head; `None` for `d_model / heads`, as in the paper.
    pub d_v: Option<usize>,
    /// If true, the four projections have a bias. The paper's formulas have none.
    #[config(default = true)]
    pub bias: bool,
    /// The rate of dropout on the attention weights; the paper has no such dropout.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// The ε of a layer normalisation of each head's queries and keys (query–key normalisation;
    /// Henry et al., 2020); `None` for none, as in the paper.
    pub qk_norm: Option<f64>,
    /// If true, `qk_norm` normalises the queries of all heads together instead of each head's.
    #[config(default = false)]
    pub joint_query_norm: bool,
}

impl MultiHeadAttentionConfig {
    /// Creates a layer with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    ///
    /// # Panics
    /// Panics as [`init_with_key`](Self::init_with_key) does.
    pub fn init(&self, device: &Device) -> MultiHeadAttention {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates a layer with initial weights that are a function of `key`.
    ///
    /// # Panics
    /// Panics if `heads` is 0, if it does not divide `d_model` while `d_k` or `d_v` is `None`, or
    /// if the rate of dropout is not in `[0, 1)`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> MultiHeadAttention {
        let [query, keys, values, output] = self.projections();
        let d_k = query.output / self.heads;
        let epsilon = self.qk_norm;
        let query_width = self.query_norm_width();
        MultiHeadAttention {
            query: query.init_with_key(key.fold(0), device),
            key: keys.init_with_key(key.fold(1), device),
            value: values.init_with_key(key.fold(2), device),
            output: output.init_with_key(key.fold(3), device),
            query_norm: epsilon.map(|epsilon| LayerNorm::new(query_width, epsilon, device)),
            key_norm: epsilon.map(|epsilon| LayerNorm::new(d_k, epsilon, device)),
            dropout: Dropout::new(self.dropout),
            heads: self.heads,
            is_scaled: true,
        }
    }

    /// Returns the cost of self-attention over `keys` positions per query, at most the positions
    /// within `window`. In 16 bits the weights are kept three times: before and after rounding, and
    /// masked.
    pub fn cost(&self, keys: usize, window: Option<usize>, precision: Precision) -> Cost {
        let [query, _, _, output] = self.projections();
        let key_width = query.output;
        let value_width = output.input;
        let seen = window.map_or(keys, |radius| keys.min(2 * radius + 1));
        let times = if precision == Precision::Float32 {
            1
        } else {
            3
        };
        let attention = Cost {
            parameters: 0,
            multiplications: (key_width + value_width) * seen,
            activations: key_width + self.heads * times * keys,
        };
        let projections = query.cost() + output.cost();
        projections + self.norm_cost(self.query_norm_width()) + attention + self.key_value_cost()
    }

    /// Returns the part of [`cost`](Self::cost) for the projections of keys and values, per
    /// position that is attended to. Training keeps the keys and values; the input of the
    /// projections is counted by the layer that made it.
    pub fn key_value_cost(&self) -> Cost {
        let [query, keys, values, _] = self.projections();
        let norm = self.norm_cost(query.output / self.heads);
        let activations = keys.output + values.output;
        Cost {
            activations,
            ..keys.cost() + values.cost()
        } + norm
    }

    /// Returns the width of the normalisation of queries.
    fn query_norm_width(&self) -> usize {
        let [query, ..] = self.projections();
        if self.joint_query_norm {
            query.output
        } else {
            query.output / self.heads
        }
    }

    /// Returns the cost of normalising the queries, or the keys, over `width`. Training keeps the
    /// inputs.
    fn norm_cost(&self, width: usize) -> Cost {
        let [query, ..] = self.projections();
        match self.qk_norm {
            Some(_) => Cost {
                activations: query.output,
                ..LayerNormConfig::new(width).cost()
            },
            None => Cost::default(),
        }
    }

    /// Returns the projections of queries, keys, values and output.
    fn projections(&self) -> [LinearConfig; 4] {
        let &Self {
            d_model,
            heads,
            d_k,
            d_v,
            bias,
            ..
        } = self;
        assert!(
            heads > 0,
            "attention over {d_model} features has 0 heads; it needs at least one"
        );
        let d_k = d_k.unwrap_or_else(|| head(d_model, heads));
        let d_v = d_v.unwrap_or_else(|| head(d_model, heads));
        [
            (d_model, heads * d_k),
            (d_model, heads * d_k),
            (d_model, heads * d_v),
            (heads * d_v, d_model),
        ]
        .map(|(input, output)| LinearConfig::new(input, output).with_bias(bias))
    }
}

/// Returns the width of each of `heads` heads of equal width over `d_model` features.
///
/// # Panics
/// Panics if `heads` does not divide `d_model`.
pub(crate) fn head(d_model: usize, heads: usize) -> usize {
    let divides = heads > 0 && d_model.is_multiple_of(heads);
    assert!(divides, "{heads} heads do not divide {d_model} features");
    d_model / heads
}

/// Multi-head attention (paper §3.2.2): `heads` attentions over projected queries, keys and values,
/// concatenated and projected back. `d_k` and `d_v` need not be `d_model / heads`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burnformer_core::{MhaInput, Mode, MultiHeadAttentionConfig, look_ahead_mask};
///
/// let device = Device::default();
/// let attention = MultiHeadAttentionConfig::new(32, 4).init(&device);
/// let x = Tensor::<3>::ones([2, 5, 32], &device);
/// let mask = look_ahead_mask(0, 5, &device);
/// let y = attention.forward(MhaInput::self_attention(x).mask(mask), Mode::Inference);
/// assert_eq!(y.dims(), [2, 5, 32]);
/// ```
#[derive(Module, Debug)]
pub struct MultiHeadAttention {
    /// Projection of the queries, `d_model → heads·d_k`.
    pub query: Linear,
    /// Projection of the keys, `d_model → heads·d_k`.
    pub key: Linear,
    /// Projection of the values, `d_model → heads·d_v`.
    pub value: Linear,
    /// Projection of the concatenated heads, `heads·d_v → d_model`.
    pub output: Linear,
    /// The normalisation of queries, if the layer has one: of each head, over `d_k`, or of all
    /// heads together, over `heads·d_k`.
    pub query_norm: Option<LayerNorm>,
    /// The normalisation of each head's keys, over `d_k`, if the layer has one.
    pub key_norm: Option<LayerNorm>,
    dropout: Dropout,
    heads: usize,
    /// If false, queries are multiplied by √d_k, which leaves products without the factor 1/√d_k:
    /// for experiments with it (paper §3.2.1).
    #[module(skip)]
    pub is_scaled: bool,
}

/// Largest number of queries of a sentence that are computed one by one at inference, unless the
/// mask differs between queries. This is as fast as a product of matrices, and the sums are the
/// same in every batch and in WebAssembly.
const MAX_STEP_QUERIES: usize = 64;

/// Projected keys and values, which are computed once and used by every later query. The heads are
/// side by side in the last dimension. They have the number type of the matrix products.
#[derive(Clone, Debug)]
pub struct KeyValues {
    /// The keys, `[batch, key_len, heads·d_k]`.
    pub key: Tensor<3>,
    /// The values, `[batch, key_len, heads·d_v]`.
    pub value: Tensor<3>,
}

/// The input of [`MultiHeadAttention::forward`].
#[derive(Clone, Debug)]
pub struct MhaInput {
    query: Tensor<3>,
    memory: Tensor<3>,
    bias: AttentionBias,
}

impl MhaInput {
    /// Attention among the positions of `x`, `[batch, len, d_model]`.
    pub fn self_attention(x: Tensor<3>) -> Self {
        Self::new(x.clone(), x)
    }

    /// Attention from `query` to `memory`.
    ///
    /// # Shapes
    /// - `query`: `[batch, query_len, d_model]`
    /// - `memory`: `[batch, key_len, d_model]`
    pub fn new(query: Tensor<3>, memory: Tensor<3>) -> Self {
        Self {
            query,
            memory,
            bias: AttentionBias::None,
        }
    }

    /// Hides the keys of `mask` too: `[batch or 1, heads or 1, query_len or 1, key_len]`, `true`
    /// hides.
    #[must_use]
    pub fn mask(mut self, mask: Tensor<4, Bool>) -> Self {
        self.bias = self.bias.hiding(mask);
        self
    }

    /// Changes the scores by `bias`, in place of an earlier mask or bias.
    #[must_use]
    pub fn bias(mut self, bias: AttentionBias) -> Self {
        self.bias = bias;
        self
    }
}

/// The keys and values of an attention.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one for each call, on the stack"
)]
pub enum AttentionSource<'a> {
    /// The keys and values of one tensor, see [`MultiHeadAttention::key_values`].
    KeyValues(KeyValues),
    /// The keys and values of all positions in a cache.
    Cache(&'a KvCache),
}

impl AttentionSource<'_> {
    fn key_values(self) -> KeyValues {
        match self {
            Self::KeyValues(memory) => memory,
            Self::Cache(cache) => {
                let (key, value) = cache.key_values();
                KeyValues { key, value }
            }
        }
    }
}

impl MultiHeadAttention {
    /// Projects queries, keys and values, and attends.
    ///
    /// # Shapes
    /// - `input.query`: `[batch, query_len, d_model]`
    /// - `input.memory`: `[batch, key_len, d_model]`
    /// - the result: `[batch, query_len, d_model]`
    ///
    /// # Panics
    /// Panics if the shapes do not fit together.
    pub fn forward<'a>(&self, input: MhaInput, context: impl Into<Context<'a>>) -> Tensor<3> {
        let memory = self.key_values(input.memory);
        let queries = self.queries(input.query);
        let source = AttentionSource::KeyValues(memory);
        self.attend(queries, source, &input.bias, context)
    }

    /// Projects `x` (`[batch, query_len, d_model]`) to queries, `[batch, query_len, heads·d_k]`.
    pub fn queries(&self, x: Tensor<3>) -> Tensor<3> {
        let mut query = self.normalised(self.query.forward(x), &self.query_norm);
        if !self.is_scaled {
            query = query.clone() * ((query.dims()[2] / self.heads) as f64).sqrt();
        }
        self.cast(query)
    }

    /// Projects `memory` (`[batch, key_len, d_model]`) to keys and values.
    pub fn key_values(&self, memory: Tensor<3>) -> KeyValues {
        let key = self.normalised(self.key.forward(memory.clone()), &self.key_norm);
        KeyValues {
            key: self.cast(key),
            value: self.cast(self.value.forward(memory)),
        }
    }

    /// Attends from the [`queries`](Self::queries) `query` to the keys and values of `source` under
    /// `bias`: every use of attention calls this function. Callers may change queries and keys
    /// before, for example to add positions of another kind.
    ///
    /// The fused operations return no weights. If weights are recorded, or numbers are added to the
    /// scores, [`scaled_dot_product_attention`] computes the same in plain tensors.
    ///
    /// # Shapes
    /// - `query`: `[batch, query_len, heads·d_k]` → `[batch, query_len, d_model]`
    ///
    /// # Panics
    /// Panics if the shapes do not fit together.
    pub fn attend<'a>(
        &self,
        query: Tensor<3>,
        source: AttentionSource<'_>,
        bias: &AttentionBias,
        context: impl Into<Context<'a>>,
    ) -> Tensor<3> {
        let context = context.into();
        let attended = match bias {
            _ if context.recorder.is_some() => self.in_plain_tensors(query, source, bias, context),
            AttentionBias::None | AttentionBias::Mask(_) => {
                self.by_kernel(query, source, bias.mask(), context.mode)
            }
            AttentionBias::Window(blocks) => {
                let inputs = self.inputs(query, source, None);
                window_attention(inputs, blocks, &self.dropout, context.mode)
            }
            AttentionBias::Additive { .. } => self.in_plain_tensors(query, source, bias, context),
        };
        self.output.forward(attended)
    }

    fn by_kernel(
        &self,
        query: Tensor<3>,
        source: AttentionSource<'_>,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        let heads = self.heads;
        let dropout = self.dropout.mask(mode);
        match (source, mode) {
            (AttentionSource::Cache(cache), _) => cache.attend(query, heads, mask, dropout),
            (source, Mode::Inference) if query.dims()[1] <= MAX_STEP_QUERIES => {
                step_attention(self.inputs(query, source, mask))
            }
            (source, _) => attention(self.inputs(query, source, mask), dropout),
        }
    }

    /// Returns the operands of the kernels of attention.
    fn inputs(
        &self,
        query: Tensor<3>,
        source: AttentionSource<'_>,
        hidden: Option<Tensor<4, Bool>>,
    ) -> AttentionInputs {
        let KeyValues { key, value } = source.key_values();
        AttentionInputs {
            query,
            key,
            value,
            heads: self.heads,
            hidden,
        }
    }

    fn in_plain_tensors(
        &self,
        query: Tensor<3>,
        source: AttentionSource<'_>,
        bias: &AttentionBias,
        context: Context<'_>,
    ) -> Tensor<3> {
        let KeyValues { key, value } = source.key_values();
        let [query, key, value] = [query, key, value].map(|x| split_heads(x, self.heads));
        let attended = scaled_dot_product_attention(
            query.clone(),
            key.clone(),
            value.clone(),
            bias,
            &self.dropout,
            context.mode,
        );
        context.record([attended.weights, query, key, value]);
        merge_heads(attended.context)
    }

    /// Returns the four projections, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        [
            &mut self.query,
            &mut self.key,
            &mut self.value,
            &mut self.output,
        ]
        .into_iter()
    }

    /// Returns `x` (`[batch, len, heads·d_k]`) normalised by `norm`, if there is one, in parts of
    /// the norm's width: each head by itself, or all together.
    fn normalised(&self, x: Tensor<3>, norm: &Option<LayerNorm>) -> Tensor<3> {
        let Some(norm) = norm else { return x };
        let [batch, len, width] = x.dims();
        let [part] = norm.weight.dims();
        norm.forward(x.reshape([batch, len, width / part, part]))
            .reshape([batch, len, width])
    }

    /// Returns an operand of attention in the type of the matrix products.
    fn cast(&self, x: Tensor<3>) -> Tensor<3> {
        self.query.precision().cast_operand(x)
    }
}
