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
#[cfg(feature = "translation")]
#[doc(inline)]
pub use burnformer_translation as translation;

cfg_if::cfg_if! {
    if #[cfg(feature = "program")] {
        pub mod allocator;
        mod commands;
        pub mod configuration;
        mod conversion;
        pub mod device;
        pub mod embedded;
        pub mod files_in_use;
        mod line_warnings;
        pub mod mpi;
        pub mod named;
        mod new_model;
        pub mod output;
        mod program;
        mod progress;
        mod shards;
        pub mod signals;
        pub mod texts;
        pub mod values;

        pub use program::run;
    }
}
