//! A cube works on a row, or on some rows in turn; a unit on the same features of each.

use cubecl::prelude::*;

use crate::gpu::philox::{
    ELEMENTS_PER_BLOCK, Words, dropout_factor, element_index, index_in_block, words_of_block,
};
use crate::gpu::sums_of_units;

/// What is normalised, for the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Alone,
    Sum,
    Dropped,
}

impl From<super::Input> for Kind {
    fn from(input: super::Input) -> Self {
        match input {
            super::Input::Alone => Self::Alone,
            super::Input::Sum => Self::Sum,
            super::Input::Dropped(_) => Self::Dropped,
        }
    }
}

/// What the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    pub width: usize,
    /// Units that share a row.
    pub units: usize,
    pub input: Kind,
}

impl Rows {
    /// Features side by side that a unit takes at once: those that a block of Philox decides, where blocks do not
    /// reach over the ends of rows.
    fn step(self) -> usize {
        if self.input == Kind::Dropped && self.width.is_multiple_of(ELEMENTS_PER_BLOCK) {
            ELEMENTS_PER_BLOCK
        } else {
            1
        }
    }
}

#[cube(launch, address_type = "dynamic")]
pub(super) fn norm_of_rows(
    x: &[f32],
    y: &[f32],
    weight: &[f32],
    bias: &[f32],
    output: &mut [f32],
    moments: &mut [f32],
    epsilon: f32,
    key_0: u32,
    key_1: u32,
    threshold: u32,
    keep: f32,
    #[comptime] rows: Rows,
) {
    let row = CUBE_POS;
    let width = comptime!(rows.width);
    let units = comptime!(rows.units);
    let step = comptime!(rows.step());
    let features = f32::new(comptime!(rows.width as f32));
    let count = x.len() / width;
    if row >= count {
        terminate!();
    }
    let mut inputs = Shared::<[f32]>::new_slice(width);
    let start = row * width;
    let mut sum = f32::new(0.0);
    let mut place = UNIT_POS as usize * step;
    while place < width {
        let block =
            words_of_block(&element_index(row as u32, width as u32, place as u32), key_0, key_1);
        #[unroll]
        for i in 0..step {
            let at = place + i;
            let input = input(x, y, row, at, &block, threshold, keep, rows);
            inputs[at] = input;
            sum += input;
        }
        place += step * units;
    }
    let (sum, _) = sums_of_units(sum, 0.0, units);
    let mean = sum / features;

    let mut squares = f32::new(0.0);
    let mut place = UNIT_POS as usize * step;
    while place < width {
        #[unroll]
        for i in 0..step {
            let centred = inputs[place + i] - mean;
            squares += centred * centred;
        }
        place += step * units;
    }
    let (squares, _) = sums_of_units(squares, 0.0, units);
    let scale = 1.0 / (squares / features + epsilon).sqrt();

    let mut place = UNIT_POS as usize * step;
    while place < width {
        #[unroll]
        for i in 0..step {
            let at = place + i;
            output[start + at] = (inputs[at] - mean) * scale * weight[at] + bias[at];
        }
        place += step * units;
    }
    if UNIT_POS == 0 {
        moments[row] = mean;
        moments[count + row] = scale;
    }
}

/// With g the gradient times the weight and n the normalised row: dx = (g − mean(g) − n·mean(g·n)) · scale, dy is dx
/// times dropout's factors, and the rows' shares in the gradients of weight and bias are gradient·n and the gradient. dx
/// stands at the start of `dxy`, dy, where it is another, from `second` on.
#[cube(launch, address_type = "dynamic")]
pub(super) fn gradients_of_rows(
    grad: &[f32],
    x: &[f32],
    y: &[f32],
    weight: &[f32],
    moments: &[f32],
    dxy: &mut [f32],
    parts: &mut [f32],
    second: usize,
    key_0: u32,
    key_1: u32,
    threshold: u32,
    keep: f32,
    #[comptime] rows: Rows,
) {
    let group = CUBE_POS;
    let width = comptime!(rows.width);
    let units = comptime!(rows.units);
    let step = comptime!(rows.step());
    let features = f32::new(comptime!(rows.width as f32));
    let count = x.len() / width;
    let groups = parts.len() / (2 * width);
    if group >= groups {
        terminate!();
    }
    let mut normalised = Shared::<[f32]>::new_slice(width);
    let mut dweight = Shared::<[f32]>::new_slice(width);
    let mut dbias = Shared::<[f32]>::new_slice(width);
    let mut place = UNIT_POS as usize * step;
    while place < width {
        #[unroll]
        for i in 0..step {
            dweight[place + i] = 0.0;
            dbias[place + i] = 0.0;
        }
        place += step * units;
    }

    let mut row = CUBE_POS;
    while row < count {
        let start = row * width;
        let mean = moments[row];
        let scale = moments[count + row];
        let mut sum = f32::new(0.0);
        let mut product = f32::new(0.0);
        let mut place = UNIT_POS as usize * step;
        while place < width {
            let block = words_of_block(
                &element_index(row as u32, width as u32, place as u32),
                key_0,
                key_1,
            );
            #[unroll]
            for i in 0..step {
                let at = place + i;
                let input = input(x, y, row, at, &block, threshold, keep, rows);
                let n = (input - mean) * scale;
                let gradient = grad[start + at];
                normalised[at] = n;
                dweight[at] += gradient * n;
                dbias[at] += gradient;
                sum += gradient * weight[at];
                product += gradient * weight[at] * n;
            }
            place += step * units;
        }
        let (sum, product) = sums_of_units(sum, product, units);
        let (sum, product) = (sum / features, product / features);

        let mut place = UNIT_POS as usize * step;
        while place < width {
            let block = words_of_block(
                &element_index(row as u32, width as u32, place as u32),
                key_0,
                key_1,
            );
            #[unroll]
            for i in 0..step {
                let at = place + i;
                let g = grad[start + at] * weight[at];
                let d = (g - sum - normalised[at] * product) * scale;
                dxy[start + at] = d;
                if comptime!(rows.input == Kind::Dropped) {
                    let which = index_in_block(&element_index(row as u32, width as u32, at as u32));
                    dxy[second + start + at] = d * dropout_factor(&block, which, threshold, keep);
                }
            }
            place += step * units;
        }
        row += groups;
    }

    let mut place = UNIT_POS as usize * step;
    while place < width {
        #[unroll]
        for i in 0..step {
            parts[group * 2 * width + place + i] = dweight[place + i];
            parts[group * 2 * width + width + place + i] = dbias[place + i];
        }
        place += step * units;
    }
}

/// What is normalised, feature `place` of row `row`, which `block` decides about.
#[cube]
fn input(
    x: &[f32],
    y: &[f32],
    row: usize,
    place: usize,
    block: &Words,
    threshold: u32,
    keep: f32,
    #[comptime] rows: Rows,
) -> f32 {
    let width = comptime!(rows.width);
    let at = row * width + place;
    if comptime!(rows.input == Kind::Alone) {
        x[at]
    } else if comptime!(rows.input == Kind::Sum) {
        x[at] + y[at]
    } else {
        let which = index_in_block(&element_index(row as u32, width as u32, place as u32));
        x[at] + y[at] * dropout_factor(block, which, threshold, keep)
    }
}

/// Adds up the groups' shares; a unit for a feature.
#[cube(launch)]
pub(super) fn sums_of_groups(parts: &[f32], dweight: &mut [f32], dbias: &mut [f32]) {
    let width = dweight.len();
    let place = ABSOLUTE_POS;
    if place >= width {
        terminate!();
    }
    let mut weight_sum = f32::new(0.0);
    let mut bias_sum = f32::new(0.0);
    let mut group = 0usize;
    while group < parts.len() / (2 * width) {
        weight_sum += parts[group * 2 * width + place];
        bias_sum += parts[group * 2 * width + width + place];
        group += 1;
    }
    dweight[place] = weight_sum;
    dbias[place] = bias_sum;
}
