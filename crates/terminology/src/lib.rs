//! Glossaries: terms and their prescribed translations, found in sentences as whole words.
//!
//! A [`Glossary`] is read from a file with two tab-separated columns, or created from pairs.
//! [`wanted`] returns the terms that the translation of a sentence must contain. This crate does
//! not make a model write them.
//!
//! The trade-off: *terms are found by their letters alone*, without morphology. A term is found
//! only in the form in which it is written, so each inflected form of the source needs its own
//! entry. On the target side, an entry may list several forms (`house|houses`), and the model
//! chooses among them.
//!
//! ```
//! use burnformer_terminology::{Glossary, wanted};
//!
//! let file = "# source<TAB>target\nHaus\thouse|houses\nrotes Haus\tRed House\n";
//! let glossary = Glossary::parse("terms.tsv".as_ref(), file.as_bytes())?;
//! assert_eq!(wanted(&[&glossary], "Ein Haus am See")[0].targets, ["house", "houses"]);
//! assert_eq!(wanted(&[&glossary], "Ein rotes Haus")[0].targets, ["Red House"]);
//! # Ok::<(), burnformer_terminology::GlossaryError>(())
//! ```

#![forbid(unsafe_code)]
// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod entry;
mod error;
mod file;
mod finder;
mod glossary;
mod translation_memory;

pub use entry::Entry;
pub use error::{EntryProblem, GlossaryError};
pub use file::rows;
pub use glossary::{Glossary, MAX_TERMS, Term, longest, wanted};
pub use translation_memory::{FuzzyMatch, TranslationMemory};

/// Maximum number of characters in a term.
pub const MAX_CHARACTERS: usize = 200;
/// Maximum number of translations of a term.
pub const MAX_ALTERNATIVES: usize = 20;
