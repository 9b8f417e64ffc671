use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Device, Int, Tensor};
use burnformer_kernels::{KvCache, RandomKey, attention, merge_heads, split_heads, step_attention};

use crate::attention::scaled_dot_product_attention;
use crate::bias::AttentionBias;
use crate::cost::Cost;
use crate::dropout::Dropout;
use crate::init;
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::precision::Precision;
use crate::random::Mode;
use crate::window::window_attention;

/// The sizes of a [`MultiHeadAttention`] layer.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burnformer_core::{Mode, MultiHeadAttentionConfig};
///
/// let device = Device::default();
/// // A decoder of width 32 attends to the features of a picture, which have width 48. No projection has a bias.
/// let config = MultiHeadAttentionConfig::new(32, 4).with_memory_width(Some(48)).with_bias(false);
/// let attention = config.init(&device);
/// let (query, picture) = (Tensor::<3>::ones([2, 5, 32], &device), Tensor::<3>::ones([2, 9, 48], &device));
/// assert_eq!(attention.forward(query, picture, None, Mode::Inference).dims(), [2, 5, 32]);
/// ```
#[derive(Config, Debug)]
pub struct MultiHeadAttentionConfig {
    /// The number of features of a query and of the output.
    pub d_model: usize,
    /// The number of heads.
    pub heads: usize,
    /// The width of the queries and keys of a head; `None` for `d_model / heads`, as in the paper.
    pub d_k: Option<usize>,
    /// The width of the values of a head; `None` for `d_model / heads`, as in the paper.
    pub d_v: Option<usize>,
    /// The number of features of what is attended to; `None` for `d_model`.
    pub memory_width: Option<usize>,
    /// Whether the four projections have a bias. The paper's formulas have none.
    #[config(default = true)]
    pub bias: bool,
    /// The rate of dropout on the attention weights; the paper has no such dropout.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// The ε of a layer normalisation of each head's queries and keys (query–key normalisation;
    /// Henry et al., 2020); `None` for none, as in the paper.
    pub qk_norm: Option<f64>,
    /// Whether that normalises the queries of all heads together instead of each by itself.
    #[config(default = false)]
    pub joint_query_norm: bool,
}

impl MultiHeadAttentionConfig {
    /// A layer whose initial weights are drawn from Burn's random numbers of `device`:
    /// `device.seed(…)` repeats them.
    ///
    /// # Panics
    /// As [`init_with_key`](Self::init_with_key).
    pub fn init(&self, device: &Device) -> MultiHeadAttention {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// A layer whose initial weights are a function of `key`.
    ///
    /// # Panics
    /// If `heads` is 0, if it does not divide `d_model` while `d_k` or `d_v` is `None`, or if the
    /// rate of dropout is not in `[0, 1)`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> MultiHeadAttention {
        let &Self { d_model, heads, bias, dropout, .. } = self;
        let [keys, values] = self.widths();
        let map = |input, output, place| match bias {
            true => Linear::new(input, output, key.fold(place), device),
            false => Linear::without_bias(input, output, key.fold(place), device),
        };
        let memory = self.memory_width.unwrap_or(d_model);
        let norm = |width| self.qk_norm.map(|epsilon| LayerNorm::new(width, epsilon, device));
        MultiHeadAttention {
            query: map(d_model, keys, 0),
            key: map(memory, keys, 1),
            value: map(memory, values, 2),
            output: map(values, d_model, 3),
            query_norm: norm(self.query_norm_width()),
            key_norm: norm(keys / heads),
            dropout: Dropout::new(dropout),
            heads,
        }
    }

    /// The cost of self-attention in which a position sees `keys` positions, at most those within
    /// `window`. In 16 bits the weights are kept three times: before and after rounding, and
    /// masked.
    pub fn cost(&self, keys: usize, window: Option<usize>, precision: Precision) -> Cost {
        let [key_width, value_width] = self.widths();
        let seen = window.map_or(keys, |radius| keys.min(2 * radius + 1));
        let times = if precision == Precision::Float32 { 1 } else { 3 };
        let attention = Cost {
            parameters: 0,
            multiplications: (key_width + value_width) * seen,
            kept_values: key_width + self.heads * times * keys,
        };
        let query = Linear::cost(self.d_model, key_width, self.bias);
        let output = Linear::cost(value_width, self.d_model, self.bias);
        query + self.norm_cost(self.query_norm_width()) + attention + output + self.key_value_cost()
    }

    /// The part of [`cost`](Self::cost) that arises at what is attended to: its projections. They
    /// keep the keys and values; their input is kept elsewhere.
    pub fn key_value_cost(&self) -> Cost {
        let [keys, values] = self.widths();
        let memory = self.memory_width.unwrap_or(self.d_model);
        let projections =
            Linear::cost(memory, keys, self.bias) + Linear::cost(memory, values, self.bias);
        let norm = self.norm_cost(keys / self.heads);
        Cost { kept_values: keys + values, ..projections } + norm
    }

    /// The width over which queries are normalised.
    fn query_norm_width(&self) -> usize {
        let [keys, _] = self.widths();
        if self.joint_query_norm { keys } else { keys / self.heads }
    }

    /// The cost of normalising the queries, or the keys, over `width`: what it keeps are its
    /// inputs.
    fn norm_cost(&self, width: usize) -> Cost {
        let [keys, _] = self.widths();
        match self.qk_norm {
            Some(_) => Cost { kept_values: keys, ..LayerNorm::cost(width) },
            None => Cost::default(),
        }
    }

    /// The widths of all heads together: of the keys, and of the values.
    fn widths(&self) -> [usize; 2] {
        let &Self { d_model, heads, d_k, d_v, .. } = self;
        assert!(heads > 0, "attention over {d_model} features has 0 heads; it needs at least one");
        [d_k, d_v].map(|width| heads * width.unwrap_or_else(|| head(d_model, heads)))
    }
}

/// The width of each of `heads` heads of equal width over `d_model` features.
///
/// # Panics
/// If `heads` does not divide `d_model`.
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
/// use burnformer_core::{Mode, MultiHeadAttentionConfig, look_ahead_mask};
///
/// let device = Device::default();
/// let attention = MultiHeadAttentionConfig::new(32, 4).init(&device);
/// let x = Tensor::<3>::ones([2, 5, 32], &device);
/// let mask = look_ahead_mask(0, 5, &device);
/// let y = attention.forward(x.clone(), x, Some(mask), Mode::Inference);
/// assert_eq!(y.dims(), [2, 5, 32]);
/// ```
#[derive(Module, Debug)]
pub struct MultiHeadAttention {
    /// Projection of the queries, `d_model → heads·d_k`.
    pub query: Linear,
    /// Projection of the keys, `memory_width → heads·d_k`.
    pub key: Linear,
    /// Projection of the values, `memory_width → heads·d_v`.
    pub value: Linear,
    /// Projection of the concatenated heads, `heads·d_v → d_model`.
    pub output: Linear,
    /// The normalisation of each head's queries, over `d_k`, or of those of all heads, over
    /// `heads·d_k`, if the layer has one.
    pub query_norm: Option<LayerNorm>,
    /// The normalisation of each head's keys, over `d_k`, if the layer has one.
    pub key_norm: Option<LayerNorm>,
    dropout: Dropout,
    heads: usize,
}

/// Projected keys and values, which are computed once and used by every later query. The heads are
/// side by side in the last dimension. The number type is that of the matrix products.
#[derive(Clone, Debug)]
pub struct KeyValues {
    /// The keys, `[batch, key_len, heads·d_k]`.
    pub key: Tensor<3>,
    /// The values, `[batch, key_len, heads·d_v]`.
    pub value: Tensor<3>,
}

impl KeyValues {
    /// Selects the batch rows `indices` (`[rows]`), in that order.
    pub fn select(self, indices: &Tensor<1, Int>) -> Self {
        Self {
            key: self.key.select(0, indices.clone()),
            value: self.value.select(0, indices.clone()),
        }
    }

    /// The number of positions, key_len.
    pub fn len(&self) -> usize {
        self.key.dims()[1]
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The keys and values to which queries attend.
#[derive(Clone, Debug)]
pub enum AttentionSource<'a> {
    /// Those of one tensor, see [`MultiHeadAttention::key_values`].
    KeyValues(KeyValues),
    /// The same for a few queries, as a step of decoding has them. At inference each query is
    /// computed by itself, which is faster for a few of them; a mask must have the shape
    /// `[batch or 1, 1, 1, key_len]`.
    Step(KeyValues),
    /// All that a cache holds.
    Cache(&'a KvCache),
}

impl AttentionSource<'_> {
    fn key_values(self) -> KeyValues {
        match self {
            Self::KeyValues(memory) | Self::Step(memory) => memory,
            Self::Cache(cache) => {
                let (key, value) = cache.key_values();
                KeyValues { key, value }
            }
        }
    }
}

impl MultiHeadAttention {
    /// The number of features of a position.
    pub fn d_model(&self) -> usize {
        self.query.weight.dims()[1]
    }

    /// Attends from `query` to `memory`. In self-attention both are the same tensor.
    ///
    /// # Shapes
    /// - `query`: `[batch, query_len, d_model]` → the same shape
    /// - `memory`: `[batch, key_len, memory_width]`
    /// - `mask`: `[batch or 1, heads or 1, query_len or 1, key_len]`, `true` hides
    pub fn forward(
        &self,
        query: Tensor<3>,
        memory: Tensor<3>,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        let source = AttentionSource::KeyValues(self.key_values(memory));
        self.attend(query, source, &mask.into(), mode)
    }

    /// Computes [`forward`](Self::forward) and returns also the attention weights,
    /// `[batch, heads, query_len, key_len]`.
    pub fn forward_with_weights(
        &self,
        query: Tensor<3>,
        memory: Tensor<3>,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
    ) -> (Tensor<3>, Tensor<4>) {
        let mut weights = Vec::with_capacity(1);
        let source = AttentionSource::KeyValues(self.key_values(memory));
        let output = self.attend_recording(query, source, &mask.into(), mode, Some(&mut weights));
        (output, weights.remove(0))
    }

    /// Projects `memory` (`[batch, key_len, memory_width]`) to keys and values.
    pub fn key_values(&self, memory: Tensor<3>) -> KeyValues {
        let key = self.narrowed(self.normalised(self.key.forward(memory.clone()), &self.key_norm));
        KeyValues { key, value: self.narrowed(self.value.forward(memory)) }
    }

    /// Attends from `query` (`[batch, query_len, d_model]`) to the keys and values of `source`
    /// under `bias`: the one function behind every use of attention.
    ///
    /// The fused operations keep no table of weights. Where weights are recorded, or numbers added
    /// to the scores, [`scaled_dot_product_attention`] computes the same in plain tensors.
    pub fn attend(
        &self,
        query: Tensor<3>,
        source: AttentionSource<'_>,
        bias: &AttentionBias,
        mode: Mode,
    ) -> Tensor<3> {
        self.attend_recording(query, source, bias, mode, None)
    }

    /// Computes [`attend`](Self::attend) and appends the attention weights,
    /// `[batch, heads, query_len, key_len]`, to `record` if there is one.
    pub fn attend_recording(
        &self,
        query: Tensor<3>,
        source: AttentionSource<'_>,
        bias: &AttentionBias,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let query = self.narrowed(self.normalised(self.query.forward(query), &self.query_norm));
        let context = match bias {
            AttentionBias::None | AttentionBias::Mask(_) if record.is_none() => {
                self.fused(query, source, bias.mask(), mode)
            }
            AttentionBias::Window(blocks) if record.is_none() => {
                let KeyValues { key, value } = source.key_values();
                window_attention(query, key, value, self.heads, blocks, &self.dropout, mode)
            }
            _ => self.plain(query, source.key_values(), bias, mode, record),
        };
        self.output.forward(context)
    }

    fn fused(
        &self,
        query: Tensor<3>,
        source: AttentionSource<'_>,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        let (heads, dropout) = (self.heads, self.dropout.mask(mode));
        match (source, mode) {
            (AttentionSource::Cache(cache), _) => cache.attend(query, heads, mask, dropout),
            (AttentionSource::Step(KeyValues { key, value }), Mode::Inference) => {
                step_attention(query, key, value, heads, mask)
            }
            (source, _) => {
                let KeyValues { key, value } = source.key_values();
                attention(query, key, value, heads, mask, dropout)
            }
        }
    }

    fn plain(
        &self,
        query: Tensor<3>,
        memory: KeyValues,
        bias: &AttentionBias,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let KeyValues { key, value } = memory;
        let [query, key, value] = [query, key, value].map(|x| split_heads(x, self.heads));
        let attended = scaled_dot_product_attention(query, key, value, bias, &self.dropout, mode);
        if let Some(record) = record {
            record.push(attended.weights);
        }
        merge_heads(attended.context)
    }

    /// The four projections, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        [&mut self.query, &mut self.key, &mut self.value, &mut self.output].into_iter()
    }

    /// `x` (`[batch, len, heads·d_k]`) normalised by `norm`, if there is one, as often as its width
    /// is contained in that of `x`.
    fn normalised(&self, x: Tensor<3>, norm: &Option<LayerNorm>) -> Tensor<3> {
        let Some(norm) = norm else { return x };
        let [batch, len, width] = x.dims();
        let [part] = norm.weight.dims();
        norm.forward(x.reshape([batch, len, width / part, part])).reshape([batch, len, width])
    }

    /// An operand of attention in the type of the matrix products.
    fn narrowed(&self, x: Tensor<3>) -> Tensor<3> {
        self.query.precision().narrowed(x)
    }
}
