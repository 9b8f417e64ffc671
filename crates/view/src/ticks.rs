//! The marks of an axis and how their numbers are written.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

/// A range of an axis with its marks. On a logarithmic axis, positions are logarithms of values.
pub(crate) struct Ticks {
    pub range: Range<f64>,
    pub marks: Vec<f64>,
    pub is_logarithmic: bool,
}

impl Ranged for Ticks {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range.clone()).map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Ticks {
    fn format_ext(&self, position: &f64) -> String {
        label(if self.is_logarithmic { position.exp() } else { *position })
    }
}

/// About `count` round numbers from `low` to `high`; their distance is 1, 2 or 5 times a power of
/// ten.
pub(crate) fn linear(low: f64, high: f64, count: usize) -> Vec<f64> {
    let raw = (high - low) / count.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|&step| step * power >= raw * 0.999);
    let step = nice.unwrap_or(10.0) * power;
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|index| index as f64 * step).collect()
}

/// Powers of ten from `low` to `high`. If there are fewer than three, also two and five times these
/// powers.
pub(crate) fn logarithmic(low: f64, high: f64) -> Vec<f64> {
    let [first, last] = [(low.log10() - 1e-9).floor(), (high.log10() + 1e-9).ceil()];
    let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    let marks = |factors: &[f64]| -> Vec<f64> {
        let powers = (first as i32..=last as i32).map(|exponent| 10f64.powi(exponent));
        powers.flat_map(|power| factors.iter().map(move |m| m * power)).filter(inside).collect()
    };
    let powers = marks(&[1.0]);
    if powers.len() < 3 { marks(&[1.0, 2.0, 5.0]) } else { powers }
}

/// A number in its shortest form: `2000`, `0.25`, `7e-5`.
pub(crate) fn label(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    trimmed(&format!("{value:.6}")).to_string()
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_marks_are_round_and_cover_the_range() {
        assert_eq!(linear(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(linear(0.0, 1860.0, 5), [0.0, 500.0, 1000.0, 1500.0]);
        assert_eq!(linear(38.0, 41.0, 4), [38.0, 39.0, 40.0, 41.0]);
    }

    #[test]
    fn logarithmic_marks_are_powers_or_their_doubles_and_fivefolds() {
        assert_eq!(logarithmic(1.0, 1000.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(logarithmic(4.0, 60.0), [5.0, 10.0, 20.0, 50.0]);
    }

    #[test]
    fn labels_are_short() {
        let labels = [0.0, 2000.0, 0.25, 0.1 + 0.2, 7e-4, 7e-5, 1.5e7, -3.0].map(label);
        assert_eq!(labels, ["0", "2000", "0.25", "0.3", "0.0007", "7e-5", "1.5e7", "-3"]);
    }
}
