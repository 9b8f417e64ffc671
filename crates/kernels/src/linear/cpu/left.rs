//! The left factor of a whole product.

/// A matrix `[rows, depth]` of float32, as it lies in memory.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub matrix: &'a [f32],
    pub rows: usize,
    /// The number of terms of a sum.
    pub depth: usize,
    pub lie: Lie,
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    /// Row after row.
    Rows,
    /// Column after column.
    Columns,
}

impl<'a> Left<'a> {
    /// The matrix, `[rows, depth]` row-major.
    pub(super) fn rows(matrix: &'a [f32], [rows, depth]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {rows}x{depth}");
        Self { matrix, rows, depth, lie: Lie::Rows }
    }

    /// The transpose of the matrix, `[depth, rows]` row-major.
    pub(super) fn columns(matrix: &'a [f32], [depth, rows]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {depth}x{rows}");
        Self { matrix, rows, depth, lie: Lie::Columns }
    }
}
