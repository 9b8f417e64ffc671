//! The marks of an axis and how their numbers are written: those of plotters, but for logarithmic
//! axes, on which plotters marks nothing between two powers of ten.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::data::float::FloatPrettyPrinter;

/// A range of an axis with its marks. On a logarithmic axis, positions are logarithms of values.
pub(crate) struct Ticks {
    pub range: Range<f64>,
    pub is_logarithmic: bool,
}

impl Ranged for Ticks {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range.clone()).map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let Range { start, end } = self.range;
        match self.is_logarithmic {
            true => logarithmic(start.exp(), end.exp()).into_iter().map(f64::ln).collect(),
            false => RangedCoordf64::from(start..end).key_points(hint),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Ticks {
    fn format_ext(&self, position: &f64) -> String {
        let value = if self.is_logarithmic { position.exp() } else { *position };
        FloatPrettyPrinter { allow_scientific: false, min_decimal: 0, max_decimal: 10 }.print(value)
    }
}

/// Powers of ten from `low` to `high`. If there are fewer than three, also two and five times these
/// powers.
fn logarithmic(low: f64, high: f64) -> Vec<f64> {
    let [first, last] = [(low.log10() - 1e-9).floor(), (high.log10() + 1e-9).ceil()];
    let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    let marks = |factors: &[f64]| -> Vec<f64> {
        let powers = (first as i32..=last as i32).map(|exponent| 10f64.powi(exponent));
        powers.flat_map(|power| factors.iter().map(move |m| m * power)).filter(inside).collect()
    };
    let powers = marks(&[1.0]);
    if powers.len() < 3 { marks(&[1.0, 2.0, 5.0]) } else { powers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_marks_are_powers_or_their_doubles_and_fivefolds() {
        assert_eq!(logarithmic(1.0, 1000.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(logarithmic(4.0, 60.0), [5.0, 10.0, 20.0, 50.0]);
    }

    #[test]
    fn marks_are_round_and_labels_short() {
        let marks = |range, is_logarithmic| {
            let ticks = Ticks { range, is_logarithmic };
            let marks = ticks.key_points(6).into_iter();
            marks.map(|mark| ticks.format_ext(&mark)).collect::<Vec<_>>()
        };
        assert_eq!(marks(0.0..1860.0, false), ["0", "500", "1000", "1500"]);
        assert_eq!(marks(-0.1..0.5, false), ["-0.1", "0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(marks(7e-5f64.ln()..2e-2f64.ln(), true), ["0.0001", "0.001", "0.01"]);
        assert_eq!(marks(1.5f64.ln()..8f64.ln(), true), ["2", "5"]);
    }
}
