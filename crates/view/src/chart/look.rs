use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::canvas::{Area, Drawn, pixels};
use crate::palette::SERIES;

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
