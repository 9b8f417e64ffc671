//! The left factor of a product, as the innermost loop reads it.

use std::ops::Range;

use super::tile::Order;
use crate::linear::left::Left;

/// The terms `terms` of `rows` of a left factor, rearranged in `block` into tiles of `tile` rows if they do not lie in rows. What is
/// returned is valid as long as the matrix and the block.
pub(super) fn block(
    left: Left,
    rows: Range<usize>,
    terms: Range<usize>,
    tile: usize,
    block: &mut Vec<f32>,
) -> (*const f32, Order) {
    match left {
        Left::Rows { matrix, shape: [_, depth] } => {
            // Rows of no terms begin at the end of the matrix.
            let first = &matrix[rows.start * depth + terms.start..];
            (first.as_ptr(), Order::Rows(depth))
        }
        Left::Columns { matrix, shape: [_, width] } => {
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
