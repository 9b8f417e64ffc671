//! Documents, glossaries and translation memories, joined with a translator.
//!
//! A [`Division`] divides documents into sentences. [`Rounds`] takes them through any translator: it
//! returns the sentences to translate, with the terms that each must contain, and accepts their
//! translations. A [`Pivot`] does so with sentences that two models translate in a row.
//! [`translate`] joins all three along a [`Route`]: with one
//! [`Translator`](burnformer_infer::Translator), or with two and a language between.
//! [`translation_memory`] reads translation memories.
//!
//! The trade-off: *rounds are driven from outside*. A server queues the sentences of many requests
//! together, and a page translates in a worker. So [`Rounds`] and [`Pivot`] call no translator, and
//! each caller decides when and where a round is computed. What is computed is stated here, once.

#![forbid(unsafe_code)]
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod division;
#[cfg(feature = "translator")]
mod document;
#[cfg(feature = "translator")]
mod error;
mod pivot;
mod rounds;
#[cfg(feature = "translator")]
mod route;
#[cfg(feature = "translator")]
pub mod translation_memory;

pub use division::{Cascade, Division, Model};
#[cfg(feature = "translator")]
pub use document::{read, remembered, translate};
#[cfg(feature = "translator")]
pub use error::{TranslationError, TranslationProblem};
pub use pivot::{Pivot, through_links};
pub use rounds::{PendingRound, Round, Rounds, Sentence, TermsTooLong};
#[cfg(feature = "translator")]
pub use route::{Answer, Leg, Route, RouteRequests};
