//! The highest of many numbers, on the host.

use std::cmp::Ordering;

use crate::simd::vectorised;

/// Largest number of values that are inserted one by one. For more, a partition and a sort of its
/// result are faster.
const MAX_INSERTIONS: usize = 64;
/// The number of values that are compared with the threshold together.
const CHUNK_VALUES: usize = 64;
/// The number of parts that the values are divided into for their maxima.
const PARTS: usize = 32;

/// A value and its index among the values.
pub type Top = (f32, u32);

/// Writes the `count` highest of `values`, each with its index, to `best`, highest first; equal
/// values keep their order.
///
/// −∞ and NaN are never chosen. The values are not sorted: for a small `count`, the maxima of a few
/// parts of them give a threshold that few values exceed, and one comparison of all its values
/// skips a whole chunk.
pub fn top_k(values: &[f32], count: usize, best: &mut Vec<Top>) {
    top_k_above(values, f32::NEG_INFINITY, count, best);
}

/// Like [`top_k`], of the values above `floor` alone. With a floor that few values exceed, one pass
/// is enough.
pub fn top_k_above(values: &[f32], floor: f32, count: usize, best: &mut Vec<Top>) {
    best.clear();
    match count {
        0 => {}
        1..=MAX_INSERTIONS => insert_top(values, floor, count, best),
        _ => partition_top(values, floor, count, best),
    }
}

fn insert_top(values: &[f32], floor: f32, count: usize, best: &mut Vec<Top>) {
    let mut threshold = if floor > f32::NEG_INFINITY {
        floor
    } else {
        lower_bound(values, count).next_down()
    };
    let mut start = 0;
    while let Some(index) = first_above(&values[start..], threshold) {
        let index = start + index;
        if let Some(lowest) = insert(best, count, (values[index], index as u32)) {
            threshold = lowest;
        }
        start = index + 1;
    }
}

/// Returns a number that at least `count` of `values` reach, or −∞: the `count`-th highest of the
/// maxima of the parts.
fn lower_bound(values: &[f32], count: usize) -> f32 {
    if count > PARTS {
        return f32::NEG_INFINITY;
    }
    let mut maxima = [f32::NEG_INFINITY; PARTS];
    maxima_of_parts(values, &mut maxima);
    *maxima
        .select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a))
        .1
}

vectorised! {
    /// The maxima of the values at the indices 0, PARTS, 2·PARTS …, at 1, PARTS + 1 …, and so on.
    /// NaN is ignored.
    fn maxima_of_parts(values: &[f32], maxima: &mut [f32; PARTS]) {
        let mut largest = *maxima;
        let (rows, rest) = values.as_chunks::<PARTS>();
        for row in rows {
            for (largest, &value) in largest.iter_mut().zip(row) {
                *largest = if value > *largest { value } else { *largest };
            }
        }
        for (largest, &value) in largest.iter_mut().zip(rest) {
            *largest = if value > *largest { value } else { *largest };
        }
        *maxima = largest;
    }

    /// Returns the index of the first value above `threshold`.
    fn first_above(values: &[f32], threshold: f32) -> Option<usize> {
        let (chunks, rest) = values.as_chunks::<CHUNK_VALUES>();
        for (start, chunk) in (0..).step_by(CHUNK_VALUES).zip(chunks) {
            if chunk.iter().fold(false, |any, &value| any | (value > threshold)) {
                return position_above(chunk, threshold).map(|index| start + index);
            }
        }
        position_above(rest, threshold).map(|index| values.len() - rest.len() + index)
    }
}

/// Returns the index of the first value above `threshold`, by a comparison for each value.
#[inline(always)]
fn position_above(values: &[f32], threshold: f32) -> Option<usize> {
    values.iter().position(|&value| value > threshold)
}

/// Inserts a value after its equals, which come before it. Returns the lowest value once there are
/// `count`.
fn insert(best: &mut Vec<Top>, count: usize, new: Top) -> Option<f32> {
    let index = best.partition_point(|kept| kept.0 >= new.0);
    best.truncate(count - 1);
    best.insert(index, new);
    (best.len() == count).then(|| best[count - 1].0)
}

fn partition_top(values: &[f32], floor: f32, count: usize, best: &mut Vec<Top>) {
    let above = (0..).zip(values).filter(|&(_, &value)| value > floor);
    best.extend(above.map(|(index, &value)| (value, index)));
    if count < best.len() {
        best.select_nth_unstable_by(count - 1, descending);
        best.truncate(count);
    }
    best.sort_unstable_by(descending);
}

fn descending(a: &Top, b: &Top) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(values: &[f32], count: usize) -> Vec<Top> {
        let mut best = vec![(9.0, 9)];
        top_k(values, count, &mut best);
        best
    }

    #[test]
    fn the_highest_come_first_and_equals_keep_their_order() {
        let values = [1.0, 3.0, 2.0, 3.0, f32::NEG_INFINITY, 0.0];
        assert_eq!(top(&values, 3), [(3.0, 1), (3.0, 3), (2.0, 2)]);
        assert_eq!(top(&values, 1), [(3.0, 1)]);
        assert_eq!(top(&values, 0), []);
    }

    #[test]
    fn minus_infinity_and_nan_are_never_chosen() {
        let values = [f32::NEG_INFINITY, f32::NAN, 1.0];
        assert_eq!(top(&values, 3), [(1.0, 2)]);
        assert_eq!(top(&[f32::NEG_INFINITY; 100], 3), []);
        assert_eq!(top(&[f32::NAN; 100], 3), []);
    }

    #[test]
    fn selection_equals_the_start_of_a_sort() {
        for len in [0, 1, 31, 32, 33, 64, 65, 200, 3001] {
            let values: Vec<f32> = (0..len)
                .map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 22) as f32)
                .collect();
            let mut sorted: Vec<Top> = (0..)
                .zip(&values)
                .map(|(index, &value)| (value, index))
                .collect();
            sorted.sort_by(descending);
            for count in [1, 2, 8, 31, 32, 33, 63, 64, 65, 500, 3001, 4000] {
                let expected = &sorted[..count.min(values.len())];
                assert_eq!(top(&values, count), expected, "{count} of {len}");
                for floor in [-1.0, 0.0, 500.0, 1022.0, 1023.0] {
                    let above = expected.partition_point(|&(value, _)| value > floor);
                    let mut best = Vec::new();
                    top_k_above(&values, floor, count, &mut best);
                    assert_eq!(best, expected[..above], "{count} of {len} above {floor}");
                }
            }
        }
    }

    /// Parts with maxima below 0, equal, −∞ or NaN.
    #[test]
    fn a_few_finite_values_are_found() {
        let mut values = vec![f32::NEG_INFINITY; 500];
        for (index, value) in [
            (3, -2.5),
            (70, f32::NAN),
            (99, -7.0),
            (131, -2.5),
            (499, -1e30),
        ] {
            values[index] = value;
        }
        assert_eq!(top(&values, 3), [(-2.5, 3), (-2.5, 131), (-7.0, 99)]);
        assert_eq!(top(&values, 40).len(), 4);
        assert_eq!(top(&vec![-0.5; 1000], 8).last(), Some(&(-0.5, 7)));
    }
}
