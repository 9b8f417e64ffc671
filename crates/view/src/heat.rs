use plotters::prelude::*;

use crate::canvas::{Area, Draw, Drawn, ViewError, pixels, text};
use crate::palette::diverging;
use crate::ticks::{self, Marked};

/// A matrix of signed values as colours: blue below 0, white at 0, vermilion (orange-red) above.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// The title of the picture.
    pub title: String,
    /// The quantity on the columns.
    pub x: String,
    /// The quantity on the rows; the first row is at the bottom.
    pub y: String,
    /// The rows, all of the same length.
    pub rows: Vec<Vec<f64>>,
    /// The value with the darkest vermilion; its negative has the darkest blue.
    pub limit: f64,
}

const SIZE: (u32, u32) = (720, 400);
const BAR: f64 = 90.0;

impl HeatMap {
    fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn draw_map<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        let (columns, rows) = (self.width() as f64, self.rows.len() as f64);
        let mut chart = ChartBuilder::on(area)
            .margin(pixels(12.0, scale))
            .caption(&self.title, text(15.0, scale))
            .x_label_area_size(pixels(44.0, scale))
            .y_label_area_size(pixels(60.0, scale))
            .build_cartesian_2d(
                Marked::linear(0.0..columns, ticks::linear(0.0, columns, 8)),
                Marked::linear(0.0..rows, ticks::linear(0.0, rows, 6)),
            )?;
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(BLACK.stroke_width(pixels(1.0, scale) as u32))
            .label_style(text(12.0, scale))
            .axis_desc_style(text(12.0, scale))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .draw()?;
        let cell = |y: usize, x: usize, value: f64| {
            let corners = [(x as f64, y as f64), (x as f64 + 1.0, y as f64 + 1.0)];
            Rectangle::new(corners, diverging(value / self.limit).filled())
        };
        let cells =
            self.rows.iter().enumerate().flat_map(|(y, row)| {
                row.iter().enumerate().map(move |(x, &value)| cell(y, x, value))
            });
        chart.draw_series(cells)?;
        Ok(())
    }

    /// Draws the colour bar, which shows the value of each colour.
    fn draw_bar<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        const STEPS: i32 = 100;
        let (top, height, left, width) = (60.0, 260.0, 10.0, 16.0);
        let y = |step: i32| pixels(top + height * f64::from(step) / f64::from(STEPS), scale);
        let (left, right) = (pixels(left, scale), pixels(left + width, scale));
        for step in 0..STEPS {
            let value = 1.0 - 2.0 * (f64::from(step) + 0.5) / f64::from(STEPS);
            let corners = [(left, y(step)), (right, y(step + 1))];
            area.draw(&Rectangle::new(corners, diverging(value).filled()))?;
        }
        for (step, value) in [(0, self.limit), (STEPS / 2, 0.0), (STEPS, -self.limit)] {
            let at = (right + pixels(6.0, scale), y(step) - pixels(8.0, scale));
            area.draw(&Text::new(ticks::label(value), at, text(12.0, scale)))?;
        }
        Ok(())
    }
}

impl Draw for HeatMap {
    fn size(&self) -> Result<(u32, u32), ViewError> {
        match self.width() {
            0 => Err(ViewError::Empty { what: "the matrix is empty" }),
            _ => Ok(SIZE),
        }
    }

    fn draw<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        let (map, bar) = area.split_horizontally(pixels(f64::from(SIZE.0) - BAR, scale));
        self.draw_map(&map, scale)?;
        self.draw_bar(&bar, scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Picture;

    impl HeatMap {
        pub(crate) fn example() -> Self {
            let label = |text: &str| text.to_string();
            let rows = vec![vec![0.5, -0.5], vec![1.0, 0.0]];
            Self { title: label("Map"), x: label("column"), y: label("row"), rows, limit: 1.0 }
        }
    }

    #[test]
    fn every_cell_has_its_colour() {
        let svg = HeatMap::example().to_svg().unwrap();
        let color = |value: f64| {
            let RGBColor(r, g, b) = diverging(value);
            format!("fill=\"#{r:02X}{g:02X}{b:02X}\"")
        };
        for value in [0.5, -0.5, 1.0, 0.0] {
            assert!(svg.contains(&color(value)), "{value}");
        }
        assert!(svg.contains("column") && svg.contains("Map"));
    }

    #[test]
    fn an_empty_matrix_is_refused() {
        let empty = HeatMap { rows: Vec::new(), ..HeatMap::example() };
        assert!(matches!(empty.to_svg(), Err(ViewError::Empty { .. })));
    }
}
