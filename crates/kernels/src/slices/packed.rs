//! Products with a weight that was rearranged once: no packing at each call, bias and activation
//! written with the result.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use rayon::prelude::*;

use super::linear::Activation;

/// Numbers of one vector register.
const LANE: usize = 16;
/// Vectors side by side in a panel.
const VECTORS: usize = 3;
/// Output features of a panel.
const PANEL: usize = LANE * VECTORS;
/// Rows of a tile: with three vectors each, 24 of the 32 registers hold sums.
const ROWS: usize = 8;
/// Numbers of `x` that are worked on while they stay in the second cache.
const BLOCK: usize = 64 * 1024;
/// Multiplications below which a product stays on one thread.
const PARALLEL: usize = 1 << 20;

/// One aligned vector.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Lane([f32; LANE]);

/// A weight `[output, input]` as panels of [`PANEL`] output features, each `[input, PANEL]` with the
/// features of one input side by side; the last panel has as few vectors as it needs, filled with 0.
#[derive(Debug)]
pub(crate) struct Panels {
    lanes: Vec<Lane>,
    input: usize,
    output: usize,
}

/// Whether this processor has the instructions that the tiles are written in.
pub(crate) fn supported() -> bool {
    #[cfg(target_arch = "x86_64")]
    return crate::vector::has_avx512();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

impl Panels {
    /// Rearranges `weight`, `[output, input]` row-major.
    pub(crate) fn new(weight: &[f32], [output, input]: [usize; 2]) -> Self {
        assert_eq!(weight.len(), output * input, "a weight {output}x{input}");
        let mut lanes = vec![Lane([0.0; LANE]); output.div_ceil(LANE) * input];
        for first in (0..output).step_by(PANEL) {
            let features = PANEL.min(output - first);
            let vectors = features.div_ceil(LANE);
            let panel = &mut lanes[first / LANE * input..][..vectors * input];
            for feature in 0..features {
                let row = &weight[(first + feature) * input..][..input];
                let lanes = panel.iter_mut().skip(feature / LANE).step_by(vectors);
                lanes.zip(row).for_each(|(lane, &w)| lane.0[feature % LANE] = w);
            }
        }
        Self { lanes, input, output }
    }

    /// Output features.
    pub(crate) fn output(&self) -> usize {
        self.output
    }

    /// `activation(x·weightᵀ + bias)` for `x` `[rows, input]`; `bias` `[output]` or empty.
    ///
    /// Each number is one sum in the order of the inputs, so that it depends on its row alone.
    pub(crate) fn forward(&self, x: &[f32], bias: &[f32], activation: Activation) -> Vec<f32> {
        assert!(supported(), "packed products need AVX-512");
        let (input, output) = (self.input, self.output);
        let rows = x.len().checked_div(input).unwrap_or(0);
        assert_eq!(rows * input, x.len(), "rows of {input} inputs");
        assert!(bias.is_empty() || bias.len() == output, "bias of {output} outputs");
        let mut out = Vec::with_capacity(rows * output);
        let target = Target { out: out.as_mut_ptr(), rows, relu: activation == Activation::Relu };
        let panels = output.div_ceil(PANEL);
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

    /// Writes the columns of `panels` of every row.
    fn fill(&self, x: &[f32], bias: &[f32], target: &Target, panels: std::ops::Range<usize>) {
        let block = (BLOCK / self.input.max(1)).next_multiple_of(ROWS).max(ROWS);
        for start in (0..target.rows).step_by(block) {
            let end = (start + block).min(target.rows);
            for panel in panels.clone() {
                self.fill_panel(x, bias, target, panel, start..end);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn fill_panel(
        &self,
        x: &[f32],
        bias: &[f32],
        target: &Target,
        panel: usize,
        rows: std::ops::Range<usize>,
    ) {
        let first = panel * PANEL;
        let features = PANEL.min(self.output - first);
        let vectors = features.div_ceil(LANE);
        let lanes = &self.lanes[first / LANE * self.input..][..vectors * self.input];
        let mut row = rows.start;
        while row < rows.end {
            let count = tile_rows(rows.end - row);
            let tile = Tile {
                x: x[row * self.input..(row + count) * self.input].as_ptr(),
                lanes: lanes.as_ptr().cast(),
                input: self.input,
                bias: if bias.is_empty() { &[] } else { &bias[first..first + features] },
                // SAFETY: row < rows and first < output, so the place lies in the allocation.
                out: unsafe { target.out.add(row * self.output + first) },
                stride: self.output,
                features,
                relu: target.relu,
            };
            // SAFETY: AVX-512 is there (`forward` asserts it); `x` holds `count` rows of `input`
            // numbers, `lanes` input·vectors vectors; the tile's numbers of `out` lie inside the
            // allocation and no other thread writes them, since panels do not overlap.
            unsafe {
                match vectors {
                    1 => tile.run::<1>(count),
                    2 => tile.run::<2>(count),
                    _ => tile.run::<3>(count),
                }
            }
            row += count;
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn fill_panel(&self, _: &[f32], _: &[f32], _: &Target, _: usize, _: std::ops::Range<usize>) {
        unreachable!("`forward` asserts that the processor is supported");
    }
}

/// Rows of the next tile: 8, then 4, 2, 1 for what is left.
fn tile_rows(left: usize) -> usize {
    if left >= ROWS { ROWS } else { 1 << left.ilog2() }
}

/// Where the result goes; threads write disjoint columns of it.
struct Target {
    out: *mut f32,
    rows: usize,
    relu: bool,
}

// SAFETY: threads only write through the pointer, each to the columns of its own panels.
unsafe impl Sync for Target {}

/// Some rows of one panel.
#[cfg(target_arch = "x86_64")]
struct Tile<'a> {
    x: *const f32,
    lanes: *const f32,
    input: usize,
    bias: &'a [f32],
    out: *mut f32,
    stride: usize,
    features: usize,
    relu: bool,
}

#[cfg(target_arch = "x86_64")]
impl Tile<'_> {
    /// # Safety
    /// As [`tile`](Self::tile), for `rows` rows, one of 1, 2, 4, 8.
    #[target_feature(enable = "avx512f")]
    unsafe fn run<const VECTORS: usize>(&self, rows: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            match rows {
                1 => self.tile::<1, VECTORS>(),
                2 => self.tile::<2, VECTORS>(),
                4 => self.tile::<4, VECTORS>(),
                _ => self.tile::<ROWS, VECTORS>(),
            }
        }
    }

    /// # Safety
    /// The processor has AVX-512F. `x` points to `ROWS` rows of `input` numbers, `lanes` to
    /// `input·VECTORS` aligned vectors, `out` to `ROWS` rows, `stride` apart, of `features` numbers
    /// that may be written; `features` lies above 16·(VECTORS − 1) and is at most 16·VECTORS.
    #[target_feature(enable = "avx512f")]
    unsafe fn tile<const ROWS: usize, const VECTORS: usize>(&self) {
        let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
        for i in 0..self.input {
            let mut weights = [_mm512_setzero_ps(); VECTORS];
            for (v, weight) in weights.iter_mut().enumerate() {
                // SAFETY: vector i·VECTORS + v exists and is aligned.
                *weight = unsafe { _mm512_load_ps(self.lanes.add((i * VECTORS + v) * LANE)) };
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                // SAFETY: row < ROWS and i < input.
                let x = _mm512_set1_ps(unsafe { *self.x.add(row * self.input + i) });
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_fmadd_ps(x, weight, *sum);
                }
            }
        }
        for (row, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                // SAFETY: vector v of this row starts before `features` and the mask ends it there.
                unsafe { self.write(sum, row * self.stride, v * LANE) };
            }
        }
    }

    /// Finishes `sum` and writes it at feature `first` of the row at `row` of `out`.
    ///
    /// # Safety
    /// As [`tile`](Self::tile); the features from `first` on, at most 16, are inside the row.
    #[target_feature(enable = "avx512f")]
    unsafe fn write(&self, mut sum: __m512, row: usize, first: usize) {
        let count = LANE.min(self.features - first);
        let mask = (u16::MAX >> (LANE - count)) as __mmask16;
        if !self.bias.is_empty() {
            // SAFETY: the mask reads as many numbers as the bias has from `first` on.
            let bias = unsafe { _mm512_maskz_loadu_ps(mask, self.bias[first..].as_ptr()) };
            sum = _mm512_add_ps(sum, bias);
        }
        if self.relu {
            // The second operand is given where one is NaN.
            sum = _mm512_max_ps(_mm512_setzero_ps(), sum);
        }
        // SAFETY: the caller's promise.
        unsafe { _mm512_mask_storeu_ps(self.out.add(row + first), mask, sum) };
    }
}
