//! The arithmetic of dropout on slices.

use rayon::prelude::*;

use super::mask::DropoutMask;
use crate::cpu::{increase, multiply_by, products};

/// The number of elements that one task handles.
const TASK_ELEMENTS: usize = 8 * 1024;

/// Multiplies `source` by the factors of `mask` and writes the products to `out`. Without `source`,
/// the elements of `out` are multiplied.
pub(super) fn apply(out: &mut [f32], source: Option<&[f32]>, mask: DropoutMask) {
    out.par_chunks_mut(TASK_ELEMENTS)
        .enumerate()
        .for_each(|(index, out)| {
            let start = index * TASK_ELEMENTS;
            let mut factors = [0.0; TASK_ELEMENTS];
            let factors = &mut factors[..out.len()];
            mask.fill_at(start, factors);
            let source = source.map(|source| &source[start..start + out.len()]);
            match source {
                None => multiply_by(out, factors),
                Some(source) => products(out, source, factors),
            }
        });
}

/// Multiplies `out`, or `source` if there is one, by the factors of `mask`, if there is one, and
/// adds `x`. The result is in `out`.
pub(super) fn add(out: &mut [f32], source: Option<&[f32]>, x: &[f32], mask: Option<DropoutMask>) {
    let tasks = out
        .par_chunks_mut(TASK_ELEMENTS)
        .zip(x.par_chunks(TASK_ELEMENTS))
        .enumerate();
    tasks.for_each(|(index, (out, x))| {
        let start = index * TASK_ELEMENTS;
        if let Some(source) = source {
            out.copy_from_slice(&source[start..start + out.len()]);
        }
        if let Some(mask) = mask {
            let mut factors = [0.0; TASK_ELEMENTS];
            mask.fill_at(start, &mut factors[..x.len()]);
            multiply_by(out, &factors);
        }
        increase(out, x);
    });
}
