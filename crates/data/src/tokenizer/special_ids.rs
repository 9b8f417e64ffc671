//! The files of a tokeniser.

use serde::{Deserialize, Serialize};

use crate::special;

/// The ids of padding, start and end of a sentence. A model and its tokenisers must agree on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SpecialIds {
    /// Fills the short rows of a batch; never read as a source token and never predicted.
    pub pad: u32,
    /// The decoder's first input. It may be `pad`, as in Marian's models.
    pub bos: u32,
    /// Closes every source and every target.
    pub eos: u32,
}

impl SpecialIds {
    /// The ids of [`special`], which every tokeniser that is trained here has.
    pub const OURS: Self = Self {
        pad: special::PAD,
        bos: special::BOS,
        eos: special::EOS,
    };
}

impl Default for SpecialIds {
    fn default() -> Self {
        Self::OURS
    }
}

/// The ids of the special tokens in a tokeniser's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenizerSpecialIds {
    /// Fills the short rows of a batch.
    pub pad: u32,
    /// The decoder's first input; `None` if the files leave it to the model, as Marian's files do.
    pub bos: Option<u32>,
    /// Closes every source and every target.
    pub eos: u32,
    /// Stands for text without a token.
    pub unk: u32,
}

impl TokenizerSpecialIds {
    /// The ids of [`special`], which every `tokenizer.json` has.
    pub const OURS: Self = Self {
        pad: special::PAD,
        bos: Some(special::BOS),
        eos: special::EOS,
        unk: special::UNK,
    };
}

/// The contents of the files of a tokeniser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerFiles {
    /// A `tokenizer.json`.
    HuggingFace {
        /// The canonical bytes of the tokeniser.
        json: Vec<u8>,
    },
    /// A SentencePiece model, and the ids of its pieces.
    SentencePiece {
        /// The `.spm` file.
        model: Vec<u8>,
        /// The `vocab.json`.
        vocab: Vec<u8>,
    },
}
