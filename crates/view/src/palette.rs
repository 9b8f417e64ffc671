use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::RGBColor;

use crate::canvas::{Area, Drawn, pixels};

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

/// The look of a series: colour and dashes. For the first few series, either of them alone tells
/// the series apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    pub color: RGBColor,
    /// Lengths of dash and gap; a solid line has no gap.
    pub dash: (f64, f64),
}

const DASHES: [(f64, f64); 4] = [(1.0, 0.0), (9.0, 4.0), (3.0, 3.0), (15.0, 5.0)];
const WIDTH: f64 = 1.6;
const RADIUS: f64 = 3.0;

impl Look {
    /// The look of series number `index`. Looks repeat after 28 series.
    pub fn of(index: usize) -> Self {
        Self { color: SERIES[index % SERIES.len()], dash: DASHES[index % DASHES.len()] }
    }

    /// Draws a line through `points`, which are given in pixels.
    pub fn line<B: DrawingBackend>(
        self,
        area: &Area<B>,
        points: &[(i32, i32)],
        scale: f64,
    ) -> Drawn<B> {
        let style = self.color.stroke_width(pixels(WIDTH, scale).max(1) as u32);
        let (dash, gap) = (pixels(self.dash.0, scale), pixels(self.dash.1, scale));
        if gap == 0 {
            return area.draw(&PathElement::new(points.to_vec(), style));
        }
        area.draw(&DashedPathElement::new(points.to_vec(), dash, gap, style))
    }

    /// Draws a marker at the point `at`, which is given in pixels.
    pub fn mark<B: DrawingBackend>(self, area: &Area<B>, at: (i32, i32), scale: f64) -> Drawn<B> {
        area.draw(&Circle::new(at, pixels(RADIUS, scale), self.color.filled()))
    }
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
