//! Rows of float32 as 8-bit integers with a scale each.

use crate::simd::vectorised;

/// Largest magnitude of an 8-bit number in this module.
const MAX_VALUE: f32 = 127.0;
/// Largest mean of two neighbours of one sign in a row of a weight.
const MAX_MEAN: f32 = MAX_VALUE / 2.0;
/// Smallest magnitude of a row that is not regarded as zeros. Below it, the reciprocal of the scale
/// would not be finite.
const MIN_MAGNITUDE: f32 = 1e-30;
/// 1.5·2²³. The sum of this and a number below 2²² holds the number, rounded to the nearest integer
/// with ties to even, in its lowest bits.
const ROUNDING: f32 = 12_582_912.0;

/// A matrix in 8-bit integers: each number is its integer multiplied by the scale of its row.
///
/// The absolute values of two neighbours of one sign, at the indices 2i and 2i + 1, sum to at most
/// 127. The sum of their products with unsigned 8-bit numbers therefore fits in 16 bits, and
/// `vpmaddubsw` is exact.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedRows {
    /// `[rows, columns]` row-major, from −127 to 127.
    pub values: Vec<i8>,
    /// One scale per row: 1/127 of the largest sum of two neighbours of one sign, or NaN for a row
    /// with a number that is not finite.
    pub scales: Vec<f32>,
}

impl QuantizedRows {
    /// Returns whether the integers of rows of `columns` numbers are as documented: rows from
    /// another program may be others.
    pub fn is_exact(&self, columns: usize) -> bool {
        self.values.chunks_exact(columns.max(1)).all(is_exact)
    }

    /// Returns the numbers of the rows of `columns` numbers, each its integer times the scale of
    /// its row.
    pub fn dequantized(&self, columns: usize) -> Vec<f32> {
        let mut numbers = Vec::with_capacity(self.values.len());
        let rows = self.values.chunks_exact(columns.max(1));
        for (row, scale) in rows.zip(&self.scales) {
            numbers.extend(row.iter().map(|&value| f32::from(value) * scale));
        }
        numbers
    }
}

vectorised! {
    /// Returns whether no integer is −128 and no two neighbours of one sign exceed 127 together.
    fn is_exact(row: &[i8]) -> bool {
        let (pairs, rest) = row.as_chunks::<2>();
        let is_in_range = |sum: i16| (-127..=127).contains(&sum);
        let pairs = pairs.iter().fold(true, |all, &[a, b]| {
            let sum = i16::from(a) + i16::from(b);
            all & is_in_range(sum) & (a != i8::MIN) & (b != i8::MIN)
        });
        pairs & rest.iter().all(|&value| value != i8::MIN)
    }
}

/// Quantises `rows`, `[.., columns]` in row-major order, row by row: to the nearest multiple of the
/// row's scale.
///
/// # Panics
/// Panics if the number of elements is not a multiple of `columns`.
pub fn quantize_rows(rows: &[f32], columns: usize) -> QuantizedRows {
    let count = rows.len().checked_div(columns).unwrap_or(0);
    assert_eq!(count * columns, rows.len(), "rows of {columns} numbers");
    let mut values = vec![0; rows.len()];
    let rows = rows
        .chunks_exact(columns.max(1))
        .zip(values.chunks_exact_mut(columns.max(1)));
    let scales = rows
        .map(|(row, values)| quantize_weight(row, values))
        .collect();
    QuantizedRows { values, scales }
}

#[cfg(feature = "cpu")]
vectorised! {
    /// Writes `row` in 8 bits to `values` and returns its scale, 1/127 of its largest magnitude.
    pub(crate) fn quantize(row: &[f32], values: &mut [i8]) -> f32 {
        write(row, values, magnitude(row), MAX_VALUE)
    }
}

vectorised! {
    /// Writes `row` to `values` in the form of [`QuantizedRows`], and returns its scale.
    pub(crate) fn quantize_weight(row: &[f32], values: &mut [i8]) -> f32 {
        // If the signs differ, the larger number alone counts. As integers, magnitudes are compared
        // in vectors on every processor.
        let pairs = row.as_chunks::<2>().0.iter();
        let means = pairs.map(|[a, b]| (a / 2.0 + b / 2.0).abs().to_bits());
        let largest = means.fold(0, u32::max);
        let largest = largest.max((magnitude(row) / 2.0).abs().to_bits());
        let scale = write(row, values, f32::from_bits(largest), MAX_MEAN);
        // Two halves that were both rounded away from 0 exceed the sum by 1.
        for [a, b] in values.as_chunks_mut::<2>().0 {
            let sum = i16::from(*a) + i16::from(*b);
            *a -= (sum - sum.clamp(-127, 127)) as i8;
        }
        scale
    }
}

/// Quantises `row` to 8 bits, so that `largest` becomes `steps`, and returns the scale.
#[inline(always)]
fn write(row: &[f32], values: &mut [i8], largest: f32, steps: f32) -> f32 {
    if !largest.is_finite() {
        values.fill(0);
        return f32::NAN;
    }
    if largest < MIN_MAGNITUDE {
        values.fill(0);
        return 0.0;
    }
    let factor = steps / largest;
    for (value, x) in values.iter_mut().zip(row) {
        *value = (x * factor + ROUNDING).to_bits() as i8;
    }
    largest / steps
}

/// Returns the largest magnitude of `row`; infinite or NaN if one of the numbers is. As integers,
/// the bits of magnitudes have the order of the magnitudes.
#[inline(always)]
fn magnitude(row: &[f32]) -> f32 {
    let bits = row
        .iter()
        .fold(0, |largest: u32, x| largest.max(x.abs().to_bits()));
    f32::from_bits(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_of_a_row_is_a_127th_of_its_largest_magnitude() {
        let mut values = [0; 3];
        // 63.5 is half-way between 63 and 64 and is rounded to even; so is 0.5.
        for (row, scale, expected) in [
            ([12.7, -25.4, 0.11], 25.4 / 127.0, [64, -127, 1]),
            ([0.0; 3], 0.0, [0; 3]),
            ([1.0, 0.5, -0.5 / 127.0], 1.0 / 127.0, [127, 64, 0]),
        ] {
            assert_eq!((quantize(&row, &mut values), values), (scale, expected));
        }
    }

    #[test]
    fn the_scale_of_a_weights_row_is_a_127th_of_its_largest_pair() {
        for (row, scale, expected) in [
            // The pair that decides has different signs, one sign, and both halves of 127.
            (
                [25.4, -12.7, 0.4, 0.2, 0.0],
                25.4 / 127.0,
                [127, -64, 2, 1, 0],
            ),
            (
                [-1.0, -2.0, 0.5, 1.0, 1.5],
                3.0 / 127.0,
                [-42, -85, 21, 42, 64],
            ),
            (
                [1.0, 1.0, -1.0, -1.0, -2.0],
                2.0 / 127.0,
                [63, 64, -63, -64, -127],
            ),
            (
                [0.0, 0.0, 0.0, 0.0, -2.54],
                2.54 / 127.0,
                [0, 0, 0, 0, -127],
            ),
        ] {
            let quantized = quantize_rows(&row, 5);
            assert_eq!(quantized.values, expected);
            assert_eq!(quantized.scales, [scale]);
        }
    }

    #[test]
    fn two_neighbours_of_one_sign_sum_to_at_most_127() {
        for seed in 0..200 {
            let rows = crate::random::RandomKey::new(seed).normal(8 * 31);
            let quantized = quantize_rows(&rows, 31);
            for row in quantized.values.chunks_exact(31) {
                let pairs = row.chunks(2).map(|pair| pair.iter().map(|&x| i32::from(x)));
                let sums = pairs.map(|x| {
                    [
                        x.clone().map(|x| x.max(0)).sum(),
                        x.map(|x| -x.min(0)).sum(),
                    ]
                });
                let largest = sums.flatten().max();
                assert_eq!(largest, Some(127), "seed {seed}: {row:?}");
            }
        }
    }

    #[test]
    fn a_row_that_is_not_finite_has_no_scale() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(quantize_rows(&[1.0, bad, 2.0], 3).scales[0].is_nan());
        }
    }

    #[test]
    fn rows_of_tiny_and_of_huge_numbers_stay_in_range() {
        for largest in [1e-40, 1e-31, 1e-30, f32::MIN_POSITIVE, 1.0, 3e38, f32::MAX] {
            let quantized = quantize_rows(&[largest, largest, -largest, largest / 2.0], 4);
            assert!(quantized.scales[0].is_finite());
            assert!(
                quantized.values.iter().all(|&value| value != i8::MIN),
                "{quantized:?}"
            );
        }
    }

    /// A matrix that was read from 8 bits is quantised to the same 8 bits.
    #[test]
    fn quantising_again_gives_the_same_integers() {
        let rows = crate::random::RandomKey::new(3).normal(64 * 37);
        let once = quantize_rows(&rows, 37);
        let back: Vec<f32> = once
            .values
            .chunks_exact(37)
            .zip(&once.scales)
            .flat_map(|(row, scale)| row.iter().map(move |&value| f32::from(value) * scale))
            .collect();
        assert_eq!(quantize_rows(&back, 37).values, once.values);
    }
}
