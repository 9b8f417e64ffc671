//! The types of models and of pieces.

/// The way in which a model segments text.
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
    /// An ordinary piece: a part of texts.
    Normal,
    /// The single piece that stands for all text without a piece.
    Unknown,
    /// A control symbol such as `</s>`, which does not occur in texts.
    Control,
    /// A user-defined symbol: a text that is never cut and never changed.
    UserDefined,
    /// An unused piece: the vocabulary holds it, but texts are not segmented into it.
    Unused,
    /// One byte (`<0x0A>`) of text without a piece.
    Byte,
}
