use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::canvas::{Area, Drawn, pixels};
use crate::palette::SERIES;

/// The look of a series: colour, dashes and marker. For the first few series, each of them alone
/// tells the series apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    pub color: RGBColor,
    /// Lengths of dash and gap; a solid line has no gap.
    pub dash: (f64, f64),
    pub marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Ring,
}

const DASHES: [(f64, f64); 4] = [(1.0, 0.0), (9.0, 4.0), (3.0, 3.0), (15.0, 5.0)];
const MARKERS: [Marker; 5] =
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Ring];
const WIDTH: f64 = 1.6;
const RADIUS: f64 = 4.0;

impl Look {
    /// The look of series number `index`. Looks repeat after 140 series.
    pub fn of(index: usize) -> Self {
        Self {
            color: SERIES[index % SERIES.len()],
            dash: DASHES[index % DASHES.len()],
            marker: MARKERS[index % MARKERS.len()],
        }
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

    /// Draws a marker at the point `(x, y)`, which is given in pixels.
    pub fn mark<B: DrawingBackend>(
        self,
        area: &Area<B>,
        (x, y): (i32, i32),
        scale: f64,
    ) -> Drawn<B> {
        let r = pixels(RADIUS, scale);
        let corners = |corners: &[(i32, i32)]| {
            let corners: Vec<_> = corners.iter().map(|&(dx, dy)| (x + dx, y + dy)).collect();
            area.draw(&Polygon::new(corners, self.color.filled()))
        };
        match self.marker {
            Marker::Circle => area.draw(&Circle::new((x, y), r, self.color.filled())),
            Marker::Ring => {
                area.draw(&Circle::new((x, y), r, WHITE.filled()))?;
                let style = self.color.stroke_width(pixels(WIDTH, scale) as u32);
                area.draw(&Circle::new((x, y), r, style))
            }
            Marker::Square => corners(&[(-r, -r), (r, -r), (r, r), (-r, r)]),
            Marker::Triangle => corners(&[(0, -r), (r, r), (-r, r)]),
            Marker::Diamond => corners(&[(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)]),
        }
    }
}
