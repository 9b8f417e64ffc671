//! Products for the tests of every type of numbers.

/// Sizes, some with parts of blocks, tiles, vectors and pairs left over; rows, depth, columns.
pub(super) const SIZES: [[usize; 3]; 9] = [
    [1, 1, 1],
    [3, 0, 2],
    [5, 3, 17],
    [8, 16, 48],
    [9, 257, 31],
    [23, 512, 64],
    [131, 70, 100],
    [40, 515, 16],
    [300, 33, 81],
];

/// Returns the transpose of a matrix `[rows, columns]`.
pub(super) fn transposed(matrix: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    let of_column = |c| (0..rows).map(move |r| matrix[r * columns + c]);
    (0..columns).flat_map(of_column).collect()
}
