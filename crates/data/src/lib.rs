//! Makes batches of token ids from parallel text.
//!
//! This crate reads a parallel corpus, cleans it, trains or loads a subword tokeniser, stores the
//! tokenised corpus in a cache file and divides it into batches within a token budget. It knows
//! nothing of tensors, devices or models: a [`Batch`] consists of plain arrays, and the training
//! code makes tensors of them.
//!
//! All results are a pure function of the bytes of the input and the settings:
//!
//! - Text is streamed and hashed, and never identified by its name or date.
//! - A vocabulary is trained by this crate's own trainer, which orders ties. A faster trainer
//!   exists, but its result depends on the order of a hash map.
//! - The batches of an epoch are planned from `(seed, epoch)` and do not depend on hidden state.
//!
//! Two runs over the same text therefore see the same batches on any number of threads. A run
//! resumes in the middle of an epoch from three integers ([`SamplerState`]).
//!
//! The modules, in the order in which text passes through them:
//!
//! | module | content |
//! |---|---|
//! | [`corpus`] | two files or one TSV, plain, gzip or zstd; typed errors that name file and line |
//! | [`clean`] | which pairs are kept, and how many are dropped for which reason |
//! | [`tokenizer`] | BPE in Hugging Face's `tokenizer.json`; SentencePiece models |
//! | [`cache`] | the tokenised corpus in a file, keyed by content |
//! | [`context`] | the previous sentences of a document in front of a sentence |
//! | [`batch`], [`sampler`] | padded batches within a token budget, and their order |
//! | [`mod@prepare`] | all of this, from paths to a [`TokenizedCorpus`], reusing the cache |

#![forbid(unsafe_code)]
// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod batch;
pub mod cache;
pub mod clean;
mod cleaning_report;
pub mod context;
pub mod corpus;
mod error;
mod hash;
mod pair_sample;
pub mod prepare;
pub mod sampler;
pub mod special;
pub mod tokenizer;
mod write;

pub use batch::Batch;
pub use cache::{MixedPart, TokenizedCorpus};
pub use clean::{CleaningSettings, has_unlike_numbers};
pub use cleaning_report::CleaningReport;
pub use context::ContextSettings;
pub use corpus::{CorpusPaths, LineReader, ParallelReader, TextError, Utf8Policy};
pub use error::{DataError, Result};
pub use hash::FileKeys;
pub use pair_sample::PairSample;
pub use prepare::{
    PrepareSettings, Prepared, Progress, Stage, TokenizerSource, TokenizerTraining, prepare,
    train_tokenizers,
};
pub use sampler::{
    BatchSampler, EpochPlan, PlannedRows, PlannedUpdate, Rank, SamplerError, SamplerSettings,
    SamplerState, UpdateStream,
};
pub use tokenizer::{
    SpecialIds, Tokenizer, TokenizerError, TokenizerFiles, TokenizerSettings, TokenizerSpecialIds,
    Tokenizers,
};
