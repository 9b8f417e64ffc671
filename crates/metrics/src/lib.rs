//! BLEU, chrF and TER of plain text, equal to sacreBLEU 2.6.0.
//!
//! Scores agree with sacreBLEU's to the last digit that it prints. This includes the oddities of
//! its tokenisers and the resamples of its confidence intervals, so scores can be compared with
//! published ones. Where a regular expression or a code-point range of sacreBLEU is odd, it is
//! kept, and a comment says so. Signatures have sacreBLEU's fields; only `version` names this
//! crate.
//!
//! ```
//! use burnformer_metrics::{Bleu, Chrf, Metric, References, Ter, as_strs};
//!
//! let hypotheses = ["The dog bit the man.", "It wasn't surprising."];
//! let references = [vec!["The dog bit the man.", "It was not surprising."]];
//!
//! let bleu = Bleu::default().corpus_score(&hypotheses, &references)?;
//! assert_eq!(format!("{bleu:.2}").split(' ').nth(2), Some("68.97")); // as sacrebleu 2.6.0
//!
//! let metrics: [Box<dyn Metric>; 3] =
//!     [Box::new(Bleu::default()), Box::new(Chrf::plus_plus()), Box::new(Ter::default())];
//! for metric in &metrics {
//!     let score = metric.evaluate(&as_strs(&hypotheses), &References::new(&references))?;
//!     println!("{score}"); // BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:… = 68.97 …
//! }
//! # Ok::<(), burnformer_metrics::MetricError>(())
//! ```
//!
//! The main types: [`Bleu`], [`Chrf`] and [`Ter`] hold options and compute scores. [`Metric`] is
//! their common trait, which works on sums of [`Statistics`]. [`Bootstrap`] gives confidence
//! intervals. [`paired_bootstrap`] and [`approximate_randomization`] compare two systems.
//! [`WritingSystem`] tells which metric fits a text.
//!
//! Deliberately absent: downloads of test sets and tokeniser files, tokenisers that need a
//! dictionary (`ja-mecab`, `ko-mecab`), and threads.

#![forbid(unsafe_code)]
// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod bleu;
mod bleu_score;
mod bootstrap;
mod chrf;
mod error;
mod metric;
mod ngram;
mod numpy_rng;
mod references;
mod score;
mod signature;
mod significance;
mod statistics;
mod ter;
mod text;
mod tokenize;
mod writing;

pub use bleu::Bleu;
pub use bleu_score::{BleuScore, Smoothing};
pub use bootstrap::{Bootstrap, confidence, resampled};
pub use chrf::Chrf;
pub use error::MetricError;
use error::Result;
pub use metric::{Metric, as_strs};
pub use references::{ReferenceCount, References};
pub use score::{Confidence, Score};
pub use signature::{Signature, VERSION};
pub use significance::{PairedResult, RANDOMIZATION, approximate_randomization, paired_bootstrap};
pub use statistics::Statistics;
pub use tokenize::BleuTokenizer;
pub use tokenize::tercom::Ter;
pub use writing::WritingSystem;
