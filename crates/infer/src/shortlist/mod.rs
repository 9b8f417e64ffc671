//! Lexical shortlists: for each source token the target tokens that are its likely translations.
//!
//! A model that translates computes the probability of every token of its vocabulary at each step,
//! and for a large vocabulary that takes much of its time. With a [`Shortlist`] it computes only
//! the tokens that can be needed for the sentence: the translations of its tokens, and those that
//! are frequent in any sentence.
//!
//! A [`Trainer`] learns the translations from parallel text that is divided into tokens, by the
//! first alignment model of Brown et al., 1993 (*The Mathematics of Statistical Machine
//! Translation*), which IBM called Model 1. Its trade-off: *the order of words is left out*. Orders
//! differ between languages, and a shortlist only asks which tokens occur together, not where. A
//! pair of sentences is then two sets of counted tokens, and each iteration takes a few seconds per
//! million tokens.
//!
//! Results are a function of the pairs and the settings, on any number of threads: each sum is
//! taken by one thread, in the order of the pairs.
//!
//! ```
//! use burnformer_infer::shortlist::{Settings, Trainer, Vocabularies};
//!
//! // "das Haus" = "the house", "das Buch" = "the book", "ein Buch" = "a book"
//! let (das, haus, buch, ein) = (1, 2, 3, 4);
//! let (the, house, book, a) = (5, 6, 7, 8);
//! let mut trainer = Trainer::new(Vocabularies::of_sizes([9, 9]));
//! trainer.add(&[das, haus], &[the, house]);
//! trainer.add(&[das, buch], &[the, book]);
//! trainer.add(&[ein, buch], &[a, book]);
//! let shortlist = trainer.finish(&Settings { first: 0, best: 1, ..Settings::default() })?;
//! assert_eq!(shortlist.translations(buch), [book]);
//! assert_eq!(shortlist.tokens_for(&[ein, haus]), [house, a]);
//! # Ok::<(), burnformer_infer::shortlist::ShortlistError>(())
//! ```

mod alignment;
mod error;
mod file;
mod list;
mod train;

pub use alignment::MAX_LINE_TOKENS;
pub use error::ShortlistError;
pub use list::{Shortlist, Vocabularies};
pub use train::{MAX_PAIRS, Settings, Trainer};
