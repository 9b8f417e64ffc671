use plotters::coord::Shift;
use plotters::prelude::*;

/// An error that prevents a picture from being made.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// There is nothing to show.
    #[error("nothing to draw: {0}")]
    Empty(&'static str),
    /// The drawing itself failed.
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}

pub(crate) type Area<B> = DrawingArea<B, Shift>;
pub(crate) type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// The style of text with a height of `size` units, in the font that a viewer has.
pub(crate) fn text(size: f64) -> TextStyle<'static> {
    ("sans-serif", 1.24 * size).into_font().color(&BLACK)
}

/// The vertical shift that centres lower-case letters on a line, as a part of the size of the text:
/// the middle of the text is above theirs.
pub(crate) const SINK: f64 = 0.15;

/// A length in whole pixels.
pub(crate) fn pixels(length: f64) -> i32 {
    length.round() as i32
}
