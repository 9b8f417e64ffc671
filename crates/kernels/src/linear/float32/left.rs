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
                let of_term = terms.clone().map(|term| &matrix[term * width..][rows.clone()]);
                match tile {
                    8 => tiles::<8>(of_term, terms.len(), block),
                    4 => tiles::<4>(of_term, terms.len(), block),
                    _ => unreachable!("tiles of {tile} rows"),
                }
                (block.as_ptr(), Order::Tiles)
            }
        }
    }
}

/// Writes `[terms, rows]` as `[tiles, terms, TILE]`. The last tile keeps what it held where there is no row.
fn tiles<'a, const TILE: usize>(
    of_term: impl Iterator<Item = &'a [f32]>,
    terms: usize,
    block: &mut [f32],
) {
    for (term, numbers) in of_term.enumerate() {
        let (whole, rest) = numbers.as_chunks::<TILE>();
        let mut places = block[term * TILE..].chunks_mut(terms * TILE);
        for (numbers, place) in whole.iter().zip(&mut places) {
            place[..TILE].copy_from_slice(numbers);
        }
        if let Some(place) = places.next() {
            place[..rest.len()].copy_from_slice(rest);
        }
    }
}
