//! The innermost loop: a few rows times one panel, the sums in registers.

use super::vector::Vector;
use crate::linear::epilogue::Epilogue;
use crate::linear::unrolled::unrolled;

/// How the numbers of a left factor lie.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Row after row, this many numbers apart.
    Rows(usize),
    /// `[tiles, terms, rows of a tile]`, with the rows of a tile that [`Instructions::rows`] says.
    ///
    /// [`Instructions::rows`]: super::instructions::Instructions::rows
    Tiles,
}

/// Some rows of a left factor times some terms of a panel.
pub(super) struct Tile<'a> {
    /// The left factor: `rows` rows of `terms` numbers.
    pub left: *const f32,
    pub order: Order,
    pub rows: usize,
    pub terms: usize,
    /// The panel, `[terms, vectors of the panel]`.
    pub panel: &'a [f32],
    /// Whether sums begin at 0, or at what `out` holds.
    pub is_first: bool,
    /// What follows the last of all terms.
    pub last: Option<Last<'a>>,
    /// The result: `rows` rows of `features` elements, `stride` apart, that no other thread reads or writes.
    pub out: *mut f32,
    pub stride: usize,
    /// The number of features. They fill all vectors of the panel except for the last, which can be filled in part.
    pub features: usize,
}

/// The use of complete sums.
#[derive(Clone, Copy)]
pub(super) struct Last<'a> {
    /// One number for each feature of the panel, or none.
    pub bias: &'a [f32],
    pub epilogue: Epilogue,
}

/// In the place of the rows of a tile: rows that lie one after the other.
const IN_ROWS: usize = 0;

impl Tile<'_> {
    /// Computes the rows in blocks of `ROWS`, which are the rows of a tile of a left factor in tiles; a panel has at most
    /// `VECTORS` vectors.
    ///
    /// # Safety
    /// The processor has the instructions of `V`, and the fields hold what they promise.
    #[inline(always)]
    pub(super) unsafe fn run<V: Vector, const ROWS: usize, const VECTORS: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.order {
                Order::Rows(_) => self.vectors::<V, ROWS, VECTORS, IN_ROWS>(),
                Order::Tiles => self.vectors::<V, ROWS, VECTORS, ROWS>(),
            }
        }
    }

    /// # Safety
    /// That of [`run`](Self::run); `TILE` is the number of rows of a tile of the left factor, or [`IN_ROWS`].
    #[inline(always)]
    unsafe fn vectors<V: Vector, const ROWS: usize, const VECTORS: usize, const TILE: usize>(
        &self,
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.features.div_ceil(V::LANES) {
                1 => self.blocks::<V, ROWS, TILE, 1>(),
                2 => self.blocks::<V, ROWS, TILE, 2>(),
                _ => self.blocks::<V, ROWS, TILE, VECTORS>(),
            }
        }
    }

    /// Computes blocks of `ROWS` rows, then of 4, 2 and 1 for the rows that remain.
    ///
    /// # Safety
    /// That of [`vectors`](Self::vectors), for a panel of `WIDTH` vectors.
    #[inline(always)]
    unsafe fn blocks<V: Vector, const ROWS: usize, const TILE: usize, const WIDTH: usize>(&self) {
        let mut row = 0;
        // SAFETY: passed on to the caller; `row` and the rows of its block exist.
        unsafe {
            while row + ROWS <= self.rows {
                self.block::<V, ROWS, TILE, WIDTH>(row);
                row += ROWS;
            }
            while row + 4 <= self.rows {
                self.block::<V, 4, TILE, WIDTH>(row);
                row += 4;
            }
            if row + 2 <= self.rows {
                self.block::<V, 2, TILE, WIDTH>(row);
                row += 2;
            }
            if row < self.rows {
                self.block::<V, 1, TILE, WIDTH>(row);
            }
        }
    }

    /// # Safety
    /// That of [`blocks`](Self::blocks); rows `first..first + ROWS` exist and are in one tile.
    #[inline(always)]
    unsafe fn block<V: Vector, const ROWS: usize, const TILE: usize, const WIDTH: usize>(
        &self,
        first: usize,
    ) {
        let panel = self.panel[..self.terms * WIDTH * V::LANES].as_ptr();
        // SAFETY: `left` holds these rows and `panel` `terms` times WIDTH vectors, `out` has place for the rows; the
        // processor has the instructions.
        unsafe {
            let (left, stride) = match self.order {
                Order::Rows(stride) => (self.left.add(first * stride), stride),
                Order::Tiles => (self.left.add(first / TILE * TILE * self.terms + first % TILE), 1),
            };
            let out = self.out.add(first * self.stride);
            let whole = self.features == WIDTH * V::LANES;
            let mut sums = [[V::splat(0.0); WIDTH]; ROWS];
            if !self.is_first {
                for (row, sums) in sums.iter_mut().enumerate() {
                    let from = out.add(row * self.stride);
                    *sums = if whole { Self::begin(from) } else { self.begin_part(from) };
                }
            }
            for i in 0..self.terms {
                let mut weights = [V::splat(0.0); WIDTH];
                for (v, weight) in weights.iter_mut().enumerate() {
                    *weight = V::load(panel.add((i * WIDTH + v) * V::LANES));
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = match TILE {
                        IN_ROWS => left.add(row * stride + i),
                        _ => left.add(i * TILE + row),
                    };
                    let x = V::splat(*x);
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum = x.multiply_add(weight, *sum);
                    }
                }
            }
            unrolled!(row < ROWS: {
                let out = out.add(row * self.stride);
                if whole { self.finish(sums[row], out) } else { self.finish_part(sums[row], out) }
            });
        }
    }

    /// The sums of one row of a full panel so far.
    ///
    /// # Safety
    /// That of [`blocks`](Self::blocks); `from` is the place of a row of a full panel.
    #[inline(always)]
    unsafe fn begin<V: Vector, const WIDTH: usize>(from: *const f32) -> [V; WIDTH] {
        // SAFETY: the row has WIDTH vectors.
        std::array::from_fn(|v| unsafe { V::load(from.add(v * V::LANES)) })
    }

    /// The sums of one row of a panel that is not full.
    ///
    /// # Safety
    /// That of [`begin`](Self::begin), except that the panel may have fewer features.
    #[inline(never)] // its vectors lie in memory, those of full panels shall not
    unsafe fn begin_part<V: Vector, const WIDTH: usize>(&self, from: *const f32) -> [V; WIDTH] {
        // SAFETY: vectors are their numbers, side by side, and the row has `features` of them.
        unsafe {
            let mut sums = [V::splat(0.0); WIDTH];
            from.copy_to_nonoverlapping(sums.as_mut_ptr().cast(), self.features);
            sums
        }
    }

    /// Writes the sums of one row of a full panel, with bias and epilogue.
    ///
    /// # Safety
    /// That of [`begin`](Self::begin) for `out`.
    #[inline(always)]
    unsafe fn finish<V: Vector, const WIDTH: usize>(&self, sums: [V; WIDTH], out: *mut f32) {
        // SAFETY: bias, if any, and row have WIDTH vectors' numbers.
        unsafe {
            unrolled!(v < WIDTH: {
                let mut sum = sums[v];
                if let Some(last) = &self.last {
                    if !last.bias.is_empty() {
                        sum = sum.add(V::load(last.bias.as_ptr().add(v * V::LANES)));
                    }
                    if last.epilogue == Epilogue::Relu {
                        sum = sum.or_zero();
                    }
                }
                sum.store(out.add(v * V::LANES));
            });
        }
    }

    /// Writes the sums of one row of a panel that is not full.
    ///
    /// # Safety
    /// That of [`finish`](Self::finish), except that the panel may have fewer features.
    #[inline(never)] // its vectors lie in memory, those of full panels shall not
    unsafe fn finish_part<V: Vector, const WIDTH: usize>(&self, sums: [V; WIDTH], out: *mut f32) {
        // SAFETY: vectors are their numbers, side by side.
        let sums: &[f32] =
            unsafe { std::slice::from_raw_parts(sums.as_ptr().cast(), WIDTH * V::LANES) };
        for (feature, &sum) in sums.iter().enumerate().take(self.features) {
            let sum = match &self.last {
                None => sum,
                Some(Last { bias, epilogue }) => {
                    let sum = bias.get(feature).map_or(sum, |bias| sum + bias);
                    if *epilogue == Epilogue::Relu && sum < 0.0 { 0.0 } else { sum }
                }
            };
            // SAFETY: the row has `features` numbers.
            unsafe { out.add(feature).write(sum) };
        }
    }
}
