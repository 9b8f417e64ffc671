use rayon::prelude::*;

use crate::DropoutMask;
use crate::vector::vectorised;

/// Elements a task handles.
const TASK: usize = 8 * 1024;

/// `out *= mask`, of `source` where there is one.
pub(crate) fn apply(out: &mut [f32], source: Option<&[f32]>, mask: DropoutMask) {
    out.par_chunks_mut(TASK).enumerate().for_each(|(index, out)| {
        let start = index * TASK;
        let mut factors = [0.0; TASK];
        let factors = &mut factors[..out.len()];
        mask.fill_at(start, factors);
        let source = source.map(|source| &source[start..start + out.len()]);
        match source {
            None => multiply(out, factors),
            Some(source) => multiply_into(out, source, factors),
        }
    });
}

/// `out += x`, of `mask` times `out` where there is one; `out` taken from `source` where given.
pub(crate) fn add(out: &mut [f32], source: Option<&[f32]>, x: &[f32], mask: Option<DropoutMask>) {
    let tasks = out.par_chunks_mut(TASK).zip(x.par_chunks(TASK)).enumerate();
    tasks.for_each(|(index, (out, x))| {
        let start = index * TASK;
        if let Some(source) = source {
            out.copy_from_slice(&source[start..start + out.len()]);
        }
        if let Some(mask) = mask {
            let mut factors = [0.0; TASK];
            mask.fill_at(start, &mut factors[..x.len()]);
            multiply(out, &factors);
        }
        increase(out, x);
    });
}

vectorised! {
    /// `xs *= ys`.
    pub(crate) fn multiply(xs: &mut [f32], ys: &[f32]) {
        for (x, y) in xs.iter_mut().zip(ys) {
            *x *= y;
        }
    }

    /// `out = xs · ys`.
    pub(crate) fn multiply_into(out: &mut [f32], xs: &[f32], ys: &[f32]) {
        for ((out, x), y) in out.iter_mut().zip(xs).zip(ys) {
            *out = x * y;
        }
    }

    /// `xs += ys`.
    pub fn increase(xs: &mut [f32], ys: &[f32]) {
        for (x, y) in xs.iter_mut().zip(ys) {
            *x += y;
        }
    }
}
