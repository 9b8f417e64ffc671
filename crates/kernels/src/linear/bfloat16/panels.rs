//! The right factor of a product, rounded and rearranged for it.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::line::{DEPTH, LANES, Line, PAIRS};
use super::round::{interleaved, neighbours};

/// Columns that are rearranged together.
const SEGMENT: usize = 8 * LANES;

/// A matrix `[depth, columns]` as `[blocks of DEPTH terms, groups of LANES columns, pairs of terms, LANES, 2]`, filled up with
/// 0 to whole pairs and groups.
pub(super) struct Panels {
    lines: Vec<Line>,
    depth: usize,
    columns: usize,
}

impl Panels {
    /// Of a matrix `[depth, columns]`, row-major.
    pub(super) fn of_columns(matrix: &[f32], [depth, columns]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), depth * columns, "a matrix {depth}x{columns}");
        Self::filled([depth, columns], |block, lines| {
            let rows = &matrix[block * DEPTH * columns..];
            let rows = &rows[..rows.len().min(DEPTH * columns)];
            interleave(rows, columns, 0..columns, lines);
        })
    }

    /// Of the transpose of a matrix `[columns, depth]`, row-major.
    pub(super) fn of_rows(matrix: &[f32], [columns, depth]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), depth * columns, "a matrix {columns}x{depth}");
        Self::filled([depth, columns], |block, lines| {
            let terms = block * DEPTH..((block + 1) * DEPTH).min(depth);
            let pairs = terms.len().div_ceil(2);
            let groups = lines.par_chunks_mut(pairs).zip(matrix.par_chunks(LANES * depth));
            groups.for_each(|(lines, rows)| {
                let mut rounded = [[0; PAIRS]; LANES];
                for (row, rounded) in rows.chunks_exact(depth).zip(&mut rounded) {
                    neighbours(&row[terms.clone()], &mut rounded[..pairs]);
                }
                for (pair, line) in lines.iter_mut().enumerate() {
                    line.write(Line(std::array::from_fn(|lane| rounded[lane][pair])));
                }
            });
        })
    }

    /// Panels of which `fill` writes every line of every block.
    fn filled(
        [depth, columns]: [usize; 2],
        fill: impl Fn(usize, &mut [MaybeUninit<Line>]) + Sync,
    ) -> Self {
        let groups = columns.div_ceil(LANES);
        let count = depth.div_ceil(2) * groups;
        let mut lines = Vec::with_capacity(count);
        let blocks = lines.spare_capacity_mut()[..count].par_chunks_mut((PAIRS * groups).max(1));
        blocks.enumerate().for_each(|(block, lines)| fill(block, lines));
        // SAFETY: `fill` wrote every line of every block, since the matrix has numbers for all of them.
        unsafe { lines.set_len(count) };
        Self { lines, depth, columns }
    }

    /// Terms of a sum.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// The lines of a block of terms, `[groups, pairs]`.
    pub(super) fn block(&self, block: usize) -> &[Line] {
        let length = PAIRS * self.columns.div_ceil(LANES);
        let lines = &self.lines[block * length..];
        &lines[..lines.len().min(length)]
    }
}

/// Writes the pairs of neighbouring rows of `rows`, each of `width` numbers of which `columns` are taken, as `[groups, pairs]`.
pub(super) fn interleave(
    rows: &[f32],
    width: usize,
    columns: std::ops::Range<usize>,
    lines: &mut [MaybeUninit<Line>],
) {
    let pairs = (rows.len() / width).div_ceil(2);
    let zeros = vec![0.0; columns.len().min(SEGMENT)];
    // Every pair writes to as many lines far apart as a segment has groups: no more than the cache holds at such places.
    for start in columns.clone().step_by(SEGMENT) {
        let segment = start..(start + SEGMENT).min(columns.end);
        let lines = &mut lines[(start - columns.start) / LANES * pairs..];
        for (pair, two) in rows.chunks(2 * width).enumerate() {
            let low = &two[segment.clone()];
            let high = two[width..].get(segment.clone()).unwrap_or(&zeros[..low.len()]);
            interleaved(low, high, pairs, &mut lines[pair..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that nobody wrote would be read.
    #[test]
    #[should_panic(expected = "a matrix 40x6")]
    fn rows_that_are_missing_are_noticed() {
        Panels::of_rows(&[0.0; 32 * 6], [40, 6]);
    }

    #[test]
    #[should_panic(expected = "a matrix 6x40")]
    fn terms_that_are_missing_are_noticed() {
        Panels::of_columns(&[0.0; 4 * 40], [6, 40]);
    }
}
