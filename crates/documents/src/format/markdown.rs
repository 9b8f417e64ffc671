//! Markdown: text as `pulldown-cmark` finds it; everything else stays byte for byte.

mod kept;
mod write;

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Parser as Events, Tag, TagEnd};

pub(super) use self::write::finish;

use self::write::options;
use super::html;
use super::pieces::{Piece, Pieces};
use crate::block::{Block, Lines};
use crate::builder::Builder;
use crate::escape::{Escape, Level, Markdown, Position};

pub(super) fn parse(text: &str) -> Vec<Piece> {
    let mut parser = Parser {
        text,
        pieces: Pieces::default(),
        end: 0,
        place: Position::Paragraph,
        skipped: 0,
        kept_until: 0,
        lines: Lines::default(),
    };
    let events: Vec<_> = Events::new_ext(text, options()).into_offset_iter().collect();
    let kept = kept::elements(&events);
    for (event, range) in events {
        let is_kept = match event {
            Event::End(_) => range.end <= parser.kept_until,
            _ => range.start < parser.kept_until,
        };
        if is_kept {
            continue;
        }
        match kept.get(&range.start).filter(|_| matches!(event, Event::InlineHtml(_))) {
            Some(&end) => {
                parser.kept_until = end;
                parser.inline(range.start..end, |builder, raw| html::inline_element(raw, builder));
            }
            None => parser.event(&event, range),
        }
    }
    parser.finish_block();
    parser.pieces.finish(text.len())
}

struct Parser<'a> {
    text: &'a str,
    pieces: Pieces,
    /// The end of the part that was read.
    end: usize,
    place: Position,
    /// How many elements are open whose content is not read.
    skipped: usize,
    /// The end of the element of HTML that stays as it is.
    kept_until: usize,
    lines: Lines,
}

impl Parser<'_> {
    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        if self.skipped > 0 {
            match event {
                Event::Start(_) => self.skipped += 1,
                Event::End(_) => self.skipped -= 1,
                _ => {}
            }
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag, range),
            Event::Text(text) => self.inline(range, |builder, _| builder.text(text)),
            Event::SoftBreak => self.soft_break(range),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.inline(range, |builder, raw| builder.atom(code, raw));
            }
            Event::InlineHtml(raw) if html::divides(raw) => self.finish_block(),
            Event::InlineHtml(_) => {
                self.inline(range, |builder, raw| html::inline_tag(raw, builder))
            }
            Event::FootnoteReference(_) => self.inline(range, |builder, raw| builder.point(raw)),
            Event::HardBreak | Event::Rule | Event::TaskListMarker(_) | Event::Html(_) => {
                self.finish_block();
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Emphasis => self.open("*", range, 1),
            Tag::Strong => self.open("**", range, 2),
            Tag::Strikethrough => {
                let marks = self.text[range.clone()].bytes().take_while(|&c| c == b'~').count();
                self.open("~", range, marks.clamp(1, 2));
            }
            Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. } => {
                self.skipped = 1;
                self.inline(range, |builder, raw| builder.atom(raw.trim_matches(['<', '>']), raw));
            }
            Tag::Link { .. } => self.open("[", range, 1),
            Tag::Image { .. } => {
                self.skipped = 1;
                self.inline(range, |builder, raw| builder.point(raw));
            }
            Tag::CodeBlock(_) | Tag::MetadataBlock(_) => {
                self.finish_block();
                self.skipped = 1;
            }
            Tag::HtmlBlock => {
                self.finish_block();
                self.skipped = 1;
                // Blocks of HTML are read as HTML.
                let pieces = html::parse(&self.text[range.clone()]);
                self.pieces.insert(range, pieces);
            }
            _ => self.finish_block(),
        }
        match tag {
            Tag::TableCell => self.place = Position::TableCell,
            Tag::Heading { .. } => self.place = Position::Heading,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Emphasis => self.close("*", range),
            TagEnd::Strong => self.close("**", range),
            TagEnd::Strikethrough => self.close("~", range),
            TagEnd::Link => self.close("[", range),
            _ => self.finish_block(),
        }
        if matches!(tag, TagEnd::TableCell | TagEnd::Heading(_)) {
            self.place = Position::Paragraph;
        }
    }

    fn open(&mut self, name: &str, range: Range<usize>, marks: usize) {
        let end = range.start + marks;
        self.inline(range.start..end, |builder, raw| builder.open(name, raw));
    }

    fn close(&mut self, name: &str, range: Range<usize>) {
        let text = self.text;
        let start = self.end.min(range.end);
        let mut range = range;
        // The place of `[text][]` ends before its second brackets.
        if name == "[" && &text[start..range.end] == "]" && text[range.end..].starts_with("[]") {
            range.end += 2;
        }
        let raw = &text[start..range.end];
        // A reference `[text]` or `[text][]` finds its definition by its text, which is translated.
        let by_text = name == "[" && matches!(raw, "]" | "][]");
        let label =
            by_text.then(|| format!("][{}]", &text[range.start + 1..start.max(range.start + 1)]));
        self.inline(start..range.end, |builder, raw| builder.close_or(name, raw, label));
    }

    fn soft_break(&mut self, range: Range<usize>) {
        if self.lines.breaks.is_empty() {
            // The next line may begin with marks of the quotation or the list around.
            let rest = &self.text[range.start..];
            let first = rest.find('\n').map_or(rest.len(), |end| end + 1);
            let marks = rest[first..].find(|c: char| !c.is_whitespace() && c != '>');
            self.lines.newline = rest[..first + marks.unwrap_or(0)].into();
        }
        if let Some((_, builder)) = &mut self.pieces.block {
            self.lines.breaks.push(builder.line_break());
            self.end = range.end;
        }
    }

    /// Adds `range` of the text to the block by `add`.
    fn inline(&mut self, range: Range<usize>, add: impl FnOnce(&mut Builder, &str)) {
        let raw = &self.text[range.clone()];
        let unread = &self.text[self.end.max(self.pieces.written).min(range.start)..range.start];
        let escaped = unread.len() - unread.trim_end_matches('\\').len();
        let start = range.start - escaped % 2;
        let is_first = self.pieces.block.is_none();
        let builder = self.pieces.builder(start);
        // Between two events stand only backslashes and the marks of quotations. Anything else is kept.
        let marks = |c: char| c.is_whitespace() || matches!(c, '\\' | '>');
        let unread = unread.trim_matches(marks);
        if !is_first && !unread.is_empty() {
            builder.point(unread);
        }
        add(builder, raw);
        self.end = range.end;
    }

    fn finish_block(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let escape = Escape::Markdown(Markdown { level: Level::Light, place: self.place });
        self.pieces.finish_block(self.end, |builder| Block { lines, ..builder.finish(escape) });
    }
}
