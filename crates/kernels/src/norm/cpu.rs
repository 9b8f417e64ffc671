//! The arithmetic of norms on slices.

use rayon::prelude::*;

use crate::cpu::{increase, ordered_sum, products, rows_per_task};
use crate::dropout::DropoutMask;
use crate::simd::{LANES, fold, sum, vectorised};

/// The rows that a norm normalises: `x`, or `x + mask·y`.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub x: &'a [f32],
    pub y: Option<&'a [f32]>,
    pub mask: Option<DropoutMask>,
}

/// Mean and 1/√(variance + ε) of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    mean: f32,
    rstd: f32,
}

impl Input<'_> {
    /// Writes the rows from element `start` on to `out`. Afterwards `factors` holds their factors
    /// of dropout.
    fn write(self, start: usize, out: &mut [f32], factors: &mut [f32]) {
        let part = start..start + out.len();
        let x = &self.x[part.clone()];
        let Some(y) = self.y else {
            return out.copy_from_slice(x);
        };
        match self.mask {
            None => out.copy_from_slice(&y[part]),
            Some(mask) => {
                mask.fill_at(start, factors);
                products(out, &y[part], factors);
            }
        }
        increase(out, x);
    }
}

/// Normalises `input` into `out` and returns the moments of each row. Weight and bias are `[d]`
/// each; `epsilon` is added to the variance.
pub(super) fn forward(
    input: Input,
    [weight, bias]: [&[f32]; 2],
    epsilon: f32,
    out: &mut [f32],
) -> Vec<Moments> {
    let width = weight.len();
    let mut moments = vec![Moments::default(); out.len() / width.max(1)];
    let tasks = out
        .par_chunks_mut(width * BLOCK_ROWS)
        .zip(moments.par_chunks_mut(BLOCK_ROWS))
        .enumerate();
    tasks.for_each_init(
        || vec![0.0; width * BLOCK_ROWS],
        |factors, (index, (out, moments))| {
            input.write(index * width * BLOCK_ROWS, out, &mut factors[..out.len()]);
            for (row, moments) in out.chunks_exact_mut(width).zip(moments) {
                *moments = normalise(row, weight, bias, epsilon);
            }
        },
    );
    moments
}

/// The number of rows that draw their dropout factors together.
const BLOCK_ROWS: usize = 8;

/// Turns the gradient of the output, in `dx` or in `source` if there is one, into the gradient of
/// `x` in `dx`. Writes the gradient of `y` to `dy` if there is a mask. Returns the gradients of
/// weight and bias, `[d]` each.
pub(super) fn backward(
    input: Input,
    weight: &[f32],
    moments: &[Moments],
    dx: &mut [f32],
    source: Option<&[f32]>,
    dy: &mut [f32],
) -> [Vec<f32>; 2] {
    let width = weight.len();
    let rows = rows_per_task(moments.len());
    let chunk = rows * width;
    let tasks = dx.par_chunks_mut(chunk).zip(moments.par_chunks(rows));
    let partial: Vec<Vec<f32>> = if dy.is_empty() {
        tasks
            .enumerate()
            .map(|(index, (dx, moments))| {
                backward_task(input, weight, moments, source, index * chunk, dx, &mut [])
            })
            .collect()
    } else {
        tasks
            .zip(dy.par_chunks_mut(chunk))
            .enumerate()
            .map(|(index, ((dx, moments), dy))| {
                backward_task(input, weight, moments, source, index * chunk, dx, dy)
            })
            .collect()
    };
    let mut sums = ordered_sum(&partial, 2 * width);
    let bias = sums.split_off(width);
    [sums, bias]
}

/// Returns the [backward] pass of the rows of one task, from element `start` on. Returns Σ g·x̂ and
/// Σ g, `[2·d]`.
fn backward_task(
    input: Input,
    weight: &[f32],
    moments: &[Moments],
    source: Option<&[f32]>,
    start: usize,
    dx: &mut [f32],
    dy: &mut [f32],
) -> Vec<f32> {
    if let Some(source) = source {
        dx.copy_from_slice(&source[start..start + dx.len()]);
    }
    let width = weight.len();
    let block = width * BLOCK_ROWS;
    let mut sums = vec![0.0; 2 * width];
    let mut values = vec![0.0; block];
    let mut factors = vec![0.0; block];
    for (index, dx) in dx.chunks_mut(block).enumerate() {
        let offset = index * block;
        let values = &mut values[..dx.len()];
        let factors = &mut factors[..dx.len()];
        input.write(start + offset, values, factors);
        let rows = dx.chunks_exact_mut(width).zip(values.chunks_exact(width));
        for ((row, values), moments) in rows.zip(&moments[index * BLOCK_ROWS..]) {
            gradient(row, values, weight, *moments, &mut sums);
        }
        if !dy.is_empty() {
            products(&mut dy[offset..offset + dx.len()], dx, factors);
        }
    }
    sums
}

vectorised! {
    fn normalise(row: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) -> Moments {
        let count = row.len() as f32;
        let mean = sum(row) / count;
        let squares = fold(row, 0.0, |a, x| a + (x - mean) * (x - mean), |a, b| a + b);
        let rstd = 1.0 / (squares / count + epsilon).sqrt();
        for ((x, w), b) in row.iter_mut().zip(weight).zip(bias) {
            *x = (*x - mean) * rstd * w + b;
        }
        Moments { mean, rstd }
    }

    /// Turns a row's output gradient g into (ĝ − mean(ĝ) − x̂·mean(ĝ·x̂))·rstd with ĝ = g·weight,
    /// and adds g·x̂ and g to `sums`.
    fn gradient(row: &mut [f32], values: &[f32], weight: &[f32], moments: Moments, sums: &mut [f32]) {
        let Moments { mean, rstd } = moments;
        let width = row.len();
        let (dweight, dbias) = sums.split_at_mut(width);
        let mut first = [0.0f32; LANES];
        let mut second = [0.0f32; LANES];
        let mut start = 0;
        while start < width {
            let end = (start + LANES).min(width);
            let g = &row[start..end];
            let h = &values[start..end];
            let w = &weight[start..end];
            let dw = &mut dweight[start..end];
            let db = &mut dbias[start..end];
            for i in 0..end - start {
                let scaled = g[i] * w[i];
                let unit = (h[i] - mean) * rstd;
                first[i] += scaled;
                second[i] += scaled * unit;
                dw[i] += g[i] * unit;
                db[i] += g[i];
            }
            start = end;
        }
        let shift = sum(&first) / width as f32;
        let slope = sum(&second) / width as f32;
        for ((g, h), w) in row.iter_mut().zip(values).zip(weight) {
            let unit = (*h - mean) * rstd;
            *g = (*g * w - shift - unit * slope) * rstd;
        }
    }
}
