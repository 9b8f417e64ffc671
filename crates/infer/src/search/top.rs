use std::cmp::Ordering;

/// With this many values or more, sorting what remains after a partition is faster than inserting one by one.
const INSERTION_LIMIT: usize = 64;
/// The number of values that are compared with the threshold together.
const CHUNK: usize = 32;

/// A token and its logit.
pub(crate) type Scored = (f32, u32);

/// Writes the `count` highest of `values` to `best`, highest first; of equal values, the one with the lower id comes
/// first.
///
/// −∞ and NaN are never chosen. The values are not sorted: a value above the lowest one kept is rare, and whole chunks
/// are skipped by one comparison of all their values.
pub(crate) fn select_top(values: &[f32], count: usize, best: &mut Vec<Scored>) {
    best.clear();
    if count > INSERTION_LIMIT {
        return partition_top(values, count, best);
    }
    let mut threshold = f32::NEG_INFINITY;
    for (start, chunk) in (0..).step_by(CHUNK).zip(values.chunks(CHUNK)) {
        if !chunk.iter().fold(false, |any, &value| any | (value > threshold)) {
            continue;
        }
        for (id, &value) in (start..).zip(chunk) {
            if value > threshold {
                threshold = insert(best, count, (value, id));
            }
        }
    }
}

/// Inserts a value after its equals, which have lower ids, and returns the new threshold.
fn insert(best: &mut Vec<Scored>, count: usize, new: Scored) -> f32 {
    let place = best.partition_point(|kept| kept.0 >= new.0);
    best.truncate(count - 1);
    best.insert(place, new);
    if best.len() < count { f32::NEG_INFINITY } else { best[count - 1].0 }
}

fn partition_top(values: &[f32], count: usize, best: &mut Vec<Scored>) {
    let finite = (0..).zip(values).filter(|&(_, &value)| value > f32::NEG_INFINITY);
    best.extend(finite.map(|(id, &value)| (value, id)));
    if count < best.len() {
        best.select_nth_unstable_by(count - 1, descending);
        best.truncate(count);
    }
    best.sort_unstable_by(descending);
}

fn descending(a: &Scored, b: &Scored) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(values: &[f32], count: usize) -> Vec<Scored> {
        let mut best = Vec::new();
        select_top(values, count, &mut best);
        best
    }

    #[test]
    fn the_highest_come_first_and_of_equals_the_lower_id() {
        let values = [1.0, 3.0, 2.0, 3.0, f32::NEG_INFINITY, 0.0];
        assert_eq!(top(&values, 3), [(3.0, 1), (3.0, 3), (2.0, 2)]);
        assert_eq!(top(&values, 1), [(3.0, 1)]);
    }

    #[test]
    fn the_impossible_is_never_chosen() {
        let values = [f32::NEG_INFINITY, f32::NAN, 1.0];
        assert_eq!(top(&values, 3), [(1.0, 2)]);
    }

    #[test]
    fn selection_is_a_sort_cut_off() {
        let values: Vec<f32> =
            (0..3001u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 22) as f32).collect();
        let mut sorted: Vec<Scored> = (0..).zip(&values).map(|(id, &value)| (value, id)).collect();
        sorted.sort_by(descending);
        for count in [1, 2, 8, 63, 64, 65, 500, 3001, 4000] {
            assert_eq!(top(&values, count), sorted[..count.min(3001)], "{count}");
        }
    }
}
