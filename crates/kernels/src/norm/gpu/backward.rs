//! The backward pass. A cube works on a group of rows, one after the other, and a unit on the same
//! features of each. With n groups, a group is every n-th row.
//!
//! With g the gradient times the weight and n the normalised row: dx = (g − mean(g) − n·mean(g·n))
//! · scale, and dy is dx times dropout's factors. A row's shares in the gradients of weight and
//! bias are gradient·n and the gradient.

use cubecl::prelude::*;

use super::rows::{Kind, Operands, Rows, factor_at, input_at};
use crate::gpu::philox::{Draw, element_index, words_of_block};
use crate::gpu::sums_of_units;

/// Operands of the backward kernels; the forward pass returned `moments`.
#[derive(CubeType, CubeLaunch)]
pub(super) struct GradOperands {
    pub grad: Box<[f32]>,
    pub operands: Operands,
    pub moments: Box<[f32]>,
}

/// Shared memory of a cube: a normalised row, and the sums over a group of rows.
#[derive(CubeType)]
struct Group {
    normalised: Shared<[f32]>,
    dweight: Shared<[f32]>,
    dbias: Shared<[f32]>,
}

/// A row, 1 / √(variance + ε) of its input, and the means of g and g·n.
#[derive(CubeType, Clone, Copy)]
struct Row {
    index: usize,
    scale: f32,
    mean_g: f32,
    mean_product: f32,
}

/// The gradients of x and y, and of weight and bias the sum of the shares of a group of rows, in
/// `parts` `[groups, 2, width]`. dx is written at the start of `dxy`. dy is written from element
/// `second` on if there is dropout, and is dx otherwise.
#[cube(launch, address_type = "dynamic")]
pub(super) fn gradients_of_rows(
    inputs: &GradOperands,
    dxy: &mut [f32],
    parts: &mut [f32],
    second: usize,
    draw: Draw,
    #[comptime] rows: Rows,
) {
    let width = comptime!(rows.width);
    let units = comptime!(rows.units);
    let features = f32::new(comptime!(rows.width as f32));
    let count = inputs.operands.x.len() / width;
    let groups = parts.len() / (2 * width);
    if CUBE_POS >= groups {
        terminate!();
    }
    let mut group = Group {
        normalised: Shared::<[f32]>::new_slice(width),
        dweight: Shared::<[f32]>::new_slice(width),
        dbias: Shared::<[f32]>::new_slice(width),
    };
    clear(&mut group, rows);

    let mut index = CUBE_POS;
    while index < count {
        let (mean, scale) = (inputs.moments[index], inputs.moments[count + index]);
        let (sum, product) = add_shares(inputs, index, mean, scale, &mut group, &draw, rows);
        let (sum, product) = sums_of_units(sum, product, units);
        let row = Row { index, scale, mean_g: sum / features, mean_product: product / features };
        store_row(inputs, &row, &group, dxy, second, &draw, rows);
        index += groups;
    }
    store_shares(&group, parts, rows);
}

/// Sets this unit's features of the sums to zero.
#[cube]
fn clear(group: &mut Group, #[comptime] rows: Rows) {
    let step = comptime!(rows.step());
    let mut first = UNIT_POS as usize * step;
    while first < comptime!(rows.width) {
        #[unroll]
        for i in 0..step {
            group.dweight[first + i] = 0.0;
            group.dbias[first + i] = 0.0;
        }
        first += step * comptime!(rows.units);
    }
}

/// Normalises this unit's features of a row again, adds their shares in the gradients of weight and
/// bias, and returns its parts of Σ g and Σ g·n.
#[cube]
fn add_shares(
    inputs: &GradOperands,
    row: usize,
    mean: f32,
    scale: f32,
    group: &mut Group,
    draw: &Draw,
    #[comptime] rows: Rows,
) -> (f32, f32) {
    let width = comptime!(rows.width);
    let step = comptime!(rows.step());
    let start = row * width;
    let mut sum = f32::new(0.0);
    let mut product = f32::new(0.0);
    let mut first = UNIT_POS as usize * step;
    while first < width {
        let words = words_of_block(&element_index(row as u32, width as u32, first as u32), draw);
        #[unroll]
        for i in 0..step {
            let at = first + i;
            let input = input_at(&inputs.operands, row, at, &words, draw, rows);
            let n = (input - mean) * scale;
            let gradient = inputs.grad[start + at];
            group.normalised[at] = n;
            group.dweight[at] += gradient * n;
            group.dbias[at] += gradient;
            sum += gradient * inputs.operands.weight[at];
            product += gradient * inputs.operands.weight[at] * n;
        }
        first += step * comptime!(rows.units);
    }
    (sum, product)
}

/// Writes this unit's features of the gradients of x and y.
#[cube]
fn store_row(
    inputs: &GradOperands,
    row: &Row,
    group: &Group,
    dxy: &mut [f32],
    second: usize,
    draw: &Draw,
    #[comptime] rows: Rows,
) {
    let width = comptime!(rows.width);
    let step = comptime!(rows.step());
    let start = row.index * width;
    let mut first = UNIT_POS as usize * step;
    while first < width {
        let index = element_index(row.index as u32, width as u32, first as u32);
        let words = words_of_block(&index, draw);
        #[unroll]
        for i in 0..step {
            let at = first + i;
            let g = inputs.grad[start + at] * inputs.operands.weight[at];
            let d = (g - row.mean_g - group.normalised[at] * row.mean_product) * row.scale;
            dxy[start + at] = d;
            if comptime!(rows.kind == Kind::Dropped) {
                dxy[second + start + at] = d * factor_at(row.index, at, &words, draw, rows);
            }
        }
        first += step * comptime!(rows.units);
    }
}

/// Writes this unit's features of a group's sums.
#[cube]
fn store_shares(group: &Group, parts: &mut [f32], #[comptime] rows: Rows) {
    let width = comptime!(rows.width);
    let step = comptime!(rows.step());
    let mut first = UNIT_POS as usize * step;
    while first < width {
        #[unroll]
        for i in 0..step {
            parts[CUBE_POS * 2 * width + first + i] = group.dweight[first + i];
            parts[CUBE_POS * 2 * width + width + first + i] = group.dbias[first + i];
        }
        first += step * comptime!(rows.units);
    }
}

/// Adds up the groups' shares in the gradients of weight and bias; one unit for each feature.
#[cube(launch)]
pub(super) fn sums_of_groups(parts: &[f32], dweight: &mut [f32], dbias: &mut [f32]) {
    let width = dweight.len();
    let feature = ABSOLUTE_POS;
    if feature >= width {
        terminate!();
    }
    let mut weight_sum = f32::new(0.0);
    let mut bias_sum = f32::new(0.0);
    let mut group = 0usize;
    while group < parts.len() / (2 * width) {
        weight_sum += parts[group * 2 * width + feature];
        bias_sum += parts[group * 2 * width + width + feature];
        group += 1;
    }
    dweight[feature] = weight_sum;
    dbias[feature] = bias_sum;
}
