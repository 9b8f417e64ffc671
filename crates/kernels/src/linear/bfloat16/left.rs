//! The left factor of a product, rounded a block at a time.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::line::{LANES, Line, PAIRS};
use super::panels::interleave;
use super::round::neighbours;

/// Rows of a block at most.
const ROWS: usize = 128;
/// Blocks that a matrix is divided into at least, if it has the rows for it.
const BLOCKS: usize = 8;

/// A matrix `[rows, depth]`.
#[derive(Clone, Copy)]
pub(super) enum Left<'a> {
    /// Row-major.
    Rows { matrix: &'a [f32], shape: [usize; 2] },
    /// Its transpose, `[depth, rows]`, row-major.
    Columns { matrix: &'a [f32], shape: [usize; 2] },
}

/// Some rows and terms of a left factor.
pub(super) struct Block {
    lines: Vec<MaybeUninit<Line>>,
}

impl<'a> Left<'a> {
    /// The matrix, `[rows, depth]`.
    pub(super) fn rows(matrix: &'a [f32], [rows, depth]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {rows}x{depth}");
        Self::Rows { matrix, shape: [rows, depth] }
    }

    /// The transpose of the matrix, `[depth, rows]`.
    pub(super) fn columns(matrix: &'a [f32], [depth, rows]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {depth}x{rows}");
        Self::Columns { matrix, shape: [depth, rows] }
    }

    pub(super) fn count(self) -> usize {
        match self {
            Self::Rows { shape: [rows, _], .. } | Self::Columns { shape: [_, rows], .. } => rows,
        }
    }

    /// Rows that are worked on together: a function of their number alone.
    pub(super) fn rows_per_block(self) -> usize {
        (self.count() / BLOCKS).next_multiple_of(LANES).clamp(LANES, ROWS)
    }

    /// Writes `rows` of the terms `terms` to `block`.
    pub(super) fn round(self, rows: Range<usize>, terms: Range<usize>, block: &mut Block) {
        match self {
            Self::Rows { matrix, shape: [_, depth] } => {
                let numbers = block.numbers();
                for (row, out) in rows.zip(numbers.chunks_exact_mut(PAIRS)) {
                    let row = &matrix[row * depth..][..depth];
                    neighbours(&row[terms.clone()], &mut out[..terms.len().div_ceil(2)]);
                }
            }
            Self::Columns { matrix, shape: [_, width] } => {
                let matrix = &matrix[terms.start * width..terms.end * width];
                interleave(matrix, width, rows, &mut block.lines);
            }
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
