//! The token cache: a corpus is tokenised once and then read sentence by sentence.
//!
//! The key of a cache file is made from the content of the corpus files, the hashes of the
//! tokenisers and the cleaning settings, never from names or dates. The file is written to a
//! temporary file, flushed to the disk and renamed. A reader therefore never sees a half-written
//! file. Its checksum is verified when it is opened, and a damaged file is built again.
//!
//! | bytes | content |
//! |---|---|
//! | 1024 | header: its checksum and JSON with version, width, counts, cleaning report, key and checksum of the rest |
//! | 2 or 4 per token | the source ids of every pair, followed by its target ids; 2 bytes if the vocabularies have at most 65,536 tokens |
//! | 0 to 7 | zeros up to a multiple of 8 |
//! | 16 per pair, and 8 | the offset of each source and each target, and of the end, in tokens |
//! | 1 per 8 pairs | in a text that is divided into documents: a bit for each pair that continues the document of the pair before it |
//!
//! Numbers are little-endian. Opening a file reads all of it once and keeps none of it in memory:
//! lengths and pairs are read where they are needed.
//!
//! Several processes may use the cache folder at the same time.

mod bits;
mod build;
mod header;
mod token_file;
mod tokenized;

pub(crate) use build::build;
pub use tokenized::{BLOCK, MixedPart, TokenizedCorpus};
