//! Markdown: text as `pulldown-cmark` finds it; everything else stays byte for byte.

use std::mem::take;
use std::sync::Arc;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser as Events, Tag, TagEnd};

use super::extensions::{Extended, Mark, extended};
use super::kept;
use super::options::options;
use crate::block::{Block, Lines};
use crate::builder::{Builder, Space};
use crate::escape::{Escape, Level, Markdown, Position, References};
use crate::format::blocks::Blocks;
use crate::format::html::{self, attributes::is_prose};
use crate::words::{Span, has_letters, moved};

pub(in crate::format) fn parse(text: &str) -> Vec<Block> {
    let extended = extended(text);
    let events = Events::new_ext(&extended.text, options());
    let labels = events
        .reference_definitions()
        .iter()
        .map(|(label, _)| folded(label))
        .collect();
    let notes = text.lines().any(|line| {
        line.trim_start_matches(|c: char| c.is_whitespace() || c == '>')
            .starts_with("[^")
    });
    let references = Arc::new(References { labels, notes });
    let parser = Parser {
        text,
        references,
        extended: Some(&extended),
        ..Parser::default()
    };
    let mut blocks = parser.read(events.into_offset_iter());
    for title in &extended.titles {
        blocks.extend(parts_of(text, title));
    }
    blocks.sort_by_key(|block| block.source.start);
    blocks
}

/// Returns the blocks of `text[range]`, which is read on its own.
fn parts_of(text: &str, range: &Span) -> impl Iterator<Item = Block> {
    let start = range.start;
    parse(&text[range.clone()])
        .into_iter()
        .map(move |block| Block {
            source: moved(&block.source, 0, start),
            ..block
        })
}

/// Returns the alternative texts of images in `text`, except where they name a definition, and the
/// texts of inline notes.
pub(in crate::format) fn texts(text: &str) -> Vec<(Span, Block)> {
    let extended = extended(text);
    let mut all = alternatives(text, &extended);
    for note in &extended.notes {
        let mut blocks = parts_of(text, note);
        let first = blocks.next().filter(|block| block.source == *note);
        all.extend(
            first
                .filter(|_| blocks.next().is_none())
                .map(|block| (note.clone(), block)),
        );
    }
    all.sort_by_key(|(range, _)| range.start);
    all
}

/// Returns the alternative texts of images in `text`.
fn alternatives(text: &str, extended: &Extended<'_>) -> Vec<(Span, Block)> {
    let mut all = Vec::new();
    let mut image = None;
    for (event, range) in Events::new_ext(&extended.text, options()).into_offset_iter() {
        match (event, &mut image) {
            (Event::Start(Tag::Image { link_type, .. }), _) => {
                let is_free = matches!(link_type, LinkType::Inline | LinkType::Reference);
                let start = range.start + 2;
                image = is_free.then(|| (start..start, Builder::new(Space::Keep)));
            }
            (Event::Text(part), Some((alt, builder))) => {
                alt.end = range.end;
                builder.text(&part);
            }
            (Event::End(TagEnd::Image), _) => all.extend(image.take()),
            _ => image = None,
        }
    }
    all.retain(|(alt, _)| text[alt.end..].starts_with(']') && is_prose(&text[alt.clone()]));
    let blocks = all
        .into_iter()
        .map(|(alt, builder)| (alt, builder.finish(Escape::Alternative)));
    blocks
        .filter(|(_, block)| has_letters(&block.text))
        .collect()
}

/// Checks that `text` has the blocks of `source`. The error is the position in `text` where the
/// first different block begins.
pub(in crate::format) fn has_shape_of(source: &str, text: &str) -> Result<(), usize> {
    use Tag::{Emphasis, Image, Link, Strikethrough, Strong};
    let [source, text] = [source, text].map(extended);
    let [mut old, mut new] = [&source.text, &text.text].map(|text| {
        Events::new_ext(text, options())
            .into_offset_iter()
            .filter_map(|(event, range): (Event<'_>, Span)| match event {
                Event::Start(Emphasis | Image { .. } | Link { .. } | Strikethrough | Strong) => {
                    None
                }
                Event::Start(tag) => Some((format!("{tag:?}"), range.start)),
                Event::Rule => Some(("rule".into(), range.start)),
                _ => None,
            })
    });
    loop {
        match (old.next(), new.next()) {
            (None, None) => return Ok(()),
            (Some((old, _)), Some((new, _))) if old == new => {}
            (_, other) => return Err(other.map_or(text.text.len(), |(_, at)| at)),
        }
    }
}

/// Reads a written block again with the definitions of its document. Blocks without letters are
/// included.
pub(super) fn read_again(text: &str, references: &Arc<References>) -> Vec<Block> {
    // These need no definitions.
    let notes = if references.notes {
        Options::ENABLE_OLD_FOOTNOTES
    } else {
        Options::empty()
    };
    let extended = extended(text);
    let events = Events::new_with_broken_link_callback(
        &extended.text,
        options() | notes,
        Some(|link: BrokenLink<'_>| {
            references
                .labels
                .contains(&folded(&link.reference))
                .then(|| (CowStr::from(""), CowStr::from("")))
        }),
    );
    let blocks = Blocks {
        has_all: true,
        ..Blocks::default()
    };
    let references = Arc::clone(references);
    Parser {
        text,
        blocks,
        references,
        extended: Some(&extended),
        ..Parser::default()
    }
    .read(events.into_offset_iter())
}

/// Case-folds a label.
fn folded(label: &str) -> String {
    label.to_lowercase().to_uppercase().to_lowercase()
}

/// Joins the lines of `raw` with `newline`, without indentation and quotation marks.
pub(super) fn without_marks(raw: &str, newline: &str) -> String {
    let mut lines = raw.split('\n').map(|line| line.trim_end_matches('\r'));
    let first = lines.next().unwrap_or_default().to_string();
    lines.fold(first, |all, line| {
        all + newline + line.trim_start_matches(|c: char| c.is_whitespace() || c == '>')
    })
}

/// A block of HTML.
#[derive(Default)]
struct HtmlBlock {
    start: usize,
    /// The text of the block, with spaces in place of quotation marks.
    text: String,
    /// The marks at the beginning of each line.
    marks: String,
}

impl HtmlBlock {
    /// Adds `range` of `document`.
    fn add(&mut self, document: &str, range: Span) {
        let end = self.start + self.text.len();
        let marks = document.get(end..range.start).unwrap_or_default();
        if self.marks.is_empty() {
            self.marks = marks.trim_start_matches('\r').into();
        }
        self.text
            .extend(marks.chars().map(|c| if c == '\r' { c } else { ' ' }));
        self.text.push_str(&document[range]);
    }
}

#[derive(Default)]
struct Parser<'a> {
    text: &'a str,
    /// The text with its extensions hidden.
    extended: Option<&'a Extended<'a>>,
    blocks: Blocks,
    references: Arc<References>,
    /// The end of the part already read.
    end: usize,
    /// The positions of text in the open containers.
    positions: Vec<Position>,
    /// The number of open elements with skipped content.
    skipped: usize,
    /// The end of the HTML element that stays unchanged.
    kept_until: usize,
    lines: Lines,
    /// If true, the block is a part of a paragraph.
    is_part: bool,
    /// The start of a line break not yet added to the block.
    line_end: Option<usize>,
    html: Option<HtmlBlock>,
}

impl<'a> Parser<'a> {
    fn read(mut self, events: impl Iterator<Item = (Event<'a>, Span)>) -> Vec<Block> {
        let events: Vec<_> = events.collect();
        let kept = kept::elements(self.text, &events);
        for (event, range) in events {
            let is_kept = match event {
                Event::End(_) => range.end <= self.kept_until,
                _ => range.start < self.kept_until,
            };
            if is_kept {
                continue;
            }
            match (&event, kept.get(&range.start)) {
                (Event::InlineHtml(_), Some(&end)) => {
                    self.kept_until = end;
                    self.inline(range.start..end, html::inline_element);
                }
                (Event::Start(Tag::Link { .. }), Some(&end)) => {
                    self.kept_until = end;
                    self.inline(range.start..end, Builder::point);
                }
                _ => self.event(&event, range),
            }
        }
        self.finish_block();
        self.blocks.all
    }

    fn event(&mut self, event: &Event<'_>, range: Span) {
        if let Some(html) = &mut self.html {
            match event {
                Event::End(TagEnd::HtmlBlock) => self.finish_html(),
                _ => html.add(self.text, range),
            }
            return;
        }
        if self.skipped > 0 {
            match event {
                Event::Start(_) => self.skipped += 1,
                Event::End(_) => self.skipped -= 1,
                _ => {}
            }
            return;
        }
        let is_open = self
            .blocks
            .open
            .as_ref()
            .is_some_and(|(_, builder)| builder.is_open());
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag, range),
            Event::Text(text) => self.add_text(range, text),
            Event::SoftBreak => self.line_end = Some(range.start),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.inline(range, |builder, raw| builder.atom(code, raw));
            }
            Event::InlineHtml(raw) if !is_open && html::divides(raw) => self.finish_part(),
            Event::InlineHtml(raw) if html::divides(raw) => self.inline(range, Builder::point),
            Event::InlineHtml(_) => self.inline(range, html::inline_tag),
            Event::FootnoteReference(_) => self.inline(range, Builder::point),
            Event::HardBreak if is_open => self.hard_break(range),
            Event::HardBreak => self.finish_part(),
            Event::Rule | Event::TaskListMarker(_) | Event::Html(_) => {
                self.finish_block();
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Span) {
        match tag {
            Tag::Emphasis => return self.open("*", range, 1),
            Tag::Strong => return self.open("**", range, 2),
            Tag::Strikethrough => {
                let marks = self.text[range.clone()]
                    .bytes()
                    .take_while(|&c| c == b'~')
                    .count();
                return self.open("~", range, marks.clamp(1, 2));
            }
            Tag::Link {
                link_type: LinkType::Autolink | LinkType::Email,
                ..
            } => {
                self.skipped = 1;
                return self.inline(range, |builder, raw| {
                    builder.atom(raw.trim_matches(['<', '>']), raw)
                });
            }
            Tag::Link { .. } => return self.open("[", range, 1),
            Tag::Image { .. } => {
                self.skipped = 1;
                let range = range.start..self.collapsed_end(range.end);
                return self.inline(range, |builder, raw| builder.point(raw));
            }
            _ => self.finish_block(),
        }
        match tag {
            Tag::CodeBlock(_) | Tag::MetadataBlock(_) => self.skipped = 1,
            Tag::HtmlBlock => {
                self.html = Some(HtmlBlock {
                    start: range.start,
                    ..HtmlBlock::default()
                });
            }
            Tag::Paragraph => {}
            _ => self.positions.push(match tag {
                Tag::Item => Position::Item,
                Tag::BlockQuote(_) => Position::Quote,
                Tag::TableCell => Position::TableCell,
                Tag::Heading { .. } if self.text[range].starts_with('#') => Position::Heading,
                Tag::Heading { .. } => Position::Underlined,
                _ => Position::Paragraph,
            }),
        }
    }

    fn end(&mut self, tag: TagEnd, range: Span) {
        match tag {
            TagEnd::Emphasis => self.close("*", range),
            TagEnd::Strong => self.close("**", range),
            TagEnd::Strikethrough => self.close("~", range),
            TagEnd::Link => self.close("[", range),
            TagEnd::Paragraph => self.finish_block(),
            _ => {
                self.finish_block();
                self.positions.pop();
            }
        }
    }

    fn open(&mut self, name: &str, range: Span, marks: usize) {
        let end = range.start + marks;
        self.inline(range.start..end, |builder, raw| builder.open(name, raw));
    }

    fn close(&mut self, name: &str, range: Span) {
        let text = self.text;
        let start = self.end.min(range.end);
        let end = if name == "[" {
            self.collapsed_end(range.end)
        } else {
            range.end
        };
        let raw = &text[start..end];
        self.line_end = None;
        // A reference `[text]` or `[text][]` finds its definition by its text, which is translated.
        let by_text = name == "[" && matches!(raw, "]" | "][]");
        let label = &text[range.start + 1..start.max(range.start + 1)];
        let label = by_text.then(|| without_marks(label, " "));
        self.inline(start..end, |builder, raw| builder.close(name, raw, label));
    }

    /// Returns the end of a link or image. The parser ends `[text][]` at `end`, before the second
    /// brackets.
    fn collapsed_end(&self, end: usize) -> usize {
        let (before, after) = self.text.split_at(end);
        let collapsed = !before.ends_with("[]") && before.ends_with(']') && after.starts_with("[]");
        end + if collapsed { 2 } else { 0 }
    }

    /// Adds a line break that also shows as one, within an element.
    fn hard_break(&mut self, range: Span) {
        let rest = &self.text[range.end..];
        let marks = rest.len() - rest.trim_start_matches([' ', '\t', '>']).len();
        self.inline(range.start..range.end + marks, |builder, raw| {
            builder.break_point(raw)
        });
    }

    /// Adds `text`, which stands at `range`, with its extensions.
    fn add_text(&mut self, range: Span, text: &str) {
        let marks = match self.extended {
            Some(extended) if text.len() == range.len() => extended.marks_in(&range),
            _ => &[],
        };
        if marks.is_empty() {
            return self.inline(range, |builder, _| builder.text(text));
        }
        let mut at = range.start;
        for (mark, kind) in marks {
            if at < mark.start {
                self.inline(at..mark.start, Builder::text);
            }
            at = mark.end;
            self.inline(mark.clone(), |builder, raw| match kind {
                Mark::Atom => builder.atom(raw, raw),
                Mark::Point => builder.point(raw),
                Mark::Open(name) => builder.open(name, raw),
                Mark::Close(name) => builder.close(name, raw, None),
            });
        }
        if at < range.end {
            self.inline(at..range.end, Builder::text);
        }
    }

    /// Adds `range` of the text to the block with `add`.
    fn inline(&mut self, range: Span, add: impl FnOnce(&mut Builder, &str)) {
        let raw = &self.text[range.clone()];
        let end = self.end.min(range.start);
        let unread = &self.text[end..range.start];
        let escaped = unread.len() - unread.trim_end_matches('\\').len();
        let start = range.start - escaped % 2;
        let is_first = self.blocks.open.is_none();
        let builder = self.blocks.builder(start);
        if let Some(line_end) = self.line_end.take().filter(|_| !is_first) {
            // The next line may begin with the marks of an enclosing quotation or list. The
            // shortest prefix is a line that continues a quotation without its marks. Longer
            // prefixes are never written at lines that lack them.
            let newline = &self.text[line_end..start];
            if self.lines.breaks.is_empty() || newline.len() < self.lines.newline.len() {
                self.lines.newline = newline.into();
            }
            self.lines.breaks.push(builder.line_break());
        } else if !is_first {
            // Only backslashes stand between two events. Anything else is kept.
            let unread = unread.trim_matches(|c: char| c.is_whitespace() || c == '\\');
            if !unread.is_empty() {
                builder.point(unread);
            }
        }
        add(builder, raw);
        self.end = range.end;
    }

    /// Reads a block of HTML as HTML.
    fn finish_html(&mut self) {
        if let Some(HtmlBlock { start, text, marks }) = self.html.take() {
            let text = text.trim_end();
            self.end = start + text.len();
            self.blocks
                .insert(start, html::parse(text), &format!("\n{marks}").into());
        }
    }

    fn finish_part(&mut self) {
        self.is_part = true;
        self.finish_block();
        self.is_part = true;
    }

    fn finish_block(&mut self) {
        let lines = take(&mut self.lines);
        self.line_end = None;
        let level = Level::Bare;
        let references = Arc::clone(&self.references);
        let position = self
            .positions
            .last()
            .copied()
            .unwrap_or(Position::Paragraph);
        let is_part = take(&mut self.is_part);
        let escape = Escape::Markdown(Markdown {
            level,
            position,
            is_part,
            references,
        });
        self.blocks.finish(self.end, |builder| Block {
            lines,
            ..builder.finish(escape)
        });
    }
}
