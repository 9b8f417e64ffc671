//! The left factor of a product.

/// Blocks that the rows are divided into at least, if there are enough.
const BLOCKS: usize = 8;

/// A matrix `[rows, depth]`, as it lies in memory. Whole products take it a block at a time, in the order of their
/// innermost loop.
#[derive(Clone, Copy)]
pub(super) enum Left<'a> {
    /// Row-major.
    Rows { matrix: &'a [f32], shape: [usize; 2] },
    /// Its transpose, `[depth, rows]`, row-major.
    Columns { matrix: &'a [f32], shape: [usize; 2] },
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

    /// The number of rows.
    pub(super) fn count(self) -> usize {
        match self {
            Self::Rows { shape: [rows, _], .. } | Self::Columns { shape: [_, rows], .. } => rows,
        }
    }

    /// The number of terms of a sum.
    pub(super) fn depth(self) -> usize {
        match self {
            Self::Rows { shape: [_, depth], .. } | Self::Columns { shape: [depth, _], .. } => depth,
        }
    }

    /// Rows that are worked on together: a function of their number alone, a multiple of `tile`, and at most `most`, of
    /// which `tile` is not more.
    pub(super) fn rows_per_block(self, tile: usize, most: usize) -> usize {
        (self.count() / BLOCKS).next_multiple_of(tile).clamp(tile, most / tile * tile)
    }
}
