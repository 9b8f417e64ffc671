//! The right factor of a product, rearranged for it, and the products of decoding with a weight that was rearranged once. A
//! call does not rearrange the weight again, and the bias and the epilogue are applied when the result is written.

use std::ops::Range;

use burn::tensor::Bytes;
use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::instructions::Instructions;
use super::tile::{Last, Order, Tile};
use crate::linear::epilogue::Epilogue;
use crate::linear::filled::filled;

/// The number of elements of `x` that are worked on while they stay in the second-level cache.
const BLOCK: usize = 64 * 1024;
/// A product with fewer multiplications than this stays on one thread. A larger one takes a few microseconds, which is
/// more than it costs to give a share to a thread of the pool that is awake.
const PARALLEL: usize = 1 << 16;
/// The number of panels that are written together.
const TOGETHER: usize = 8;
/// The number of terms of each feature that are rearranged together.
const TERMS: usize = 16;
/// The number of elements of a [`Line`].
const LINE: usize = 16;

/// A cache line: vectors that start at the beginning of one are read fastest.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

// SAFETY: a line is its numbers, without gaps, and zeros are numbers.
unsafe impl Zeroable for Line {}
// SAFETY: a line is its numbers, without gaps, and any bits are a number.
unsafe impl Pod for Line {}

/// A weight `[output, input]` as panels of a few vectors of output features. Each panel is `[input, features]`, so that
/// the features of one input are adjacent. The last panel has as few vectors as it needs and is filled up with 0.
#[derive(Debug)]
pub(in crate::linear) struct Panels {
    instructions: Instructions,
    memory: Memory,
    input: usize,
    output: usize,
}

/// Where the numbers of panels are.
#[derive(Debug)]
enum Memory {
    Own(Vec<Line>),
    /// That of the weight which they were.
    OfWeight(Bytes),
}

impl Panels {
    /// Rearranges `weight`, `[output, input]` in row-major order. Returns `None` if the processor has none of the
    /// instruction sets for which the products are written.
    pub(in crate::linear) fn of_rows(weight: &[f32], shape: [usize; 2]) -> Option<Self> {
        Instructions::available().next().map(|best| Self::rows_with(best, weight, shape))
    }

    /// Rearranges the transpose of a weight, `[input, output]` in row-major order. Returns `None` as
    /// [`of_rows`](Self::of_rows) does.
    pub(super) fn of_columns(matrix: &[f32], shape: [usize; 2]) -> Option<Self> {
        Instructions::available().next().map(|best| Self::columns_with(best, matrix, shape))
    }

    pub(super) fn rows_with(
        instructions: Instructions,
        weight: &[f32],
        [output, input]: [usize; 2],
    ) -> Self {
        assert_eq!(weight.len(), output * input, "a weight {output}x{input}");
        Self::filled(instructions, [output, input], |features, panels| {
            let most = instructions.panel();
            let weights = weight[features.start * input..features.end * input].chunks(most * input);
            for (panel, weight) in panels.chunks_mut(most * input).zip(weights) {
                write_panel(panel, weight, input);
            }
        })
    }

    /// Rearranges a weight, `[output, input]` in row-major order, in its own memory. Returns it unchanged if the processor has
    /// none of the instruction sets for which the products are written, or if the last panel would have to be filled up.
    pub(in crate::linear) fn in_place(weight: Bytes, shape: [usize; 2]) -> Result<Self, Bytes> {
        match Instructions::available().next() {
            Some(best) => Self::in_place_with(best, weight, shape),
            None => Err(weight),
        }
    }

    fn in_place_with(
        instructions: Instructions,
        mut weight: Bytes,
        [output, input]: [usize; 2],
    ) -> Result<Self, Bytes> {
        assert_eq!(weight.len(), output * input * size_of::<f32>(), "a weight {output}x{input}");
        if weight.is_empty() || !output.is_multiple_of(instructions.lanes()) {
            return Err(weight);
        }
        let panels = bytemuck::cast_slice_mut(&mut weight);
        panels.par_chunks_mut(instructions.panel() * input).for_each_init(
            Vec::new,
            |rows, panel| {
                rows.clear();
                rows.extend_from_slice(panel);
                write_panel(panel, rows, input);
            },
        );
        Ok(Self { instructions, memory: Memory::OfWeight(weight), input, output })
    }

    /// The weight, `[output, input]` in row-major order. The caller's thread writes it alone.
    pub(in crate::linear) fn weight(&self) -> Vec<f32> {
        let mut weight = vec![0.0; self.output * self.input];
        let rows = self.instructions.panel() * self.input.max(1);
        weight.chunks_mut(rows).enumerate().for_each(|(panel, rows)| {
            let terms = self.terms(panel, 0..self.input);
            let width = terms.len() / self.input;
            for (feature, row) in rows.chunks_exact_mut(self.input).enumerate() {
                for (place, &number) in row.iter_mut().zip(terms[feature..].iter().step_by(width)) {
                    *place = number;
                }
            }
        });
        weight
    }

    pub(super) fn columns_with(
        instructions: Instructions,
        matrix: &[f32],
        [input, output]: [usize; 2],
    ) -> Self {
        assert_eq!(matrix.len(), output * input, "a matrix {input}x{output}");
        let (most, lanes) = (instructions.panel(), instructions.lanes());
        Self::filled(instructions, [output, input], |features, panels| {
            for (term, row) in matrix.chunks_exact(output).enumerate() {
                for (panel, numbers) in row[features.clone()].chunks(most).enumerate() {
                    let width = numbers.len().next_multiple_of(lanes);
                    let start = panel * most * input + term * width;
                    panels[start..start + numbers.len()].copy_from_slice(numbers);
                }
            }
        })
    }

    /// Panels of which `fill` writes a few at a time, given their features; what it leaves is 0.
    fn filled(
        instructions: Instructions,
        [output, input]: [usize; 2],
        fill: impl Fn(Range<usize>, &mut [f32]) + Sync,
    ) -> Self {
        let count = output.next_multiple_of(instructions.lanes()) * input;
        let mut lines = filled(Line::zeroed(), count.div_ceil(LINE));
        let width = TOGETHER * instructions.panel();
        let numbers: &mut [f32] = bytemuck::cast_slice_mut(&mut lines);
        let groups = numbers[..count].par_chunks_mut((width * input).max(1));
        groups.enumerate().for_each(|(group, panels)| {
            fill(group * width..((group + 1) * width).min(output), panels);
        });
        Self { instructions, memory: Memory::Own(lines), input, output }
    }

    fn numbers(&self) -> &[f32] {
        match &self.memory {
            Memory::Own(lines) => bytemuck::cast_slice(lines),
            Memory::OfWeight(bytes) => bytemuck::cast_slice(bytes),
        }
    }

    pub(super) fn instructions(&self) -> Instructions {
        self.instructions
    }

    /// The number of input features, which are the terms of a sum.
    pub(super) fn input(&self) -> usize {
        self.input
    }

    /// The number of output features.
    pub(in crate::linear) fn output(&self) -> usize {
        self.output
    }

    /// The number of panels.
    pub(super) fn count(&self) -> usize {
        self.output.div_ceil(self.instructions.panel())
    }

    /// The output features of a panel.
    pub(super) fn features(&self, panel: usize) -> Range<usize> {
        let first = panel * self.instructions.panel();
        first..(first + self.instructions.panel()).min(self.output)
    }

    /// Some terms of a panel.
    pub(super) fn terms(&self, panel: usize, terms: Range<usize>) -> &[f32] {
        let width = self.features(panel).len().next_multiple_of(self.instructions.lanes());
        let start = panel * self.instructions.panel() * self.input;
        &self.numbers()[start + terms.start * width..start + terms.end * width]
    }

    /// `epilogue(x·weightᵀ + bias)` for `x` `[rows, input]`. `bias` is `[output]` or empty.
    ///
    /// Each element is one sum in the order of the inputs, so that it depends on its row alone.
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
        let mut out = Vec::with_capacity(rows * output);
        let target = Target { out: out.as_mut_ptr(), rows, epilogue };
        let panels = self.count();
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
        let tile = self.instructions.rows();
        let block = (BLOCK / self.input.max(1)).next_multiple_of(tile).max(tile);
        for start in (0..target.rows).step_by(block) {
            let end = (start + block).min(target.rows);
            for panel in panels.clone() {
                let features = self.features(panel);
                let bias = if bias.is_empty() { bias } else { &bias[features.clone()] };
                let tile = Tile {
                    left: x[start * self.input..end * self.input].as_ptr(),
                    order: Order::Rows(self.input),
                    rows: end - start,
                    terms: self.input,
                    panel: self.terms(panel, 0..self.input),
                    is_first: true,
                    last: Some(Last { bias, epilogue: target.epilogue }),
                    // SAFETY: start < rows and the feature < output, so the place lies in the allocation.
                    out: unsafe { target.out.add(start * self.output + features.start) },
                    stride: self.output,
                    features: features.len(),
                };
                // SAFETY: the instructions are there (`available` said so); the rows of `out` lie inside the
                // allocation and no other thread touches these features of them.
                unsafe { self.instructions.run(&tile) };
            }
        }
    }
}

/// Writes a panel, `[input, width]`, from the rows `weight`, of which there are at most `width`.
fn write_panel(panel: &mut [f32], weight: &[f32], input: usize) {
    let width = panel.len() / input;
    // A few terms of every feature at a time: what they are written to stays in the first-level cache.
    for (step, panel) in panel.chunks_mut(TERMS * width).enumerate() {
        for (feature, weight) in weight.chunks_exact(input).enumerate() {
            let terms = weight[step * TERMS..].iter().take(TERMS);
            let places = panel[feature..].iter_mut().step_by(width);
            for (&number, place) in terms.zip(places) {
                *place = number;
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
                let panels = Panels::rows_with(instructions, &weight, [output, input]);
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

    #[test]
    fn panels_in_place_are_those_beside_the_weight_and_become_it_again() {
        for instructions in Instructions::available() {
            for [input, output] in [[5, 16], [33, 32], [16, 48], [70, 112]] {
                let numbers = crate::random::RandomKey::new(1).normal(input * output);
                let weight = Bytes::from_elems(numbers.clone());
                let beside = Panels::rows_with(instructions, &numbers, [output, input]);
                let inside = Panels::in_place_with(instructions, weight, [output, input])
                    .unwrap_or_else(|_| panic!("{instructions:?} {input} {output}"));
                let count = input * output;
                assert_eq!(inside.numbers()[..count], beside.numbers()[..count]);
                assert_eq!(inside.weight(), numbers);
                assert_eq!(beside.weight(), numbers);
            }
        }
    }

    #[test]
    fn a_weight_whose_panels_are_larger_stays_as_it_is() {
        for instructions in Instructions::available() {
            let numbers: Vec<f32> = (0..33 * 16).map(|it| it as f32).collect();
            let weight = Bytes::from_elems(numbers.clone());
            let weight = Panels::in_place_with(instructions, weight, [33, 16]).unwrap_err();
            assert_eq!(bytemuck::cast_slice::<_, f32>(&weight), numbers);
            let panels = Panels::rows_with(instructions, &numbers, [33, 16]);
            assert_eq!(panels.weight(), numbers);
        }
    }

    /// In a full panel and in one that is not.
    #[test]
    fn relu_keeps_the_sign_of_a_product_too_small_for_a_number() {
        for instructions in Instructions::available() {
            for output in [16, 17] {
                let panels = Panels::rows_with(instructions, &vec![1e-30; output], [output, 1]);
                let actual = panels.forward(&[-1e-30], &[], Epilogue::Relu);
                assert_eq!(bits(actual), bits(vec![-0.0; output]), "{instructions:?} {output}");
            }
        }
    }

    fn bits(numbers: impl IntoIterator<Item = f32>) -> Vec<u32> {
        numbers.into_iter().map(f32::to_bits).collect()
    }
}
