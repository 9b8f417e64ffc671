//! Formats: how a document becomes verbatim pieces and blocks.

mod html;
mod markdown;
mod pieces;
mod srt;
mod text;

use std::fmt;
use std::str::FromStr;

pub(crate) use self::pieces::Piece;

use crate::block::Block;
use crate::escape::{ATTRIBUTE, Escape};
use crate::render::{Layout, breaks, render};

/// A text in a tag or an image that readers see, as it is and as a block.
pub(crate) type Attribute = (String, Block);

/// Formats of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Plain text. Every line is a paragraph; empty lines, indentation, marks of lists (`- `,
    /// `1. `, `> `) and line ends stay.
    #[default]
    Text,
    /// HTML: pages and fragments, well-formed or not.
    Html,
    /// Markdown (CommonMark with GitHub's tables, strikethrough, task lists and footnotes; front
    /// matter).
    Markdown,
    /// SubRip or WebVTT subtitles. Every subtitle is translated on its own, because its words must
    /// be on the screen while it is spoken.
    Srt,
    /// Catalogues of GNU gettext, PO and POT. A translation is marked as fuzzy.
    Po,
    /// XLIFF 1.2 and 2. A translation has the state of one that is to be reviewed.
    Xliff,
    /// TMX 1.4, a translation memory.
    Tmx,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Text, Self::Html, Self::Markdown, Self::Srt, Self::Po, Self::Xliff, Self::Tmx];

    /// The extensions of files, and their formats.
    pub const EXTENSIONS: [(&str, Self); 12] = [
        ("txt", Self::Text),
        ("html", Self::Html),
        ("htm", Self::Html),
        ("md", Self::Markdown),
        ("markdown", Self::Markdown),
        ("srt", Self::Srt),
        ("vtt", Self::Srt),
        ("po", Self::Po),
        ("pot", Self::Po),
        ("xlf", Self::Xliff),
        ("xliff", Self::Xliff),
        ("tmx", Self::Tmx),
    ];

    /// The format of files with this extension, without its dot, in any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        let known =
            Self::EXTENSIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
        known.map(|&(_, format)| format)
    }

    /// The name of the format, such as `html`, `po` or `json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Srt => "srt",
            Self::Po => "po",
            Self::Xliff => "xliff",
            Self::Tmx => "tmx",
        }
    }

    /// Returns whether files of this format are [catalogues](crate::Catalogue), of which only what
    /// is untranslated is translated.
    pub fn is_catalogue(self) -> bool {
        matches!(self, Self::Po | Self::Xliff | Self::Tmx)
    }

    /// Checks that `text`, which is written for `source`, has the same blocks. The error is the
    /// position of the first other block.
    pub(crate) fn has_shape_of(self, source: &str, text: &str) -> Result<(), usize> {
        if self == Self::Markdown { markdown::has_shape_of(source, text) } else { Ok(()) }
    }

    /// The pieces of `text`, in which marks stand for its attributes, and these as they are.
    pub(crate) fn parse(self, text: &str) -> (String, Vec<Attribute>, Vec<Piece>) {
        let texts = match self {
            _ if text.contains(ATTRIBUTE) => Vec::new(),
            Self::Html => html::texts(text),
            Self::Markdown => markdown::texts(text),
            _ => Vec::new(),
        };
        let (mut marked, mut at, mut attributes) = (String::new(), 0, Vec::new());
        for (range, block) in texts {
            let number = attributes.len();
            marked += &format!("{}{ATTRIBUTE}{number}{ATTRIBUTE}", &text[at..range.start]);
            at = range.end;
            attributes.push((text[range].to_string(), block));
        }
        let text = marked + &text[at..];
        let pieces = match self {
            Self::Text => text::parse(&text),
            Self::Html => html::parse(&text),
            Self::Markdown => markdown::parse(&text),
            Self::Srt => srt::parse(&text),
            _ => vec![Piece::Verbatim(0..text.len())],
        };
        (text, attributes, pieces)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownFormat(name.into()))
    }
}

/// A name that is none of a [`Format`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Format::ALL.map(Format::name).join(", ");
        write!(f, "there is no document format `{}`; the formats are {names}", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

/// The translated block as it stands in the document, in the number of lines of the source.
/// `source` is the block in the document.
pub(crate) fn finish_block(block: &Block, layout: &Layout, source: &str) -> String {
    let breaks = breaks(block, &layout.alignment, &layout.atoms);
    match &block.escape {
        Escape::Markdown(place) => {
            markdown::finish(block, layout, place, &breaks).unwrap_or_else(|| source.into())
        }
        Escape::Attribute(None) => {
            format!("\"{}\"", render(block, layout, &block.escape, &breaks).text)
        }
        escape @ Escape::Html(_) if !block.lines.newline.is_empty() => {
            let written = render(block, layout, escape, &breaks).text;
            markdown::html_lines(&written, source, &block.lines.newline)
        }
        escape => render(block, layout, escape, &breaks).text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_read_as_it_is_written() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
    }

    #[test]
    fn an_unknown_format_names_the_known_ones() {
        let message = "docx".parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            message,
            "there is no document format `docx`; the formats are text, html, markdown, srt, po, xliff, \
             tmx"
        );
    }
}
