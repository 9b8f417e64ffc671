//! Products in bfloat16 for training: both factors rounded to 16 bits, every sum in float32.
//!
//! A factor is rounded to the nearest bfloat16, ties to even, when it is rearranged for the
//! product; a subnormal number becomes 0. A result is one sum in the order of the terms, with the
//! two terms of each pair exchanged (1, 0, 3, 2, …), which is the order of x86's `vdpbf16ps`. Each
//! step is a multiplication and addition that is rounded once, ties to even; a subnormal result
//! becomes 0. Every instruction set gives these bits, on any number of threads and for any size of
//! the matrices: a result depends on its row and its column alone.

mod portable;
mod round;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

use bytemuck::Zeroable;

use super::instructions::{Instructions, instructions};
use super::panels::{LINE, Line, Panels, slots};
use super::product::{LeftFactor, Lhs, Major, Product};
use super::tile::{Layout, OutputStage};
use crate::linear::settings::Epilogue;
use portable::{DEPTH, PairedLhs, Pairs};
use round::{interleaved, neighbours};

/// Returns whether this processor has instructions that multiply bfloat16, which are faster than
/// float32.
pub(in crate::linear) fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return x86::is_available();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Returns every instruction set that this processor has, the fastest first.
pub(super) fn available() -> impl Iterator<Item = Instructions> {
    [
        // 24 of the 32 registers hold sums.
        #[cfg(target_arch = "x86_64")]
        x86::is_available().then_some(instructions!(
            "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma",
            x86::DotProducts, 8 by 3, tile: 16, offset: 0
        )),
        // Fused multiplication and addition in float32, which the compiler chooses.
        #[cfg(target_arch = "x86_64")]
        crate::simd::has_avx2()
            .then_some(instructions!("avx2,fma", Pairs, 4 by 1, tile: 16, offset: 0)),
        Some(instructions!(Pairs, 1 by 1, tile: 16, offset: 0)),
    ]
    .into_iter()
    .flatten()
}

/// Returns the fastest set that this processor has.
pub(super) fn best() -> Instructions {
    available()
        .next()
        .expect("the portable set is always there")
}

/// Panels of a weight, `[columns, depth]` in row-major order.
pub(super) fn panels_of_rows(
    instructions: Instructions,
    weight: &[f32],
    [columns, depth]: [usize; 2],
) -> Panels {
    assert_eq!(weight.len(), columns * depth, "a matrix {columns}x{depth}");
    let steps = depth.div_ceil(2);
    Panels::by_columns(instructions, [columns, steps], |columns, panel| {
        let width = panel.len() / steps.max(1);
        for (group, first) in columns.clone().step_by(LINE).enumerate() {
            let mut rounded = [[0; DEPTH]; LINE];
            for start in (0..steps).step_by(DEPTH) {
                let pairs = start..(start + DEPTH).min(steps);
                for (column, rounded) in (first..columns.end).zip(&mut rounded) {
                    let terms = 2 * start..(2 * pairs.end).min(depth);
                    neighbours(
                        &weight[column * depth..][terms],
                        &mut rounded[..pairs.len()],
                    );
                }
                for (pair, words) in pairs.clone().zip(panel[start * width..].chunks_mut(width)) {
                    let line = &mut words[group * LINE..][..LINE];
                    for (slot, column) in line.iter_mut().zip(&rounded) {
                        slot.write(column[pair - start]);
                    }
                }
            }
        }
    })
}

/// Panels of the transpose of a weight, `[depth, columns]` in row-major order.
pub(super) fn panels_of_columns(
    instructions: Instructions,
    matrix: &[f32],
    [depth, columns]: [usize; 2],
) -> Panels {
    assert_eq!(matrix.len(), depth * columns, "a matrix {depth}x{columns}");
    Panels::by_steps(
        instructions,
        [columns, depth.div_ceil(2)],
        |pairs, part, out| {
            let apart = [out.len() / pairs.len(), LINE];
            let rows = rows_of_pairs(matrix, columns, pairs);
            interleaved(
                PairedLhs {
                    rows,
                    width: columns,
                    columns: part,
                    apart,
                },
                out,
            );
        },
    )
}

/// Returns the rows of `pairs` in a matrix with rows of `width` numbers; a pair has two rows.
fn rows_of_pairs(matrix: &[f32], width: usize, pairs: Range<usize>) -> &[f32] {
    &matrix[2 * pairs.start * width..(2 * pairs.end * width).min(matrix.len())]
}

/// `epilogue(left·right + bias)`, `[rows, columns]`; `bias` `[columns]` or empty.
pub(super) fn product(left: Lhs, right: &Panels, bias: &[f32], epilogue: Epilogue) -> Vec<f32> {
    let last = OutputStage::of_floats(bias, epilogue);
    Product::new(RoundedLhs(left), right, last).by_rows(DEPTH)
}

/// Adds the product of training, `left·right`, to `out`, `[rows, columns]`.
pub(super) fn add_product(left: Lhs, right: &Panels, out: &mut [f32]) {
    let last = OutputStage::of_floats(&[], Epilogue::None);
    Product::new(RoundedLhs(left), right, last).add_by_rows(DEPTH, out);
}

/// Panels of a weight `[columns, depth]` for decoding.
pub(in crate::linear) fn panels(weight: &[f32], shape: [usize; 2]) -> Panels {
    panels_of_rows(best(), weight, shape)
}

/// The product of decoding, `epilogue(x·right + bias)` for `x` `[rows, depth]`; `bias` `[columns]`
/// or empty.
pub(in crate::linear) fn decode(
    right: &Panels,
    x: &[f32],
    depth: usize,
    bias: &[f32],
    epilogue: Epilogue,
) -> Vec<f32> {
    let rows = x.len().checked_div(depth).unwrap_or(0);
    product(Lhs::rows(x, [rows, depth]), right, bias, epilogue)
}

/// A left factor that is rounded a block at a time.
struct RoundedLhs<'a>(Lhs<'a>);

impl LeftFactor for RoundedLhs<'_> {
    fn rows(&self) -> usize {
        self.0.rows
    }

    fn steps(&self) -> usize {
        self.0.depth.div_ceil(2)
    }

    fn block(
        &self,
        instructions: Instructions,
        rows: Range<usize>,
        pairs: Range<usize>,
        buffer: &mut Vec<Line>,
    ) -> (*const u32, Layout) {
        let Lhs {
            matrix,
            rows: width,
            depth,
            major,
        } = self.0;
        let width_of_rows = match major {
            Major::Row => DEPTH,
            Major::Column => pairs.len(),
        };
        let count = rows.len().next_multiple_of(instructions.tile) * width_of_rows;
        buffer.resize(count.div_ceil(LINE), Line::zeroed());
        let block: &mut [u32] = bytemuck::cast_slice_mut(buffer);
        let terms = 2 * pairs.start..(2 * pairs.end).min(depth);
        let layout = match major {
            Major::Row => {
                for (row, out) in rows.zip(block.chunks_exact_mut(DEPTH)) {
                    neighbours(
                        &matrix[row * depth..][terms.clone()],
                        &mut out[..pairs.len()],
                    );
                }
                Layout::Rows(DEPTH)
            }
            Major::Column => {
                let apart = [LINE, pairs.len() * LINE];
                let matrix = rows_of_pairs(matrix, width, pairs.clone());
                let rows = PairedLhs {
                    rows: matrix,
                    width,
                    columns: rows,
                    apart,
                };
                interleaved(rows, slots(block));
                Layout::Tiles
            }
        };
        (block.as_ptr(), layout)
    }
}

#[cfg(test)]
mod tests {
    use super::portable::rounded;
    use super::*;
    use crate::linear::cpu::tests::{SIZES, transposed};
    use crate::random::RandomKey;

    fn as_bfloat16(x: f32) -> f32 {
        f32::from_bits(rounded(x))
    }

    fn normal(x: f32) -> f32 {
        if x.is_subnormal() {
            0f32.copysign(x)
        } else {
            x
        }
    }

    /// The product by its definition in the documentation of the module, one number at a time;
    /// `left` is `[rows, depth]`, `right` `[depth, columns]`.
    fn defined(left: &[f32], right: &[f32], [rows, depth, columns]: [usize; 3]) -> Vec<f32> {
        let mut product = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = 0.0f32;
                for k in (0..depth.next_multiple_of(2)).map(|k| k ^ 1) {
                    sum = if k < depth {
                        let a = as_bfloat16(left[row * depth + k]);
                        let b = as_bfloat16(right[k * columns + column]);
                        normal(a.mul_add(b, sum))
                    } else {
                        // The 0 beside an odd last term.
                        0.0 + sum
                    };
                }
                product.push(sum);
            }
        }
        product
    }

    /// The product by `instructions` for each of the four layouts of the factors.
    fn products(
        instructions: Instructions,
        left: &[f32],
        right: &[f32],
        [rows, depth, columns]: [usize; 3],
    ) -> [Vec<f32>; 4] {
        let left_turned = transposed(left, [rows, depth]);
        let right_turned = transposed(right, [depth, columns]);
        let by_rows = Lhs::rows(left, [rows, depth]);
        let by_columns = Lhs::columns(&left_turned, [depth, rows]);
        let plain = panels_of_columns(instructions, right, [depth, columns]);
        let turned = panels_of_rows(instructions, &right_turned, [columns, depth]);
        [
            (by_rows, &plain),
            (by_rows, &turned),
            (by_columns, &plain),
            (by_columns, &turned),
        ]
        .map(|(left, right)| product(left, right, &[], Epilogue::None))
    }

    fn bits(numbers: &[f32]) -> Vec<u32> {
        // The bits of a NaN are not defined.
        numbers
            .iter()
            .map(|x| {
                if x.is_nan() {
                    f32::NAN.to_bits()
                } else {
                    x.to_bits()
                }
            })
            .collect()
    }

    #[test]
    fn every_instruction_set_gives_the_bits_of_the_definition() {
        for size @ [rows, depth, columns] in SIZES {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let expected = bits(&defined(&left, &right, size));
            for instructions in available() {
                for actual in products(instructions, &left, &right, size) {
                    assert!(bits(&actual) == expected, "{instructions:?} {size:?}");
                }
            }
        }
    }

    /// Numbers with any bits.
    fn any(seed: u64, count: usize) -> Vec<f32> {
        let mut random = RandomKey::new(seed).rng();
        (0..count)
            .map(|_| f32::from_bits(rand::Rng::next_u32(&mut random)))
            .collect()
    }

    /// Numbers with subnormal products.
    fn tiny(seed: u64, count: usize) -> Vec<f32> {
        let numbers = RandomKey::new(seed).normal(count).into_iter().enumerate();
        numbers
            .map(|(i, x)| x * [1e-19, 3e-20, 1e-39, 1e-18][i % 4])
            .collect()
    }

    /// Subnormal factors, products and sums, infinities and NaN.
    #[test]
    fn extreme_numbers_give_the_bits_of_the_definition() {
        let size = [24, 34, 48];
        for (left, right) in [
            (any(1, 24 * 34), any(2, 34 * 48)),
            (tiny(3, 24 * 34), tiny(4, 34 * 48)),
            (any(5, 24 * 34), tiny(6, 34 * 48)),
        ] {
            let expected = bits(&defined(&left, &right, size));
            for instructions in available() {
                for actual in products(instructions, &left, &right, size) {
                    assert!(bits(&actual) == expected, "{instructions:?}");
                }
            }
        }
    }

    /// Each step of a sum of n products is rounded once. The error is therefore at most n·2⁻²⁴
    /// times the sum of the magnitudes, to the first order; products of bfloat16 are exact in
    /// float64.
    #[test]
    fn the_error_of_a_sum_is_within_the_bound_of_float32() {
        for size @ [rows, depth, columns] in [[64, 256, 48], [17, 4096, 33]] {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let [actual, ..] = products(best(), &left, &right, size);
            for (index, &actual) in actual.iter().enumerate() {
                let row = index / columns;
                let column = index % columns;
                let terms = (0..depth).map(|k| {
                    let a = left[row * depth + k];
                    let b = right[k * columns + column];
                    f64::from(as_bfloat16(a)) * f64::from(as_bfloat16(b))
                });
                let magnitude: f64 = terms.clone().map(f64::abs).sum();
                let allowed = depth as f64 * f64::from(f32::EPSILON) / 2.0 * magnitude;
                let exact: f64 = terms.sum();
                assert!(
                    (f64::from(actual) - exact).abs() <= allowed,
                    "{actual}, not {exact}"
                );
            }
        }
    }

    #[test]
    fn bias_and_relu_are_in_float32() {
        for size @ [rows, depth, columns] in SIZES {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let bias = RandomKey::new(3).normal(columns);
            let sums = defined(&left, &right, size).into_iter().enumerate();
            let expected: Vec<f32> = sums
                .map(|(index, sum)| sum + bias[index % columns])
                .map(|y| if y < 0.0 { 0.0 } else { y })
                .collect();
            for instructions in available() {
                let panels = panels_of_columns(instructions, &right, [depth, columns]);
                let left = Lhs::rows(&left, [rows, depth]);
                let actual = product(left, &panels, &bias, Epilogue::Relu);
                assert!(
                    bits(&actual) == bits(&expected),
                    "{instructions:?} {size:?}"
                );
            }
        }
    }

    /// Otherwise uninitialised lines would be read.
    #[test]
    #[should_panic(expected = "a matrix 40x6")]
    fn missing_rows_panic() {
        panels_of_rows(best(), &[0.0; 32 * 6], [40, 6]);
    }

    #[test]
    #[should_panic(expected = "a matrix 6x40")]
    fn missing_terms_panic() {
        panels_of_columns(best(), &[0.0; 4 * 40], [6, 40]);
    }
}
