//! Conversion of models of other systems from and to model directories.
//!
//! An imported model is an ordinary model directory. The trade-off: *a model is converted once, to
//! float32, and a setting in its file without a counterpart here is an error*; it is never ignored
//! silently. The differences between systems (the layout of positions, the start of the decoder,
//! the rules of beam search) are settings of
//! [`TransformerConfig`](burnformer_core::TransformerConfig) and
//! [`SearchSettings`](burnformer_infer::SearchSettings), so that each model computes the same as in
//! the original system.
//!
//! No file is executed, and memory is bounded by the size of the file: a small reader with five
//! allowed names reads the weights in PyTorch's pickles. This crate contains no search, no training
//! and no backend.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use burnformer_interop::Format;
//!
//! let path = Path::new("opus-mt-en-fr");
//! let model = Format::find(path)?.read(path)?;
//! model.save(Path::new("models/en-fr"))?;
//! # Ok::<(), burnformer_interop::InteropError>(())
//! ```

#![forbid(unsafe_code)]
// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod ctranslate2;
mod cursor;
mod embeddings;
mod error;
mod files;
mod format;
#[cfg(feature = "hub")]
pub mod hub;
mod hugging_face;
mod layers;
mod marian;
mod pretrained;
mod tensors;
mod text_files;
mod torch;
mod vocabulary;
mod zip;

pub use error::{InteropError, Result};
pub use format::{Format, import};
pub use pretrained::Pretrained;
pub use tensors::{Tensor, Tensors};
pub use text_files::TextFiles;
