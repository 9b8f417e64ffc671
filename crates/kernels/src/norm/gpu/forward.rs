//! The forward pass. A cube works on one row; a unit on some of its features.

use cubecl::prelude::*;

use super::rows::{Operands, Rows, input_at};
use crate::gpu::philox::{Draw, element_index, words_of_block};
use crate::gpu::sums_of_units;

/// Normalises rows. `moments` `[2, rows]` gets the mean and 1 / √(variance + ε) of each row.
#[cube(launch, address_type = "dynamic")]
pub(super) fn norm_of_rows(
    operands: &Operands,
    bias: &[f32],
    output: &mut [f32],
    moments: &mut [f32],
    epsilon: f32,
    draw: Draw,
    #[comptime] rows: Rows,
) {
    let row = CUBE_POS;
    let width = comptime!(rows.width);
    let units = comptime!(rows.units);
    let step = comptime!(rows.step());
    let features = f32::new(comptime!(rows.width as f32));
    let count = operands.x.len() / width;
    if row >= count {
        terminate!();
    }
    let mut inputs = Shared::<[f32]>::new_slice(width);
    let sum = load_row(operands, row, &mut inputs, &draw, rows);
    let (sum, _) = sums_of_units(sum, 0.0, units);
    let mean = sum / features;
    let (squares, _) = sums_of_units(squares_around(mean, &inputs, rows), 0.0, units);
    let scale = 1.0 / (squares / features + epsilon).sqrt();

    let start = row * width;
    let mut first = UNIT_POS as usize * step;
    while first < width {
        #[unroll]
        for i in 0..step {
            let at = first + i;
            output[start + at] = (inputs[at] - mean) * scale * operands.weight[at] + bias[at];
        }
        first += step * units;
    }
    if UNIT_POS == 0 {
        moments[row] = mean;
        moments[count + row] = scale;
    }
}

/// Loads this unit's features of the normalised row, and sums them.
#[cube]
fn load_row(
    operands: &Operands,
    row: usize,
    inputs: &mut Shared<[f32]>,
    draw: &Draw,
    #[comptime] rows: Rows,
) -> f32 {
    let width = comptime!(rows.width);
    let step = comptime!(rows.step());
    let mut sum = f32::new(0.0);
    let mut first = UNIT_POS as usize * step;
    while first < width {
        let words = words_of_block(&element_index(row as u32, width as u32, first as u32), draw);
        #[unroll]
        for i in 0..step {
            let at = first + i;
            let input = input_at(operands, row, at, &words, draw, rows);
            inputs[at] = input;
            sum += input;
        }
        first += step * comptime!(rows.units);
    }
    sum
}

/// The sum of (input − mean)² over this unit's features.
#[cube]
fn squares_around(mean: f32, inputs: &Shared<[f32]>, #[comptime] rows: Rows) -> f32 {
    let step = comptime!(rows.step());
    let mut squares = f32::new(0.0);
    let mut first = UNIT_POS as usize * step;
    while first < comptime!(rows.width) {
        #[unroll]
        for i in 0..step {
            let centred = inputs[first + i] - mean;
            squares += centred * centred;
        }
        first += step * comptime!(rows.units);
    }
    squares
}
