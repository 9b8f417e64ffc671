//! The Transformer of *Attention Is All You Need* (Vaswani et al., 2017) as Burn modules.
//!
//! This crate holds the layers, the masks, the model and its directory on disk. Text, training and
//! search are in other crates.
//!
//! The design: every type is one idea of the paper, has a plain configuration, and is built on any
//! [`Device`](burn::tensor::Device) that the caller passes. The crate names no backend. Modules
//! hold no hidden state: dropout takes its random numbers as an argument, and decoding takes its
//! cache. Random numbers are an argument ([`Mode`]) so that a run can be resumed and repeated bit
//! for bit, on any number of threads. Dropout therefore follows the `Mode` alone: Burn's `valid()`
//! does not stop it, [`Mode::Inference`] does. Weights have PyTorch's `[out, in]` layout in memory
//! and in files.
//!
//! | paper | type |
//! |---|---|
//! | §3.1 stacks | [`Encoder`], [`Decoder`], [`ResidualNorm`] |
//! | §3.2.1 scaled dot-product attention | [`scaled_dot_product_attention`] |
//! | §3.2.2 multi-head attention | [`MultiHeadAttention`] |
//! | §3.2.3 masks | [`AttentionBias`], [`padding_mask`], [`end_mask`], [`look_ahead_mask`] |
//! | §3.3 feed-forward | [`PositionWiseFeedForward`] |
//! | §3.4 embeddings | [`TokenEmbedding`], [`SharedEmbeddings`] |
//! | §3.5 positions | [`PositionalEncoding`] |
//! | §4 restricted self-attention | [`Window`], [`window_attention`] |
//! | §5.4 regularisation | [`Dropout`], [`label_smoothed_cross_entropy`] |
//! | mixed precision (Micikevicius et al., 2018) | [`Precision`], [`Seq2Seq::set_precision`] |
//!
//! Most layers have a configuration in the manner of Burn:
//! `MultiHeadAttentionConfig::new(512, 8).init(&device)`.
//!
//! Training, search and the model directory use a model through the trait [`Seq2Seq`] alone, and
//! its configuration through [`Seq2SeqConfig`]. A file can name the Transformer and the recurrent
//! baseline ([`rnn`]). A model of any other architecture implements both traits, and a program
//! gives its configuration to the training loop.
//!
//! # Example
//!
//! ```
//! use burn::tensor::{Device, Int, Tensor};
//! use burnformer_core::{Mode, Seq2Seq, TransformerConfig};
//!
//! let device = Device::default();
//! let model = TransformerConfig::tiny(100).init(0, &device)?;
//! let source = Tensor::<2, Int>::from_ints([[5, 6, 7, 2]], &device);
//! let target = Tensor::<2, Int>::from_ints([[1, 9, 8]], &device);
//! let logits = model.forward(source, target, Mode::Inference);
//! assert_eq!(logits.dims(), [1, 3, 100]);
//! # Ok::<(), burnformer_core::ConfigError>(())
//! ```

// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod attention;
mod config;
mod context;
mod conventions;
mod decoder;
mod decoder_layer;
mod dropout;
mod encoder;
mod feed_forward;
mod linear;
mod loss;
mod mask;
mod multi_head;
mod norm;
mod parameters;
mod position;
mod presets;
mod seq2seq;
mod shared_embeddings;
mod transformer;
mod window;

pub mod allocator;
pub mod cost;
pub mod init;
#[cfg(feature = "model-dir")]
pub mod model_dir;
pub mod rnn;
pub mod ssru;

pub use burnformer_kernels::{AttentionInputs, ComputeType, KvCache, Precision, RandomKey};

pub use attention::{Attended, AttentionBias, scaled_dot_product_attention};
pub use config::{
    ConfigError, MAX_ROWS, MAX_WIDTH, TransformerConfig, check_sizes, check_vocabularies,
};
pub use context::{AttentionKind, Context, Mode, Recorder};
pub use conventions::{
    ClosingNorm, Conventions, DecoderStart, EmbeddingScale, HistoryNorm, OutputBias, Sinusoids,
    SourceEnd, TargetHistory,
};
pub use decoder::{Decoder, DecoderCache, DecoderConfig};
pub use decoder_layer::{
    DecoderBias, DecoderLayer, DecoderLayerConfig, LayerCache, TargetSublayer,
};
pub use dropout::{Dropout, DropoutConfig};
pub use encoder::{EncodedSource, Encoder, EncoderConfig, EncoderLayer, LayerConfig};
pub use feed_forward::{Activation, PositionWiseFeedForward, PositionWiseFeedForwardConfig};
pub use linear::{Linear, LinearConfig};
pub use loss::{LossSums, label_smoothed_cross_entropy};
pub use mask::{end_mask, look_ahead_mask, padding_mask, token_ids};
pub use multi_head::{
    AttentionSource, KeyValues, MhaInput, MultiHeadAttention, MultiHeadAttentionConfig,
};
pub use norm::{LayerNorm, LayerNormConfig, NormKind, NormPosition, ResidualNorm};
pub use parameters::{
    LoadError, Parameter, Parameters, QuantizedParameters, StateDict, data_now, freeze_parameters,
    named_gradients, named_parameters, parameter_sizes, trained_parameter_shapes, with_parameters,
};
pub use position::{PositionalEncoding, PositionalEncodingConfig, Positions, sinusoid};
pub use seq2seq::{
    AttentionMaps, Model, ModelConfig, Seq2Seq, Seq2SeqCache, Seq2SeqConfig, Tokens,
};
pub use shared_embeddings::{
    EmbeddingSharing, SharedEmbeddings, SharedEmbeddingsConfig, TokenEmbedding,
    TokenEmbeddingConfig,
};
pub use transformer::Transformer;
pub use window::{Window, WindowBlocks, window_attention};
