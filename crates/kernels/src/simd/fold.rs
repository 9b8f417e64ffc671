//! Reductions over a fixed number of lanes.

/// The number of partial results that a reduction keeps.
pub const LANES: usize = 16;

/// Folds `xs` lane by lane with `step`, then the lanes with `join`, in a fixed order.
#[inline(always)]
pub fn fold(
    xs: &[f32],
    start: f32,
    step: impl Fn(f32, f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; LANES];
    let mut chunks = xs.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = step(*lane, x);
    }
    halve(lanes, join)
}

/// Folds the pairs of two slices of equal length with `step`, starting at 0, and adds up the lanes
/// in a fixed order; see [`fold`].
#[inline(always)]
pub fn fold_pairs(xs: &[f32], ys: &[f32], step: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let mut xs = xs.chunks_exact(LANES);
    let mut ys = ys.chunks_exact(LANES);
    for (x, y) in (&mut xs).zip(&mut ys) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(x).zip(y) {
            *lane = step(*lane, x, y);
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(xs.remainder()).zip(ys.remainder()) {
        *lane = step(*lane, x, y);
    }
    halve(lanes, |a, b| a + b)
}

#[inline(always)]
fn halve(mut lanes: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = join(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// The sum Σ x.
#[inline(always)]
pub fn sum(xs: &[f32]) -> f32 {
    fold(xs, 0.0, |a, x| a + x, |a, b| a + b)
}

/// Returns the largest x, or −∞ if there is none. NaN is ignored.
#[inline(always)]
pub fn max(xs: &[f32]) -> f32 {
    fold(
        xs,
        f32::NEG_INFINITY,
        |a, x| if x > a { x } else { a },
        |a, b| if b > a { b } else { a },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_cover_the_tail() {
        let xs: Vec<f32> = (1..=37).map(|i| i as f32).collect();
        assert_eq!(sum(&xs), 703.0);
        assert_eq!(max(&xs), 37.0);
        assert_eq!(fold_pairs(&xs, &xs, |a, x, y| a + x * y), 17_575.0);
    }
}
