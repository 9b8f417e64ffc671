use burn::tensor::{Bool, Tensor};

/// The encoded source, to which the decoder attends.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The output of the encoder, `[batch, source_len, d_model]`.
    pub states: Tensor<3>,
    /// The padding mask of the source, `[batch, 1, 1, source_len]`; `true` where the source is padding.
    pub padding: Tensor<4, Bool>,
}
