//! The cost of work, estimated before it begins.

use std::iter::Sum;
use std::ops::{Add, Mul};

use burnformer_documents::{Cost, Format};

/// The estimated processor time of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Price {
    nanoseconds: u64,
}

/// The time to read or write a byte of JSON, a form or a table.
const BYTE: Price = Price { nanoseconds: 20 };

/// The time per byte of text to split it into sentences, or to put its translation back.
const BYTE_OF_TEXT: Price = Price { nanoseconds: 500 };

/// The time to parse a byte of markup or of a catalogue, besides the time for its text.
const BYTE_OF_MARKUP: Price = Price { nanoseconds: 500 };

/// The time to parse a rule of plural forms. The rule is evaluated for 201 numbers.
const PLURAL_RULE: Price = Price {
    nanoseconds: 6_000_000,
};

/// The time to find a file in an archive and copy it into another.
const ENTRY: Price = Price {
    nanoseconds: 10_000,
};

/// The time to add a byte of a term to a glossary.
const BYTE_OF_TERM: Price = Price { nanoseconds: 500 };

impl Price {
    /// The price of work that takes this time.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self {
            nanoseconds: milliseconds * 1_000_000,
        }
    }

    /// The time in microseconds, at least one.
    pub fn microseconds(self) -> u64 {
        self.nanoseconds.div_ceil(1_000).max(1)
    }

    /// The price of `bytes` that are read or written once.
    pub fn of_bytes(bytes: usize) -> Self {
        BYTE * bytes
    }

    /// The price of one step of work on a text of this many bytes: splitting it, or writing it.
    pub fn of_text(bytes: usize) -> Self {
        BYTE_OF_TEXT * bytes
    }

    /// The price of a glossary of this many bytes.
    pub fn of_terms(bytes: usize) -> Self {
        BYTE_OF_TERM * bytes
    }

    /// The price of unpacking and reading a file.
    pub fn of_file(cost: Cost) -> Self {
        let bytes = usize::try_from(cost.unpacked).unwrap_or(usize::MAX);
        BYTE_OF_MARKUP * bytes + ENTRY * cost.entries
    }

    /// The price of reading a document.
    pub fn of_document(text: &str, format: Format) -> Self {
        let rules = match format {
            Format::Po => text.matches("plural=").count(),
            _ => 0,
        };
        let markup = match format {
            Format::Text => Self::default(),
            _ => BYTE_OF_MARKUP * text.len(),
        };
        Self::of_text(text.len()) + markup + PLURAL_RULE * rules
    }
}

impl Add for Price {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nanoseconds: self.nanoseconds.saturating_add(other.nanoseconds),
        }
    }
}

impl Mul<usize> for Price {
    type Output = Self;

    fn mul(self, count: usize) -> Self {
        Self {
            nanoseconds: self.nanoseconds.saturating_mul(count as u64),
        }
    }
}

impl Sum for Price {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}
