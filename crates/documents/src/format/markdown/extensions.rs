//! Markdown that CommonMark and GitHub do not know: containers and admonitions, LaTeX environments,
//! abbreviations, MDX, template tags, marked text, sub- and superscripts, notes, attributes and
//! wiki links.
//!
//! Each construct is hidden from the parser: a line by spaces, so that it divides paragraphs, and a
//! part of a line by commas, which begin no markup. The bytes keep their places.

use std::borrow::Cow;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Parser as Events, Tag, TagEnd};
use regex::{Captures, Regex};

use super::lines::{self, Lines};
use super::options::options;
use crate::words::{Span, covered, overlaps, regex};

/// What a hidden part of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A word that stays unchanged.
    Atom,
    /// A sign between words.
    Point,
    /// The beginning of text with these signs.
    Open(&'static str),
    /// The end of that text.
    Close(&'static str),
}

/// A text with hidden constructs.
pub(super) struct Extended<'a> {
    /// The text for the parser.
    pub(super) text: Cow<'a, str>,
    /// The hidden parts of lines, sorted.
    pub(super) marks: Vec<(Span, Mark)>,
    /// The texts in hidden lines, each to be read on its own.
    pub(super) titles: Vec<Span>,
    /// The texts of inline notes, each to be read on its own.
    pub(super) notes: Vec<Span>,
}

/// The constructs within lines at the beginning of a text, by group: marked text, a wiki link with
/// a text, an embedded file, a note, template tags, attributes, and words with sub- or
/// superscripts.
static INLINE: LazyLock<Regex> = LazyLock::new(|| {
    let attribute = r#"(?:[#.][A-Za-z][\w-]*|[\w-]+=(?:"[^"{}\n]*"|[^\s{}"]+))"#;
    let all = [
        r"==([^\s=](?:[^=\n]*[^\s=])?)==",
        r"\[\[[^\[\]|\n]+\\?\|([^\[\]|\n]+)\]\]",
        r"(!\[\[[^\[\]\n]+\]\])",
        r"\^\[((?:[^\[\]\n]|\[[^\[\]\n]*\](?:\([^()\s]*\))?)+)\]",
        r"(\{%[^%\n]*(?:%[^}\n][^%\n]*)*%\}|\{\{[<%]?[^{}\n]*\}\})",
        &format!(r"(\{{:?[ ]*{attribute}(?:[ ]+{attribute})*[ ]*\}})"),
        r"(\w*[\w)](?:~[^\s~]+~|\^[^\s^\[\]]+\^)[\w~^]*)",
    ];
    regex(&format!("^(?:{})", all.join("|")))
});

/// The signs of the constructs.
static SIGN: LazyLock<Regex> = LazyLock::new(|| regex(r"==|!?\[\[|\^\[|\{|[~^]"));

/// The largest number of bytes in a construct, and in the letters before its sign.
const MAX_CONSTRUCT: usize = 1000;
const MAX_LETTERS: usize = 40;

/// Returns `text` with its extensions hidden.
pub(super) fn extended(text: &str) -> Extended<'_> {
    let Lines {
        text: by_lines,
        titles,
    } = lines::hidden(text);
    let mut extended = Extended {
        text: by_lines,
        marks: Vec::new(),
        titles,
        notes: Vec::new(),
    };
    if SIGN.is_match(&extended.text) {
        extended.hide_inline();
    }
    extended
}

impl Extended<'_> {
    /// Hides the constructs within lines, except in code, HTML, addresses and images.
    fn hide_inline(&mut self) {
        let text = self.text.clone();
        let mut places = None;
        let mut end = 0;
        for sign in SIGN.find_iter(&text) {
            let start = match sign.as_str() {
                "~" | "^" => start_of_word(&text[..sign.start()]),
                _ => sign.start(),
            };
            let limit = text.floor_char_boundary(start + MAX_CONSTRUCT);
            let Some(found) = INLINE.captures(&text[start..limit]) else {
                continue;
            };
            let whole = start..start + found[0].len();
            let is_other = text[..start].ends_with(['\\', '$', '#', '%', '{']);
            let places = places.get_or_insert_with(|| Places::of(&text));
            if start >= end && !is_other && places.has(&whole) {
                end = whole.end;
                self.mark(whole, &found);
            }
        }
        let ranges = self.marks.iter().map(|(range, _)| range);
        self.text = Cow::Owned(covered(&text, ranges, ","));
    }

    /// Adds the marks of the construct at `whole`, which `found` divides.
    fn mark(&mut self, whole: Span, found: &Captures<'_>) {
        let inner = |group: usize| {
            let found = found.get(group)?;
            Some(whole.start + found.start()..whole.start + found.end())
        };
        let pairs = [(1, "=="), (2, "[[")];
        let pair = pairs
            .into_iter()
            .find_map(|(group, name)| Some((inner(group)?, name)));
        if let Some((inner, name)) = pair {
            self.marks
                .push((whole.start..inner.start, Mark::Open(name)));
            self.marks.push((inner.end..whole.end, Mark::Close(name)));
            return;
        }
        self.notes.extend(inner(4));
        let is_word = inner(5).is_some() || inner(7).is_some();
        let mark = if is_word { Mark::Atom } else { Mark::Point };
        self.marks.push((whole, mark));
    }

    /// Returns the marks within `range`.
    pub(super) fn marks_in(&self, range: &Span) -> &[(Span, Mark)] {
        let start = self
            .marks
            .partition_point(|(mark, _)| mark.start < range.start);
        let end = self
            .marks
            .partition_point(|(mark, _)| mark.end <= range.end);
        &self.marks[start..end.max(start)]
    }
}

/// Returns the offset of the word at the end of `before`, or of its last letters.
fn start_of_word(before: &str) -> usize {
    let letters = before.chars().rev();
    let letters = letters.take_while(|c| c.is_alphanumeric() || "_)".contains(*c));
    before.len() - letters.take(MAX_LETTERS).map(char::len_utf8).sum::<usize>()
}

/// Where constructs within lines may stand.
struct Places {
    /// The ranges of text.
    texts: Vec<Span>,
    /// The ranges of code, formulas, HTML, images and the addresses of links.
    others: Vec<Span>,
    /// The cells of tables.
    cells: Vec<Span>,
}

impl Places {
    fn of(text: &str) -> Self {
        let mut places = Self {
            texts: Vec::new(),
            others: Vec::new(),
            cells: Vec::new(),
        };
        let mut end = 0;
        for (event, range) in Events::new_ext(text, options()).into_offset_iter() {
            match event {
                Event::Text(_) => {
                    end = range.end;
                    places.texts.push(range);
                }
                Event::Start(Tag::TableCell) => places.cells.push(range),
                Event::Start(Tag::Image { .. } | Tag::CodeBlock(_) | Tag::MetadataBlock(_))
                | Event::Code(_)
                | Event::InlineMath(_)
                | Event::DisplayMath(_)
                | Event::InlineHtml(_)
                | Event::Html(_) => places.others.push(range),
                Event::End(TagEnd::Link) => {
                    places
                        .others
                        .push(end.clamp(range.start, range.end)..range.end);
                }
                _ => {}
            }
        }
        places.others.sort_by_key(|range| range.start);
        places
    }

    /// Returns whether a construct may stand at `range`.
    fn has(&self, range: &Span) -> bool {
        let next = self.cells.partition_point(|cell| cell.end <= range.start);
        let is_in_one = self
            .cells
            .get(next)
            .is_none_or(|cell| cell.start > range.start || range.end <= cell.end);
        let start = range.start..range.start + 1;
        is_in_one && overlaps(&self.texts, &start) && !self.is_in_others(range)
    }

    fn is_in_others(&self, range: &Span) -> bool {
        // Images may contain code, so these ranges may be nested.
        let end = self.others.partition_point(|other| other.start < range.end);
        self.others[..end]
            .iter()
            .rev()
            .take(MAX_NESTED)
            .any(|other| other.end > range.start)
    }
}

/// The largest number of nested ranges that are looked at.
const MAX_NESTED: usize = 16;
