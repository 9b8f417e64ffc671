//! Products with a weight that was rearranged once. A call does not rearrange the weight again, and the bias and the
//! epilogue are applied when the result is written.

use std::ops::Range;

use rayon::prelude::*;

use super::tile::{Instructions, Tile};
use crate::linear::epilogue::Epilogue;
use crate::linear::filled::filled;

/// The number of elements of `x` that are worked on while they stay in the second-level cache.
const BLOCK: usize = 64 * 1024;
/// The number of rows of a block is a multiple of this.
const ROWS: usize = 8;
/// A product with fewer multiplications than this stays on one thread. A larger one takes a few microseconds, which is
/// more than it costs to give a share to a thread of the pool that is awake.
const PARALLEL: usize = 1 << 16;
/// The number of elements of a [`Line`].
const LINE: usize = 16;

/// A cache line: vectors that start at the beginning of one are read fastest.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// A weight `[output, input]` as panels of a few vectors of output features. Each panel is `[input, features]`, so that
/// the features of one input are adjacent. The last panel has as few vectors as it needs and is filled up with 0.
#[derive(Debug)]
pub(super) struct Panels {
    instructions: Instructions,
    lines: Vec<Line>,
    input: usize,
    output: usize,
}

impl Panels {
    /// Rearranges `weight`, `[output, input]` in row-major order. Returns `None` if the processor has none of the
    /// instruction sets for which the products are written.
    pub(super) fn new(weight: &[f32], shape: [usize; 2]) -> Option<Self> {
        Instructions::available().next().map(|best| Self::with(best, weight, shape))
    }

    fn with(instructions: Instructions, weight: &[f32], [output, input]: [usize; 2]) -> Self {
        assert_eq!(weight.len(), output * input, "a weight {output}x{input}");
        let lanes = instructions.lanes();
        let count = (output.next_multiple_of(lanes) * input).div_ceil(LINE);
        let lines = filled(Line([0.0; LINE]), count);
        let mut panels = Self { instructions, lines, input, output };
        let size = (instructions.panel() * input).max(1);
        let weights = weight.par_chunks(size);
        panels.numbers_mut().par_chunks_mut(size).zip(weights).for_each(|(panel, weight)| {
            let features = weight.len() / input;
            let width = features.next_multiple_of(lanes);
            for (i, row) in panel.chunks_exact_mut(width).take(input).enumerate() {
                for (feature, number) in row[..features].iter_mut().enumerate() {
                    *number = weight[feature * input + i];
                }
            }
        });
        panels
    }

    fn numbers(&self) -> &[f32] {
        // SAFETY: a line is its numbers and nothing else.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LINE) }
    }

    fn numbers_mut(&mut self) -> &mut [f32] {
        let count = self.lines.len() * LINE;
        // SAFETY: a line is its numbers and nothing else, and any numbers make a line.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), count) }
    }

    /// The number of output features.
    pub(super) fn output(&self) -> usize {
        self.output
    }

    /// The number of output features in a panel.
    fn features(&self, panel: usize) -> Range<usize> {
        let first = panel * self.instructions.panel();
        first..(first + self.instructions.panel()).min(self.output)
    }

    /// The index at which the elements of a panel start.
    fn start(&self, panel: usize) -> usize {
        panel * self.instructions.panel() * self.input
    }

    /// `epilogue(x·weightᵀ + bias)` for `x` `[rows, input]`. `bias` is `[output]` or empty.
    ///
    /// Each element is one sum in the order of the inputs, so that it depends on its row alone.
    pub(super) fn forward(&self, x: &[f32], bias: &[f32], epilogue: Epilogue) -> Vec<f32> {
        let (input, output) = (self.input, self.output);
        let rows = x.len().checked_div(input).unwrap_or(0);
        assert_eq!(rows * input, x.len(), "rows of {input} inputs");
        assert!(bias.is_empty() || bias.len() == output, "bias of {output} outputs");
        let mut out = Vec::with_capacity(rows * output);
        let target = Target { out: out.as_mut_ptr(), rows, epilogue };
        let panels = output.div_ceil(self.instructions.panel());
        let threads = rayon::current_num_threads();
        if threads == 1 || x.len() * output < PARALLEL {
            self.fill(x, bias, &target, 0..panels);
        } else {
            let share = panels.div_ceil(4 * threads).max(1);
            (0..panels).into_par_iter().step_by(share).for_each(|first| {
                self.fill(x, bias, &target, first..(first + share).min(panels));
            });
        }
        // SAFETY: every panel was filled, which writes each of the rows·output numbers.
        unsafe { out.set_len(rows * output) };
        out
    }

    /// Writes the columns of `panels` for every row.
    fn fill(&self, x: &[f32], bias: &[f32], target: &Target, panels: Range<usize>) {
        let numbers = self.numbers();
        let block = (BLOCK / self.input.max(1)).next_multiple_of(ROWS).max(ROWS);
        for start in (0..target.rows).step_by(block) {
            let end = (start + block).min(target.rows);
            for panel in panels.clone() {
                let features = self.features(panel);
                let tile = Tile {
                    x: &x[start * self.input..end * self.input],
                    panel: &numbers[self.start(panel)..],
                    input: self.input,
                    rows: end - start,
                    bias: if bias.is_empty() { bias } else { &bias[features.clone()] },
                    // SAFETY: start < rows and the feature < output, so the place lies in the allocation.
                    out: unsafe { target.out.add(start * self.output + features.start) },
                    stride: self.output,
                    features: features.len(),
                    epilogue: target.epilogue,
                };
                // SAFETY: the instructions are there (`available` said so); the rows of `out` lie inside the
                // allocation and no other thread touches these features of them.
                unsafe { self.instructions.run(&tile) };
            }
        }
    }
}

/// Where the result is written. The threads write disjoint columns of it.
struct Target {
    out: *mut f32,
    rows: usize,
    epilogue: Epilogue,
}

// SAFETY: threads only write through the pointer, each to the columns of its own panels.
unsafe impl Sync for Target {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every instruction set gives the same bits: a product is one sum in the order of the inputs, and each step is
    /// rounded once.
    #[test]
    fn every_instruction_set_gives_the_sum_in_order() {
        for instructions in Instructions::available() {
            for [rows, input, output] in
                [[1, 5, 3], [3, 16, 24], [7, 33, 25], [13, 70, 100], [40, 9, 48]]
            {
                let random = |seed, count| crate::random::RandomKey::new(seed).normal(count);
                let (x, weight, bias) =
                    (random(1, rows * input), random(2, output * input), random(3, output));
                let panels = Panels::with(instructions, &weight, [output, input]);
                let actual = panels.forward(&x, &bias, Epilogue::Relu);
                let expected = x.chunks_exact(input).flat_map(|x| {
                    weight.chunks_exact(input).zip(&bias).map(move |(weight, bias)| {
                        let sum =
                            x.iter().zip(weight).fold(0.0, |sum: f32, (x, w)| x.mul_add(*w, sum));
                        let sum = sum + bias;
                        if sum < 0.0 { 0.0 } else { sum }
                    })
                });
                assert_eq!(
                    bits(actual),
                    bits(expected),
                    "{instructions:?} {rows}x{input}x{output}"
                );
            }
        }
    }

    /// In a full panel and in one that is not.
    #[test]
    fn relu_keeps_the_sign_of_a_product_too_small_for_a_number() {
        for instructions in Instructions::available() {
            for output in [16, 17] {
                let panels = Panels::with(instructions, &vec![1e-30; output], [output, 1]);
                let actual = panels.forward(&[-1e-30], &[], Epilogue::Relu);
                assert_eq!(bits(actual), bits(vec![-0.0; output]), "{instructions:?} {output}");
            }
        }
    }

    fn bits(numbers: impl IntoIterator<Item = f32>) -> Vec<u32> {
        numbers.into_iter().map(f32::to_bits).collect()
    }
}
