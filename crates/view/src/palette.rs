use plotters::style::RGBColor;

/// The colours of Okabe and Ito (2008), which people with the common kinds of colour blindness can
/// tell apart. Yellow is left out because it is hard to see on white.
pub(crate) const SERIES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// The colours go from white through sky blue to dark blue. Lightness falls steadily, so the order
/// is visible in grey too.
const SEQUENTIAL: [RGBColor; 3] =
    [RGBColor(255, 255, 255), RGBColor(86, 180, 233), RGBColor(8, 40, 88)];

/// The colour of a weight from 0 (white) to 1 (dark).
pub(crate) fn sequential(weight: f64) -> RGBColor {
    let (stops, last) = (&SEQUENTIAL, SEQUENTIAL.len() - 1);
    let position = if weight.is_finite() { weight.clamp(0.0, 1.0) * last as f64 } else { 0.0 };
    let below = (position as usize).min(last - 1);
    let share = position - below as f64;
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
    fn zero_is_white() {
        assert_eq!(sequential(0.0), RGBColor(255, 255, 255));
    }

    #[test]
    fn values_out_of_range_take_the_nearest_colour() {
        assert_eq!(sequential(2.0), sequential(1.0));
        assert_eq!(sequential(f64::NAN), sequential(0.0));
    }
}
