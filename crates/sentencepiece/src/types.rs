//! The types of models and of pieces, and a part of a text with its piece.

/// The type of a model, which decides how it segments text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelType {
    /// The most probable segmentation under a unigram model (Kudo, 2018).
    Unigram,
    /// Byte-pair encoding (Sennrich et al., 2016).
    Bpe,
    /// Words: text is cut at spaces.
    Word,
    /// Characters: text is cut at every character.
    Char,
}

/// The purpose of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PieceType {
    /// An ordinary piece, which occurs in texts.
    Normal,
    /// The single piece that stands for all text without a piece.
    Unknown,
    /// A control symbol such as `</s>`, which does not occur in texts.
    Control,
    /// A user-defined symbol: a text that is never cut and never changed.
    UserDefined,
    /// An unused piece, which is in the vocabulary but never used to segment texts.
    Unused,
    /// One byte (`<0x0A>`) of text without a piece.
    Byte,
}

/// The bytes `start..end` of a normalised text, with their piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first byte.
    pub start: usize,
    /// The index after the last byte.
    pub end: usize,
    /// The id of the piece; `None` only in a model without a piece for unknown text, which spells
    /// it in bytes.
    pub id: Option<u32>,
}
