//! The kernels of the loss. A cube works on one row of logits, its n units in turn on every n-th
//! logit of the row.

use cubecl::prelude::*;

use crate::gpu::sums_of_units;

/// The statistics of each row, `by_row` `[4, rows]`: the highest logit, log Σ e^(x − highest), the
/// smoothed loss and the NLL.
#[cube(launch, address_type = "dynamic")]
pub(super) fn rows_of_loss(
    logits: &Tensor<f32>,
    targets: &Tensor<i32>,
    by_row: &mut Tensor<f32>,
    pad: i32,
    smoothing: f32,
    #[comptime] units: usize,
) {
    let row = CUBE_POS;
    let rows = logits.shape(0);
    let vocab = logits.shape(1);
    if row >= rows {
        terminate!();
    }
    let start = row * logits.stride(0);
    let (highest, sum, total) = running_sums(logits, start, vocab, units);
    let (peak, sum) = joined(highest, sum, units);
    let (total, _) = sums_of_units(total, 0.0, units);

    if UNIT_POS == 0 {
        // The two are never added to each other: beside a very large logit log Σ e^(x − highest)
        // would be lost.
        let log_sum = sum.ln();
        let target = targets[row];
        let mut loss = f32::new(0.0);
        let mut nll = f32::new(0.0);
        if target != pad {
            nll = log_sum + (peak - logit_of(logits, start, target, vocab));
            let uniform = log_sum + (peak - total / f32::cast_from(vocab as u32));
            loss = nll;
            // A logit of −∞ makes the mean infinite, and 0·∞ is NaN.
            if smoothing > 0.0 {
                loss = nll * (1.0 - smoothing) + uniform * smoothing;
            }
        }
        by_row[row] = peak;
        by_row[rows + row] = log_sum;
        by_row[2 * rows + row] = loss;
        by_row[3 * rows + row] = nll;
    }
}

/// Over this unit's logits of the row that begins at `start`: the highest, Σ e^(x − highest) and Σ
/// x, in one pass.
#[cube]
fn running_sums(
    logits: &Tensor<f32>,
    start: usize,
    vocab: usize,
    #[comptime] units: usize,
) -> (f32, f32, f32) {
    let mut highest = f32::new(comptime!(f32::MIN));
    let mut sum = f32::new(0.0);
    let mut total = f32::new(0.0);
    let mut column = UNIT_POS as usize;
    while column < vocab {
        let x = logits[start + column];
        let rise = x - highest;
        // NaN is no rise, and makes the sum NaN.
        let factor = (-rise.abs()).exp();
        if rise > 0.0 {
            sum = sum * factor + 1.0;
            highest = x;
        } else {
            sum += factor;
        }
        total += x;
        column += units;
    }
    (highest, sum, total)
}

/// The highest logit of the row and Σ e^(x − highest), joined two by two from those of the units.
#[cube]
fn joined(highest: f32, sum: f32, #[comptime] units: usize) -> (f32, f32) {
    let unit = UNIT_POS as usize;
    let mut peaks = Shared::<[f32]>::new_slice(units);
    let mut sums = Shared::<[f32]>::new_slice(units);
    peaks[unit] = highest;
    sums[unit] = sum;
    sync_cube();
    let mut half = (CUBE_DIM / 2) as usize;
    while half > 0 {
        if unit < half {
            let (one, other) = (peaks[unit], peaks[unit + half]);
            let peak = max(one, other);
            sums[unit] = sums[unit] * (one - peak).exp() + sums[unit + half] * (other - peak).exp();
            peaks[unit] = peak;
        }
        sync_cube();
        half /= 2;
    }
    (peaks[0], sums[0])
}

/// The target's logit; −∞ for a target outside the vocabulary, so that the loss is infinite: the
/// host does not wait for the device, and learns of the error by a loss that is not finite.
#[cube]
fn logit_of(logits: &Tensor<f32>, start: usize, target: i32, vocab: usize) -> f32 {
    // WGSL has no infinite literal.
    let mut logit = -(f32::cast_from(vocab as u32) + 1000.0).exp();
    if target >= 0 && (target as usize) < vocab {
        logit = logits[start + target as usize];
    }
    logit
}

/// The sums of the smoothed loss and of the NLL over all rows; one cube.
#[cube(launch)]
pub(super) fn sums_of_rows(
    by_row: &Tensor<f32>,
    smoothed: &mut Tensor<f32>,
    nll: &mut Tensor<f32>,
    #[comptime] units: usize,
) {
    let rows = by_row.shape(1);
    let mut loss_sum = f32::new(0.0);
    let mut nll_sum = f32::new(0.0);
    let mut row = UNIT_POS as usize;
    while row < rows {
        loss_sum += by_row[2 * rows + row];
        nll_sum += by_row[3 * rows + row];
        row += units;
    }
    let (loss_sum, nll_sum) = sums_of_units(loss_sum, nll_sum, units);
    if UNIT_POS == 0 {
        smoothed[0] = loss_sum;
        nll[0] = nll_sum;
    }
}

/// The gradients of the logits: scale·(p − ε/vocab − (1 − ε)·[it is the target's]), and 0 in rows
/// of padding.
#[cube(launch, address_type = "dynamic")]
pub(super) fn gradient_of_rows(
    logits: &Tensor<f32>,
    out: &mut Tensor<f32>,
    targets: &Tensor<i32>,
    by_row: &Tensor<f32>,
    scale: &Tensor<f32>,
    pad: i32,
    smoothing: f32,
) {
    let row = CUBE_POS;
    if row >= logits.shape(0) {
        terminate!();
    }
    let vocab = logits.shape(1);
    let (from, to) = (row * logits.stride(0), row * out.stride(0));
    let (peak, log_sum) = (by_row[row], by_row[by_row.shape(1) + row]);
    let target = targets[row];
    let scale = scale[0];
    let uniform = smoothing / f32::cast_from(vocab as u32);
    let mut column = UNIT_POS as usize;
    while column < vocab {
        let mut gradient = f32::new(0.0);
        if target != pad {
            let right = select(column as i32 == target, 1.0 - smoothing, 0.0);
            gradient = ((logits[from + column] - peak - log_sum).exp() - uniform - right) * scale;
        }
        out[to + column] = gradient;
        column += CUBE_DIM as usize;
    }
}
