//! The innermost loop: a few rows times one panel, the sums in registers.

use super::sums::{GROUP, Sums, finished};
use crate::linear::unrolled::unrolled;

/// Vectors side by side in a panel.
pub(super) const VECTORS: usize = 3;
/// Groups of inputs whose products are summed side by side where there is one row: its few sums would wait for one
/// another otherwise.
const STRANDS: usize = 4;

/// Rows of one panel.
pub(super) struct Tile<'a> {
    /// The inputs: `rows` rows of `groups` groups of inputs.
    pub x: &'a [i8],
    /// One scale per row.
    pub row_scales: &'a [f32],
    /// `[groups, vectors of the panel, lanes, GROUP]`.
    pub panel: &'a [i8],
    pub groups: usize,
    /// Where each sum starts: for the panel's vectors.
    pub starts: &'a [i32],
    /// A scale for each feature of the panel, filled up to whole vectors.
    pub scales: &'a [f32],
    /// A bias for each feature of the panel.
    pub bias: &'a [f32],
    /// The result: a row of `features` numbers for each row, `stride` apart, that no other thread reads or writes.
    pub out: *mut f32,
    pub stride: usize,
    /// The number of features: more than all vectors of the panel but one hold, and at most as many as all of them
    /// hold.
    pub features: usize,
    /// The least result: smaller ones are replaced by it.
    pub floor: f32,
}

impl Tile<'_> {
    /// # Safety
    /// The processor has the instructions of `S`, and the fields hold what they promise.
    #[inline(always)]
    pub(super) unsafe fn run<S: Sums, const ROWS: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.features.div_ceil(S::LANES) {
                1 => self.blocks::<S, ROWS, 1>(),
                2 => self.blocks::<S, ROWS, 2>(),
                _ => self.blocks::<S, ROWS, VECTORS>(),
            }
        }
    }

    /// Blocks of `ROWS` rows, then of 4 (where `ROWS` is more), 2 and 1 for what is left.
    ///
    /// # Safety
    /// That of [`run`](Self::run), for a panel of `WIDTH` vectors.
    #[inline(always)]
    unsafe fn blocks<S: Sums, const ROWS: usize, const WIDTH: usize>(&self) {
        let rows = self.row_scales.len();
        let mut row = 0;
        // SAFETY: passed on to the caller; `row` and the rows of its block exist.
        unsafe {
            while ROWS > 1 && row + ROWS <= rows {
                self.block::<S, ROWS, WIDTH>(row);
                row += ROWS;
            }
            if ROWS > 4 && row + 4 <= rows {
                self.block::<S, 4, WIDTH>(row);
                row += 4;
            }
            while ROWS > 2 && row + 2 <= rows {
                self.block::<S, 2, WIDTH>(row);
                row += 2;
            }
            while row < rows {
                self.row::<S, WIDTH>(row);
                row += 1;
            }
        }
    }

    /// # Safety
    /// That of [`blocks`](Self::blocks); rows `first..first + ROWS` exist.
    #[inline(always)]
    unsafe fn block<S: Sums, const ROWS: usize, const WIDTH: usize>(&self, first: usize) {
        let length = self.groups * GROUP;
        let x = self.x[first * length..(first + ROWS) * length].as_ptr();
        let panel = self.panel[..length * WIDTH * S::LANES].as_ptr();
        // SAFETY: `x` holds ROWS rows and `panel` `groups` times WIDTH vectors; the processor has the instructions.
        unsafe {
            let mut sums = [self.starts::<S, WIDTH>(); ROWS];
            for group in 0..self.groups {
                for (row, sums) in sums.iter_mut().enumerate() {
                    let inputs = x.add(row * length + group * GROUP);
                    for (v, sum) in sums.iter_mut().enumerate() {
                        let weights = panel.add((group * WIDTH + v) * S::LANES * GROUP);
                        *sum = sum.add_products(inputs, weights);
                    }
                }
            }
            unrolled!(row < ROWS: self.finish(first + row, sums[row]));
        }
    }

    /// # Safety
    /// That of [`blocks`](Self::blocks); the row exists.
    #[inline(always)]
    unsafe fn row<S: Sums, const WIDTH: usize>(&self, row: usize) {
        let length = self.groups * GROUP;
        let x = self.x[row * length..(row + 1) * length].as_ptr();
        let panel = self.panel[..length * WIDTH * S::LANES].as_ptr();
        // SAFETY: `x` holds the row and `panel` `groups` times WIDTH vectors; the processor has the instructions.
        unsafe {
            let mut strands = [[S::zero(); WIDTH]; STRANDS];
            strands[0] = self.starts::<S, WIDTH>();
            let whole = self.groups - self.groups % STRANDS;
            for group in (0..whole).step_by(STRANDS) {
                unrolled!(strand < STRANDS: {
                    unrolled!(v < WIDTH: {
                        let weights = panel.add(((group + strand) * WIDTH + v) * S::LANES * GROUP);
                        let inputs = x.add((group + strand) * GROUP);
                        strands[strand][v] = strands[strand][v].add_products(inputs, weights);
                    });
                });
            }
            let [mut sums, others @ ..] = strands;
            for group in whole..self.groups {
                unrolled!(v < WIDTH: {
                    let weights = panel.add((group * WIDTH + v) * S::LANES * GROUP);
                    sums[v] = sums[v].add_products(x.add(group * GROUP), weights);
                });
            }
            for other in others {
                for (sum, other) in sums.iter_mut().zip(other) {
                    *sum = sum.add(other);
                }
            }
            self.finish(row, sums);
        }
    }

    /// # Safety
    /// That of [`blocks`](Self::blocks).
    #[inline(always)]
    unsafe fn starts<S: Sums, const WIDTH: usize>(&self) -> [S; WIDTH] {
        let starts = self.starts[..WIDTH * S::LANES].as_ptr();
        // SAFETY: `starts` has a number for each lane.
        std::array::from_fn(|v| unsafe { S::load(starts.add(v * S::LANES)) })
    }

    /// Writes the results of one row.
    ///
    /// # Safety
    /// That of [`blocks`](Self::blocks); the row exists.
    #[inline(always)]
    unsafe fn finish<S: Sums, const WIDTH: usize>(&self, row: usize, sums: [S; WIDTH]) {
        let scale = self.row_scales[row];
        // SAFETY: the caller promises a place for the row; scales and bias have a number for each feature.
        unsafe {
            let out = self.out.add(row * self.stride);
            if self.features < WIDTH * S::LANES {
                return self.finish_part(sums, scale, out);
            }
            let (scales, bias) = (self.scales.as_ptr(), self.bias.as_ptr());
            unrolled!(v < WIDTH: {
                let place = v * S::LANES;
                sums[v].finish(scale, scales.add(place), bias.add(place), self.floor, out.add(place));
            });
        }
    }

    /// Writes the results of one row of a panel that is not full.
    ///
    /// # Safety
    /// `out` is the row's place.
    #[inline(never)] // its vectors lie in memory, those of full panels shall not
    unsafe fn finish_part<S: Sums, const WIDTH: usize>(
        &self,
        sums: [S; WIDTH],
        scale: f32,
        out: *mut f32,
    ) {
        // SAFETY: vectors are their numbers, side by side.
        let sums: &[i32] =
            unsafe { std::slice::from_raw_parts(sums.as_ptr().cast(), WIDTH * S::LANES) };
        for (feature, &sum) in sums.iter().enumerate().take(self.features) {
            let result =
                finished(sum, scale * self.scales[feature], self.bias[feature], self.floor);
            // SAFETY: the row has `features` numbers.
            unsafe { out.add(feature).write(result) };
        }
    }
}
