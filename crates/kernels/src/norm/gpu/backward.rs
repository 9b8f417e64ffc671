//! The backward pass. A cube works on a group of rows, one after the other, and a unit on the same features of each.
//! With n groups, a group is every n-th row.
//!
//! With g the gradient times the weight and n the normalised row: dx = (g − mean(g) − n·mean(g·n)) · scale, and dy is
//! dx times dropout's factors. A row's shares in the gradients of weight and bias are gradient·n and the gradient.

use cubecl::prelude::*;

use super::rows::{Kind, Rows, factor_at, input_at};
use crate::gpu::philox::{Draw, element_index, words_of_block};
use crate::gpu::sums_of_units;

/// The gradients of x and y, and of weight and bias the sum of the shares of a group of rows, in `parts` `[groups, 2,
/// width]`. dx is written at the start of `dxy`. dy is written from element `second` on if there is dropout, and is
/// dx otherwise.
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
    draw: Draw,
    #[comptime] rows: Rows,
) {
    let group = CUBE_POS;
    let width = comptime!(rows.width);
    let units = comptime!(rows.units);
    let features = f32::new(comptime!(rows.width as f32));
    let count = x.len() / width;
    let groups = parts.len() / (2 * width);
    if group >= groups {
        terminate!();
    }
    let mut normalised = Shared::<[f32]>::new_slice(width);
    let mut dweight = Shared::<[f32]>::new_slice(width);
    let mut dbias = Shared::<[f32]>::new_slice(width);
    clear(&mut dweight, &mut dbias, rows);

    let mut row = CUBE_POS;
    while row < count {
        let (mean, scale) = (moments[row], moments[count + row]);
        let (sum, product) = add_shares(
            grad,
            x,
            y,
            weight,
            row,
            mean,
            scale,
            &mut normalised,
            &mut dweight,
            &mut dbias,
            &draw,
            rows,
        );
        let (sum, product) = sums_of_units(sum, product, units);
        let (sum, product) = (sum / features, product / features);
        store_row(grad, weight, row, scale, sum, product, &normalised, dxy, second, &draw, rows);
        row += groups;
    }
    store_shares(&dweight, &dbias, parts, group, rows);
}

/// Sets this unit's features of the sums to zero.
#[cube]
fn clear(dweight: &mut Shared<[f32]>, dbias: &mut Shared<[f32]>, #[comptime] rows: Rows) {
    let step = comptime!(rows.step());
    let mut first = UNIT_POS as usize * step;
    while first < comptime!(rows.width) {
        #[unroll]
        for i in 0..step {
            dweight[first + i] = 0.0;
            dbias[first + i] = 0.0;
        }
        first += step * comptime!(rows.units);
    }
}

/// Normalises this unit's features of a row again, adds their shares in the gradients of weight and bias, and returns
/// its parts of Σ g and Σ g·n.
#[cube]
fn add_shares(
    grad: &[f32],
    x: &[f32],
    y: &[f32],
    weight: &[f32],
    row: usize,
    mean: f32,
    scale: f32,
    normalised: &mut Shared<[f32]>,
    dweight: &mut Shared<[f32]>,
    dbias: &mut Shared<[f32]>,
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
            let input = input_at(x, y, row, at, &words, draw, rows);
            let n = (input - mean) * scale;
            let gradient = grad[start + at];
            normalised[at] = n;
            dweight[at] += gradient * n;
            dbias[at] += gradient;
            sum += gradient * weight[at];
            product += gradient * weight[at] * n;
        }
        first += step * comptime!(rows.units);
    }
    (sum, product)
}

/// Writes this unit's features of the gradients of x and y. `mean_product` is mean(g·n).
#[cube]
fn store_row(
    grad: &[f32],
    weight: &[f32],
    row: usize,
    scale: f32,
    mean_g: f32,
    mean_product: f32,
    normalised: &Shared<[f32]>,
    dxy: &mut [f32],
    second: usize,
    draw: &Draw,
    #[comptime] rows: Rows,
) {
    let width = comptime!(rows.width);
    let step = comptime!(rows.step());
    let start = row * width;
    let mut first = UNIT_POS as usize * step;
    while first < width {
        let words = words_of_block(&element_index(row as u32, width as u32, first as u32), draw);
        #[unroll]
        for i in 0..step {
            let at = first + i;
            let g = grad[start + at] * weight[at];
            let d = (g - mean_g - normalised[at] * mean_product) * scale;
            dxy[start + at] = d;
            if comptime!(rows.kind == Kind::Dropped) {
                dxy[second + start + at] = d * factor_at(row, at, &words, draw, rows);
            }
        }
        first += step * comptime!(rows.units);
    }
}

/// Writes this unit's features of a group's sums.
#[cube]
fn store_shares(
    dweight: &Shared<[f32]>,
    dbias: &Shared<[f32]>,
    parts: &mut [f32],
    group: usize,
    #[comptime] rows: Rows,
) {
    let width = comptime!(rows.width);
    let step = comptime!(rows.step());
    let mut first = UNIT_POS as usize * step;
    while first < width {
        #[unroll]
        for i in 0..step {
            parts[group * 2 * width + first + i] = dweight[first + i];
            parts[group * 2 * width + width + first + i] = dbias[first + i];
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
