use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::RGBColor;

pub(super) type Area<B> = DrawingArea<B, Shift>;
pub(super) type DrawResult<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// The style of text of `size` units, in the viewer's default font.
pub(super) fn text(size: f64) -> TextStyle<'static> {
    ("sans-serif", 1.24 * size).into_font().color(&BLACK)
}

/// The vertical shift that centres lower-case letters on a line, as a fraction of the text size.
/// The middle of the text is above the middle of the letters.
pub(super) const SINK: f64 = 0.15;

/// A length in whole pixels.
pub(super) fn pixels(length: f64) -> i32 {
    length.round() as i32
}

/// The palette of Okabe and Ito (2008), distinct for the common kinds of colour blindness. Yellow
/// is left out because it is hard to see on white.
const SERIES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// The look of a series: colour and dashes. Either alone tells the first few series apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub color: RGBColor,
    /// Lengths of dash and gap; a solid line has no gap.
    pub dash: (f64, f64),
}

const DASHES: [(f64, f64); 4] = [(1.0, 0.0), (9.0, 4.0), (3.0, 3.0), (15.0, 5.0)];
const WIDTH: f64 = 1.6;
const RADIUS: f64 = 3.0;

impl Pen {
    /// Returns the pen of the series with this index. Pens repeat after 28 series.
    pub fn of(index: usize) -> Self {
        Self {
            color: SERIES[index % SERIES.len()],
            dash: DASHES[index % DASHES.len()],
        }
    }

    /// Draws a line through `points`, in pixels.
    pub fn line<B: DrawingBackend>(self, area: &Area<B>, points: &[(i32, i32)]) -> DrawResult<B> {
        let style = self.color.stroke_width(pixels(WIDTH).max(1) as u32);
        let dash = pixels(self.dash.0);
        let gap = pixels(self.dash.1);
        if gap == 0 {
            return area.draw(&PathElement::new(points.to_vec(), style));
        }
        area.draw(&DashedPathElement::new(points.to_vec(), dash, gap, style))
    }

    /// Draws a marker at the point `at`, in pixels.
    pub fn mark<B: DrawingBackend>(self, area: &Area<B>, at: (i32, i32)) -> DrawResult<B> {
        area.draw(&Circle::new(at, pixels(RADIUS), self.color.filled()))
    }
}
