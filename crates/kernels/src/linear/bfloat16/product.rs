//! Whole products: blocks of rows in parallel, each through all of its terms.

use rayon::prelude::*;

use super::block::{Block, round};
use super::instructions::Instructions;
use super::line::{DEPTH, LANES};
use super::panels::Panels;
use super::tile::{Last, Order, Task};
use crate::linear::epilogue::Epilogue;
use crate::linear::left::Left;

/// Rows of a block at most.
const ROWS: usize = 128;
/// Multiplications below which a product stays on one thread: what lies above takes more than a few microseconds.
const PARALLEL: usize = 1 << 18;

/// `epilogue(left·right + bias)`, `[rows, columns]` row-major; `bias` `[columns]` or empty.
pub(super) fn product(
    instructions: Instructions,
    left: Left,
    right: &Panels,
    bias: &[f32],
    epilogue: Epilogue,
) -> Vec<f32> {
    let (rows, columns) = (left.count(), right.columns());
    let mut padded = bias.to_vec();
    padded.resize(bias.len().next_multiple_of(LANES), 0.0);
    let count = rows * columns;
    let mut out = Vec::with_capacity(count);
    if count == 0 {
        return out;
    }
    let last = Last { bias: &padded, epilogue };
    let chunk = left.rows_per_block(LANES, ROWS);
    let new_block = || Block::new(chunk);
    let run = |block: &mut Block, (index, out): (usize, &mut [std::mem::MaybeUninit<f32>])| {
        let rows = index * chunk..index * chunk + out.len() / columns;
        rows_of_product(instructions, left, right, last, rows, block, out.as_mut_ptr().cast());
    };
    let parts = &mut out.spare_capacity_mut()[..count];
    if count * right.depth() < PARALLEL {
        let mut block = new_block();
        parts.chunks_mut(chunk * columns).enumerate().for_each(|part| run(&mut block, part));
    } else {
        parts.par_chunks_mut(chunk * columns).enumerate().for_each_init(new_block, run);
    }
    // SAFETY: every row was written, since there is always a block of terms.
    unsafe { out.set_len(count) };
    out
}

/// Writes some rows of a product to `out`.
fn rows_of_product(
    instructions: Instructions,
    left: Left,
    right: &Panels,
    last: Last,
    rows: std::ops::Range<usize>,
    block: &mut Block,
    out: *mut f32,
) {
    let depth = right.depth();
    // A sum of nothing is written too.
    for index in 0..depth.div_ceil(DEPTH).max(1) {
        let terms = index * DEPTH..((index + 1) * DEPTH).min(depth);
        let is_last = terms.end == depth;
        round(left, rows.clone(), terms.clone(), block);
        let task = Task {
            left: block.as_ptr(),
            order: match left {
                Left::Rows { .. } => Order::Rows,
                Left::Columns { .. } => Order::Columns,
            },
            rows: rows.len(),
            pairs: terms.len().div_ceil(2),
            right: right.block(index),
            is_first: index == 0,
            last: is_last.then_some(last),
            out,
            columns: right.columns(),
        };
        // SAFETY: the processor has the instructions, `out` these rows, which nobody else writes.
        unsafe { instructions.run(&task) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::portable::rounded;
    use super::*;
    use crate::random::RandomKey;

    /// Some with parts of blocks, tiles, vectors and pairs left over; rows, depth, columns.
    const SIZES: [[usize; 3]; 9] = [
        [1, 1, 1],
        [3, 0, 2],
        [5, 3, 17],
        [8, 16, 48],
        [9, 257, 31],
        [23, 512, 64],
        [131, 70, 100],
        [40, 515, 16],
        [300, 33, 81],
    ];

    fn as_bfloat16(x: f32) -> f32 {
        f32::from_bits(rounded(x))
    }

    fn normal(x: f32) -> f32 {
        if x.is_subnormal() { 0f32.copysign(x) } else { x }
    }

    fn transposed(matrix: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
        let columns = 0..columns;
        let width = columns.len();
        columns.flat_map(|c| (0..rows).map(move |r| matrix[r * width + c])).collect()
    }

    /// What the documentation of the module says, number by number; `left` `[rows, depth]`, `right` `[depth, columns]`.
    fn defined(left: &[f32], right: &[f32], [rows, depth, columns]: [usize; 3]) -> Vec<f32> {
        let of = |row: usize, column: usize| {
            let term = |sum: f32, k: usize| match k < depth {
                true => {
                    let (a, b) = (left[row * depth + k], right[k * columns + column]);
                    normal(as_bfloat16(a).mul_add(as_bfloat16(b), sum))
                }
                // The 0 beside an odd last term.
                false => 0.0 + sum,
            };
            (0..depth.next_multiple_of(2)).fold(0.0, |sum, k| term(sum, k ^ 1))
        };
        (0..rows * columns).map(|place| of(place / columns, place % columns)).collect()
    }

    /// The product by `instructions` in the four ways in which the factors may lie.
    fn products(
        instructions: Instructions,
        left: &[f32],
        right: &[f32],
        [rows, depth, columns]: [usize; 3],
    ) -> [Vec<f32>; 4] {
        let left_turned = transposed(left, [rows, depth]);
        let right_turned = transposed(right, [depth, columns]);
        let by_rows = Left::rows(left, [rows, depth]);
        let by_columns = Left::columns(&left_turned, [depth, rows]);
        let plain = Panels::of_columns(right, [depth, columns]);
        let turned = Panels::of_rows(&right_turned, [columns, depth]);
        [(by_rows, &plain), (by_rows, &turned), (by_columns, &plain), (by_columns, &turned)]
            .map(|(left, right)| product(instructions, left, right, &[], Epilogue::None))
    }

    fn bits(numbers: &[f32]) -> Vec<u32> {
        // Which NaN comes out is not promised.
        numbers.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_bits_of_the_definition() {
        for size @ [rows, depth, columns] in SIZES {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let expected = bits(&defined(&left, &right, size));
            for instructions in Instructions::available() {
                for actual in products(instructions, &left, &right, size) {
                    assert!(bits(&actual) == expected, "{instructions:?} {size:?}");
                }
            }
        }
    }

    /// Subnormal factors, products and sums, infinities and NaN.
    #[test]
    fn extreme_numbers_give_the_bits_of_the_definition_too() {
        let size = [24, 34, 48];
        let any = |seed, count| -> Vec<f32> {
            let mut random = crate::random::RandomKey::new(seed).rng();
            (0..count).map(|_| f32::from_bits(rand::Rng::next_u32(&mut random))).collect()
        };
        let tiny = |seed, count: usize| -> Vec<f32> {
            let places = RandomKey::new(seed).normal(count).into_iter().enumerate();
            places.map(|(i, x)| x * [1e-19, 3e-20, 1e-39, 1e-18][i % 4]).collect()
        };
        for (left, right) in [
            (any(1, 24 * 34), any(2, 34 * 48)),
            (tiny(3, 24 * 34), tiny(4, 34 * 48)),
            (any(5, 24 * 34), tiny(6, 34 * 48)),
        ] {
            let expected = bits(&defined(&left, &right, size));
            for instructions in Instructions::available() {
                for actual in products(instructions, &left, &right, size) {
                    assert!(bits(&actual) == expected, "{instructions:?}");
                }
            }
        }
    }

    /// Each step of a sum of n products is rounded once, so that it is off by at most n·2⁻²⁴ times the sum of the magnitudes,
    /// to the first order; products of bfloat16 are exact in float64.
    #[test]
    fn a_result_is_as_near_to_the_exact_sum_of_the_rounded_factors_as_float32_sums_are() {
        for size @ [rows, depth, columns] in [[64, 256, 48], [17, 4096, 33]] {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let [actual, ..] = products(Instructions::best(), &left, &right, size);
            for (place, &actual) in actual.iter().enumerate() {
                let (row, column) = (place / columns, place % columns);
                let terms = (0..depth).map(|k| {
                    let (a, b) = (left[row * depth + k], right[k * columns + column]);
                    f64::from(as_bfloat16(a)) * f64::from(as_bfloat16(b))
                });
                let magnitude: f64 = terms.clone().map(f64::abs).sum();
                let allowed = depth as f64 * f64::from(f32::EPSILON) / 2.0 * magnitude;
                let exact: f64 = terms.sum();
                assert!((f64::from(actual) - exact).abs() <= allowed, "{actual}, not {exact}");
            }
        }
    }

    #[test]
    fn bias_and_relu_are_those_of_float32() {
        for size @ [rows, depth, columns] in SIZES {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let bias = RandomKey::new(3).normal(columns);
            let panels = Panels::of_columns(&right, [depth, columns]);
            let sums = defined(&left, &right, size).into_iter().enumerate();
            let expected: Vec<f32> = sums
                .map(|(place, sum)| sum + bias[place % columns])
                .map(|y| if y < 0.0 { 0.0 } else { y })
                .collect();
            for instructions in Instructions::available() {
                let left = Left::rows(&left, [rows, depth]);
                let actual = product(instructions, left, &panels, &bias, Epilogue::Relu);
                assert!(bits(&actual) == bits(&expected), "{instructions:?} {size:?}");
            }
        }
    }
}
