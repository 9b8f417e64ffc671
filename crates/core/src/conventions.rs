//! Differences between the Transformers of other systems and the paper's.

use serde::{Deserialize, Serialize};

/// Differences of other systems from the paper. With them, imported models compute the same results
/// as in their own systems.
///
/// The default is the paper's throughout, and is not written to `config.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Conventions {
    /// The layout of the sines and cosines of fixed positions.
    pub sinusoids: Sinusoids,
    /// The position of the first token; the paper counts from 0, M2M100 and NLLB from 2.
    pub position_offset: usize,
    /// The factor of embeddings.
    pub embedding_scale: EmbeddingScale,
    /// The input of the decoder before the first token.
    pub decoder_start: DecoderStart,
    /// The bias of logits, if there is one.
    pub output_bias: OutputBias,
    /// The decoder's layer over the target before a position.
    pub target_history: TargetHistory,
    /// Determines whether the encoder sees the `</s>` at the end of a source.
    pub source_end: SourceEnd,
    /// Determines whether a stack with norms before its sub-layers ends with a norm.
    pub closing_norm: ClosingNorm,
    /// The input of keys and values of a pre-norm decoder's self-attention while it translates.
    pub history_norm: HistoryNorm,
    /// The number of heads in the decoder's attentions; `None` for the number in the encoder. The
    /// total width of the heads is the same in both stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoder_heads: Option<usize>,
    /// The inner width of the decoder's feed-forward networks; `None` for the width in the encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoder_d_ff: Option<usize>,
}

impl Conventions {
    /// Returns whether all conventions are the paper's.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The layout of the sines and cosines of fixed positions (paper §3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sinusoids {
    /// PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i + 1) = cos(pos / 10000^(2i/d)), as in the
    /// paper.
    #[default]
    Interleaved,
    /// All sines, then all cosines, of the paper's wavelengths: PE(pos, i) = sin(pos /
    /// 10000^(2i/d)), PE(pos, i + d/2) = cos(pos / 10000^(2i/d)), as in Hugging Face's
    /// `MarianMTModel`.
    Halves,
    /// All sines, then all cosines, with a last wavelength of exactly 10000 · 2π: PE(pos, i) =
    /// sin(pos / 10000^(i/(d/2−1))) and so on, as in tensor2tensor, Marian, fairseq and M2M100.
    HalvesToEnd,
}

/// The factor of embeddings before positions are added (paper §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingScale {
    /// √d_model, as in the paper.
    #[default]
    SqrtWidth,
    /// One: embeddings are not scaled.
    One,
}

/// The input of the decoder before the first token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecoderStart {
    /// The embedding of the token that opens a target.
    #[default]
    Embedding,
    /// A vector of zeros for any opening token, as in Marian.
    Zero,
}

/// The bias of logits, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputBias {
    /// None, as in the paper.
    #[default]
    None,
    /// One number for each piece of the target vocabulary, which starts at zero, as in Marian.
    PerPiece,
}

/// The decoder's layer over the target before a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetHistory {
    /// Self-attention, as in the paper.
    #[default]
    SelfAttention,
    /// A recurrent unit, [`Ssru`](crate::ssru::Ssru), as in Marian's student models.
    Ssru,
}

/// Determines whether the encoder sees the `</s>` at the end of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SourceEnd {
    /// Like any other token.
    #[default]
    Seen,
    /// Masked like padding, for models that were trained on sources without it, such as OpenNMT's.
    Hidden,
}

/// Determines whether a stack with norms before its sub-layers ends with a norm. Stacks with norms
/// after their sub-layers never have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClosingNorm {
    /// The last norm of a stack normalises its output.
    #[default]
    Present,
    /// The output of a stack is not normalised, as in models of Marian without
    /// `transformer-postprocess-top`.
    Absent,
}

/// The input of keys and values of a pre-norm decoder's self-attention while it translates. A
/// target that is computed as a whole, in training and for scores, always has the normalised input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HistoryNorm {
    /// The normalised input, as in training.
    #[default]
    Always,
    /// From the second token on, the input before the norm, as Marian 1.12 translates.
    FirstToken,
}
