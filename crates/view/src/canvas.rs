use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Once};

use ab_glyph::{Font as _, FontRef};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

/// An error that prevents a picture from being made.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The name of the file has no extension of a known format.
    #[error("{}: a picture's name ends in .png or .svg", .0.display())]
    Format(PathBuf),
    /// The file cannot be written.
    #[error("{}: {cause}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: std::io::Error,
    },
    /// There is nothing to show.
    #[error("nothing to draw: {0}")]
    Empty(&'static str),
    /// The drawing itself failed.
    #[error("the picture cannot be drawn: {0}")]
    Drawing(String),
}

/// The file format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// PNG: pixels.
    Png,
    /// SVG: lines and text, for any size.
    Svg,
}

impl PictureFormat {
    /// The format for the extension of a file name.
    ///
    /// # Errors
    /// [`ViewError::Format`] if it is neither `.png` nor `.svg`.
    pub fn of(path: &Path) -> Result<Self, ViewError> {
        let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("png") => Ok(Self::Png),
            Some("svg") => Ok(Self::Svg),
            _ => Err(ViewError::Format(path.to_path_buf())),
        }
    }
}

pub(crate) type Area<B> = DrawingArea<B, Shift>;
pub(crate) type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Largest width, in pixels, of a PNG that is drawn at double size.
const DOUBLED: u32 = 2000;

/// A picture that can be drawn on a backend of plotters and saved as PNG or SVG. All sizes are
/// multiplied by `scale`.
pub trait Picture: Sized {
    /// Width and height at scale 1.
    ///
    /// # Errors
    /// [`ViewError::Empty`] if there is nothing to draw.
    fn size(&self) -> Result<(u32, u32), ViewError>;

    /// Draws onto a white area of the size [`size`](Self::size) times `scale`.
    fn draw<B: DrawingBackend>(&self, area: &Area<B>, scale: f64) -> Drawn<B>;

    /// Returns the picture as an SVG document.
    ///
    /// # Errors
    /// [`ViewError::Empty`]; [`ViewError::Drawing`].
    fn to_svg(&self) -> Result<String, ViewError> {
        register();
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, self.size()?).into_drawing_area();
        paint(self, &area, 1.0)?;
        drop(area);
        Ok(text)
    }

    /// Returns the bytes of a PNG file, at double size for print unless that would be very large.
    ///
    /// # Errors
    /// [`ViewError::Empty`]; [`ViewError::Drawing`].
    fn to_png(&self) -> Result<Vec<u8>, ViewError> {
        register();
        let (width, height) = self.size()?;
        let scale = if width <= DOUBLED { 2 } else { 1 };
        let (width, height) = (width * scale, height * scale);
        let mut pixels = vec![255; 3 * width as usize * height as usize];
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        paint(self, &area, f64::from(scale))?;
        drop(area);
        encode(&pixels, width, height)
    }

    /// Returns the characters that a PNG file does not show as they should be: those that the
    /// embedded font lacks, and those of scripts whose letters join, which need more than a font.
    ///
    /// # Errors
    /// [`ViewError::Empty`]; [`ViewError::Drawing`].
    fn unreadable(&self) -> Result<BTreeSet<char>, ViewError> {
        let svg = self.to_svg()?;
        Ok(svg.chars().filter(|&c| !c.is_ascii() && !is_drawn(c)).collect())
    }

    /// Writes the picture to `path`, in the format of its extension.
    ///
    /// # Errors
    /// [`ViewError::Empty`]; [`ViewError::Drawing`]; [`ViewError::Format`];
    /// [`ViewError::Unwritable`].
    fn save(&self, path: &Path) -> Result<(), ViewError> {
        let bytes = match PictureFormat::of(path)? {
            PictureFormat::Png => self.to_png()?,
            PictureFormat::Svg => self.to_svg()?.into_bytes(),
        };
        let cause = |cause| ViewError::Unwritable { path: path.to_path_buf(), cause };
        std::fs::write(path, bytes).map_err(cause)
    }
}

fn paint<B: DrawingBackend>(
    picture: &impl Picture,
    area: &Area<B>,
    scale: f64,
) -> Result<(), ViewError> {
    let drawn = area.fill(&WHITE).and_then(|()| picture.draw(area, scale));
    drawn.and_then(|()| area.present()).map_err(|error| ViewError::Drawing(error.to_string()))
}

fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, ViewError> {
    let failed = |error: png::EncodingError| ViewError::Drawing(error.to_string());
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

/// The name of the font in SVG documents, which every viewer knows.
const FONT: &str = "sans-serif";

/// The font of PNG pictures.
const FONT_FILE: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");

/// Returns whether the font of PNG pictures has a glyph for `c`.
fn is_drawn(c: char) -> bool {
    static FONT: LazyLock<Option<FontRef<'_>>> =
        LazyLock::new(|| FontRef::try_from_slice(FONT_FILE).ok());
    // Arabic, Syriac, Thaana and N'Ko: the font has their letters, each in the form in which it
    // stands alone.
    let is_joined = matches!(c, '\u{600}'..='\u{8ff}');
    !is_joined && FONT.as_ref().is_some_and(|font| font.glyph_id(c).0 != 0)
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let registered = register_font(FONT, FontStyle::Normal, FONT_FILE);
        assert!(registered.is_ok(), "the embedded font is an OpenType font");
    });
}

/// The style of text with a height of `size` units.
pub(crate) fn text(size: f64, scale: f64) -> TextStyle<'static> {
    (FONT, 1.24 * size * scale).into_font().color(&BLACK)
}

/// The vertical shift that centres lower-case letters on a line, as a part of the size of the text:
/// the middle of the text is above theirs.
pub(crate) const SINK: f64 = 0.15;

/// A length in whole pixels.
pub(crate) fn pixels(length: f64, scale: f64) -> i32 {
    (length * scale).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Picture for Nothing {
        fn size(&self) -> Result<(u32, u32), ViewError> {
            Err(ViewError::Empty("no run"))
        }

        fn draw<B: DrawingBackend>(&self, _area: &Area<B>, _scale: f64) -> Drawn<B> {
            Ok(())
        }
    }

    fn figure(title: &str) -> crate::Figure {
        let (x, y) = (crate::Axis::linear("x"), crate::Axis::linear("y"));
        let series = vec![crate::Series::new("a", vec![(0.0, 1.0), (1.0, 2.0)])];
        crate::Figure::of(crate::Chart { title: title.into(), x, y, series })
    }

    #[test]
    fn a_name_says_the_format() {
        let of = |name: &str| PictureFormat::of(Path::new(name));
        assert_eq!(of("a.PNG").unwrap(), PictureFormat::Png);
        assert_eq!(of("a.svg").unwrap(), PictureFormat::Svg);
        let error = of("a.jpg").unwrap_err().to_string();
        assert_eq!(error, "a.jpg: a picture's name ends in .png or .svg");
    }

    #[test]
    fn letters_that_the_font_lacks_or_joins_are_named() {
        let named =
            |title: &str| figure(title).unreadable().unwrap().into_iter().collect::<String>();
        for drawn in ["Straße → street, ça", "Привет, мир", "Ελληνικά", "x ≤ √d·½"]
        {
            assert_eq!(named(drawn), "", "{drawn}");
        }
        for boxes in ["한글", "中文", "ひら", "नम", "สว", "مر"] {
            assert_eq!(named(boxes).chars().count(), 2, "{boxes}");
        }
    }

    #[test]
    fn nothing_to_draw_is_an_error_that_says_what_is_missing() {
        assert_eq!(Nothing.to_svg().unwrap_err().to_string(), "nothing to draw: no run");
        assert!(matches!(Nothing.to_png(), Err(ViewError::Empty(_))));
    }

    #[test]
    fn an_unwritable_file_is_named() {
        let error = figure("A chart").save(Path::new("no/such/folder/x.svg")).unwrap_err();
        assert!(error.to_string().starts_with("no/such/folder/x.svg: "), "{error}");
    }
}
