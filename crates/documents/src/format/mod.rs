//! Document formats, and how each is divided into blocks.

mod ass;
mod blocks;
mod choices;
mod html;
mod markdown;
mod speech;
mod srt;
mod text;

use std::fmt;
use std::str::FromStr;

use burnformer_text::apply_edits;

pub(crate) use self::choices::has_choices_of;
pub(crate) use self::html::{
    in_language, is_block, is_code, is_prose, keeps, untranslated, values,
};
pub(crate) use self::srt::{TAG, tagged};

use crate::block::Block;
use crate::escape::{Escape, NONCHARACTERS};
use crate::render::{Layout, breaks, render};
use crate::split::Splitting;
use crate::words::{Span, moved};

/// A text that readers see in a tag or image: as written, and as a block.
pub(crate) type Attribute = (String, Block);

/// How the line breaks of a text count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextLayout {
    pub(crate) splitting: Splitting,
    /// If true, line breaks in HTML are a part of the text.
    pub(crate) has_lines: bool,
}

/// A text with its blocks and attributes.
pub(crate) struct ParsedText {
    /// The text with the number of each attribute in its place, between two `mark`s. A tag that
    /// moves takes its attributes with it.
    pub(crate) text: String,
    pub(crate) mark: char,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) blocks: Vec<Block>,
}

/// A document format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Plain text. Every line is a paragraph. Empty lines, indentation, list and quotation marks
    /// (`- `, `1. `, `> `) and line ends stay unchanged.
    #[default]
    Text,
    /// HTML pages and fragments, well-formed or not.
    Html,
    /// Markdown: CommonMark with GitHub's tables, strikethrough, task lists and footnotes, and
    /// front matter.
    Markdown,
    /// SubRip or WebVTT subtitles. Each subtitle is translated on its own, because its words must
    /// be on screen while they are spoken.
    Srt,
    /// Advanced SubStation Alpha, subtitles with styles.
    Ass,
    /// GNU gettext catalogues, PO and POT. Translations are marked as fuzzy.
    Po,
    /// XLIFF 1.2 and 2. Translations are marked as needing review.
    Xliff,
    /// TMX 1.4, a translation memory.
    Tmx,
    /// JSON: browser extensions, i18next and others, and ARB with ICU messages.
    Json,
    /// Rails locale YAML.
    Yaml,
    /// Java properties.
    Properties,
    /// Android string resources.
    Android,
    /// Apple strings files.
    Strings,
    /// Fluent.
    Fluent,
    /// Catalogues of Qt. Translations are marked as unfinished.
    Qt,
    /// Resource files of .NET.
    Resx,
    /// String catalogues of Xcode. Translations are marked as needing review.
    XcStrings,
    /// Plural tables of Apple.
    StringsDict,
    /// Jupyter's notebooks: their Markdown cells.
    Notebook,
}

/// The formats in order, with their names and file extensions.
const TABLE: [(Format, &str, &str); 19] = [
    (Format::Text, "text", "txt"),
    (Format::Html, "html", "html htm xhtml xht shtml"),
    (
        Format::Markdown,
        "markdown",
        "md markdown mdown mkd mdx qmd rmd",
    ),
    (Format::Srt, "srt", "srt vtt"),
    (Format::Ass, "ass", "ass ssa"),
    (Format::Po, "po", "po pot"),
    (
        Format::Xliff,
        "xliff",
        "xlf xliff sdlxliff mqxliff mxliff txlf",
    ),
    (Format::Tmx, "tmx", "tmx"),
    (Format::Json, "json", "json arb webmanifest"),
    (Format::Yaml, "yaml", "yml yaml"),
    (Format::Properties, "properties", "properties"),
    (Format::Android, "android", "xml"),
    (Format::Strings, "strings", "strings"),
    (Format::Fluent, "fluent", "ftl"),
    (Format::Qt, "qt", "ts"),
    (Format::Resx, "resx", "resx resw"),
    (Format::XcStrings, "xcstrings", "xcstrings"),
    (Format::StringsDict, "stringsdict", "stringsdict"),
    (Format::Notebook, "ipynb", "ipynb"),
];

impl Format {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|&(format, ..)| format)
    }

    /// Returns whether files of this format have texts of one language, and may name it.
    pub(crate) fn names_its_language(self) -> bool {
        matches!(self, Self::Json | Self::Android | Self::Yaml)
    }

    /// Iterates over all file extensions, without their dots, and their formats.
    pub fn extensions() -> impl Iterator<Item = (&'static str, Self)> {
        TABLE
            .iter()
            .flat_map(|&(format, _, all): &(Self, _, &'static str)| {
                all.split(' ').map(move |extension| (extension, format))
            })
    }

    /// Returns the format of files with this extension, without its dot, in any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        Self::extensions().find_map(|(known, format)| (known == extension).then_some(format))
    }

    /// Returns the name of the format, such as `html`, `po` or `json`.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns the names of all formats.
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether files of this format are [catalogues](crate::Catalogue). By default, only
    /// their untranslated messages are translated.
    pub fn is_catalogue(self) -> bool {
        match self {
            Self::Text | Self::Html | Self::Markdown | Self::Srt | Self::Ass => false,
            Self::Po
            | Self::Xliff
            | Self::Tmx
            | Self::Json
            | Self::Yaml
            | Self::Properties
            | Self::Android
            | Self::Strings
            | Self::Fluent
            | Self::Qt
            | Self::Resx
            | Self::XcStrings
            | Self::StringsDict
            | Self::Notebook => true,
        }
    }

    /// Returns whether files of this format contain texts with their translations.
    pub fn has_translations(self) -> bool {
        use Format::{Po, Qt, Tmx, XcStrings, Xliff};
        matches!(self, Po | Xliff | Tmx | Qt | XcStrings)
    }

    /// Returns whether `text` is foreign to this format: a subtitle file with text but no cue. Text
    /// is never foreign to other formats.
    pub(crate) fn is_foreign(self, text: &str) -> bool {
        let is_known: fn(&str) -> bool = match self {
            Self::Srt => srt::is_known,
            Self::Ass => ass::is_known,
            _ => return false,
        };
        crate::words::has_letters(text) && !text.split(['\n', '\r']).any(is_known)
    }

    /// Checks that `text`, written in place of `source`, has the same blocks. The error is the
    /// position of the first different block.
    pub(crate) fn has_shape_of(self, source: &str, text: &str) -> Result<(), usize> {
        if self == Self::Markdown {
            markdown::has_shape_of(source, text)
        } else {
            Ok(())
        }
    }

    /// Reads the attributes and the blocks of `text`.
    pub(crate) fn parse(self, text: &str, layout: TextLayout) -> ParsedText {
        // A text with all of these characters keeps its attributes untranslated.
        let free = NONCHARACTERS.into_iter().find(|&c| !text.contains(c));
        let attributes = free.map_or_else(Vec::new, |_| self.attributes(text));
        let mark = free.unwrap_or_default();
        let marks: Vec<(Span, String)> = attributes
            .iter()
            .enumerate()
            .map(|(number, (range, _))| (range.clone(), format!("{mark}{number}{mark}")))
            .collect();
        let marked = apply_edits(text, &marks);
        let attributes = attributes
            .into_iter()
            .map(|(range, block)| (text[range].to_string(), block));
        ParsedText {
            attributes: attributes.collect(),
            blocks: self.blocks_of_arms(&marked, layout),
            text: marked,
            mark,
        }
    }

    /// Returns the texts in the tags and images of `text`, and their places.
    fn attributes(self, text: &str) -> Vec<(Span, Block)> {
        match self {
            Self::Html => html::read::texts(text),
            Self::Markdown => markdown::texts(text),
            _ => Vec::new(),
        }
    }

    /// Returns the blocks of `text`, or of each of its choices.
    fn blocks_of_arms(self, text: &str, layout: TextLayout) -> Vec<Block> {
        let arms = if layout.has_lines {
            choices::choices(text)
        } else {
            Vec::new()
        };
        if arms.is_empty() {
            return self.blocks(text, layout);
        }
        let mut all = Vec::new();
        for arm in arms {
            let blocks = self.blocks(&text[arm.clone()], layout).into_iter();
            all.extend(blocks.map(|block| Block {
                source: moved(&block.source, 0, arm.start),
                ..block
            }));
        }
        all
    }

    /// Returns the blocks of `text`.
    fn blocks(self, text: &str, layout: TextLayout) -> Vec<Block> {
        let TextLayout {
            splitting,
            has_lines,
        } = layout;
        match self {
            Self::Text if splitting == Splitting::Lines => text::parse(text),
            Self::Text => text::paragraphs(text),
            Self::Html if has_lines && splitting == Splitting::Sentences => {
                html::read::parse_paragraphs(text)
            }
            Self::Html if has_lines => html::read::parse_lines(text),
            Self::Html => html::read::parse(text),
            Self::Markdown => markdown::parse(text),
            Self::Srt => srt::parse(text),
            Self::Ass => ass::parse(text),
            _ => Vec::new(),
        }
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

/// The error for an unknown [`Format`] name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no document format `{0}`; the formats are {names}", names = Format::names())]
pub struct UnknownFormat(String);

/// Returns the translated block as its document writes it, with as many lines as `source`, the
/// block in the document.
pub(crate) fn finish_block(block: &Block, layout: &Layout, source: &str) -> String {
    let breaks = breaks(block, &layout.alignment, &layout.atoms);
    let escape = match &block.escape {
        Escape::Html(entities) => Escape::Html(entities.of_block(source)),
        Escape::Cue(entities) => Escape::Cue(entities.of_block(source)),
        other => other.clone(),
    };
    let text = || render(block, layout, &escape, &breaks).text;
    let newline = &block.lines.newline;
    match &block.escape {
        Escape::Markdown(rules) => {
            markdown::finish(block, layout, rules, &breaks).unwrap_or_else(|| source.into())
        }
        Escape::Html(_) if !newline.is_empty() => markdown::html_lines(&text(), source, newline),
        // An arrow would turn a line into subtitle times.
        Escape::Srt | Escape::Cue(_) => text().replace("-->", "--›"),
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
             xliff, tmx, json, yaml, properties, android, strings, fluent, qt, resx, xcstrings, \
             stringsdict, ipynb"
        );
    }
}
