//! Formats: how a document is divided into blocks.

mod ass;
mod blocks;
mod html;
mod markdown;
mod srt;
mod text;

use std::fmt;
use std::str::FromStr;

use burnformer_glossary::apply_edits;

pub(crate) use self::srt::{TAG, tagged};

use crate::block::Block;
use crate::escape::{ATTRIBUTE, Escape};
use crate::render::{Layout, breaks, render};
use crate::words::Span;

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
    /// Advanced SubStation Alpha, subtitles with styles.
    Ass,
    /// Catalogues of GNU gettext, PO and POT. A translation is marked as fuzzy.
    Po,
    /// XLIFF 1.2 and 2. A translation has the state of one that is to be reviewed.
    Xliff,
    /// TMX 1.4, a translation memory.
    Tmx,
    /// Texts of JSON: of browsers' extensions, i18next and others, and ARB with messages of ICU.
    Json,
    /// Texts of YAML, as Rails has them.
    Yaml,
    /// Java's properties.
    Properties,
    /// Android's resources.
    Android,
    /// Apple's tables of strings.
    Strings,
    /// Fluent.
    Fluent,
}

/// The formats in their order, with their names and the extensions of their files.
const TABLE: [(Format, &str, &str); 14] = [
    (Format::Text, "text", "txt"),
    (Format::Html, "html", "html htm xhtml"),
    (Format::Markdown, "markdown", "md markdown"),
    (Format::Srt, "srt", "srt vtt"),
    (Format::Ass, "ass", "ass ssa"),
    (Format::Po, "po", "po pot"),
    (Format::Xliff, "xliff", "xlf xliff"),
    (Format::Tmx, "tmx", "tmx"),
    (Format::Json, "json", "json arb"),
    (Format::Yaml, "yaml", "yml yaml"),
    (Format::Properties, "properties", "properties"),
    (Format::Android, "android", "xml"),
    (Format::Strings, "strings", "strings"),
    (Format::Fluent, "fluent", "ftl"),
];

impl Format {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|&(format, ..)| format)
    }

    /// The extensions of files, without their dots, and their formats.
    pub fn extensions() -> impl Iterator<Item = (&'static str, Self)> {
        TABLE
            .iter()
            .flat_map(|&(format, _, all): &(Self, _, &'static str)| {
                all.split(' ').map(move |extension| (extension, format))
            })
    }

    /// The format of files with this extension, without its dot, in any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        Self::extensions().find_map(|(known, format)| (known == extension).then_some(format))
    }

    /// The name of the format, such as `html`, `po` or `json`.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The names of all formats.
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether files of this format are [catalogues](crate::Catalogue). By default,
    /// only their untranslated messages are translated.
    pub fn is_catalogue(self) -> bool {
        !matches!(
            self,
            Self::Text | Self::Html | Self::Markdown | Self::Srt | Self::Ass
        )
    }

    /// Returns whether files of this format have texts with their translations.
    pub fn has_translations(self) -> bool {
        matches!(self, Self::Po | Self::Xliff | Self::Tmx)
    }

    /// Returns whether `text` cannot be of this format, which has no rule that it breaks: words
    /// without a subtitle.
    pub(crate) fn is_foreign(self, text: &str) -> bool {
        let is_known: fn(&str) -> bool = match self {
            Self::Srt => srt::is_known,
            Self::Ass => ass::is_known,
            _ => return false,
        };
        crate::words::has_letters(text) && !text.split(['\n', '\r']).any(is_known)
    }

    /// Checks that `text`, which is written for `source`, has the same blocks. The error is the
    /// position of the first other block.
    pub(crate) fn has_shape_of(self, source: &str, text: &str) -> Result<(), usize> {
        if self == Self::Markdown {
            markdown::has_shape_of(source, text)
        } else {
            Ok(())
        }
    }

    /// `text` with marks in place of its attributes, these as they are, and the blocks of it.
    pub(crate) fn parse(self, text: &str) -> (String, Vec<Attribute>, Vec<Block>) {
        let texts = match self {
            _ if text.contains(ATTRIBUTE) => Vec::new(),
            Self::Html => html::texts(text),
            Self::Markdown => markdown::texts(text),
            _ => Vec::new(),
        };
        let marks: Vec<_> = texts
            .iter()
            .enumerate()
            .map(|(number, (range, _)): (usize, &(Span, Block))| {
                (range.clone(), format!("{ATTRIBUTE}{number}{ATTRIBUTE}"))
            })
            .collect();
        let attributes = texts
            .into_iter()
            .map(|(range, block)| (text[range].to_string(), block));
        let attributes = attributes.collect();
        let text = apply_edits(text, &marks);
        let blocks = match self {
            Self::Text => text::parse(&text),
            Self::Html => html::parse(&text),
            Self::Markdown => markdown::parse(&text),
            Self::Srt => srt::parse(&text),
            Self::Ass => ass::parse(&text),
            _ => Vec::new(),
        };
        (text, attributes, blocks)
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
        Self::all()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.into()))
    }
}

/// The error for a name that is not the name of a [`Format`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no document format `{0}`; the formats are {names}", names = Format::names())]
pub struct UnknownFormat(String);

/// The translated block as it stands in the document, in the number of lines of the source.
/// `source` is the block in the document.
pub(crate) fn finish_block(block: &Block, layout: &Layout, source: &str) -> String {
    let breaks = breaks(block, &layout.alignment, &layout.atoms);
    let escape = match &block.escape {
        Escape::Html(entities) => Escape::Html(entities.of_block(source)),
        other => other.clone(),
    };
    let text = || render(block, layout, &escape, &breaks).text;
    let newline = &block.lines.newline;
    match &block.escape {
        Escape::Markdown(rules) => {
            markdown::finish(block, layout, rules, &breaks).unwrap_or_else(|| source.into())
        }
        Escape::Html(_) if !newline.is_empty() => markdown::html_lines(&text(), source, newline),
        // An arrow makes times of a line.
        Escape::Srt => text().replace("-->", "--›"),
        Escape::Attribute(None, _) => format!("\"{}\"", text()),
        _ => text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_read_as_it_is_written() {
        for (index, format) in Format::all().enumerate() {
            assert_eq!(
                (format as usize, format.to_string().parse()),
                (index, Ok(format))
            );
        }
    }

    #[test]
    fn an_unknown_format_names_the_known_ones() {
        let message = "docx".parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            message,
            "there is no document format `docx`; the formats are text, html, markdown, srt, ass, po, \
             xliff, tmx, json, yaml, properties, android, strings, fluent"
        );
    }
}
