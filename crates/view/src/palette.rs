use plotters::style::RGBColor;

/// The colours of Okabe and Ito (2008), which people with the common kinds of colour blindness can tell apart. Yellow
/// is left out because it is hard to see on white.
pub(crate) const SERIES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// From white through sky blue to dark blue. Lightness falls steadily, so the order is visible in grey too.
const SEQUENTIAL: [RGBColor; 3] =
    [RGBColor(255, 255, 255), RGBColor(86, 180, 233), RGBColor(8, 40, 88)];

/// From dark blue through white to dark vermilion.
const DIVERGING: [RGBColor; 5] = [
    RGBColor(0, 60, 110),
    RGBColor(86, 180, 233),
    RGBColor(255, 255, 255),
    RGBColor(230, 159, 0),
    RGBColor(140, 50, 0),
];

/// The colour of a weight from 0 (white) to 1 (dark).
pub(crate) fn sequential(weight: f64) -> RGBColor {
    interpolate(&SEQUENTIAL, weight)
}

/// The colour of a value from −1 (blue) through 0 (white) to 1 (vermilion).
pub(crate) fn diverging(value: f64) -> RGBColor {
    interpolate(&DIVERGING, (value + 1.0) / 2.0)
}

/// The colour at `place`, from 0 to 1, between evenly spaced `stops`.
fn interpolate(stops: &[RGBColor], place: f64) -> RGBColor {
    let place = if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 };
    let place = place * (stops.len() - 1) as f64;
    let below = (place as usize).min(stops.len() - 2);
    let share = place - below as f64;
    let (RGBColor(r, g, b), RGBColor(s, h, c)) = (stops[below], stops[below + 1]);
    let mix = |from: u8, to: u8| {
        (f64::from(from) + share * (f64::from(to) - f64::from(from))).round() as u8
    };
    RGBColor(mix(r, s), mix(g, h), mix(b, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance by the weights of sRGB.
    fn luminance(RGBColor(r, g, b): RGBColor) -> f64 {
        0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
    }

    #[test]
    fn a_larger_weight_is_never_lighter() {
        let lights: Vec<f64> =
            (0..=100).map(|w| luminance(sequential(f64::from(w) / 100.0))).collect();
        assert!(lights.windows(2).all(|pair| pair[1] < pair[0]), "{lights:?}");
    }

    #[test]
    fn zero_is_white_and_signs_differ() {
        assert_eq!(diverging(0.0), RGBColor(255, 255, 255));
        assert_eq!(sequential(0.0), RGBColor(255, 255, 255));
        let (RGBColor(_, _, cold), RGBColor(warm, _, _)) = (diverging(-0.5), diverging(0.5));
        assert!(cold > 200 && warm > 200);
    }

    #[test]
    fn values_out_of_range_take_the_nearest_colour() {
        assert_eq!(sequential(2.0), sequential(1.0));
        assert_eq!(sequential(f64::NAN), sequential(0.0));
    }
}
