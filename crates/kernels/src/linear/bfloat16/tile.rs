//! The innermost loop: eight rows times up to three vectors of columns, the sums in registers.

use super::line::{LANES, Line, PAIRS};
use super::sums::Sums;
use crate::linear::epilogue::Epilogue;

/// Rows of a tile.
const ROWS: usize = 8;
/// Vectors of a tile at most.
const VECTORS: usize = 3;

/// How the pairs of a left block lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `[rows, PAIRS]`.
    Rows,
    /// `[groups of LANES rows, pairs, LANES]`.
    Columns,
}

/// A block of rows times a block of terms of all columns.
pub(super) struct Task<'a> {
    /// A pair for each of `rows` rows, up to whole tiles, and `pairs` pairs.
    pub left: *const u32,
    pub order: Order,
    pub rows: usize,
    pub pairs: usize,
    /// `[groups of LANES columns, pairs]`.
    pub right: &'a [Line],
    /// Whether sums begin at 0, or at what `out` holds.
    pub is_first: bool,
    /// What follows the last block of terms.
    pub last: Option<Last<'a>>,
    /// `rows` rows of `columns` numbers that nobody else reads or writes.
    pub out: *mut f32,
    pub columns: usize,
}

/// The use of complete sums.
#[derive(Clone, Copy)]
pub(super) struct Last<'a> {
    /// A number for each column, filled up to whole vectors, or none.
    pub bias: &'a [f32],
    pub epilogue: Epilogue,
}

impl Task<'_> {
    /// # Safety
    /// The processor has the instructions of `S`, and the fields hold what they promise.
    #[inline(always)]
    pub(super) unsafe fn run<S: Sums>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.order {
                Order::Rows => self.panels::<S, PAIRS, 1>(),
                Order::Columns => self.panels::<S, 1, LANES>(),
            }
        }
    }

    /// Columns in threes of vectors, the last four in twos.
    ///
    /// # Safety
    /// That of [`run`](Self::run); a row lies `ROW` numbers after the one before, a pair `PAIR`.
    #[inline(always)]
    unsafe fn panels<S: Sums, const ROW: usize, const PAIR: usize>(&self) {
        let groups = self.columns.div_ceil(LANES);
        let mut group = 0;
        // SAFETY: passed on to the caller.
        unsafe {
            while group < groups {
                group += match groups - group {
                    1 => self.rows::<S, 1, ROW, PAIR>(group),
                    2 | 4 => self.rows::<S, 2, ROW, PAIR>(group),
                    _ => self.rows::<S, VECTORS, ROW, PAIR>(group),
                };
            }
        }
    }

    /// `WIDTH` vectors of columns from `group` on, of every row; gives `WIDTH`.
    ///
    /// # Safety
    /// That of [`panels`](Self::panels); the groups exist.
    #[inline(always)]
    unsafe fn rows<S: Sums, const WIDTH: usize, const ROW: usize, const PAIR: usize>(
        &self,
        group: usize,
    ) -> usize {
        let column = group * LANES;
        let whole = column + WIDTH * LANES <= self.columns;
        for row in (0..self.rows).step_by(ROWS) {
            // SAFETY: rows up to whole tiles exist, and in `out` those up to `rows`.
            unsafe {
                let left = match ROW {
                    1 => self.left.add(row / LANES * self.pairs * LANES + row % LANES),
                    _ => self.left.add(row * ROW),
                };
                let out = self.out.add(row * self.columns + column);
                if whole && row + ROWS <= self.rows {
                    self.tile::<S, WIDTH, ROW, PAIR>(left, group, out, self.columns);
                } else {
                    let rows = (self.rows - row).min(ROWS);
                    self.edge::<S, WIDTH, ROW, PAIR>(left, group, out, rows);
                }
            }
        }
        WIDTH
    }

    /// A tile that is not whole in `out`.
    ///
    /// # Safety
    /// That of [`rows`](Self::rows); `out` is the place of the first number.
    #[inline(always)]
    unsafe fn edge<S: Sums, const WIDTH: usize, const ROW: usize, const PAIR: usize>(
        &self,
        left: *const u32,
        group: usize,
        out: *mut f32,
        rows: usize,
    ) {
        let columns = (self.columns - group * LANES).min(WIDTH * LANES);
        let mut whole = [0.0; ROWS * VECTORS * LANES];
        let stride = WIDTH * LANES;
        // SAFETY: the numbers that are copied are in `out`, and `whole` has place for a tile.
        unsafe {
            for row in (0..rows).filter(|_| !self.is_first) {
                let from = out.add(row * self.columns);
                from.copy_to_nonoverlapping(whole.as_mut_ptr().add(row * stride), columns);
            }
            self.tile::<S, WIDTH, ROW, PAIR>(left, group, whole.as_mut_ptr(), stride);
            for row in 0..rows {
                let to = out.add(row * self.columns);
                to.copy_from_nonoverlapping(whole.as_ptr().add(row * stride), columns);
            }
        }
    }

    /// # Safety
    /// That of [`rows`](Self::rows); `out` is the place of a whole tile, its rows `stride` apart.
    #[inline(always)]
    unsafe fn tile<S: Sums, const WIDTH: usize, const ROW: usize, const PAIR: usize>(
        &self,
        left: *const u32,
        group: usize,
        out: *mut f32,
        stride: usize,
    ) {
        let right = self.right[group * self.pairs..(group + WIDTH) * self.pairs].as_ptr();
        // SAFETY: `left` holds `pairs` pairs of ROWS rows, `right` `pairs` lines for each vector.
        unsafe {
            let mut sums = [[S::zero(); WIDTH]; ROWS];
            if !self.is_first {
                for (row, sums) in sums.iter_mut().enumerate() {
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = S::load(out.add(row * stride + v * LANES));
                    }
                }
            }
            for pair in 0..self.pairs {
                let lines: [S::Line; WIDTH] =
                    std::array::from_fn(|v| S::load_line(right.add(v * self.pairs + pair)));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let left = *left.add(row * ROW + pair * PAIR);
                    for (sum, line) in sums.iter_mut().zip(lines) {
                        *sum = sum.add_products(left, line);
                    }
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                self.finish(sums, group, out.add(row * stride));
            }
        }
    }

    /// Writes the sums of one row.
    ///
    /// # Safety
    /// That of [`tile`](Self::tile); `out` is the row's place.
    #[inline(always)]
    unsafe fn finish<S: Sums, const WIDTH: usize>(
        &self,
        sums: [S; WIDTH],
        group: usize,
        out: *mut f32,
    ) {
        for (v, mut sum) in sums.into_iter().enumerate() {
            // SAFETY: the row has WIDTH vectors, and so has a bias from the group's place on.
            unsafe {
                if let Some(last) = &self.last {
                    if !last.bias.is_empty() {
                        sum = sum.add(S::load(last.bias.as_ptr().add((group + v) * LANES)));
                    }
                    if last.epilogue == Epilogue::Relu {
                        sum = sum.or_zero();
                    }
                }
                sum.store(out.add(v * LANES));
            }
        }
    }
}
