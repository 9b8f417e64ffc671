//! Whole products: blocks of rows times panels, in parallel.

use std::ops::Range;

use rayon::prelude::*;

use super::instructions::Instructions;
use super::panels::{Line, Panels};
use super::tile::{Layout, OutputStage, Scales, Tile};
use crate::linear::settings::Epilogue;
use crate::silu::silu_row;

/// Largest number of rows in a block of a whole product.
const MAX_BLOCK_ROWS: usize = 128;
/// Smallest number of blocks of rows in a whole product, if there are enough rows.
const MIN_BLOCKS: usize = 8;
/// The number of words of a left factor that are multiplied by one panel after the other, while
/// they stay in the second-level cache.
const BLOCK_WORDS: usize = 64 * 1024;
/// Smallest number of steps of a whole product that several threads share. A larger product takes
/// more than a few microseconds.
const MIN_PARALLEL_ROWS: usize = 1 << 18;
/// Smallest number of steps of a product of few rows that several threads share. A larger product
/// takes a few microseconds, more than handing a share to an idle thread of the pool.
const MIN_PARALLEL_PANELS: usize = 1 << 16;

/// The left factor of a product.
pub(super) trait LeftFactor: Sync {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns the number of words of a row.
    fn steps(&self) -> usize;

    /// Some steps of some rows in the order of the innermost loop, written to `buffer` if they
    /// are not adjacent. The address is valid as long as the factor and the buffer.
    fn block(
        &self,
        instructions: Instructions,
        rows: Range<usize>,
        steps: Range<usize>,
        buffer: &mut Vec<Line>,
    ) -> (*const u32, Layout);
}

/// `epilogue(left·right + bias)`, `[rows, columns]` row-major.
pub(super) struct Product<'a, L> {
    left: L,
    right: &'a Panels,
    /// The epilogue for all rows and columns.
    last: OutputStage<'a>,
    /// If true, the product is added to the numbers that are in the result.
    is_added: bool,
}

/// The result that is being written. The threads write disjoint rows or columns of it.
#[derive(Clone, Copy)]
struct Output(*mut u32);

// SAFETY: `write_by_rows` gives each thread rows of its own, and `by_panels` columns of its own, so
// no two threads read or write the same number through the pointer.
unsafe impl Sync for Output {}

impl<'a, L: LeftFactor> Product<'a, L> {
    /// # Panics
    /// Panics if the factors do not have equally many steps.
    pub(super) fn new(left: L, right: &'a Panels, last: OutputStage<'a>) -> Self {
        assert_eq!(left.steps(), right.steps, "the terms of both factors");
        Self {
            left,
            right,
            last,
            is_added: false,
        }
    }

    /// The product by threads that share the rows, which suits many rows. `depth` steps of all
    /// panels are added before the next ones: they stay in the first-level cache, or stream from
    /// the second-level one.
    pub(super) fn by_rows(&self, depth: usize) -> Vec<f32> {
        self.written(|out| self.write_by_rows(depth, out))
    }

    /// Adds the product to `out`, `[rows, columns]`, by threads that share the rows. The products
    /// of two parts of the terms, one added to the other, have the bits of one product if the first
    /// part is a multiple of `depth` steps.
    pub(super) fn add_by_rows(self, depth: usize, out: &mut [f32]) {
        let [rows, columns] = [self.left.rows(), self.right.columns];
        assert_eq!(out.len(), rows * columns, "a product {rows}x{columns}");
        let added = Self {
            is_added: true,
            ..self
        };
        added.write_by_rows(depth, &Output(out.as_mut_ptr().cast()));
    }

    fn write_by_rows(&self, depth: usize, out: &Output) {
        let rows = self.left.rows();
        let panels = self.right.count();
        let tile = self.right.instructions.tile;
        let chunk = (rows / MIN_BLOCKS)
            .next_multiple_of(tile)
            .clamp(tile, MAX_BLOCK_ROWS / tile * tile);
        let work = rows * self.right.columns * self.right.steps;
        if work < MIN_PARALLEL_ROWS {
            let mut buffer = Vec::new();
            for start in (0..rows).step_by(chunk) {
                let rows = start..(start + chunk).min(rows);
                self.block(rows, 0..panels, depth, &mut buffer, out);
            }
        } else {
            let starts = (0..rows).into_par_iter().step_by(chunk);
            starts.for_each_init(Vec::new, |buffer, start| {
                let rows = start..(start + chunk).min(rows);
                self.block(rows, 0..panels, depth, buffer, out);
            });
        }
    }

    /// The product by threads that share the panels, which suits few rows.
    pub(super) fn by_panels(&self) -> Vec<f32> {
        self.written(|out| {
            let panels = self.right.count();
            let work = self.left.rows() * self.right.columns * self.right.steps;
            let threads = rayon::current_num_threads();
            if threads == 1 || work < MIN_PARALLEL_PANELS {
                self.all_rows(0..panels, out);
            } else {
                let share = panels.div_ceil(4 * threads).max(1);
                let shares = (0..panels).into_par_iter().step_by(share);
                shares.for_each(|first| self.all_rows(first..(first + share).min(panels), out));
            }
        })
    }

    /// Writes `panels` of all rows, a block of rows after the other.
    fn all_rows(&self, panels: Range<usize>, out: &Output) {
        let rows = self.left.rows();
        let steps = self.right.steps.max(1);
        let tile = self.right.instructions.tile;
        let block = (BLOCK_WORDS / steps).next_multiple_of(tile).max(tile);
        for start in (0..rows).step_by(block) {
            let rows = start..(start + block).min(rows);
            self.block(rows, panels.clone(), steps, &mut Vec::new(), out);
        }
    }

    /// The result. `write` computes all its blocks.
    fn written(&self, write: impl FnOnce(&Output)) -> Vec<f32> {
        let rows = self.left.rows();
        let columns = self.right.columns;
        let bias = self.last.bias.len();
        assert!(bias == 0 || bias == columns, "bias of {columns} columns");
        let mut out: Vec<f32> = Vec::with_capacity(rows * columns);
        write(&Output(out.as_mut_ptr().cast()));
        // SAFETY: the capacity is that many numbers. The callers' blocks are all rows and panels,
        // and `block` writes each of its numbers, also for factors without steps.
        unsafe { out.set_len(rows * columns) };
        out
    }

    /// Writes `panels` of `rows`, `depth` steps at a time.
    fn block(
        &self,
        rows: Range<usize>,
        panels: Range<usize>,
        depth: usize,
        buffer: &mut Vec<Line>,
        out: &Output,
    ) {
        let instructions = self.right.instructions;
        let columns = self.right.columns;
        // A product of depth 0 writes its zeros too.
        for index in 0..self.right.steps.div_ceil(depth).max(1) {
            let steps = index * depth..((index + 1) * depth).min(self.right.steps);
            let (left, layout) = self
                .left
                .block(instructions, rows.clone(), steps.clone(), buffer);
            for panel in panels.clone() {
                let panel_columns = self.right.columns_of(panel);
                let tile = Tile {
                    left,
                    layout,
                    rows: rows.len(),
                    steps: steps.len(),
                    panel: self.right.words(panel, steps.clone()),
                    vectors: panel_columns.len().div_ceil(instructions.lanes),
                    is_first: index == 0 && !self.is_added,
                    last: (steps.end == self.right.steps)
                        .then(|| self.last.part(&rows, &panel_columns)),
                    // SAFETY: the row and the column exist in `out`, which has room for
                    // `[rows, columns]`.
                    out: unsafe { out.0.add(rows.start * columns + panel_columns.start) },
                    stride: columns,
                };
                // SAFETY: `available` found the instructions of the panels; `left` is the block of
                // these rows and steps, which `buffer` or the factor keeps, `written` checked the
                // length of the bias, and no other thread has these rows and columns of `out`.
                unsafe { run(instructions, &tile, panel_columns.len()) };
            }
        }
        if self.last.epilogue == Epilogue::Silu {
            self.silu(rows, panels, out);
        }
    }

    /// Applies SiLU to the complete sums of `panels` of `rows`, which are still in the caches.
    fn silu(&self, rows: Range<usize>, panels: Range<usize>, out: &Output) {
        if panels.is_empty() {
            return;
        }
        let first = self.right.columns_of(panels.start).start;
        let end = self.right.columns_of(panels.end - 1).end;
        for row in rows {
            // SAFETY: the columns of the panels are inside the row, `block` wrote their numbers,
            // and no other thread has these rows and columns of `out`.
            let row = unsafe {
                let start = out.0.add(row * self.right.columns + first);
                std::slice::from_raw_parts_mut(start.cast(), end - first)
            };
            silu_row(row);
        }
    }
}

impl<'a> OutputStage<'a> {
    /// Returns the epilogue of sums of floats, for a bias of all columns or an empty one.
    pub(super) fn of_floats(bias: &'a [f32], epilogue: Epilogue) -> Self {
        Self {
            bias,
            epilogue,
            scales: Scales::default(),
        }
    }

    /// Returns the epilogue for some rows and columns.
    fn part(&self, rows: &Range<usize>, columns: &Range<usize>) -> Self {
        let Self {
            bias,
            epilogue,
            scales,
        } = *self;
        let scales = match scales.rows {
            [] => scales,
            _ => Scales {
                rows: &scales.rows[rows.clone()],
                columns: &scales.columns[columns.start..],
                starts: &scales.starts[columns.start..],
            },
        };
        let bias = if bias.is_empty() {
            bias
        } else {
            &bias[columns.clone()]
        };
        Self {
            bias,
            epilogue,
            scales,
        }
    }
}

/// Computes a tile with `columns` numbers per row in the result. If they do not fill whole vectors,
/// the tile is computed in a buffer, and the columns are copied from it.
///
/// # Safety
/// The processor has the instructions, and the fields of `tile` are as documented, except that
/// `out` and the bias need not have room for whole vectors.
unsafe fn run(instructions: Instructions, tile: &Tile, columns: usize) {
    let width = tile.vectors * instructions.lanes;
    if columns == width {
        // SAFETY: the caller keeps the conditions, and the row has room for whole vectors.
        return unsafe { (instructions.run)(tile) };
    }
    let mut beside = vec![0; tile.rows * width];
    let mut bias = Vec::new();
    let last = tile.last.map(|last| {
        bias.extend_from_slice(last.bias);
        bias.resize(last.bias.len().next_multiple_of(instructions.lanes), 0.0);
        OutputStage {
            bias: &bias,
            ..last
        }
    });
    let address: *mut u32 = beside.as_mut_ptr();
    // SAFETY: `out` has rows of `columns` numbers, and `beside` of `width`, which are more. The two
    // do not overlap, because `beside` was allocated here, where no other thread has its address.
    unsafe {
        if !tile.is_first {
            for row in 0..tile.rows {
                let out = tile.out.add(row * tile.stride);
                out.copy_to_nonoverlapping(address.add(row * width), columns);
            }
        }
        (instructions.run)(&Tile {
            out: address,
            stride: width,
            last,
            ..*tile
        });
        for row in 0..tile.rows {
            let out = tile.out.add(row * tile.stride);
            out.copy_from_nonoverlapping(address.add(row * width), columns);
        }
    }
}

/// A left factor in memory: a float32 matrix `[rows, depth]`.
#[derive(Clone, Copy)]
pub(super) struct Lhs<'a> {
    pub matrix: &'a [f32],
    pub rows: usize,
    /// The number of terms of a sum.
    pub depth: usize,
    pub major: Major,
}

/// The major dimension of a matrix in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Major {
    /// Row after row.
    Row,
    /// Column after column.
    Column,
}

impl<'a> Lhs<'a> {
    /// Returns the matrix, `[rows, depth]` row-major.
    pub(super) fn rows(matrix: &'a [f32], [rows, depth]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {rows}x{depth}");
        Self {
            matrix,
            rows,
            depth,
            major: Major::Row,
        }
    }

    /// Returns the transpose of the matrix, `[depth, rows]` row-major.
    pub(super) fn columns(matrix: &'a [f32], [depth, rows]: [usize; 2]) -> Self {
        assert_eq!(matrix.len(), rows * depth, "a matrix {depth}x{rows}");
        Self {
            matrix,
            rows,
            depth,
            major: Major::Column,
        }
    }
}
