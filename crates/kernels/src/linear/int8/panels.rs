//! A weight in 8 bits, rearranged for products with few rows.

use std::mem::take;
use std::ops::Range;

use rayon::prelude::*;

use super::instructions::Instructions;
use super::sums::GROUP;
use super::tile::{Tile, VECTORS};
use crate::linear::epilogue::Epilogue;
use crate::linear::filled::filled;
use crate::linear::quantize::{quantize, quantize_rows};

/// The number of bytes of `x` that are worked on while they stay in the second-level cache.
const BLOCK: usize = 128 * 1024;
/// The number of rows of a block is a multiple of this.
const ROWS: usize = 8;
/// A product with fewer multiplications than this stays on one thread. A larger one takes a few microseconds.
const PARALLEL: usize = 1 << 18;
/// The number of bytes of a [`Line`].
const LINE: usize = 64;

/// A cache line: vectors that start at the beginning of one are read fastest.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([i8; LINE]);

/// A weight `[output, input]` as panels of a few vectors of output features; each panel is `[groups of inputs, features,
/// inputs of a group]`, filled up with 0 to whole groups and whole vectors.
#[derive(Debug)]
pub(in crate::linear) struct Panels {
    instructions: Instructions,
    lines: Vec<Line>,
    /// The number at which the sum of each feature starts. The offset of the inputs adds the negative of it to the sum.
    starts: Vec<i32>,
    /// The scale of each feature.
    scales: Vec<f32>,
    /// The bias of a product without one.
    zeros: Vec<f32>,
    input: usize,
    output: usize,
}

impl Panels {
    /// Quantises and rearranges `weight`, `[output, input]` row-major.
    pub(in crate::linear) fn new(weight: &[f32], shape: [usize; 2]) -> Self {
        let best = Instructions::available().next().expect("the portable set is always there");
        Self::with(best, weight, shape)
    }

    fn with(instructions: Instructions, weight: &[f32], [output, input]: [usize; 2]) -> Self {
        assert_eq!(weight.len(), output * input, "a weight {output}x{input}");
        let padded = output.next_multiple_of(instructions.lanes());
        let groups = input.div_ceil(GROUP);
        let count = (padded * groups * GROUP).div_ceil(LINE);
        let lines = filled(Line([0; LINE]), count);
        let mut panels = Self {
            instructions,
            lines,
            starts: vec![0; padded],
            scales: vec![0.0; padded],
            zeros: vec![0.0; output],
            input,
            output,
        };
        panels.pack(weight);
        panels
    }

    /// Writes the numbers, starts and scales of every panel.
    fn pack(&mut self, weight: &[f32]) {
        if weight.is_empty() {
            return;
        }
        let (input, row, instructions) = (self.input, self.row(), self.instructions);
        let width = self.width();
        let (mut starts, mut scales) = (take(&mut self.starts), take(&mut self.scales));
        let panels = self.numbers_mut().par_chunks_mut(width * row);
        let panels = panels.zip(starts.par_chunks_mut(width)).zip(scales.par_chunks_mut(width));
        panels.zip(weight.par_chunks(width * input)).for_each(
            |(((panel, starts), scales), weight)| {
                let quantized = quantize_rows(weight, input);
                let columns = quantized.scales.len().next_multiple_of(instructions.lanes());
                scales[..quantized.scales.len()].copy_from_slice(&quantized.scales);
                for (column, values) in quantized.values.chunks_exact(input).enumerate() {
                    let sum: i32 = values.iter().map(|&w| i32::from(w)).sum();
                    starts[column] = -instructions.offset() * sum;
                    let groups = panel.chunks_exact_mut(GROUP * columns);
                    for (group, values) in groups.zip(values.chunks(GROUP)) {
                        group[column * GROUP..][..values.len()].copy_from_slice(values);
                    }
                }
            },
        );
        (self.starts, self.scales) = (starts, scales);
    }

    fn numbers(&self) -> &[i8] {
        // SAFETY: a line is its numbers and nothing else.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LINE) }
    }

    fn numbers_mut(&mut self) -> &mut [i8] {
        let count = self.lines.len() * LINE;
        // SAFETY: a line is its numbers and nothing else, and any numbers make a line.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), count) }
    }

    /// The number of output features in a full panel.
    fn width(&self) -> usize {
        VECTORS * self.instructions.lanes()
    }

    fn count(&self) -> usize {
        self.output.div_ceil(self.width())
    }

    /// The number of bytes of a quantised row of inputs.
    fn row(&self) -> usize {
        self.input.next_multiple_of(GROUP)
    }

    /// The output features of a panel.
    fn features(&self, panel: usize) -> Range<usize> {
        let first = panel * self.width();
        first..(first + self.width()).min(self.output)
    }

    /// The index at which the elements of a panel start.
    fn start(&self, panel: usize) -> usize {
        panel * self.width() * self.row()
    }

    /// `epilogue(x·weightᵀ + bias)` for `x` `[rows, input]`, which is quantised row by row. `bias` is `[output]` or
    /// empty.
    pub(in crate::linear) fn forward(
        &self,
        x: &[f32],
        bias: &[f32],
        epilogue: Epilogue,
    ) -> Vec<f32> {
        let (input, output) = (self.input, self.output);
        let rows = x.len().checked_div(input).unwrap_or(0);
        assert_eq!(rows * input, x.len(), "rows of {input} inputs");
        assert!(bias.is_empty() || bias.len() == output, "bias of {output} outputs");
        let (x, row_scales) = self.quantized(x);
        let mut out = Vec::with_capacity(rows * output);
        let product = Product {
            x: &x,
            row_scales: &row_scales,
            bias: if bias.is_empty() { &self.zeros } else { bias },
            out: out.as_mut_ptr(),
            floor: match epilogue {
                Epilogue::None => f32::NEG_INFINITY,
                Epilogue::Relu => 0.0,
            },
        };
        let panels = self.count();
        let threads = rayon::current_num_threads();
        if threads == 1 || rows * input * output < PARALLEL {
            self.fill(&product, 0..panels);
        } else {
            let share = panels.div_ceil(4 * threads).max(1);
            (0..panels).into_par_iter().step_by(share).for_each(|first| {
                self.fill(&product, first..(first + share).min(panels));
            });
        }
        // SAFETY: every panel was filled, which writes each of the rows·output numbers.
        unsafe { out.set_len(rows * output) };
        out
    }

    /// The rows of `x` in 8 bits, with the offset that the instructions need, and their scales.
    fn quantized(&self, x: &[f32]) -> (Vec<i8>, Vec<f32>) {
        let rows = x.len().checked_div(self.input).unwrap_or(0);
        let mut values = vec![0; rows * self.row()];
        let each =
            x.chunks_exact(self.input.max(1)).zip(values.chunks_exact_mut(self.row().max(1)));
        let scales = each.map(|(x, values)| quantize(x, &mut values[..self.input])).collect();
        if self.instructions.offset() != 0 {
            // Adding 128 without a carry flips the highest bit.
            values.iter_mut().for_each(|value| *value ^= i8::MIN);
        }
        (values, scales)
    }

    /// Writes the columns of `panels` of every row.
    fn fill(&self, product: &Product, panels: Range<usize>) {
        let numbers = self.numbers();
        let rows = product.row_scales.len();
        let block = (BLOCK / self.row().max(1)).next_multiple_of(ROWS).max(ROWS);
        for start in (0..rows).step_by(block) {
            let end = (start + block).min(rows);
            for panel in panels.clone() {
                let features = self.features(panel);
                let tile = Tile {
                    x: &product.x[start * self.row()..end * self.row()],
                    row_scales: &product.row_scales[start..end],
                    panel: &numbers[self.start(panel)..],
                    groups: self.row() / GROUP,
                    starts: &self.starts[features.start..],
                    scales: &self.scales[features.start..],
                    bias: &product.bias[features.clone()],
                    // SAFETY: start < rows and the feature < output, so the place lies in the allocation.
                    out: unsafe { product.out.add(start * self.output + features.start) },
                    stride: self.output,
                    features: features.len(),
                    floor: product.floor,
                };
                // SAFETY: the instructions are there (`available` said so); the rows of `out` lie inside the
                // allocation and no other thread touches these features of them.
                unsafe { self.instructions.run(&tile) };
            }
        }
    }
}

/// A product that is being computed. The threads write disjoint columns of the result.
struct Product<'a> {
    x: &'a [i8],
    row_scales: &'a [f32],
    bias: &'a [f32],
    out: *mut f32,
    floor: f32,
}

// SAFETY: threads only write through the pointer, each to the columns of its own panels.
unsafe impl Sync for Product<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64, count: usize) -> Vec<f32> {
        crate::random::RandomKey::new(seed).normal(count)
    }

    /// The product of the quantised numbers, summed in 64 bits.
    fn expected(x: &[f32], weight: &[f32], bias: &[f32], input: usize, relu: bool) -> Vec<f32> {
        let (x, weight) = (quantize_rows(x, input), quantize_rows(weight, input));
        let rows = x.values.chunks_exact(input).zip(&x.scales);
        let one = |(row, row_scale): (&[i8], &f32)| -> Vec<f32> {
            let features = weight.values.chunks_exact(input).zip(&weight.scales).enumerate();
            let feature = |(i, (feature, scale)): (usize, (&[i8], &f32))| {
                let products = row.iter().zip(feature).map(|(&x, &w)| i64::from(x) * i64::from(w));
                let y = products.sum::<i64>() as i32 as f32 * (row_scale * scale);
                let y = y + bias.get(i).copied().unwrap_or(0.0);
                if relu && y < 0.0 { 0.0 } else { y }
            };
            features.map(feature).collect()
        };
        rows.flat_map(one).collect()
    }

    fn bits(numbers: Vec<f32>) -> Vec<u32> {
        numbers.into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_exact_integer_products() {
        for instructions in Instructions::available() {
            for [rows, input, output] in [
                [1, 5, 3],
                [1, 64, 100],
                [3, 16, 24],
                [7, 33, 25],
                [13, 70, 100],
                [40, 9, 48],
                [9, 4096, 17],
            ] {
                for relu in [false, true] {
                    let (x, weight, bias) =
                        (random(1, rows * input), random(2, output * input), random(3, output));
                    let panels = Panels::with(instructions, &weight, [output, input]);
                    let epilogue = if relu { Epilogue::Relu } else { Epilogue::None };
                    let context = format!("{instructions:?} {rows}x{input}x{output}");
                    let actual = panels.forward(&x, &bias, epilogue);
                    assert_eq!(
                        bits(actual),
                        bits(expected(&x, &weight, &bias, input, relu)),
                        "{context}"
                    );
                    let actual = panels.forward(&x, &[], epilogue);
                    assert_eq!(
                        bits(actual),
                        bits(expected(&x, &weight, &[], input, relu)),
                        "{context}"
                    );
                }
            }
        }
    }

    /// The largest products of either sign, where sums in 16 bits would saturate.
    #[test]
    fn extreme_numbers_do_not_saturate() {
        for instructions in Instructions::available() {
            for (x, w) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                let (input, output) = (1000, 20);
                let panels = Panels::with(instructions, &vec![w; input * output], [output, input]);
                let actual = panels.forward(&vec![x; 3 * input], &[], Epilogue::None);
                let scale = (1.0f32 / 127.0) * (1.0 / 127.0);
                let expected = (127 * 127 * input as i32) as f32 * scale * x * w;
                assert!(
                    actual.iter().all(|&y| y == expected),
                    "{instructions:?} {expected} {actual:?}"
                );
            }
        }
    }

    #[test]
    fn a_row_with_nan_gives_nan_and_leaves_the_others_alone() {
        for instructions in Instructions::available() {
            let (mut x, weight) = (random(1, 3 * 10), random(2, 5 * 10));
            let panels = Panels::with(instructions, &weight, [5, 10]);
            let before = panels.forward(&x, &[], Epilogue::None);
            x[13] = f32::NAN;
            let after = panels.forward(&x, &[], Epilogue::Relu);
            assert!(after[5..10].iter().all(|y| y.is_nan()), "{instructions:?}");
            assert_eq!(panels.forward(&x, &[], Epilogue::None)[10..], before[10..]);
        }
    }
}
