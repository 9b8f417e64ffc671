//! The files of a tokeniser.

/// The files that a tokeniser is made of, by their content.
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
