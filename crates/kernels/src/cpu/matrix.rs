/// A matrix inside a slice: element (r, c) has the index `r·row_stride + c·column_stride`.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Returns the matrix of `rows` by `columns` at the start of `data`, with rows `row_stride`
    /// elements apart.
    pub fn new(data: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(
            span(rows, columns, row_stride) <= data.len(),
            "{rows}x{columns} exceeds the slice"
        );
        Self {
            data,
            rows,
            columns,
            row_stride,
            column_stride: 1,
        }
    }

    /// Returns the transposed matrix, without copying.
    pub fn transposed(self) -> Self {
        let Self {
            data,
            rows,
            columns,
            row_stride,
            column_stride,
        } = self;
        Self {
            data,
            rows: columns,
            columns: rows,
            row_stride: column_stride,
            column_stride: row_stride,
        }
    }
}

/// A matrix that is written. Its rows are `row_stride` elements apart.
pub struct MatrixMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

impl<'a> MatrixMut<'a> {
    /// Returns the matrix of `rows` by `columns` at the start of `data`.
    pub fn new(data: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(
            span(rows, columns, row_stride) <= data.len(),
            "{rows}x{columns} exceeds the slice"
        );
        assert!(
            row_stride >= columns,
            "rows of {columns} every {row_stride} elements overlap"
        );
        Self {
            data,
            rows,
            columns,
            row_stride,
        }
    }
}

fn span(rows: usize, columns: usize, row_stride: usize) -> usize {
    if rows == 0 || columns == 0 {
        0
    } else {
        (rows - 1) * row_stride + columns
    }
}

/// The matrix product `out = scale·left·right`, on the thread of the caller.
pub fn multiply(out: MatrixMut, left: Matrix, right: Matrix, scale: f32) {
    let m = out.rows;
    let n = out.columns;
    let k = left.columns;
    assert_eq!(
        (left.rows, right.rows, right.columns),
        (m, k, n),
        "the shapes of a matrix product do not fit together"
    );
    // SAFETY: the constructors checked that every element of the three matrices is in its slice and
    // that the elements of `out` are distinct, and `out` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.data.as_mut_ptr(),
            1,
            out.row_stride as isize,
            false,
            left.data.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.data.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            0.0,
            scale,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
