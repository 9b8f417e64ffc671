use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{AttentionMatrix, Panel, PanelKind, shown};
use crate::canvas::{Area, Drawn, Picture, SINK, ViewError, pixels, text};
use crate::palette::sequential;

/// A picture of attention heads: one row per layer, one column per head. Cells that a mask hides
/// (NaN) are grey, since a weight of nearly 0 that a head chose is something else.
#[derive(Clone, Debug)]
pub struct HeadGrid {
    title: String,
    caption: String,
    queries: Vec<String>,
    keys: Vec<String>,
    /// Each row of the grid, with the title and the weights of each map.
    rows: Vec<Vec<(String, AttentionMatrix)>>,
}

impl HeadGrid {
    /// Every head of every layer.
    pub fn all(panel: &Panel) -> Self {
        let row = |(layer, heads): (usize, &Vec<AttentionMatrix>)| named(layer, heads);
        Self::of(panel, panel.layers.iter().enumerate().map(row).collect())
    }

    /// Every head of `layer` (from 0).
    pub fn layer(panel: &Panel, layer: usize) -> Self {
        let heads = panel.layers.get(layer).map(|heads| named(layer, heads));
        Self::of(panel, heads.into_iter().collect())
    }

    /// One head of `layer` (both counted from 0), or the mean of all heads.
    pub fn head(panel: &Panel, layer: usize, head: Option<usize>) -> Self {
        let name = match head {
            Some(head) => format!("layer {}, head {}", layer + 1, head + 1),
            None => format!("layer {}, mean of heads", layer + 1),
        };
        let matrix = panel.weights(layer, head).map(|matrix| vec![(name, matrix)]);
        Self::of(panel, matrix.into_iter().collect())
    }

    /// Maps with names, row by row, over the queries and keys of `panel`.
    fn of(panel: &Panel, mut rows: Vec<Vec<(String, AttentionMatrix)>>) -> Self {
        if panel.kind == PanelKind::Decoder {
            rows.iter_mut().flatten().for_each(|(_, matrix)| matrix.hide_later());
        }
        let [queries, keys] = [&panel.queries, &panel.keys];
        let [queries, keys] = [queries, keys].map(|all| all.iter().map(|t| shown(t)).collect());
        Self { title: panel.kind.title().into(), caption: String::new(), queries, keys, rows }
    }

    /// Returns whether a mask hides a cell of any map.
    fn has_masked(&self) -> bool {
        self.rows.iter().flatten().any(|(_, map)| map.rows().flatten().any(|w| w.is_nan()))
    }

    /// Adds a second line of the title, such as the sentence and the name of the model.
    pub fn with_caption(self, caption: impl Into<String>) -> Self {
        Self { caption: caption.into(), ..self }
    }

    fn layout(&self) -> Layout {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let single = self.rows.len() * columns == 1;
        let (cell, font) = if single { (22.0, 13.0) } else { (13.0, 11.0) };
        let room = |labels: &[String]| {
            let longest = labels.iter().map(|l| l.chars().count().min(LONGEST)).max().unwrap_or(0);
            0.68 * font * longest as f64 + 14.0
        };
        let (left, below) = (room(&self.queries), room(&self.keys));
        Layout { columns, cell, font, left, below }
    }
}

impl HeadGrid {
    /// Draws the scale of colours, and the grey of masked cells where there are any.
    fn draw_scale<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        let (steps, length) = SCALE;
        let (left, top, height) = (70.0, 58.0, 11.0);
        let at = |x: f64, y: f64| (pixels(left + x, scale), pixels(top + y, scale));
        let label = |x: f64, text_of: &str, side| {
            let style = text(11.0, scale).pos(Pos::new(side, VPos::Center));
            area.draw(&Text::new(text_of.to_string(), at(x, 0.65 * height), style))
        };
        let offset = |step: u32| length * f64::from(step) / f64::from(steps);
        for step in 0..steps {
            let color = sequential((f64::from(step) + 0.5) / f64::from(steps));
            let corners = [at(offset(step), 0.0), at(offset(step + 1), height)];
            area.draw(&Rectangle::new(corners, color.filled()))?;
        }
        let frame = BLACK.mix(0.5).stroke_width(pixels(1.0, scale) as u32);
        area.draw(&Rectangle::new([at(0.0, 0.0), at(length, height)], frame))?;
        label(-6.0, "weight 0", HPos::Right)?;
        label(length + 6.0, "1", HPos::Left)?;
        if !self.has_masked() {
            return Ok(());
        }
        let corners = [at(length + 32.0, 0.0), at(length + 32.0 + height, height)];
        area.draw(&Rectangle::new(corners, MASKED.filled()))?;
        label(length + 50.0, "masked", HPos::Left)
    }

    /// Draws title and caption; what does not fit into `width` is cut.
    fn draw_title<B: DrawingBackend>(&self, area: &Area<B>, width: u32, scale: f64) -> Drawn<B> {
        let at = |y: f64| (pixels(12.0, scale), pixels(y, scale));
        let title = format!("{}: rows look at columns", self.title);
        area.draw(&Text::new(title, at(12.0), text(14.0, scale)))?;
        let longest = ((f64::from(width) - 24.0) / CAPTION_CHARACTER) as usize;
        area.draw(&Text::new(cut(&self.caption, longest), at(34.0), text(12.0, scale)))
    }
}

fn named(layer: usize, heads: &[AttentionMatrix]) -> Vec<(String, AttentionMatrix)> {
    let name = |head: usize| format!("layer {}, head {}", layer + 1, head + 1);
    heads.iter().enumerate().map(|(head, matrix)| (name(head), matrix.clone())).collect()
}

/// The colour of cells that a mask hides.
const MASKED: RGBColor = RGBColor(200, 200, 200);
/// Number of characters of a label that are shown.
const LONGEST: usize = 16;
/// Height of the space for the title, the caption and the scale of colours.
const TOP: f64 = 88.0;
/// Number of steps and length of the scale of colours.
const SCALE: (u32, f64) = (50, 100.0);
/// Mean width of a character of the caption, and the width to which it can make a picture wider.
const CAPTION_CHARACTER: f64 = 7.0;
const WIDEST_CAPTION: f64 = 720.0;
/// Height of the space for the title of a map.
const HEADING: f64 = 24.0;
const GAP: f64 = 14.0;
/// Smallest width of a map, so that its title fits.
const NARROWEST: f64 = 110.0;

struct Layout {
    columns: usize,
    cell: f64,
    font: f64,
    left: f64,
    below: f64,
}

impl HeadGrid {
    /// Horizontal and vertical distance between neighbouring maps.
    fn pitch(&self, layout: &Layout) -> (f64, f64) {
        let width = (layout.cell * self.keys.len() as f64).max(NARROWEST);
        (width + GAP, HEADING + layout.cell * self.queries.len() as f64 + GAP)
    }

    /// Draws one map with its upper left corner at `(left, top)`.
    fn draw_map<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        (name, matrix): &(String, AttentionMatrix),
        (left, top): (f64, f64),
        scale: f64,
    ) -> Drawn<B> {
        let Layout { cell, font, .. } = self.layout();
        let at = |x: f64, y: f64| (pixels(left + x, scale), pixels(top + y, scale));
        let style = text(font, scale).pos(Pos::new(HPos::Left, VPos::Bottom));
        area.draw(&Text::new(name.clone(), at(0.0, -4.0), style))?;
        for (y, row) in matrix.rows().enumerate() {
            for (x, &weight) in row.iter().enumerate() {
                let (x, y) = (cell * x as f64, cell * y as f64);
                let corners = [at(x, y), at(x + cell, y + cell)];
                let color = if weight.is_nan() { MASKED } else { sequential(f64::from(weight)) };
                area.draw(&Rectangle::new(corners, color.filled()))?;
            }
        }
        let (width, height) = (cell * self.keys.len() as f64, cell * self.queries.len() as f64);
        let frame = BLACK.mix(0.5).stroke_width(pixels(1.0, scale) as u32);
        area.draw(&Rectangle::new([at(0.0, 0.0), at(width, height)], frame))
    }

    /// Writes the queries beside the maps, whose first row begins at `top`.
    fn draw_queries<B: DrawingBackend>(&self, area: &Area<B>, top: f64, scale: f64) -> Drawn<B> {
        let Layout { cell, font, left, .. } = self.layout();
        let style = text(font, scale).pos(Pos::new(HPos::Right, VPos::Center));
        for (row, query) in self.queries.iter().enumerate() {
            let y = top + cell * (row as f64 + 0.5) + SINK * font;
            let at = (pixels(left - 6.0, scale), pixels(y, scale));
            area.draw(&Text::new(shortened(query), at, style.clone()))?;
        }
        Ok(())
    }

    /// Writes the keys upwards below the map that begins at `left`.
    fn draw_keys<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        (left, top): (f64, f64),
        scale: f64,
    ) -> Drawn<B> {
        let Layout { cell, font, .. } = self.layout();
        let style = text(font, scale).transform(FontTransform::Rotate270);
        let style = style.pos(Pos::new(HPos::Right, VPos::Center));
        for (column, key) in self.keys.iter().enumerate() {
            let x = left + cell * (column as f64 + 0.5);
            let at = (pixels(x, scale), pixels(top, scale));
            area.draw(&Text::new(shortened(key), at, style.clone()))?;
        }
        Ok(())
    }
}

fn shortened(label: &str) -> String {
    cut(label, LONGEST)
}

/// `text` with at most `longest` characters.
fn cut(text: &str, longest: usize) -> String {
    match text.chars().count() > longest {
        true => text.chars().take(longest.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}

impl Picture for HeadGrid {
    fn size(&self) -> Result<(u32, u32), ViewError> {
        if self.rows.iter().all(Vec::is_empty) || self.queries.is_empty() || self.keys.is_empty() {
            return Err(ViewError::Empty("no attention weights of this kind and layer"));
        }
        let layout = self.layout();
        let (across, down) = self.pitch(&layout);
        let width = layout.left + across * layout.columns as f64 + GAP;
        let height = TOP + down * self.rows.len() as f64 + layout.below;
        let of_caption = 24.0 + CAPTION_CHARACTER * self.caption.chars().count() as f64;
        Ok((width.max(of_caption.clamp(320.0, WIDEST_CAPTION)) as u32, height as u32))
    }

    fn draw<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B> {
        let layout = self.layout();
        let (across, down) = self.pitch(&layout);
        self.draw_title(area, self.size().map_or(0, |(width, _)| width), scale)?;
        self.draw_scale(area, scale)?;
        for (y, row) in self.rows.iter().enumerate() {
            let top = TOP + HEADING + down * y as f64;
            self.draw_queries(area, top, scale)?;
            for (x, map) in row.iter().enumerate() {
                self.draw_map(area, map, (layout.left + across * x as f64, top), scale)?;
            }
        }
        let bottom = TOP + down * self.rows.len() as f64 - GAP + 6.0;
        let columns = self.rows.last().map_or(0, Vec::len);
        (0..columns).try_for_each(|x| {
            self.draw_keys(area, (layout.left + across * x as f64, bottom), scale)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sentence;
    use super::*;

    #[test]
    fn every_head_and_every_token_is_named() {
        let svg = HeadGrid::all(&sentence().panels[1]).to_svg().unwrap();
        for name in
            ["layer 1, head 1", "layer 2, head 2", "·a", "·ein", "Cross-attention", "weight 0"]
        {
            assert!(svg.contains(name), "{name}");
        }
        assert!(svg.contains("·&lt;b&gt;"), "tokens are escaped");
        assert!(!svg.contains('▁') && !svg.contains("masked"), "{svg}");
    }

    /// Three positions have three pairs in which the key is later than the query: three cells, and
    /// one in the scale.
    #[test]
    fn cells_that_the_mask_hides_are_grey() {
        let panel = Panel { kind: PanelKind::Decoder, ..sentence().panels[0].clone() };
        let grid = HeadGrid::head(&panel, 0, Some(0)).with_caption("ein Satz, ein Modell");
        let svg = grid.to_svg().unwrap();
        assert_eq!(svg.matches("#C8C8C8").count(), 3 + 1, "{svg}");
        assert!(svg.contains("masked") && svg.contains("ein Satz, ein Modell"));
    }

    #[test]
    fn a_layer_and_a_head_can_be_chosen() {
        let panel = &sentence().panels[1];
        let layer = HeadGrid::layer(panel, 1).to_svg().unwrap();
        assert!(layer.contains("layer 2, head 1") && !layer.contains("layer 1"));
        let head = HeadGrid::head(panel, 0, Some(1)).to_svg().unwrap();
        assert!(head.contains("layer 1, head 2") && !head.contains("head 1"));
        assert!(HeadGrid::head(panel, 0, None).to_svg().unwrap().contains("mean of heads"));
        assert!(matches!(HeadGrid::layer(panel, 7).to_svg(), Err(ViewError::Empty(_))));
    }

    #[test]
    fn long_tokens_are_cut() {
        assert_eq!(shortened("abcdefghijklmnop"), "abcdefghijklmnop");
        assert_eq!(shortened("abcdefghijklmnopq"), "abcdefghijklmno…");
    }
}
