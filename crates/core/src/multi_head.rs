use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Device, Distribution, Int, Tensor};
use burnformer_kernels::{
    ComputeType, KvCache, RandomKey, attention, merge_heads, split_heads, step_attention,
};

use crate::attention::scaled_dot_product_attention;
use crate::config::TransformerConfig;
use crate::dropout::Dropout;
use crate::linear::Linear;
use crate::precision::Precision;
use crate::random::Mode;
use crate::window::{SelfAttentionMask, window_attention};

/// The sizes of a [`MultiHeadAttention`] layer, in the manner of Burn's own layers.
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
}

impl MultiHeadAttentionConfig {
    /// A layer whose initial weights are drawn from Burn's random numbers of `device`: `device.seed(…)` repeats them.
    ///
    /// # Panics
    /// As [`init_with_key`](Self::init_with_key).
    pub fn init(&self, device: &Device) -> MultiHeadAttention {
        let range = Distribution::Uniform(0.0, f64::from(1 << 24));
        let draws = Tensor::<1>::random([2], range, device).into_data();
        let key = draws.iter::<f32>().fold(RandomKey::new(0), |key, draw| key.fold(draw as u64));
        self.init_with_key(key, device)
    }

    /// A layer whose initial weights are a function of `key`.
    ///
    /// # Panics
    /// If `heads` is 0, if it does not divide `d_model` while `d_k` or `d_v` is `None`, or if the rate of dropout is not in
    /// `[0, 1)`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> MultiHeadAttention {
        let &Self { d_model, heads, memory_width, bias, dropout, .. } = self;
        assert!(heads > 0, "attention over {d_model} features has 0 heads; it needs at least one");
        let [d_k, d_v] = [self.d_k, self.d_v].map(|d| d.unwrap_or_else(|| head(d_model, heads)));
        let map = |input, output, place| match bias {
            true => Linear::new(input, output, key.fold(place), device),
            false => Linear::without_bias(input, output, key.fold(place), device),
        };
        let memory = memory_width.unwrap_or(d_model);
        MultiHeadAttention {
            query: map(d_model, heads * d_k, 0),
            key: map(memory, heads * d_k, 1),
            value: map(memory, heads * d_v, 2),
            output: map(heads * d_v, d_model, 3),
            dropout: Dropout::new(dropout),
            heads,
            precision: Precision::Float32,
        }
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
/// use burnformer_core::{Mode, MultiHeadAttention, RandomKey, look_ahead_mask};
///
/// let device = Device::default();
/// let attention = MultiHeadAttention::new(32, 4, RandomKey::new(1), &device);
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
    dropout: Dropout,
    heads: usize,
    #[module(skip)]
    precision: Precision,
}

/// Projected keys and values, which are computed once and used by every later query. The heads are side by side in the
/// last dimension. The number type is that of the matrix products.
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

impl MultiHeadAttention {
    /// Attention with `heads` heads over `d_model` features and `d_k = d_v = d_model / heads`, as in the paper, without
    /// dropout. The initial weights are a function of `key`.
    ///
    /// # Panics
    /// If `heads` does not divide `d_model`.
    pub fn new(d_model: usize, heads: usize, key: RandomKey, device: &Device) -> Self {
        MultiHeadAttentionConfig::new(d_model, heads).init_with_key(key, device)
    }

    /// Attention whose heads have queries and keys of width `d_k` and values of width `d_v`, without dropout. The
    /// initial weights are a function of `key`.
    pub fn with_widths(
        d_model: usize,
        heads: usize,
        [d_k, d_v]: [usize; 2],
        key: RandomKey,
        device: &Device,
    ) -> Self {
        let config = MultiHeadAttentionConfig::new(d_model, heads);
        config.with_d_k(Some(d_k)).with_d_v(Some(d_v)).init_with_key(key, device)
    }

    /// Attention with the `d_model`, `heads`, `d_k`, `d_v` and `attention_dropout` of `config`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let &TransformerConfig { d_model, heads, d_k, d_v, attention_dropout, .. } = config;
        Self::with_widths(d_model, heads, [d_k, d_v], key, device).with_dropout(attention_dropout)
    }

    /// Sets the rate of dropout on the attention weights; the paper has no such dropout.
    pub fn with_dropout(self, rate: f64) -> Self {
        Self { dropout: Dropout::new(rate), ..self }
    }

    /// The number of features of a position.
    pub fn d_model(&self) -> usize {
        self.query.weight.dims()[1]
    }

    /// Attends from `query` to `memory`. In self-attention both are the same tensor.
    ///
    /// # Shapes
    /// - `query`: `[batch, query_len, d_model]` → the same shape
    /// - `memory`: `[batch, key_len, memory_width]`
    /// - `mask`: `[batch or 1, 1, query_len or 1, key_len]`, `true` hides
    pub fn forward(
        &self,
        query: Tensor<3>,
        memory: Tensor<3>,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        let memory = self.key_values(memory);
        self.run(query, memory, mask, mode, None)
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
        let memory = self.key_values(memory);
        let output = self.run(query, memory, mask, mode, Some(&mut weights));
        (output, weights.remove(0))
    }

    /// Projects `memory` (`[batch, key_len, memory_width]`) to keys and values.
    pub fn key_values(&self, memory: Tensor<3>) -> KeyValues {
        let key = self.precision.narrowed(self.key.forward(memory.clone()));
        KeyValues { key, value: self.precision.narrowed(self.value.forward(memory)) }
    }

    /// Attends from `query` to keys and values that are already projected. Otherwise like [`forward`](Self::forward).
    pub fn attend(
        &self,
        query: Tensor<3>,
        memory: KeyValues,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        self.run(query, memory, mask, mode, None)
    }

    /// Appends the attention weights to `record` if it is given.
    pub(crate) fn run(
        &self,
        query: Tensor<3>,
        memory: KeyValues,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let query = self.queries(query);
        let KeyValues { key, value } = memory;
        let context = match record {
            None => attention(query, key, value, self.heads, mask, self.dropout.mask(mode)),
            Some(record) => {
                let [query, key, value] = [query, key, value].map(|x| split_heads(x, self.heads));
                let attended =
                    scaled_dot_product_attention(query, key, value, mask, &self.dropout, mode);
                record.push(attended.weights);
                merge_heads(attended.context)
            }
        };
        self.output.forward(context)
    }

    /// Self-attention: attends from every position of `x` (`[batch, len, d_model]`) to those positions of `memory`,
    /// of the same length, that `mask` does not hide. Appends the attention weights to `record` if it is given.
    ///
    /// # Panics
    /// If weights are to be recorded with a mask in blocks, which computes no weights outside of the window.
    pub(crate) fn attend_self(
        &self,
        x: Tensor<3>,
        memory: KeyValues,
        mask: &SelfAttentionMask,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        match mask {
            SelfAttentionMask::Dense(mask) => self.run(x, memory, mask.clone(), mode, record),
            SelfAttentionMask::Blocks(blocks) => {
                assert!(record.is_none(), "attention in blocks has no whole rows of weights");
                let query = self.queries(x);
                let KeyValues { key, value } = memory;
                let (heads, dropout) = (self.heads, &self.dropout);
                let context = window_attention(query, key, value, heads, blocks, dropout, mode);
                self.output.forward(context)
            }
        }
    }

    /// Attends from `query` to all keys and values in the cache `history`. Otherwise like [`attend`](Self::attend).
    pub fn attend_history(
        &self,
        query: Tensor<3>,
        history: &KvCache,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        self.run_history(query, history, mask, mode, None)
    }

    /// Appends the attention weights to `record` if it is given.
    pub(crate) fn run_history(
        &self,
        query: Tensor<3>,
        history: &KvCache,
        mask: Option<Tensor<4, Bool>>,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        if record.is_some() {
            let (key, value) = history.key_values();
            return self.run(query, KeyValues { key, value }, mask, mode, record);
        }
        let query = self.queries(query);
        let context = history.attend(query, self.heads, mask, self.dropout.mask(mode));
        self.output.forward(context)
    }

    /// Attends from a few queries at inference, as a decoding step does. Otherwise like [`attend`](Self::attend);
    /// `mask`: `[batch or 1, 1, 1, key_len]`.
    pub fn attend_step(
        &self,
        query: Tensor<3>,
        memory: KeyValues,
        mask: Option<Tensor<4, Bool>>,
    ) -> Tensor<3> {
        let KeyValues { key, value } = memory;
        let context = step_attention(self.queries(query), key, value, self.heads, mask);
        self.output.forward(context)
    }

    /// Packs the weights for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        [&mut self.query, &mut self.key, &mut self.value, &mut self.output]
            .into_iter()
            .for_each(|linear| linear.pack(compute));
    }

    /// Sets the type of matrix products, see [`Transformer::set_precision`](crate::Transformer::set_precision).
    pub fn set_precision(&mut self, precision: Precision) {
        self.precision = precision;
        [&mut self.query, &mut self.key, &mut self.value, &mut self.output]
            .into_iter()
            .for_each(|linear| linear.set_precision(precision));
    }

    /// The projected queries, in the type of the matrix products.
    fn queries(&self, x: Tensor<3>) -> Tensor<3> {
        self.precision.narrowed(self.query.forward(x))
    }
}
