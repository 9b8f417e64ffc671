//! Blocks from the events of a Markdown parser.

use std::mem::take;
use std::sync::Arc;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::extensions::{Extended, Mark};
use super::verbatim;
use crate::block::{Block, Lines};
use crate::builder::Builder;
use crate::escape::{Escape, Level, Markdown, Position, References};
use crate::format::blocks::Blocks;
use crate::format::html;
use crate::words::Span;

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

/// A reader of the events of a Markdown parser.
#[derive(Default)]
pub(super) struct Parser<'a> {
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
    verbatim_until: usize,
    lines: Lines,
    /// If true, the block is a part of a paragraph.
    is_part: bool,
    /// The start of a line break not yet added to the block.
    line_end: Option<usize>,
    html: Option<HtmlBlock>,
}

impl<'a> Parser<'a> {
    /// Creates a parser of `text`, with its form `extended` and the definitions in `references`.
    pub fn new(text: &'a str, extended: &'a Extended<'a>, references: Arc<References>) -> Self {
        Self {
            text,
            references,
            extended: Some(extended),
            ..Self::default()
        }
    }

    /// Includes blocks without letters.
    pub fn with_all_blocks(mut self) -> Self {
        self.blocks.has_all = true;
        self
    }

    /// Reads the blocks of `events`, each with its range in the text.
    pub fn read(mut self, events: impl Iterator<Item = (Event<'a>, Span)>) -> Vec<Block> {
        let events: Vec<_> = events.collect();
        let verbatim = verbatim::elements(self.text, &events);
        for (event, range) in events {
            let is_verbatim = match event {
                Event::End(_) => range.end <= self.verbatim_until,
                _ => range.start < self.verbatim_until,
            };
            if is_verbatim {
                continue;
            }
            match (&event, verbatim.get(&range.start)) {
                (Event::InlineHtml(_), Some(&end)) => {
                    self.verbatim_until = end;
                    self.inline(range.start..end, html::inline_element);
                }
                (Event::Start(Tag::Link { .. }), Some(&end)) => {
                    self.verbatim_until = end;
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
                .insert(start, html::read::parse(text), &format!("\n{marks}").into());
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
