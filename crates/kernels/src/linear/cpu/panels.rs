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
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line([u32; LINE]);

// SAFETY: a line is its words, without gaps, and zeros are words.
unsafe impl Zeroable for Line {}
// SAFETY: a line is its words, without gaps, and any bits are a word.
unsafe impl Pod for Line {}

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
    memory: Memory,
    pub(super) columns: usize,
    pub(super) steps: usize,
}

/// The memory that holds the words of panels.
#[derive(Debug)]
enum Memory {
    Own(Vec<Line>),
    /// The memory of the weight, rearranged in place.
    OfWeight(Bytes),
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
        let memory = lines.spare_capacity_mut();
        // SAFETY: a line is LINE words.
        let words = unsafe {
            std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), memory.len() * LINE)
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
        // SAFETY: `write` wrote every word that was not filled.
        unsafe { lines.set_len(count.div_ceil(LINE)) };
        Self {
            instructions,
            memory: Memory::Own(lines),
            columns,
            steps,
        }
    }

    /// Rearranges rows of words, `[columns, steps]`, in their own memory. Returns them unchanged if
    /// the last panel would have to be filled up.
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
        if weight.is_empty() || !columns.is_multiple_of(instructions.lanes) {
            return Err(weight);
        }
        let panels = bytemuck::cast_slice_mut::<u8, u32>(&mut weight);
        panels
            .par_chunks_mut(instructions.panel() * steps)
            .for_each_init(Vec::new, |rows, panel| {
                rows.clear();
                rows.extend_from_slice(panel);
                transpose(slots(panel), rows, steps);
            });
        Ok(Self {
            instructions,
            memory: Memory::OfWeight(weight),
            columns,
            steps,
        })
    }

    /// Rows of words, `[columns, steps]`. The caller's thread writes them alone.
    pub(in crate::linear) fn rows(&self) -> Vec<u32> {
        let mut all = vec![0; self.columns * self.steps];
        let rows = self.instructions.panel() * self.steps.max(1);
        all.chunks_mut(rows).enumerate().for_each(|(panel, rows)| {
            let words = self.words(panel, 0..self.steps);
            let width = words.len() / self.steps;
            for (column, row) in rows.chunks_exact_mut(self.steps).enumerate() {
                for (slot, &word) in row.iter_mut().zip(words[column..].iter().step_by(width)) {
                    *slot = word;
                }
            }
        });
        all
    }

    /// The number of panels.
    pub(super) fn count(&self) -> usize {
        self.columns.div_ceil(self.instructions.panel())
    }

    /// The range of columns in `panel`; the last one may have fewer than the others.
    pub(super) fn columns_of(&self, panel: usize) -> Range<usize> {
        let first = panel * self.instructions.panel();
        first..(first + self.instructions.panel()).min(self.columns)
    }

    /// Some steps of a panel.
    pub(super) fn words(&self, panel: usize, steps: Range<usize>) -> &[u32] {
        let words: &[u32] = match &self.memory {
            Memory::Own(lines) => bytemuck::cast_slice(lines),
            Memory::OfWeight(weight) => bytemuck::cast_slice(weight),
        };
        let width = self
            .columns_of(panel)
            .len()
            .next_multiple_of(self.instructions.lanes);
        let start = panel * self.instructions.panel() * self.steps;
        &words[start + steps.start * width..start + steps.end * width]
    }
}

/// The panels in `words`, which begin with `columns`, each with its columns.
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
    // SAFETY: both are words; this module never writes an uninitialised one.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}
