//! Positions that a file stores although they are computed: sines and cosines in one of the known
//! layouts.

use std::ops::Range;

use burnformer_core::Sinusoids;

use crate::tensors::Tensor;

/// The layout of sines and cosines in `table`, `[positions, d_model]`, and its first position, one
/// of `starts`; `None` if it holds something else. Numbers may differ by `tolerance`, since some
/// files round them to float16.
pub(crate) fn recognised(
    table: &Tensor,
    starts: Range<usize>,
    tolerance: f32,
) -> Option<(Sinusoids, usize)> {
    let &[count, width] = &table.shape[..] else { return None };
    if width < 4 || !width.is_multiple_of(2) {
        return None;
    }
    let layouts = [Sinusoids::Halves, Sinusoids::Interleaved, Sinusoids::HalvesToEnd];
    let mut choices =
        layouts.into_iter().flat_map(|layout| starts.clone().map(move |s| (layout, s)));
    choices.find(|&(layout, start)| {
        // Row by row: a table that is none is seen at its beginning.
        (0..count).zip(table.values.chunks(width)).all(|(position, row)| {
            let computed = layout.values(position + start..position + start + 1, width);
            row.iter().zip(&computed).all(|(a, b)| (a - b).abs() < tolerance)
        })
    })
}
