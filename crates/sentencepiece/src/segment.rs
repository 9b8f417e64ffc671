//! A part of a text, and the piece that it is.

/// Bytes `start..end` of a normalised text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
    /// The piece; `None` only in a model without a piece for unknown text, which spells it in bytes.
    pub id: Option<u32>,
}
