//! The right factor of a product, rearranged for it.

use std::mem::MaybeUninit;
use std::ops::Range;

use burn::tensor::Bytes;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::instructions::Instructions;

/// Largest number of panels that are written together.
const MAX_GROUP: usize = 8;
/// The number of steps of each column that are rearranged together.
const STEPS: usize = 16;
/// The number of words of a [`Line`].
pub(super) const LINE: usize = 16;

/// A cache line. Vectors at its beginning are read fastest.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line([u32; LINE]);

/// A word that may not be written yet.
pub(super) type Slot = MaybeUninit<u32>;

/// A matrix as panels of a few vectors of columns. Each panel is `[steps, columns]`: the columns of
/// one step are adjacent. The last panel has as few vectors as it needs and is filled up with 0.
///
/// A step is a word of 32 bits: one float32, two bfloat16 or four 8-bit integers. The products of a
/// word are added to a sum together.
#[derive(Debug)]
pub(in crate::linear) struct Panels {
    pub(super) instructions: Instructions,
    storage: Storage,
    pub(super) columns: usize,
    pub(super) steps: usize,
}

/// The memory that holds the words of panels.
#[derive(Debug)]
enum Storage {
    Own(Vec<Line>),
    /// The memory of the weight, rearranged in place, and the last panel if its columns do not fill
    /// whole vectors.
    OfWeight {
        bytes: Bytes,
        last: Vec<Line>,
    },
}

impl Panels {
    /// Allocates panels `[columns, steps]`. `write` receives the columns of a panel and writes all
    /// its words.
    pub(super) fn by_columns(
        instructions: Instructions,
        shape @ [_, steps]: [usize; 2],
        write: impl Fn(Range<usize>, &mut [Slot]) + Sync,
    ) -> Self {
        Self::written(instructions, shape, |columns, panels| {
            for (columns, panel) in each(instructions, columns, panels, steps) {
                write(columns, panel);
            }
        })
    }

    /// Allocates panels `[columns, steps]`. `write` receives some steps and the columns of a panel,
    /// and writes the words of these steps.
    pub(super) fn by_steps(
        instructions: Instructions,
        shape @ [_, steps]: [usize; 2],
        write: impl Fn(Range<usize>, Range<usize>, &mut [Slot]) + Sync,
    ) -> Self {
        Self::written(instructions, shape, |columns, panels| {
            for start in (0..steps).step_by(STEPS) {
                let part = start..(start + STEPS).min(steps);
                for (columns, panel) in each(instructions, columns.clone(), panels, steps) {
                    let width = panel.len() / steps;
                    write(
                        part.clone(),
                        columns,
                        &mut panel[start * width..part.end * width],
                    );
                }
            }
        })
    }

    /// Allocates panels. `write` receives the columns of a few panels and writes these panels.
    fn written(
        instructions: Instructions,
        [columns, steps]: [usize; 2],
        write: impl Fn(Range<usize>, &mut [Slot]) + Sync,
    ) -> Self {
        let panels = columns.div_ceil(instructions.panel());
        let group = (panels / (4 * rayon::current_num_threads())).clamp(1, MAX_GROUP);
        let width = group * instructions.panel();
        let count = columns.next_multiple_of(instructions.lanes) * steps;
        let mut lines: Vec<Line> = Vec::with_capacity(count.div_ceil(LINE));
        let slots = lines.spare_capacity_mut();
        // SAFETY: a line is LINE words without gaps, so the spare memory of the lines is that many
        // slots. It is borrowed from `lines` alone, and a slot may be unwritten.
        let words = unsafe {
            std::slice::from_raw_parts_mut(slots.as_mut_ptr().cast(), slots.len() * LINE)
        };
        words[count..].fill(Slot::new(0));
        words[..count]
            .par_chunks_mut((width * steps).max(1))
            .enumerate()
            .for_each(|(group, panels)| {
                let columns = group * width..((group + 1) * width).min(columns);
                if columns.len() * steps < panels.len() {
                    panels.fill(Slot::new(0));
                }
                write(columns, panels);
            });
        // SAFETY: the capacity is this many lines. `fill` wrote the words from `count` on and the
        // words of panels with spare columns; every caller's `write` writes all words of its
        // columns.
        unsafe { lines.set_len(count.div_ceil(LINE)) };
        Self {
            instructions,
            storage: Storage::Own(lines),
            columns,
            steps,
        }
    }

    /// Rearranges rows of words, `[columns, steps]`, in their own memory. Returns them unchanged if
    /// there are none, or if they are not aligned to words.
    pub(super) fn in_place(
        instructions: Instructions,
        mut weight: Bytes,
        [columns, steps]: [usize; 2],
    ) -> Result<Self, Bytes> {
        assert_eq!(
            weight.len(),
            columns * steps * size_of::<u32>(),
            "a weight {columns}x{steps}"
        );
        if weight.is_empty() || bytemuck::try_cast_slice::<u8, u32>(&weight).is_err() {
            return Err(weight);
        }
        let words = bytemuck::cast_slice_mut::<u8, u32>(&mut weight);
        let width = instructions.panel();
        let is_whole = columns.is_multiple_of(instructions.lanes);
        let inside = if is_whole {
            columns
        } else {
            columns / width * width
        };
        let (panels, rest) = words.split_at_mut(inside * steps);
        panels
            .par_chunks_mut(width * steps)
            .for_each_init(Vec::new, |rows, panel| {
                rows.clear();
                rows.extend_from_slice(panel);
                transpose(slots(panel), rows, steps);
            });
        let count = (columns - inside).next_multiple_of(instructions.lanes) * steps;
        let mut last = vec![Line::zeroed(); count.div_ceil(LINE)];
        let panel = bytemuck::cast_slice_mut::<Line, u32>(&mut last);
        transpose(slots(&mut panel[..count]), rest, steps);
        Ok(Self {
            instructions,
            storage: Storage::OfWeight {
                bytes: weight,
                last,
            },
            columns,
            steps,
        })
    }

    /// Rows of words, `[columns, steps]`. The caller's thread writes them alone.
    pub(in crate::linear) fn rows(&self) -> Vec<u32> {
        let mut all = vec![0; self.columns * self.steps];
        let rows = self.instructions.panel() * self.steps.max(1);
        all.chunks_mut(rows).enumerate().for_each(|(panel, rows)| {
            let first = panel * self.instructions.panel();
            for (column, row) in (first..).zip(rows.chunks_exact_mut(self.steps)) {
                for (slot, word) in row.iter_mut().zip(self.row(column)) {
                    *slot = word;
                }
            }
        });
        all
    }

    /// Returns the words of one column, in the order of the steps.
    pub(in crate::linear) fn row(&self, column: usize) -> impl Iterator<Item = u32> {
        let width = self.instructions.panel();
        let words = self.words(column / width, 0..self.steps);
        let step = words.len() / self.steps.max(1);
        words
            .iter()
            .copied()
            .skip(column % width)
            .step_by(step.max(1))
    }

    /// Returns the number of panels.
    pub(super) fn count(&self) -> usize {
        self.columns.div_ceil(self.instructions.panel())
    }

    /// Returns the range of columns in `panel`; the last one may have fewer than the others.
    pub(super) fn columns_of(&self, panel: usize) -> Range<usize> {
        let first = panel * self.instructions.panel();
        first..(first + self.instructions.panel()).min(self.columns)
    }

    /// Some steps of a panel.
    pub(super) fn words(&self, panel: usize, steps: Range<usize>) -> &[u32] {
        let columns = self.columns_of(panel).len();
        let width = columns.next_multiple_of(self.instructions.lanes);
        let start = panel * self.instructions.panel() * self.steps;
        let words: &[u32] = match &self.storage {
            Storage::Own(lines) => &bytemuck::cast_slice(lines)[start..],
            Storage::OfWeight { last, .. } if columns < width => bytemuck::cast_slice(last),
            Storage::OfWeight { bytes, .. } => &bytemuck::cast_slice(bytes)[start..],
        };
        &words[steps.start * width..steps.end * width]
    }
}

/// Returns the panels in `words`, which begin with `columns`, each with its columns.
fn each(
    instructions: Instructions,
    columns: Range<usize>,
    words: &mut [Slot],
    steps: usize,
) -> impl Iterator<Item = (Range<usize>, &mut [Slot])> {
    let width = instructions.panel();
    let panels = words.chunks_mut((width * steps).max(1));
    columns
        .clone()
        .step_by(width)
        .map(move |first| first..(first + width).min(columns.end))
        .zip(panels)
}

/// Writes a panel, `[steps, width]`, from at most `width` rows of words, `[columns, steps]`.
pub(super) fn transpose(panel: &mut [Slot], rows: &[u32], steps: usize) {
    let width = panel.len() / steps.max(1);
    // A few steps of every column at a time: their words stay in the first-level cache.
    for (part, panel) in panel.chunks_mut((STEPS * width).max(1)).enumerate() {
        for (column, row) in rows.chunks_exact(steps).enumerate() {
            let words = row[part * STEPS..].iter().take(STEPS);
            let slots = panel[column..].iter_mut().step_by(width);
            for (&word, slot) in words.zip(slots) {
                slot.write(word);
            }
        }
    }
}

/// Words as slots that can be written.
pub(super) fn slots(words: &mut [u32]) -> &mut [Slot] {
    // SAFETY: a slot has the size and alignment of a word, and the words are borrowed exclusively.
    // They stay written, because callers only write words into slots.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}
