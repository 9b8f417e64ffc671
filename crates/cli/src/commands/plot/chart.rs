use std::ops::Range;

use anyhow::{Result, anyhow, ensure};
use plotters::data::float::FloatPrettyPrinter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::pen::{Area, DrawResult, Pen, SINK, pixels, text};

/// The scale of an axis.
#[derive(PartialEq)]
enum Scale {
    Linear,
    /// Values must be positive.
    Log,
}

/// One axis of a chart. Its range covers the points.
pub struct Axis {
    /// The quantity on the axis, with its unit.
    label: &'static str,
    scale: Scale,
}

impl Axis {
    pub fn linear(label: &'static str) -> Self {
        Self {
            label,
            scale: Scale::Linear,
        }
    }

    /// A logarithmic axis with marks at powers of two.
    pub fn log(label: &'static str) -> Self {
        Self {
            label,
            scale: Scale::Log,
        }
    }

    /// The position of `value` on the axis; `None` if it has none.
    fn position(&self, value: f64) -> Option<f64> {
        let position = if self.scale == Scale::Log {
            value.log2()
        } else {
            value
        };
        position.is_finite().then_some(position)
    }

    /// Lowest and highest of `positions`; a range of length zero is widened.
    fn range(&self, positions: impl Iterator<Item = f64>) -> (f64, f64) {
        let ends = positions
            .map(|p| (p, p))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        if high - low > 1e-12 * high.abs().max(1.0) {
            (low, high)
        } else {
            (low - 0.5, high + 0.5)
        }
    }

    /// The number at `position`; none between the powers of two of a logarithmic axis.
    fn number(&self, position: f64) -> String {
        let value = match self.scale {
            Scale::Linear => position,
            Scale::Log if position.fract() == 0.0 => position.exp2(),
            Scale::Log => return String::new(),
        };
        FloatPrettyPrinter {
            allow_scientific: false,
            min_decimal: 0,
            max_decimal: 10,
        }
        .print(value)
    }
}

/// A line through points in their order. Points without a position on the axes (NaN, or zero on a
/// logarithmic axis) are left out.
pub struct Series {
    /// The name in the legend. Series with the same name look the same in every chart of a figure.
    pub name: String,
    /// The points `(x, y)`.
    pub points: Vec<(f64, f64)>,
}

/// Lines over one pair of axes.
pub struct Chart {
    pub title: &'static str,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// Several charts side by side with one legend.
pub struct Figure(pub Vec<Chart>);

/// The size of a chart in a figure of several, and the size of one alone.
const CHART: (u32, u32) = (480, 320);
const SINGLE: (u32, u32) = (720, 440);
const LEGEND_LINE: u32 = 24;
const TITLE_SIZE: f64 = 15.0;
const LABEL_SIZE: f64 = 12.0;
/// Largest number of markers on a line.
const MARKERS: usize = 10;

impl Figure {
    /// The names of all series in the order of first appearance. The index of a name decides how
    /// its series look.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.0.iter().flat_map(|chart| &chart.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    /// The numbers of rows and columns of charts.
    fn grid(&self) -> (usize, usize) {
        let charts = self.0.len();
        let columns = if charts == 4 { 2 } else { charts.clamp(1, 3) };
        (charts.div_ceil(columns), columns)
    }

    /// Width and height of each chart.
    fn chart_size(&self) -> (u32, u32) {
        if self.0.len() == 1 { SINGLE } else { CHART }
    }

    fn width(&self) -> u32 {
        self.chart_size().0 * self.grid().1 as u32
    }

    /// Number of names per line of the legend.
    fn legend_columns(&self) -> usize {
        let longest = self
            .names()
            .iter()
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0);
        ((self.width() as usize - 40) / (60 + 8 * longest)).max(1)
    }

    fn legend_height(&self) -> u32 {
        match self.names().len() {
            0 | 1 => 0,
            names => LEGEND_LINE * names.div_ceil(self.legend_columns()) as u32 + 8,
        }
    }

    fn draw_legend<B: DrawingBackend>(&self, area: &Area<B>) -> DrawResult<B> {
        let columns = self.legend_columns();
        let width = f64::from(self.width()) - 40.0;
        for (index, name) in self.names().into_iter().enumerate() {
            let left = 24.0 + width / columns as f64 * (index % columns) as f64;
            let middle = f64::from(LEGEND_LINE) * (0.5 + (index / columns) as f64) + 6.0;
            let y = pixels(middle);
            let look = Pen::of(index);
            look.line(area, &[(pixels(left), y), (pixels(left + 36.0), y)])?;
            look.mark(area, (pixels(left + 18.0), y))?;
            let style = text(LABEL_SIZE).pos(Pos::new(HPos::Left, VPos::Center));
            let place = (pixels(left + 44.0), y + pixels(SINK * LABEL_SIZE));
            area.draw(&Text::new(name.to_string(), place, style))?;
        }
        Ok(())
    }

    /// Returns the figure as an SVG document.
    ///
    /// # Errors
    /// Returns an error if there is nothing to draw or the drawing library fails.
    pub fn to_svg(&self) -> Result<String> {
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, self.size()?).into_drawing_area();
        let drawn = area.fill(&WHITE).and_then(|()| self.draw(&area));
        let drawn = drawn.and_then(|()| area.present());
        drawn.map_err(|error| anyhow!("the picture cannot be drawn: {error}"))?;
        drop(area);
        Ok(svg)
    }

    /// Width and height.
    fn size(&self) -> Result<(u32, u32)> {
        let mut points = self
            .0
            .iter()
            .flat_map(|c| c.series.iter().flat_map(move |s| c.positions(s)));
        ensure!(
            points.next().is_some(),
            "nothing to draw: no series has a point"
        );
        let rows = self.grid().0 as u32;
        let height = self.chart_size().1;
        Ok((self.width(), self.legend_height() + height * rows))
    }

    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> DrawResult<B> {
        let legend = self.legend_height();
        let (above, below) = area.split_vertically(legend as i32);
        if legend > 0 {
            self.draw_legend(&above)?;
        }
        let names = self.names();
        for (chart, area) in self.0.iter().zip(below.split_evenly(self.grid())) {
            chart.draw(&area, &names)?;
        }
        Ok(())
    }
}

/// The range, widened at both ends by `share` of its length, so that no marker is cut off.
fn roomy((low, high): (f64, f64), share: f64) -> Range<f64> {
    let room = share * (high - low);
    low - room..high + room
}

impl Chart {
    /// The positions of the points of a series. Points without a position are left out.
    fn positions<'a>(&'a self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        series
            .points
            .iter()
            .filter_map(|&(x, y)| self.x.position(x).zip(self.y.position(y)))
    }

    fn draw<B: DrawingBackend>(&self, area: &Area<B>, names: &[&str]) -> DrawResult<B> {
        let all = self.series.iter().flat_map(|series| self.positions(series));
        let (x, y): (Vec<f64>, Vec<f64>) = all.unzip();
        let x = roomy(self.x.range(x.into_iter()), 0.02);
        let y = roomy(self.y.range(y.into_iter()), 0.05);
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(20) // half of the last mark of the horizontal axis
            .caption(self.title, text(TITLE_SIZE))
            .x_label_area_size(44)
            .y_label_area_size(68)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .axis_style(BLACK.stroke_width(1))
            .set_all_tick_mark_size(4)
            .label_style(text(LABEL_SIZE))
            .axis_desc_style(text(LABEL_SIZE))
            .x_labels(6)
            .x_label_formatter(&|x| self.x.number(*x))
            .y_label_formatter(&|y| self.y.number(*y))
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .draw()?;
        for series in &self.series {
            let look = Pen::of(
                names
                    .iter()
                    .position(|name| *name == series.name)
                    .unwrap_or(0),
            );
            // Points are in pixels, so that dashes have the same length on all axes.
            let plot = chart.plotting_area();
            let points = self
                .positions(series)
                .map(|position| plot.map_coordinate(&position));
            let points: Vec<(i32, i32)> = points.collect();
            let screen = plot.use_screen_coord();
            look.line(&screen, &points)?;
            for &point in points.iter().step_by(points.len().div_ceil(MARKERS).max(1)) {
                look.mark(&screen, point)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
