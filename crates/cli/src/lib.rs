#![doc = include_str!("../README.md")]
// `println!` and `eprintln!` panic where their stream fails; `output::print` and `output::say` do
// not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(feature = "core")]
pub use burn;
#[cfg(feature = "core")]
#[doc(inline)]
pub use burnformer_core as core;
#[cfg(feature = "data")]
#[doc(inline)]
pub use burnformer_data as data;
#[cfg(feature = "documents")]
#[doc(inline)]
pub use burnformer_documents as documents;
#[cfg(feature = "infer")]
#[doc(inline)]
pub use burnformer_infer as infer;
#[cfg(feature = "metrics")]
#[doc(inline)]
pub use burnformer_metrics as metrics;
#[cfg(feature = "train")]
#[doc(inline)]
pub use burnformer_train as train;

#[cfg(feature = "program")]
mod commands;
#[cfg(feature = "program")]
mod conversion;
#[cfg(feature = "program")]
mod csv;
#[cfg(feature = "program")]
pub mod device;
#[cfg(feature = "program")]
pub mod embedded;
#[cfg(feature = "program")]
mod line_warnings;
#[cfg(feature = "program")]
pub mod memory;
#[cfg(feature = "program")]
pub mod mpi;
#[cfg(feature = "program")]
pub mod named;
#[cfg(feature = "program")]
pub mod output;
#[cfg(feature = "program")]
mod program;
#[cfg(feature = "program")]
mod progress;
#[cfg(feature = "program")]
mod shards;
#[cfg(feature = "program")]
pub mod signals;
#[cfg(feature = "program")]
pub mod texts;
#[cfg(feature = "program")]
pub mod values;
#[cfg(feature = "program")]
pub mod whole_documents;

#[cfg(feature = "program")]
pub use program::run;
