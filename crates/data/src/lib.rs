//! From parallel text to batches of token ids.
//!
//! This crate reads a parallel corpus, cleans it, trains or loads a subword tokeniser, keeps the tokenised corpus in a
//! cache file and cuts it into token-budget batches. It knows nothing of tensors, devices or models: a [`Batch`]
//! is plain arrays, and whoever trains turns it into tensors.
//!
//! The trade-off it took: *everything is a pure function of the input's bytes and the settings*. Text is streamed and
//! hashed, never trusted by its name or date; a vocabulary is trained by a trainer of this crate whose ties are ordered,
//! rather than by a faster one whose result depends on hash-map order; batches are planned per epoch from `(seed, epoch)`
//! alone, rather than drawn from hidden state. Two runs over the same text see the same batches, on any number of
//! threads, and a run resumes in the middle of an epoch from three integers ([`SamplerState`]).
//!
//! The rooms, in the order text passes through them:
//!
//! | module | what it holds |
//! |---|---|
//! | [`corpus`] | two files or one TSV, plain, gzip or zstd; typed errors that name file and line |
//! | [`clean`] | which pairs are kept, and a count of why the others were not |
//! | [`tokenizer`] | BPE and unigram with byte fallback, in Hugging Face's `tokenizer.json` |
//! | [`cache`] | the tokenised corpus in a file, keyed by content |
//! | [`batch`], [`sampler`] | padded batches under a token budget, and their order |
//! | [`prefetch`] | a background thread that keeps the next batches ready |
//! | [`mod@prepare`] | all of the above from paths to a [`TokenizedCorpus`], reusing what is already there |

#![forbid(unsafe_code)]

pub mod batch;
pub mod cache;
pub mod clean;
pub mod corpus;
mod error;
mod hash;
pub mod prefetch;
pub mod prepare;
mod random;
pub mod sampler;
pub mod special;
pub mod tokenizer;

pub use batch::Batch;
pub use cache::TokenizedCorpus;
pub use clean::{CleaningReport, CleaningSettings};
pub use corpus::{CorpusPaths, LineReader, ParallelReader, Utf8Policy};
pub use error::{DataError, Result};
pub use prefetch::Prefetch;
pub use prepare::{PrepareSettings, Prepared, Progress, Stage, TokenizerSource, prepare};
pub use sampler::{
    BatchSampler, BatchStream, EpochPlan, PlannedBatch, SamplerSettings, SamplerState,
};
pub use tokenizer::{Tokenizer, TokenizerKind, TokenizerSettings, Tokenizers};

/// The program in the README, compiled and run as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
