//! Products in 8-bit integers. A weight has one scale per output feature, and `x` has one scale per
//! row.
//!
//! Each row of `x` is quantised separately when the product is computed: a result depends on its
//! row alone. The sums are exact in 32 bits. So every instruction set gives the same integers, and
//! the same bits after the one conversion to float32.

mod arithmetic;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm32;

use std::ops::Range;

use burn::tensor::Bytes;
use rayon::prelude::*;

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::instructions::{Instructions, instructions};
use super::panels::{Line, Panels};
use super::product::{LeftFactor, Product};
use super::tile::{Layout, OutputStage, Scales};
use crate::linear::quantize::{QuantizedRows, quantize, quantize_weight};
use crate::linear::settings::Epilogue;
use arithmetic::arithmetic;

/// The numbers of a word.
const GROUP: usize = 4;
/// Smallest number of rows that one thread quantises.
const MIN_ROWS: usize = 64;

#[cfg(target_arch = "x86_64")]
arithmetic!(
    /// `vpdpbusd`.
    Avx512Vnni(__m512i),
    |sums, left, weights| _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(left as i32), weights)
);

#[cfg(target_arch = "x86_64")]
arithmetic!(
    /// `vpdpbusd` on 256 bits.
    AvxVnni(__m256i),
    |sums, left, weights| _mm256_dpbusd_avx_epi32(sums, _mm256_set1_epi32(left as i32), weights)
);

#[cfg(target_arch = "x86_64")]
arithmetic!(
    /// `vpmaddubsw`. It adds pairs of products in 16 bits, at most 255·127, which fits.
    Avx2(__m256i),
    |sums, left, weights| {
        let pairs = _mm256_maddubs_epi16(_mm256_set1_epi32(left as i32), weights);
        _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }
);

#[cfg(target_arch = "aarch64")]
arithmetic!(
    /// `sdot`, which has no stable function in Rust. It adds the products of four numbers in 32
    /// bits.
    NeonDot(int32x4_t),
    |sums, left, weights| {
        let mut sums = sums;
        let left = vdupq_n_u32(left);
        std::arch::asm!(
            "sdot {sums:v}.4s, {left:v}.16b, {weights:v}.16b",
            sums = inout(vreg) sums, left = in(vreg) left, weights = in(vreg) weights,
            options(pure, nomem, nostack, preserves_flags)
        );
        sums
    }
);

#[cfg(target_arch = "aarch64")]
arithmetic!(
    /// `smull`: products in 16 bits, added in pairs there (at most 2·127², which fits) and in pairs
    /// of pairs in 32.
    Neon(int32x4_t),
    |sums, left, weights| {
        let left = vreinterpretq_s8_u32(vdupq_n_u32(left));
        let weights = vreinterpretq_s8_s32(weights);
        let low = vmull_s8(vget_low_s8(left), vget_low_s8(weights));
        let high = vmull_high_s8(left, weights);
        vpadalq_s16(sums, vpaddq_s16(low, high))
    }
);

arithmetic!(
    /// Instructions that the compiler chooses.
    Portable([i32; 8]),
    |sums, left, weights| {
        let left = left.to_ne_bytes();
        std::array::from_fn(|lane| {
            let products = left.iter().zip(weights[lane].to_ne_bytes());
            sums[lane] + products.map(|(&x, w)| i32::from(x as i8) * i32::from(w as i8)).sum::<i32>()
        })
    }
);

/// Returns every set that this processor has, the fastest first.
fn available() -> impl Iterator<Item = Instructions> {
    [
        // 24 of the 32 registers hold sums.
        #[cfg(target_arch = "x86_64")]
        (crate::simd::has_avx512() && std::is_x86_feature_detected!("avx512vnni")).then_some(
            instructions!(
                "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma",
                Avx512Vnni, 8 by 3, tile: 8, offset: 128
            ),
        ),
        // 12 of the 16 registers hold sums.
        #[cfg(target_arch = "x86_64")]
        (crate::simd::has_avx2() && std::is_x86_feature_detected!("avxvnni"))
            .then_some(instructions!("avx2,fma,avxvnni", AvxVnni, 4 by 3, tile: 8, offset: 128)),
        // The products need other registers.
        #[cfg(target_arch = "x86_64")]
        crate::simd::has_avx2()
            .then_some(instructions!("avx2,fma", Avx2, 3 by 3, tile: 8, offset: 128)),
        // 24 of the 32 registers hold sums.
        #[cfg(target_arch = "aarch64")]
        std::arch::is_aarch64_feature_detected!("dotprod")
            .then_some(instructions!("neon,dotprod", NeonDot, 8 by 3, tile: 8, offset: 0)),
        #[cfg(target_arch = "aarch64")]
        Some(instructions!(Neon, 4 by 3, tile: 8, offset: 0)),
        // 8 of the 16 registers that browsers have on x86 hold sums.
        #[cfg(all(target_arch = "wasm32", feature = "relaxed-simd"))]
        wasm32::is_exact::<wasm32::RelaxedUnsigned>(128).then_some(
            instructions!("relaxed-simd", wasm32::RelaxedUnsigned, 4 by 2, tile: 8, offset: 128),
        ),
        #[cfg(all(target_arch = "wasm32", feature = "relaxed-simd"))]
        wasm32::is_exact::<wasm32::RelaxedSigned>(0).then_some(
            instructions!("relaxed-simd", wasm32::RelaxedSigned, 4 by 2, tile: 8, offset: 0),
        ),
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        Some(instructions!(wasm32::Simd128, 4 by 2, tile: 8, offset: 0)),
        Some(instructions!(Portable, 1 by 3, tile: 8, offset: 0)),
    ]
    .into_iter()
    .flatten()
}

fn best() -> Instructions {
    let mut sets = available();
    sets.next().expect("the portable set is always there")
}

/// A weight `[output, input]` in 8 bits, rearranged for products with few rows.
#[derive(Debug)]
pub(in crate::linear) struct Weight {
    panels: Panels,
    input: usize,
    /// The number that is added to the sums of each feature. The offset of the inputs adds the
    /// negative of it.
    starts: Vec<i32>,
    /// The scale of each feature.
    scales: Vec<f32>,
    /// The bias of a product without one.
    zeros: Vec<f32>,
}

impl Weight {
    /// Quantises and rearranges `weight`, `[output, input]` row-major.
    pub(in crate::linear) fn new(weight: &[f32], shape: [usize; 2]) -> Self {
        Self::with(best(), weight, shape)
    }

    fn with(instructions: Instructions, weight: &[f32], [output, input]: [usize; 2]) -> Self {
        assert_eq!(weight.len(), output * input, "a weight {output}x{input}");
        let Quantized { words, scales, .. } =
            Quantized::of(weight, [output, input], quantize_weight);
        Self::of_words(
            instructions,
            Bytes::from_elems(words),
            scales,
            [output, input],
        )
    }

    /// Rearranges the rows of a weight `[output, input]` that is quantised, in their memory if
    /// `input` is a multiple of 4.
    pub(in crate::linear) fn of_rows(rows: QuantizedRows, shape: [usize; 2]) -> Self {
        let QuantizedRows { values, scales } = rows;
        let [output, input] = shape;
        assert_eq!(values.len(), output * input, "a weight {output}x{input}");
        let bytes = Bytes::from_elems(values);
        let is_in_words =
            input.is_multiple_of(GROUP) && bytemuck::try_cast_slice::<u8, u32>(&bytes).is_ok();
        let bytes = if is_in_words {
            bytes
        } else {
            let steps = input.div_ceil(GROUP);
            let mut words = vec![0; output * steps];
            let rows = bytemuck::cast_slice_mut::<u32, u8>(&mut words);
            let rows = rows.chunks_exact_mut((steps * GROUP).max(1));
            for (row, values) in rows.zip(bytes.chunks_exact(input.max(1))) {
                row[..input].copy_from_slice(values);
            }
            Bytes::from_elems(words)
        };
        Self::of_words(best(), bytes, scales, shape)
    }

    /// Rearranges rows of whole words.
    fn of_words(
        instructions: Instructions,
        words: Bytes,
        mut scales: Vec<f32>,
        [output, input]: [usize; 2],
    ) -> Self {
        assert_eq!(scales.len(), output, "the scales of {output} features");
        let steps = input.div_ceil(GROUP);
        let rows = bytemuck::cast_slice::<u8, i8>(&words).par_chunks((steps * GROUP).max(1));
        let sums = rows.map(|row| row.iter().map(|&x| i32::from(x)).sum::<i32>());
        let mut starts: Vec<i32> = sums.map(|sum| -instructions.offset * sum).collect();
        starts.resize(output.next_multiple_of(instructions.lanes), 0);
        scales.resize(starts.len(), 0.0);
        let panels =
            Panels::in_place(instructions, words, [output, steps]).unwrap_or_else(|words| {
                assert!(words.is_empty(), "words are aligned");
                Panels::by_columns(instructions, [output, steps], |_, _| ())
            });
        Self {
            panels,
            input,
            starts,
            scales,
            zeros: vec![0.0; output],
        }
    }

    /// Returns the integers of one feature and their scale.
    fn row(&self, feature: usize) -> (impl Iterator<Item = i8>, f32) {
        let words = self.panels.row(feature);
        let values = words.flat_map(|word| word.to_ne_bytes().map(u8::cast_signed));
        (values.take(self.input), self.scales[feature])
    }

    /// Returns the rows `features`, quantised.
    pub(in crate::linear) fn rows(&self, features: impl Iterator<Item = usize>) -> QuantizedRows {
        let mut values = Vec::new();
        let mut scales = Vec::new();
        for feature in features {
            let (row, scale) = self.row(feature);
            values.extend(row);
            scales.push(scale);
        }
        QuantizedRows { values, scales }
    }

    /// Returns `epilogue(x·weightᵀ + bias)` for `x` `[rows, input]`, which is quantised row by row.
    /// `bias` is `[output]` or empty.
    pub(in crate::linear) fn forward(
        &self,
        x: &[f32],
        bias: &[f32],
        epilogue: Epilogue,
    ) -> Vec<f32> {
        let rows = x.len().checked_div(self.input).unwrap_or(0);
        let mut left = Quantized::of(x, [rows, self.input], quantize);
        if self.panels.instructions.offset != 0 {
            // Adding 128 without a carry flips the highest bit.
            left.words.iter_mut().for_each(|word| *word ^= 0x8080_8080);
        }
        let row_scales = std::mem::take(&mut left.scales);
        let scales = Scales {
            rows: &row_scales,
            columns: &self.scales,
            starts: &self.starts,
        };
        let bias = if bias.is_empty() { &self.zeros } else { bias };
        let last = OutputStage {
            bias,
            epilogue,
            scales,
        };
        Product::new(left, &self.panels, last).by_panels()
    }
}

/// Rows in 8 bits.
struct Quantized {
    /// `[rows, steps]`, filled up with 0 to whole words.
    words: Vec<u32>,
    /// One scale per row.
    scales: Vec<f32>,
    steps: usize,
}

impl Quantized {
    /// Rows of `columns` numbers, row-major, each by `quantize`.
    fn of(
        matrix: &[f32],
        [rows, columns]: [usize; 2],
        quantize: fn(&[f32], &mut [i8]) -> f32,
    ) -> Self {
        assert_eq!(matrix.len(), rows * columns, "rows of {columns} inputs");
        let steps = columns.div_ceil(GROUP);
        let mut words = vec![0; rows * steps];
        let mut scales = vec![0.0; rows];
        let numbers = bytemuck::cast_slice_mut::<u32, i8>(&mut words);
        let numbers = numbers
            .par_chunks_exact_mut((steps * GROUP).max(1))
            .zip(&mut scales);
        let rows = matrix
            .par_chunks_exact(columns.max(1))
            .zip(numbers)
            .with_min_len(MIN_ROWS);
        rows.for_each(|(row, (numbers, scale))| *scale = quantize(row, &mut numbers[..columns]));
        Self {
            words,
            scales,
            steps,
        }
    }
}

impl LeftFactor for Quantized {
    fn rows(&self) -> usize {
        self.words.len().checked_div(self.steps).unwrap_or(0)
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn block(
        &self,
        _: Instructions,
        rows: Range<usize>,
        steps: Range<usize>,
        _: &mut Vec<Line>,
    ) -> (*const u32, Layout) {
        let first = &self.words[rows.start * self.steps + steps.start..];
        (first.as_ptr(), Layout::Rows(self.steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::quantize::quantize_rows;

    fn random(seed: u64, count: usize) -> Vec<f32> {
        crate::random::RandomKey::new(seed).normal(count)
    }

    /// Returns the product of the quantised numbers, summed in 64 bits.
    fn expected(x: &[f32], weight: &[f32], bias: &[f32], input: usize, relu: bool) -> Vec<f32> {
        let weight = quantize_rows(weight, input);
        let mut all = Vec::new();
        for row in x.chunks_exact(input) {
            let mut values = vec![0; input];
            let row_scale = quantize(row, &mut values);
            let features = weight.values.chunks_exact(input).zip(&weight.scales);
            for (i, (feature, scale)) in features.enumerate() {
                let products = values
                    .iter()
                    .zip(feature)
                    .map(|(&x, &w)| i64::from(x) * i64::from(w));
                let y = products.sum::<i64>() as i32 as f32 * (row_scale * scale);
                let y = y + bias.get(i).copied().unwrap_or(0.0);
                all.push(if relu && y < 0.0 { 0.0 } else { y });
            }
        }
        all
    }

    fn bits(numbers: Vec<f32>) -> Vec<u32> {
        numbers.into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_exact_integer_products() {
        for instructions in available() {
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
                    let x = random(1, rows * input);
                    let weight = random(2, output * input);
                    let bias = random(3, output);
                    let panels = Weight::with(instructions, &weight, [output, input]);
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

    /// The largest products of either sign. Their sums in 16 bits would saturate.
    #[test]
    fn extreme_numbers_do_not_saturate() {
        for instructions in available() {
            for (x, w) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                let input = 1000;
                let output = 20;
                let panels = Weight::with(instructions, &vec![w; input * output], [output, input]);
                let actual = panels.forward(&vec![x; 3 * input], &[], Epilogue::None);
                // The pairs of the weight are 63 and 64.
                let scale = (1.0f32 / 127.0) * (2.0 / 127.0);
                let expected = (127 * 127 * input as i32 / 2) as f32 * scale * x * w;
                assert!(
                    actual.iter().all(|&y| y == expected),
                    "{instructions:?} {expected} {actual:?}"
                );
            }
        }
    }

    #[test]
    fn a_row_with_nan_does_not_change_other_rows() {
        for instructions in available() {
            let mut x = random(1, 3 * 10);
            let weight = random(2, 5 * 10);
            let panels = Weight::with(instructions, &weight, [5, 10]);
            let before = panels.forward(&x, &[], Epilogue::None);
            x[13] = f32::NAN;
            let after = panels.forward(&x, &[], Epilogue::Relu);
            assert!(after[5..10].iter().all(|y| y.is_nan()), "{instructions:?}");
            assert_eq!(panels.forward(&x, &[], Epilogue::None)[10..], before[10..]);
        }
    }
}
