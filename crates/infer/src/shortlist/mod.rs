//! Lexical shortlists: the likely target tokens for each source token.
//!
//! At each step, a model computes the probability of every token of its vocabulary, which takes
//! much of the time with a large vocabulary. With a [`Shortlist`] it computes only likely tokens of
//! the sentence: the translations of its tokens, and the most frequent tokens.
//!
//! A [`Trainer`] learns the translations from tokenised parallel text by IBM Model 1 (Brown et al.,
//! 1993, *The Mathematics of Statistical Machine Translation*). The trade-off: *word order is left
//! out*, because it differs between languages and a shortlist only needs co-occurrence. A pair of
//! sentences is two bags of tokens, and each iteration takes a few seconds per million tokens.
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
