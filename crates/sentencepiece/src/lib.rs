//! SentencePiece models (Kudo and Richardson, 2018) read and run with the same results as the C++
//! library, byte for byte.
//!
//! [`SentencePiece::open`] reads a `.spm` or `.model` file of any type (unigram, BPE, word, char);
//! [`encode`](SentencePiece::encode) and [`decode`](SentencePiece::decode) give the results of
//! version 0.2.3 of the library on any text. Training is left to the trainer of the library.
//!
//! The trade-off: *the library's arithmetic rather than a better one*. Scores are added in float32
//! and in the library's order, its limits are kept where they change a result (32 matches in a
//! table of replacements, 64 user-defined symbols at one position), and ties are broken in the same
//! way. A model that was trained with the library's pieces would otherwise see other pieces. The
//! only differences concern files that no trainer writes: this crate refuses pieces and
//! replacements that are not UTF-8, and pieces of an unknown type. The library reads them.
//!
//! A file may come from anywhere: it is checked once, no index in its tables leads out of them, and
//! memory is bounded by its size ([`SentencePiece::from_bytes`]). The time of
//! [`encode`](SentencePiece::encode) grows with the length of the text times the length of the
//! longest piece.
//!
//! | module | content |
//! |---|---|
//! | `proto`, `vocabulary`, `trie` | the file, its pieces, and the search for them |
//! | `normalizer`, `charsmap` | normalisation |
//! | `unigram`, `bpe` | segmentation |
//! | `merge` | the loop of byte-pair encoding |
//! | `decode` | from pieces to text |

#![forbid(unsafe_code)]
// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod bpe;
mod charsmap;
mod decode;
mod error;
mod merge;
mod model;
mod normalizer;
mod proto;
mod trie;
mod types;
mod unigram;
mod vocabulary;

pub use charsmap::Charsmap;
pub use error::{CharsmapProblem, ModelProblem, PieceProblem, SentencePieceError};
pub use model::{SentencePiece, UnknownId};
pub use types::{ModelType, PieceType};
