//! The left factor of a whole product.

/// A left factor in memory: a float32 matrix `[rows, depth]`.
#[derive(Clone, Copy)]
pub(super) struct Lhs<'a> {
    pub matrix: &'a [f32],
    pub rows: usize,
    /// The number of terms of a sum.
    pub depth: usize,
    pub major: Major,
}

/// The major dimension of a matrix in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Major {
    /// Row after row.
    Row,
    /// Column after column.
    Column,
}

impl<'a> Lhs<'a> {
    /// The matrix, `[rows, depth]` row-major.
    pub(super) fn rows(matrix: &'a [f32], [rows, depth]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {rows}x{depth}");
        Self { matrix, rows, depth, major: Major::Row }
    }

    /// The transpose of the matrix, `[depth, rows]` row-major.
    pub(super) fn columns(matrix: &'a [f32], [depth, rows]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {depth}x{rows}");
        Self { matrix, rows, depth, major: Major::Column }
    }
}
