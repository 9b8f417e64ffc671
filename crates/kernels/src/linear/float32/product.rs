//! Whole products for training: blocks of rows in parallel, each through all of its terms.

use std::mem::MaybeUninit;
use std::ops::Range;

use rayon::prelude::*;

use super::block::block;
use super::panels::Panels;
use super::tile::{Last, Tile};
use crate::linear::epilogue::Epilogue;
use crate::linear::left::Left;

/// Terms of a sum that are added before those of the next block: so many of a panel stay in the first-level cache, or stream
/// from the second-level one.
const DEPTH: usize = 256;
/// Rows of a block at most.
const ROWS: usize = 128;
/// Multiplications below which a product stays on one thread: what lies above takes more than a few microseconds.
const PARALLEL: usize = 1 << 18;

/// `epilogue(left·right + bias)`, `[rows, columns]` row-major; `bias` `[columns]` or empty.
pub(super) fn product(left: Left, right: &Panels, bias: &[f32], epilogue: Epilogue) -> Vec<f32> {
    let (rows, columns, depth) = (left.count(), right.output(), right.input());
    assert_eq!(left.depth(), depth, "the terms of both factors");
    assert!(bias.is_empty() || bias.len() == columns, "bias of {columns} columns");
    let count = rows * columns;
    let mut out = Vec::with_capacity(count);
    if count == 0 {
        return out;
    }
    let last = Last { bias, epilogue };
    let chunk = left.rows_per_block(right.instructions().rows(), ROWS);
    let run = |memory: &mut Vec<f32>, (index, out): (usize, &mut [MaybeUninit<f32>])| {
        let rows = index * chunk..index * chunk + out.len() / columns;
        rows_of_product(left, right, last, rows, memory, out.as_mut_ptr().cast());
    };
    let parts = &mut out.spare_capacity_mut()[..count];
    if count.saturating_mul(depth) < PARALLEL {
        let mut memory = Vec::new();
        parts.chunks_mut(chunk * columns).enumerate().for_each(|part| run(&mut memory, part));
    } else {
        parts.par_chunks_mut(chunk * columns).enumerate().for_each_init(Vec::new, run);
    }
    // SAFETY: every row was written, since there is always a block of terms.
    unsafe { out.set_len(count) };
    out
}

/// Writes some rows of a product to `out`.
fn rows_of_product(
    left: Left,
    right: &Panels,
    last: Last,
    rows: Range<usize>,
    memory: &mut Vec<f32>,
    out: *mut f32,
) {
    let (depth, columns, instructions) = (right.input(), right.output(), right.instructions());
    // A sum of nothing is written too.
    for index in 0..depth.div_ceil(DEPTH).max(1) {
        let terms = index * DEPTH..((index + 1) * DEPTH).min(depth);
        let (left, order) = block(left, rows.clone(), terms.clone(), instructions.rows(), memory);
        for panel in 0..right.count() {
            let features = right.features(panel);
            let bias = if last.bias.is_empty() { &[] } else { &last.bias[features.clone()] };
            let tile = Tile {
                left,
                order,
                rows: rows.len(),
                terms: terms.len(),
                panel: right.terms(panel, terms.clone()),
                is_first: index == 0,
                last: (terms.end == depth).then_some(Last { bias, ..last }),
                // SAFETY: the features are columns of the first row.
                out: unsafe { out.add(features.start) },
                stride: columns,
                features: features.len(),
            };
            // SAFETY: the processor has the instructions; `left` is the block of these rows and terms, and nobody else
            // writes these rows of `out`.
            unsafe { instructions.run(&tile) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::instructions::Instructions;
    use super::*;
    use crate::random::RandomKey;

    /// Some with parts of blocks, tiles and vectors left over; rows, depth, columns.
    const SIZES: [[usize; 3]; 10] = [
        [1, 1, 1],
        [3, 0, 2],
        [5, 3, 17],
        [8, 16, 48],
        [9, 257, 31],
        [23, 512, 64],
        [131, 70, 100],
        [40, 515, 16],
        [300, 33, 81],
        [1100, 260, 25],
    ];

    fn transposed(matrix: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
        let of_column = |c| (0..rows).map(move |r| matrix[r * columns + c]);
        (0..columns).flat_map(of_column).collect()
    }

    /// What the documentation of the module says, number by number; `left` `[rows, depth]`, `right` `[depth, columns]`.
    fn defined(left: &[f32], right: &[f32], [rows, depth, columns]: [usize; 3]) -> Vec<f32> {
        let of = |row: usize, column: usize| {
            let step =
                |sum, k| f32::mul_add(left[row * depth + k], right[k * columns + column], sum);
            (0..depth).fold(0.0, step)
        };
        (0..rows * columns).map(|place| of(place / columns, place % columns)).collect()
    }

    fn bits(numbers: &[f32]) -> Vec<u32> {
        numbers.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_sums_in_order_however_the_factors_lie() {
        for size @ [rows, depth, columns] in SIZES {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let bias = RandomKey::new(3).normal(columns);
            let sums = defined(&left, &right, size);
            let with_bias = sums.iter().enumerate().map(|(place, sum)| sum + bias[place % columns]);
            let rectified: Vec<f32> = with_bias.map(|y| if y < 0.0 { 0.0 } else { y }).collect();
            let left_turned = transposed(&left, [rows, depth]);
            let right_turned = transposed(&right, [depth, columns]);
            for instructions in Instructions::available() {
                let lefts =
                    [Left::rows(&left, [rows, depth]), Left::columns(&left_turned, [depth, rows])];
                let rights = [
                    Panels::columns_with(instructions, &right, [depth, columns]),
                    Panels::rows_with(instructions, &right_turned, [columns, depth]),
                ];
                for (left, right) in
                    lefts.iter().flat_map(|left| rights.iter().map(move |right| (left, right)))
                {
                    let actual = product(*left, right, &[], Epilogue::None);
                    assert!(bits(&actual) == bits(&sums), "{instructions:?} {size:?}");
                    let actual = product(*left, right, &bias, Epilogue::Relu);
                    assert!(bits(&actual) == bits(&rectified), "{instructions:?} {size:?}");
                }
            }
        }
    }

    /// Training and decoding give the same bits.
    #[test]
    fn a_product_is_that_of_a_weight_that_was_packed() {
        let [rows, depth, columns] = [37, 300, 70];
        let x = RandomKey::new(1).normal(rows * depth);
        let weight = RandomKey::new(2).normal(columns * depth);
        for instructions in Instructions::available() {
            let panels = Panels::rows_with(instructions, &weight, [columns, depth]);
            let packed = panels.forward(&x, &[], Epilogue::None);
            let ours = product(Left::rows(&x, [rows, depth]), &panels, &[], Epilogue::None);
            assert!(bits(&packed) == bits(&ours), "{instructions:?}");
        }
    }

    #[test]
    fn the_number_of_threads_does_not_show() {
        let [rows, depth, columns] = [301, 270, 90];
        let left = RandomKey::new(1).normal(rows * depth);
        let right = RandomKey::new(2).normal(depth * columns);
        let Some(panels) = Panels::of_columns(&right, [depth, columns]) else { return };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| product(Left::rows(&left, [rows, depth]), &panels, &[], Epilogue::None))
        };
        assert!(bits(&on(1)) == bits(&on(3)));
    }
}
