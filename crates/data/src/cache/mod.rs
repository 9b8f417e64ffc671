//! The tokenised corpus: built once, then read sentence by sentence.
//!
//! A cache file is keyed by the content of the corpus files, the tokenisers' hashes and the cleaning settings, never by
//! names or dates. It is written to a temporary file, flushed to the disk and renamed, so that a reader never sees half
//! a file; it is verified against its checksum on opening, so that a damaged one is rebuilt rather than trusted.
//!
//! | bytes | what |
//! |---|---|
//! | 144 | header: magic, byte order, version, counts, key, checksum of the rest, checksum of the header |
//! | 2 or 4 a token | every pair's source ids, then its target ids; 2 bytes while the vocabularies fit in 65,536 |
//! | 0 to 7 | zeros up to a multiple of 8 |
//! | 16 a pair + 8 | where each source and each target starts, in tokens, and the end |
//! | the rest | the cleaning report as JSON |
//!
//! Numbers are little-endian. Opening a file reads all of it once; then the lengths of the sentences stay in memory (8 bytes
//! a pair), and each batch reads its pairs where they are.

mod build;
mod file;
mod header;
mod places;
mod positional;
mod tokenized;

pub(crate) use build::build;
pub(crate) use file::{make_folder, write_atomically};
pub use tokenized::TokenizedCorpus;
