use super::fold::{max, sum};
use super::math::exp;

/// Computes the softmax of a row in place: e^(x − maximum) divided by the sum of these numbers. −∞
/// gives 0. A row that contains NaN, or only −∞, becomes NaN.
#[inline(always)]
pub fn softmax_row(row: &mut [f32]) {
    let highest = max(row);
    for x in row.iter_mut() {
        *x = exp(*x - highest);
    }
    let factor = 1.0 / sum(row);
    for x in row.iter_mut() {
        *x *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_sums_to_one_and_minus_infinity_gets_nothing() {
        let mut row = [1.0, f32::NEG_INFINITY, 1.0, 1.0 - 2f32.ln()];
        softmax_row(&mut row);
        for (x, expected) in row.into_iter().zip([0.4, 0.0, 0.4, 0.2]) {
            assert!((x - expected).abs() < 1e-6, "{row:?}");
        }
        let mut nothing = [f32::NEG_INFINITY; 3];
        softmax_row(&mut nothing);
        assert!(nothing.iter().all(|x| x.is_nan()));
    }
}
