//! The innermost loop: a few rows times one panel, the sums in registers.

use super::vector::{Floats, Register};
use crate::linear::settings::Epilogue;

/// Repeats a statement for 0 up to a constant minus 1 (at most 7) without a loop, so that the array
/// elements that it uses stay in registers. (A closure would be compiled without the instructions
/// of the function around it.)
macro_rules! unrolled {
    ($i:ident < $count:ident: $body:expr) => {
        unrolled!($i < $count: $body; 0 1 2 3 4 5 6 7)
    };
    ($i:ident < $count:ident: $body:expr; $($number:literal)*) => {
        const { assert!($count <= 8) };
        $(if $number < $count {
            let $i = $number;
            $body
        })*
    };
}

/// The memory layout of a block of the left factor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// Row after row, this many words apart.
    Rows(usize),
    /// `[tiles, steps, rows of a tile]`, with [`Instructions::tile`] rows per tile.
    ///
    /// [`Instructions::tile`]: super::instructions::Instructions::tile
    Tiles,
}

/// Some rows of a left factor times some steps of a panel.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    /// The left factor: `rows` rows of `steps` words.
    pub left: *const u32,
    pub layout: Layout,
    pub rows: usize,
    pub steps: usize,
    /// The panel, `[steps, vectors]`.
    pub panel: &'a [u32],
    pub vectors: usize,
    /// If true, sums begin at 0, otherwise at the values in `out`.
    pub is_first: bool,
    /// The epilogue, if this tile ends with the last step.
    pub last: Option<OutputStage<'a>>,
    /// The result: `rows` rows of `vectors` vectors, `stride` numbers apart. No other thread reads
    /// or writes them.
    pub out: *mut u32,
    pub stride: usize,
}

/// The epilogue of complete sums.
#[derive(Clone, Copy)]
pub(super) struct OutputStage<'a> {
    /// One number for each column, or empty.
    pub bias: &'a [f32],
    pub epilogue: Epilogue,
    pub scales: Scales<'a>,
}

/// The scales of sums of integers; sums of floats have none.
#[derive(Clone, Copy, Default)]
pub(super) struct Scales<'a> {
    /// A factor for each row.
    pub rows: &'a [f32],
    /// A factor for each column, up to whole vectors.
    pub columns: &'a [f32],
    /// An integer that is added to the sums of each column, up to whole vectors.
    pub starts: &'a [i32],
}

/// One step of a sum: the product of a word of the left factor and a word of the right one.
///
/// # Safety
/// Each method is only to be called on processors with the type's instructions. `right`
/// points to at least as many words as the register has lanes, and the scales have as many numbers
/// from `column` on.
pub(super) unsafe trait Arithmetic {
    type Sums: Register;
    type Floats: Floats;
    /// The distance of the rows of a left factor in rows, if it is always the same: it makes
    /// addresses faster to compute.
    const STRIDE: Option<usize> = None;
    /// Adds the products of `left` and of each word at `right`.
    unsafe fn add_products(sums: Self::Sums, left: u32, right: *const u32) -> Self::Sums;
    /// Complete sums, of row `row` and the columns from `column` on.
    unsafe fn floats(sums: Self::Sums, scales: &Scales, row: usize, column: usize) -> Self::Floats;
}

/// The number of rows of a tile if the layout is [`Layout::Rows`].
const IN_ROWS: usize = 0;

impl Tile<'_> {
    /// Computes the rows in blocks of `ROWS`. A tile of a left factor in tiles has `TILE` rows, a
    /// panel at most `VECTORS` vectors.
    ///
    /// # Safety
    /// The processor has the instructions of `A`, and the fields are as documented.
    #[inline(always)]
    pub(super) unsafe fn run<
        A: Arithmetic,
        const ROWS: usize,
        const VECTORS: usize,
        const TILE: usize,
    >(
        &self,
    ) {
        // SAFETY: the caller keeps the conditions, and the layout decides the rows of a tile.
        unsafe {
            match self.layout {
                Layout::Rows(_) => self.vectors::<A, ROWS, VECTORS, IN_ROWS>(),
                Layout::Tiles => self.vectors::<A, ROWS, VECTORS, TILE>(),
            }
        }
    }

    /// # Safety
    /// The conditions of [`run`](Self::run); `TILE` is the number of rows of a tile of the left
    /// factor, or [`IN_ROWS`].
    #[inline(always)]
    unsafe fn vectors<A: Arithmetic, const ROWS: usize, const VECTORS: usize, const TILE: usize>(
        &self,
    ) {
        // SAFETY: the caller keeps the conditions. The panel has 1 to `VECTORS` vectors, and no
        // instruction set has more than 3, so the last arm stands for `VECTORS`.
        unsafe {
            match self.vectors {
                1 => self.blocks::<A, ROWS, TILE, 1>(),
                2 => self.blocks::<A, ROWS, TILE, 2>(),
                _ => self.blocks::<A, ROWS, TILE, VECTORS>(),
            }
        }
    }

    /// Computes blocks of `ROWS` rows, then of 4, 2 and 1 for the remaining rows.
    ///
    /// # Safety
    /// The conditions of [`vectors`](Self::vectors), for a panel of `WIDTH` vectors.
    #[inline(always)]
    unsafe fn blocks<A: Arithmetic, const ROWS: usize, const TILE: usize, const WIDTH: usize>(
        &self,
    ) {
        let mut row = 0;
        // SAFETY: the caller keeps the conditions, and each loop checks that the rows of its block
        // exist. Where the left factor is in tiles, `ROWS` divides the rows of a tile, so that no
        // block crosses the end of one.
        unsafe {
            while ROWS > 1 && row + ROWS <= self.rows {
                self.block::<A, ROWS, TILE, WIDTH>(row);
                row += ROWS;
            }
            while ROWS > 4 && row + 4 <= self.rows {
                self.block::<A, 4, TILE, WIDTH>(row);
                row += 4;
            }
            while ROWS > 2 && row + 2 <= self.rows {
                self.block::<A, 2, TILE, WIDTH>(row);
                row += 2;
            }
            while row < self.rows {
                self.block::<A, 1, TILE, WIDTH>(row);
                row += 1;
            }
        }
    }

    /// Returns the address of row `first`, and the distance of the next row.
    ///
    /// # Safety
    /// The conditions of [`vectors`](Self::vectors); the row exists.
    #[inline(always)]
    unsafe fn left<A: Arithmetic, const TILE: usize>(&self, first: usize) -> (*const u32, usize) {
        // SAFETY: the caller has this row in `left`: in rows of the stride, or in a tile of `TILE`
        // rows for each step.
        unsafe {
            match self.layout {
                Layout::Rows(stride) => {
                    debug_assert!(A::STRIDE.is_none_or(|always| always == stride));
                    let stride = A::STRIDE.unwrap_or(stride);
                    (self.left.add(first * stride), stride)
                }
                Layout::Tiles => (
                    self.left
                        .add(first / TILE * TILE * self.steps + first % TILE),
                    1,
                ),
            }
        }
    }

    /// # Safety
    /// The conditions of [`blocks`](Self::blocks); rows `first..first + ROWS` exist and are in one
    /// tile.
    #[inline(always)]
    unsafe fn block<A: Arithmetic, const ROWS: usize, const TILE: usize, const WIDTH: usize>(
        &self,
        first: usize,
    ) {
        let panel = self.panel[..self.steps * WIDTH * A::Sums::LANES].as_ptr();
        // SAFETY: the caller has the instructions, these rows in `left`, and room for them in
        // `out`. The slice above checked that the panel has `steps` times WIDTH vectors.
        unsafe {
            let (left, stride) = self.left::<A, TILE>(first);
            let mut sums = [[A::Sums::zero(); WIDTH]; ROWS];
            if !self.is_first {
                let out = self.out.add(first * self.stride);
                for (row, sums) in sums.iter_mut().enumerate() {
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = A::Sums::load(out.add(row * self.stride + v * A::Sums::LANES));
                    }
                }
            }
            for step in 0..self.steps {
                for (row, sums) in sums.iter_mut().enumerate() {
                    let left = match TILE {
                        IN_ROWS => *left.add(row * stride + step),
                        _ => *left.add(step * TILE + row),
                    };
                    for (v, sum) in sums.iter_mut().enumerate() {
                        let right = panel.add((step * WIDTH + v) * A::Sums::LANES);
                        *sum = A::add_products(*sum, left, right);
                    }
                }
            }
            unrolled!(row < ROWS: self.finish::<A, WIDTH>(first + row, sums[row]));
        }
    }

    /// Writes the sums of one row, after the last step with bias and epilogue.
    ///
    /// # Safety
    /// The conditions of [`blocks`](Self::blocks); the row exists.
    #[inline(always)]
    unsafe fn finish<A: Arithmetic, const WIDTH: usize>(&self, row: usize, sums: [A::Sums; WIDTH]) {
        // SAFETY: the caller has the instructions and this row of WIDTH vectors in `out`. `part`
        // and `run` of the product gave the scales and the bias, if any, whole vectors.
        unsafe {
            let out = self.out.add(row * self.stride);
            unrolled!(v < WIDTH: {
                let column = v * A::Sums::LANES;
                match &self.last {
                    None => sums[v].store(out.add(column)),
                    Some(last) => {
                        let mut floats = A::floats(sums[v], &last.scales, row, column);
                        if !last.bias.is_empty() {
                            floats = floats.add(A::Floats::load(last.bias.as_ptr().add(column).cast()));
                        }
                        if last.epilogue == Epilogue::Relu {
                            floats = floats.or_zero();
                        }
                        floats.store(out.add(column));
                    }
                }
            });
        }
    }
}
