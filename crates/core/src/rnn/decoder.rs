use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::masked_softmax;

use crate::mask::row_ids;
use crate::rnn::RnnConfig;
use crate::rnn::gru::{Gru, at, by_rows};
use crate::{Linear, RandomKey, Seq2SeqCache};

/// The decoder. Its GRU has two inputs at each position: the embedding of the token before, and the
/// context that additive attention computes from the state before. A maxout readout combines state,
/// context and embedding.
#[derive(Module, Debug)]
pub struct RnnDecoder {
    /// Makes the first decoder state from an encoder state: tanh(W·state + b).
    pub initial: Linear,
    /// Attention to the source.
    pub attention: AdditiveAttention,
    /// The recurrent unit, with the input `[embedding, context]`.
    pub cell: Gru,
    /// The readout of `[state, context, embedding]`: two values for each of `d_model` features. The
    /// larger one is used.
    pub readout: Linear,
}

/// The state that decoding keeps between steps: one recurrent state per row, and the encoded source
/// once per sentence.
///
/// The rows of a sentence are next to each other, and every sentence has the same number of rows.
#[derive(Clone, Debug)]
pub struct RnnCache {
    /// The recurrent states, `[rows, d_hidden]`.
    state: Tensor<2>,
    /// The encoder states of both directions, `[batch, source_len, 2·d_hidden]`.
    annotations: Tensor<3>,
    /// The keys of attention, `[batch, source_len, d_attention]`.
    keys: Tensor<3>,
    /// The padding of the source, `[batch, source_len]`; `true` where the source is padding.
    padding: Tensor<2, Bool>,
}

impl Seq2SeqCache for RnnCache {
    fn select_rows(&mut self, rows: &[usize]) {
        self.state = self
            .state
            .clone()
            .select(0, row_ids(rows, &self.state.device()));
    }

    fn select_sentences(&mut self, sentences: &[usize]) {
        let picked = row_ids(sentences, &self.state.device());
        self.annotations = self.annotations.clone().select(0, picked.clone());
        self.keys = self.keys.clone().select(0, picked.clone());
        self.padding = self.padding.clone().select(0, picked);
    }
}

impl RnnDecoder {
    /// Creates a decoder with the sizes of `config`; its initial weights are a function of `key`.
    pub fn new(config: &RnnConfig, key: RandomKey, device: &Device) -> Self {
        let &RnnConfig {
            d_model, d_hidden, ..
        } = config;
        let input = d_model + config.annotation();
        Self {
            initial: Linear::new(d_hidden, d_hidden, key.fold(0), device),
            attention: AdditiveAttention::new(config, key.fold(1), device),
            cell: Gru::new(input, d_hidden, key.fold(2), device),
            readout: Linear::new(d_hidden + input, 2 * d_model, key.fold(3), device),
        }
    }

    /// Returns a cache before the first target position, from the encoder states of both directions
    /// (`[batch, len, d_hidden]` each) and the padding (`[batch, len]`, `true` hides).
    pub fn start(&self, [forward, backward]: [Tensor<3>; 2], padding: Tensor<2, Bool>) -> RnnCache {
        let state = self.initial.forward(at(&backward, 0)).tanh();
        let annotations = Tensor::cat(vec![forward, backward], 2);
        let keys = self.attention.key.forward(annotations.clone());
        RnnCache {
            state,
            annotations,
            keys,
            padding,
        }
    }

    /// Decodes the embedded positions `x`, which follow the positions in `cache`, and moves the
    /// cache past them. Inputs and readouts of all positions are computed at once; attention and
    /// recurrence go step by step.
    ///
    /// # Shapes
    /// `x`: `[rows, len, d_model]` → the same shape
    pub fn forward(&self, x: Tensor<3>, cache: &mut RnnCache) -> Tensor<3> {
        let [rows, len, d_model] = x.dims();
        let (found, _) = self.run(x.clone(), cache);
        let pieces = self.readout.forward(Tensor::cat(vec![found, x], 2));
        pieces
            .reshape([rows, len, 2, d_model])
            .max_dim(2)
            .reshape([rows, len, d_model])
    }

    /// Takes one step of attention and recurrence for each position of `x`, and moves the cache
    /// past them. Returns states and contexts, `[rows, len, 3·d_hidden]`, and the attention
    /// weights, `[rows, len, source_len]`.
    pub(super) fn run(&self, x: Tensor<3>, cache: &mut RnnCache) -> (Tensor<3>, Tensor<3>) {
        let [rows, len, d_model] = x.dims();
        let weight = self.cell.weight_ih.val();
        let [gates, all] = weight.dims();
        let embedding_weight = weight.clone().slice([0..gates, 0..d_model]);
        let context_weight = by_rows(weight.slice([0..gates, d_model..all]));
        let inputs = self.cell.inputs(x, embedding_weight);
        let [_, source_len, _] = cache.annotations.dims();
        let next = self.cell.recurrence();
        let mut outputs: Vec<Tensor<2>> = Vec::with_capacity(len);
        let mut all_weights: Vec<Tensor<2>> = Vec::with_capacity(len);
        for index in 0..len {
            let weights = self.attention.weights(cache);
            let context = weights
                .clone()
                .matmul(cache.annotations.clone())
                .flatten(0, 1);
            let input = at(&inputs, index) + context.clone().matmul(context_weight.clone());
            cache.state = next(input, cache.state.clone());
            outputs.push(Tensor::cat(vec![cache.state.clone(), context], 1));
            all_weights.push(weights.reshape([rows, source_len]));
        }
        (Tensor::stack(outputs, 1), Tensor::stack(all_weights, 1))
    }

    /// Returns the linear maps outside of the steps.
    pub(super) fn linears(&mut self) -> impl Iterator<Item = &mut Linear> {
        [
            &mut self.initial,
            &mut self.attention.key,
            &mut self.readout,
        ]
        .into_iter()
    }
}

/// Additive attention (Bahdanau et al., 2015). The weight of source position j is the softmax over
/// j of v·tanh(Q·state + K·annotation_j + b).
#[derive(Module, Debug)]
pub struct AdditiveAttention {
    /// The matrix Q, `[d_attention, d_hidden]`, without bias.
    pub query: Linear,
    /// The matrix K, `[d_attention, 2·d_hidden]`, and the bias b.
    pub key: Linear,
    /// The vector v as a matrix, `[1, d_attention]`, without bias.
    pub energy: Linear,
}

impl AdditiveAttention {
    /// Attention with the sizes of `config`; its initial weights are a function of `key`.
    pub fn new(config: &RnnConfig, key: RandomKey, device: &Device) -> Self {
        let &RnnConfig {
            d_hidden,
            d_attention,
            ..
        } = config;
        Self {
            query: Linear::without_bias(d_hidden, d_attention, key.fold(0), device),
            key: Linear::new(config.annotation(), d_attention, key.fold(1), device),
            energy: Linear::without_bias(d_attention, 1, key.fold(2), device),
        }
    }

    /// The attention weights of the states in the cache over the source positions.
    ///
    /// # Shapes
    /// The result has the shape `[batch, rows / batch, source_len]`.
    fn weights(
        &self,
        RnnCache {
            state,
            keys,
            padding,
            ..
        }: &RnnCache,
    ) -> Tensor<3> {
        let [rows, _] = state.dims();
        let [batch, source_len, width] = keys.dims();
        let group = rows / batch;
        let query = self
            .query
            .forward(state.clone())
            .reshape([batch, group, 1, width]);
        let mixed = (query + keys.clone().unsqueeze_dim::<4>(1)).tanh();
        let energy = self.energy.weight.val().reshape([1, 1, 1, width]);
        let scores = (mixed * energy)
            .sum_dim(3)
            .reshape([batch, group, source_len]);
        let padding = padding.clone().unsqueeze_dim::<3>(1);
        masked_softmax(scores, padding.expand([batch, group, source_len]))
    }
}
