//! The left factor of a product, rounded a block at a time.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::line::{LANES, Line, PAIRS};
use super::panels::interleave;
use super::round::neighbours;
use crate::linear::left::Left;

/// Some rows and terms of a left factor.
pub(super) struct Block {
    lines: Vec<MaybeUninit<Line>>,
}

/// Writes `rows` of the terms `terms` of a left factor to `block`.
pub(super) fn round(left: Left, rows: Range<usize>, terms: Range<usize>, block: &mut Block) {
    match left {
        Left::Rows { matrix, shape: [_, depth] } => {
            let numbers = block.numbers();
            for (row, out) in rows.zip(numbers.chunks_exact_mut(PAIRS)) {
                let row = &matrix[row * depth..][..depth];
                neighbours(&row[terms.clone()], &mut out[..terms.len().div_ceil(2)]);
            }
        }
        Left::Columns { matrix, shape: [_, width] } => {
            let matrix = &matrix[terms.start * width..terms.end * width];
            interleave(matrix, width, rows, &mut block.lines);
        }
    }
}

impl Block {
    pub(super) fn new(rows: usize) -> Self {
        // Zeros, since rows that fill up a tile are multiplied too.
        let count = rows.next_multiple_of(LANES) * PAIRS / LANES;
        Self { lines: vec![MaybeUninit::new(Line([0; LANES])); count] }
    }

    fn numbers(&mut self) -> &mut [u32] {
        // SAFETY: every line was written when the block was made, and is its numbers and nothing else.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LANES)
        }
    }

    pub(super) fn as_ptr(&self) -> *const u32 {
        self.lines.as_ptr().cast()
    }
}
