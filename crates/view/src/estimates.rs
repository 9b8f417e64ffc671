use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::canvas::{Area, Draw, Drawn, SINK, ViewError, pixels, text};
use crate::chart::Look;
use crate::ticks;

/// Estimates with their intervals, one row each. Meta-analyses call it a forest plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimates {
    /// The title of the picture.
    pub title: String,
    /// The quantity that is estimated, with its unit.
    pub x: String,
    /// The names of the series of estimates, for the legend.
    pub names: Vec<String>,
    /// The rows, from top to bottom.
    pub rows: Vec<EstimateRow>,
}

/// One row of [`Estimates`].
#[derive(Clone, Debug, PartialEq)]
pub struct EstimateRow {
    /// The text to the left of the row.
    pub label: String,
    /// One estimate per name; `None` if there is none.
    pub points: Vec<Option<Estimate>>,
}

/// A value with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Half the width of its interval; 0 if it has none.
    pub half_width: f64,
}

const WIDTH: u32 = 720;
const LABELS: f64 = 190.0;
const RIGHT: f64 = 24.0;
/// From the top to the rows, without the legend.
const ABOVE: f64 = 46.0;
const BELOW: f64 = 52.0;
/// The least height of a row.
const ROW: f64 = 26.0;
/// Vertical distance between the marks of one row.
const APART: f64 = 7.0;
/// Names per line of the legend, and how far apart they are.
const LEGEND: (usize, f64) = (2, 240.0);
const LEGEND_LINE: f64 = 22.0;

impl Estimates {
    fn all(&self) -> impl Iterator<Item = Estimate> + '_ {
        self.rows.iter().flat_map(|row| row.points.iter().flatten().copied())
    }

    /// The range of the axis: all intervals and a margin.
    fn range(&self) -> (f64, f64) {
        let low = self.all().map(|e| e.value - e.half_width).fold(f64::INFINITY, f64::min);
        let high = self.all().map(|e| e.value + e.half_width).fold(f64::NEG_INFINITY, f64::max);
        let room = if high > low { 0.04 * (high - low) } else { 0.5 };
        (low - room, high + room)
    }

    /// The place of the first row.
    fn top(&self) -> f64 {
        ABOVE + LEGEND_LINE * self.names.len().div_ceil(LEGEND.0) as f64
    }

    /// The height of a row: all its marks and a gap.
    fn row_height(&self) -> f64 {
        ROW.max(APART * (self.names.len() as f64 + 1.0))
    }

    fn height(&self) -> f64 {
        self.top() + BELOW + self.row_height() * self.rows.len() as f64
    }

    /// The horizontal position of `value` in pixels.
    fn place(&self, value: f64, scale: f64) -> i32 {
        let (low, high) = self.range();
        let width = f64::from(WIDTH) - LABELS - RIGHT;
        pixels(LABELS + width * (value - low) / (high - low), scale)
    }

    fn draw_axis<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        let (low, high) = self.range();
        let (top, bottom) = (pixels(self.top(), scale), pixels(self.height() - BELOW, scale));
        let centered = |size| text(size, scale).pos(Pos::new(HPos::Center, VPos::Top));
        for mark in ticks::linear(low, high, 8) {
            let x = self.place(mark, scale);
            // Zero means no change, so its line is darker.
            let style = BLACK.mix(if mark.abs() < 1e-9 { 0.6 } else { 0.12 }).stroke_width(1);
            area.draw(&PathElement::new(vec![(x, top), (x, bottom)], style))?;
            let at = (x, bottom + pixels(6.0, scale));
            area.draw(&Text::new(ticks::label(mark), at, centered(12.0)))?;
        }
        let middle = self.place((low + high) / 2.0, scale);
        let at = (middle, bottom + pixels(26.0, scale));
        area.draw(&Text::new(self.x.clone(), at, centered(12.0)))?;
        let at = (pixels(f64::from(WIDTH) / 2.0, scale), pixels(10.0, scale));
        area.draw(&Text::new(self.title.clone(), at, centered(15.0)))
    }

    fn draw_legend<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        for (index, name) in self.names.iter().enumerate() {
            let left = LABELS + LEGEND.1 * (index % LEGEND.0) as f64;
            let middle = ABOVE + LEGEND_LINE * (index / LEGEND.0) as f64;
            let at = |x: f64| (pixels(left + x, scale), pixels(middle, scale));
            Look::of(index).mark(area, at(0.0), scale)?;
            let style = text(12.0, scale).pos(Pos::new(HPos::Left, VPos::Center));
            let (x, y) = at(12.0);
            area.draw(&Text::new(name.clone(), (x, y + pixels(SINK * 12.0, scale)), style))?;
        }
        Ok(())
    }

    fn draw_row<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        place: usize,
        row: &EstimateRow,
        scale: f64,
    ) -> Drawn<B> {
        let middle = self.top() + self.row_height() * (place as f64 + 0.5);
        let at = (pixels(LABELS - 14.0, scale), pixels(middle + SINK * 12.0, scale));
        let style = text(12.0, scale).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(row.label.clone(), at, style))?;
        let first = middle - APART * (self.names.len().saturating_sub(1)) as f64 / 2.0;
        for (index, point) in row.points.iter().enumerate() {
            let Some(Estimate { value, half_width }) = *point else { continue };
            let y = pixels(first + APART * index as f64, scale);
            let look = Look::of(index);
            let ends = [value - half_width, value + half_width].map(|v| (self.place(v, scale), y));
            let style = look.color.stroke_width(pixels(1.6, scale).max(1) as u32);
            area.draw(&PathElement::new(ends.to_vec(), style))?;
            look.mark(area, (self.place(value, scale), y), scale)?;
        }
        Ok(())
    }
}

impl Draw for Estimates {
    fn size(&self) -> Result<(u32, u32), ViewError> {
        match self.all().next() {
            None => Err(ViewError::Empty { what: "there is no estimate" }),
            Some(_) => Ok((WIDTH, self.height() as u32)),
        }
    }

    fn draw<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        self.draw_axis(area, scale)?;
        self.draw_legend(area, scale)?;
        let mut rows = self.rows.iter().enumerate();
        rows.try_for_each(|(place, row)| self.draw_row(area, place, row, scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Picture;

    fn example() -> Estimates {
        let point = |value, half_width| Some(Estimate { value, half_width });
        let row = |label: &str, points| EstimateRow { label: label.into(), points };
        Estimates {
            title: "Changes".into(),
            x: "BLEU".into(),
            names: vec!["here".into(), "elsewhere".into()],
            rows: vec![
                row("one head", vec![point(-1.0, 0.5), point(-0.9, 0.0)]),
                row("four heads", vec![None, point(0.5, 0.0)]),
            ],
        }
    }

    #[test]
    fn every_line_and_name_is_written() {
        let svg = example().to_svg().unwrap();
        for text in ["Changes", "BLEU", "here", "elsewhere", "one head", "four heads"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn the_axis_holds_every_interval() {
        let (low, high) = example().range();
        assert!(low < -1.5 && high > 0.5, "{low} {high}");
        let picture = example();
        assert!(picture.place(-1.5, 1.0) >= LABELS as i32);
        assert!(picture.place(0.5, 1.0) <= (f64::from(WIDTH) - RIGHT) as i32);
    }

    #[test]
    fn a_longer_study_is_a_higher_picture() {
        let mut longer = example();
        longer.rows.push(longer.rows[0].clone());
        assert!(longer.size().unwrap().1 > example().size().unwrap().1);
    }

    #[test]
    fn many_names_stay_inside_the_picture() {
        let mut many = example();
        many.names = (1..=5).map(|it| format!("series {it}")).collect();
        let svg = many.to_svg().unwrap();
        let numbers = |key: &str| -> Vec<f64> {
            let key = format!("{key}=\"");
            let places = svg.split(&key).skip(1);
            places.filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
        };
        let (width, height) = many.size().unwrap();
        let (xs, ys) = (numbers(" x"), numbers(" y"));
        assert!(xs.len() > many.names.len() && xs.len() == ys.len());
        assert!(xs.iter().all(|&x| x < f64::from(width)), "{xs:?}");
        assert!(ys.iter().all(|&y| y < f64::from(height)), "{ys:?}");
        assert!(many.top() > example().top());
        assert!(many.row_height() > APART * 5.0);
    }

    #[test]
    fn no_estimate_is_no_picture() {
        let empty = Estimates { rows: Vec::new(), ..example() };
        assert!(matches!(empty.to_png(), Err(ViewError::Empty { .. })));
    }
}
