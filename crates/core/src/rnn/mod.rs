//! A recurrent translation model with which the Transformer can be compared: a bidirectional GRU
//! encoder, additive attention and a GRU decoder (Bahdanau et al., 2015).
//!
//! Embeddings, dropout, loss and initial weights are those of the Transformer, and [`Rnn`] is a
//! [`Seq2Seq`](crate::Seq2Seq) model as the Transformer is. The recurrences run step by step in
//! plain tensors, and are slow for it: the sequential work of a layer is the paper's argument.
//!
//! ```
//! use burn::tensor::{Device, Int, Tensor};
//! use burnformer_core::rnn::RnnConfig;
//! use burnformer_core::{Mode, Seq2Seq};
//!
//! let device = Device::default();
//! let model = RnnConfig::tiny(100).init(0, &device)?;
//! let source = Tensor::<2, Int>::from_ints([[5, 6, 7, 2]], &device);
//! let target = Tensor::<2, Int>::from_ints([[1, 9, 8]], &device);
//! let logits = model.forward(source, target, Mode::Inference);
//! assert_eq!(logits.dims(), [1, 3, 100]);
//! # Ok::<(), burnformer_core::ConfigError>(())
//! ```

mod config;
mod decoder;
mod gru;
mod network;

pub use config::RnnConfig;
pub use network::Rnn;
