//! The left factor of a product, as the innermost loop reads it.

use std::ops::Range;

use super::tile::Order;

/// A matrix `[rows, depth]`.
#[derive(Clone, Copy)]
pub(super) enum Left<'a> {
    /// Row-major, which is read as it lies.
    Rows { matrix: &'a [f32], shape: [usize; 2] },
    /// Its transpose, `[depth, rows]`, row-major, which is rearranged a block at a time.
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

    pub(super) fn count(self) -> usize {
        match self {
            Self::Rows { shape: [rows, _], .. } | Self::Columns { shape: [_, rows], .. } => rows,
        }
    }

    pub(super) fn depth(self) -> usize {
        match self {
            Self::Rows { shape: [_, depth], .. } | Self::Columns { shape: [depth, _], .. } => depth,
        }
    }

    /// The terms `terms` of `rows`, rearranged in `block` into tiles of `tile` rows if they do not lie in rows. What is
    /// returned is valid as long as the matrix and the block.
    pub(super) fn block(
        self,
        rows: Range<usize>,
        terms: Range<usize>,
        tile: usize,
        block: &mut Vec<f32>,
    ) -> (*const f32, Order) {
        match self {
            Self::Rows { matrix, shape: [_, depth] } => {
                // Rows of no terms begin at the end of the matrix.
                let first = &matrix[rows.start * depth + terms.start..];
                (first.as_ptr(), Order::Rows(depth))
            }
            Self::Columns { matrix, shape: [_, width] } => {
                block.resize(rows.len().next_multiple_of(tile) * terms.len(), 0.0);
                let matrix = &matrix[terms.start * width..terms.end * width];
                match tile {
                    8 => tiles::<8>(matrix, width, rows, terms.len(), block),
                    6 => tiles::<6>(matrix, width, rows, terms.len(), block),
                    _ => unreachable!("tiles of {tile} rows"),
                }
                (block.as_ptr(), Order::Tiles)
            }
        }
    }
}

/// Terms of each tile that are written together: as many lines as they are read from stay in the first-level cache, however far
/// apart they are.
const TERMS: usize = 8;

/// Writes `[terms, rows]`, of whose rows of `width` numbers `rows` are taken, as `[tiles, terms, TILE]`. The last tile keeps what
/// it held where there is no row.
fn tiles<const TILE: usize>(
    matrix: &[f32],
    width: usize,
    rows: Range<usize>,
    terms: usize,
    block: &mut [f32],
) {
    for start in (0..terms).step_by(TERMS) {
        for (tile, block) in block.chunks_exact_mut(terms * TILE).enumerate() {
            let first = rows.start + tile * TILE;
            let count = TILE.min(rows.end - first);
            let places = block.as_chunks_mut::<TILE>().0[start..].iter_mut().take(TERMS);
            for (term, place) in places.enumerate() {
                let numbers = &matrix[(start + term) * width + first..];
                match numbers.first_chunk::<TILE>() {
                    Some(numbers) if count == TILE => *place = *numbers,
                    _ => place[..count].copy_from_slice(&numbers[..count]),
                }
            }
        }
    }
}
