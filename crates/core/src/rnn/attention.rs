use crate::{Linear, RandomKey};
use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::masked_softmax;

use crate::rnn::config::RnnConfig;

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
        let &RnnConfig { d_hidden, d_attention, .. } = config;
        Self {
            query: Linear::without_bias(d_hidden, d_attention, key.fold(0), device),
            key: Linear::new(config.annotation(), d_attention, key.fold(1), device),
            energy: Linear::without_bias(d_attention, 1, key.fold(2), device),
        }
    }

    /// Computes K·annotation + b of every position, once per sentence: `[batch, len, 2·d_hidden]` →
    /// `[batch, len, d_attention]`.
    pub fn keys(&self, annotations: Tensor<3>) -> Tensor<3> {
        self.key.forward(annotations)
    }

    /// The weights with which decoder states attend to source positions. The rows of a sentence are
    /// next to each other, and every sentence has the same number of rows.
    ///
    /// # Shapes
    /// `states`: `[rows, d_hidden]`, `keys`: `[batch, source_len, d_attention]`, `padding`:
    /// `[batch, source_len]`, `true` hides → `[batch, rows / batch, source_len]`
    pub fn weights(
        &self,
        states: Tensor<2>,
        keys: Tensor<3>,
        padding: Tensor<2, Bool>,
    ) -> Tensor<3> {
        let ([rows, _], [batch, source_len, width]) = (states.dims(), keys.dims());
        let group = rows / batch;
        let query = self.query.forward(states).reshape([batch, group, 1, width]);
        let mixed = (query + keys.unsqueeze_dim::<4>(1)).tanh();
        let energy = self.energy.weight.val().reshape([1, 1, 1, width]);
        let scores = (mixed * energy).sum_dim(3).reshape([batch, group, source_len]);
        masked_softmax(scores, padding.unsqueeze_dim::<3>(1).expand([batch, group, source_len]))
    }
}
