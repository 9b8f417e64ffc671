//! Documents, glossaries and translation memories, joined with a translator.
//!
//! [`Rounds`] takes documents through any translator: it returns the sentences to translate, with
//! the terms that each must contain, and accepts their translations. [`translate`] does so along
//! a [`Route`]: with one [`Translator`](burnformer_infer::Translator), or with two and a language
//! between. [`memory_files`] reads translation memories.
//!
//! The trade-off: *rounds are driven from outside*. A server queues the sentences of many requests
//! together, and a page translates in a worker. So the crate calls no translator in [`Rounds`], and
//! each caller decides when and where a round is computed.

#![forbid(unsafe_code)]
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

#[cfg(feature = "translator")]
mod document;
#[cfg(feature = "translator")]
mod error;
#[cfg(feature = "translator")]
pub mod memory_files;
pub mod pivot;
mod rounds;
#[cfg(feature = "translator")]
mod route;

#[cfg(feature = "translator")]
pub use document::{read, remembered, translate};
#[cfg(feature = "translator")]
pub use error::{TranslationError, TranslationProblem};
pub use rounds::{Rounds, Sentence, TermsTooLong};
#[cfg(feature = "translator")]
pub use route::{Asked, Leg, Route};
