use burn::tensor::Tensor;

/// Attention weights of every layer, each `[batch, heads, query_len, key_len]`.
#[derive(Clone, Debug, Default)]
pub struct AttentionMaps {
    /// Encoder self-attention: source positions attending to source positions.
    pub encoder_self: Vec<Tensor<4>>,
    /// Decoder self-attention: target positions attending to target positions.
    pub decoder_self: Vec<Tensor<4>>,
    /// Cross-attention: target positions attending to source positions.
    pub cross: Vec<Tensor<4>>,
}
