//! A part of a text, and its piece.

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
