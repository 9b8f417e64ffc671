//! Reads the blocks of HTML, and the values of attributes that readers see.

use std::sync::LazyLock;

use regex::Regex;

use super::attributes;
use super::lexer::{LexedText, Token, TokenKind, lex};
use super::references::{decode, entities};
use super::tags::{Role, role};
use super::{MAX_CODE, content, is_note, may_be_note};
use crate::block::Block;
use crate::builder::Builder;
use crate::escape::{Entities, Escape};
use crate::format::blocks::Blocks;
use crate::words::{Mark, Span, is_within, mark, regex, single_spaced, within};

/// A line break in XLIFF: `<x ctype="lb"/>` of its first version, `<ph subType="xlf:lb"/>` of its
/// second, and `<lb/>`.
static LINE_BREAK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^<(?:lb[\s/]|(?:x|ph|it|bpt)\s(?:[^<>]*\s)?(?:ctype\s*=\s*["']lb["']|subType\s*=\s*["']xlf:lb["']))"#,
    )
});

pub(in crate::format) fn parse(text: &str) -> Vec<Block> {
    read(text, Newline::Space).0
}

/// Like [`parse`], for a text in which line breaks are a part of the text. They divide it, unless
/// it has elements that do.
pub(in crate::format) fn parse_lines(text: &str) -> Vec<Block> {
    read(text, Newline::Divides).0
}

/// Like [`parse`], for a text in which line breaks are a part of the text, and empty lines divide
/// it.
pub(in crate::format) fn parse_paragraphs(text: &str) -> Vec<Block> {
    read(text, Newline::Break).0
}

/// Returns the translatable attribute values of `page` with their blocks.
pub(in crate::format) fn texts(page: &str) -> Vec<(Span, Block)> {
    read(page, Newline::Space)
        .1
        .into_iter()
        .filter_map(|range: Span| Some((range.clone(), attributes::block(page, range)?)))
        .collect()
}

/// Returns the blocks of a text, and the ranges of attribute values that readers see.
fn read(text: &str, newline: Newline) -> (Vec<Block>, Vec<Span>) {
    let lexed = lex(text);
    let is_divided = newline == Newline::Divides && lexed.tokens.iter().any(Token::divides);
    let newline = if is_divided { Newline::Break } else { newline };
    let entities = entities(lexed.shown());
    let blocks = Blocks::default();
    let regions = Vec::new();
    let texts = Vec::new();
    let mut parser = Parser {
        text,
        lexed: &lexed,
        entities,
        blocks,
        regions,
        texts,
        newline,
    };
    let mut index = 0;
    while index < lexed.tokens.len() {
        index = parser.token(index);
    }
    parser.finish_block(text.len());
    (parser.blocks.all, parser.texts)
}

struct Parser<'a> {
    text: &'a str,
    lexed: &'a LexedText,
    entities: Entities,
    blocks: Blocks,
    /// Regions that are translated or not: the last token of each, and whether it is translated.
    regions: Vec<(usize, bool)>,
    /// The values of attributes that readers see.
    texts: Vec<Span>,
    newline: Newline,
}

/// What a line break in a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newline {
    Space,
    /// A line break within a sentence. An empty line ends a paragraph.
    Break,
    /// The end of a paragraph.
    Divides,
}

impl Parser<'_> {
    /// Reads token `index` and returns the next index to read.
    fn token(&mut self, index: usize) -> usize {
        while self.regions.last().is_some_and(|&(end, _)| end < index) {
            self.regions.pop();
        }
        let text = self.text;
        let translating = self.regions.last().is_none_or(|&(_, translate)| translate);
        let Token { range, kind } = &self.lexed.tokens[index];
        match kind {
            TokenKind::Start { translate, .. } if !translating => {
                self.finish_block(range.start);
                if let (Some(true), Some(end)) = (translate, self.lexed.partner[index]) {
                    self.regions.push((end, true));
                }
            }
            _ if !translating => self.finish_block(range.start),
            TokenKind::Start { .. } => return self.start(index),
            TokenKind::End { name } if self.role(index, name) == Role::Block => {
                self.finish_block(range.start);
            }
            TokenKind::End { name } => {
                self.blocks
                    .builder(range.start)
                    .close(name, &text[range.clone()], None)
            }
            TokenKind::Text => self.add_lines(range.clone()),
            TokenKind::Other if self.stands_alone(range) => self.finish_block(range.start),
            TokenKind::Other => self.blocks.builder(range.start).point(&text[range.clone()]),
        }
        index + 1
    }

    /// Returns the role of the element `name` with a tag at `index`. An element for some readers is
    /// a block if it has words.
    fn role(&self, index: usize, name: &str) -> Role {
        let role = role(name);
        let partner = self.lexed.partner[index];
        match role {
            Role::Fallback => match partner {
                Some(end) if !self.lexed.has_words(index.min(end), index.max(end)) => Role::Inline,
                _ => Role::Block,
            },
            role => role,
        }
    }

    fn start(&mut self, index: usize) -> usize {
        let Token { range, kind } = &self.lexed.tokens[index];
        let TokenKind::Start {
            name,
            translate,
            self_closing,
        } = kind
        else {
            return index + 1;
        };
        let text = self.text;
        if *translate != Some(false) {
            let tag = &self.lexed.masked[range.clone()];
            self.texts.extend(attributes::texts(name, tag, range.start));
        }
        let partner = self.lexed.partner[index];
        if LINE_BREAK.is_match(&text[range.clone()]) && (*self_closing || partner.is_some()) {
            let last = partner.unwrap_or(index);
            let raw = &text[range.start..self.lexed.tokens[last].range.end];
            self.blocks.builder(range.start).break_point(raw);
            return last + 1;
        }
        let role = self.role(index, name);
        let verbatim = role.keeps(*translate);
        if verbatim && let Some(mut end) = self.verbatim_end(index, role) {
            // The brackets around a reading stay with it.
            while role == Role::Annotation
                && let Some(next) = self.annotation_end(end + 1)
            {
                end = next;
            }
            return self.verbatim(index, end, role);
        }
        if let Some(end) = partner.filter(|&end| self.is_note(index, end, name)) {
            let raw = &text[range.start..self.lexed.tokens[end].range.end];
            self.blocks.builder(range.start).point(raw);
            return end + 1;
        }
        // XML may close a self-closing element.
        let closes =
            |it: &Token| matches!(&it.kind, TokenKind::End { name: other } if other == name);
        let is_closed = self.lexed.tokens.get(index + 1).is_some_and(closes);
        let last = index + usize::from(role == Role::Void && is_closed);
        let raw = &text[range.start..self.lexed.tokens[last].range.end];
        match role {
            Role::Block | Role::Preformatted => self.finish_block(range.start),
            _ if name == "br" && self.is_repeated(index..last) => self.finish_block(range.start),
            _ if name == "br" => self.blocks.builder(range.start).break_point(raw),
            _ if role == Role::Void || *self_closing && partner.is_none() => {
                self.blocks.builder(range.start).point(raw);
            }
            _ => self.blocks.builder(range.start).open(name, raw),
        }
        last + 1
    }

    /// Returns whether the comment or instruction `range` is alone on its lines with no sentence
    /// continuing after it, or is unterminated.
    fn stands_alone(&self, range: &Span) -> bool {
        let before = &self.text[..range.start];
        let after = &self.text[range.end..];
        let blank = [' ', '\t'];
        let ends = ['\n', '\r'];
        let alone = self.text[range.clone()].starts_with("<!--")
            && before.trim_end_matches(blank).ends_with(ends)
            && after.trim_start_matches(blank).starts_with(ends);
        // After an unterminated comment, the rest would become part of it.
        after.is_empty() && !self.text.ends_with('>')
            || alone
                && !(before
                    .trim_end()
                    .ends_with(|c: char| c.is_alphanumeric() || mark(c) == Mark::Separator)
                    && after.trim_start().starts_with(char::is_lowercase))
    }

    /// Returns whether another line break adjoins this one, given by its first and last token. Two
    /// line breaks divide paragraphs.
    fn is_repeated(&self, of: Span) -> bool {
        let tokens = &self.lexed.tokens;
        let is_space = |token: &&Token| {
            matches!(token.kind, TokenKind::Text)
                && self.text[token.range.clone()].trim().is_empty()
        };
        is_break(tokens[of.end + 1..].iter().find(|token| !is_space(token)))
            || is_break(
                tokens[..of.start]
                    .iter()
                    .rev()
                    .find(|token| !is_space(token)),
            )
    }

    /// Returns the last token of the untranslated element that begins at `index`. Unclosed elements
    /// within a line do not count.
    fn verbatim_end(&self, index: usize, role: Role) -> Option<usize> {
        let last = self.lexed.tokens.len() - 1;
        match (self.lexed.partner[index], role) {
            (Some(end), _) => Some(end),
            (None, Role::Annotation) => self.lexed.end_of_annotation(index),
            (None, Role::Block) if self.lexed.closes_itself(index) => {
                Some(self.lexed.next_block(index) - 1)
            }
            (None, Role::Block | Role::Hidden | Role::Preformatted) => Some(last),
            (None, _) => None,
        }
    }

    /// Returns the last token of the annotation that begins at `index`, if there is one.
    fn annotation_end(&self, index: usize) -> Option<usize> {
        let token = self.lexed.tokens.get(index)?;
        let is_start = matches!(token.kind, TokenKind::Start { .. });
        let is_annotation = is_start && token.role() == Some(Role::Annotation);
        is_annotation
            .then(|| self.verbatim_end(index, Role::Annotation))
            .flatten()
    }

    /// Keeps the element of tokens `index..=end` unchanged.
    fn verbatim(&mut self, index: usize, end: usize, role: Role) -> usize {
        let is_closed = self.lexed.partner[index].is_some();
        let inline = is_closed && matches!(role, Role::Code | Role::Inline | Role::Hidden)
            || role == Role::Annotation;
        let start = self.lexed.tokens[index].range.start;
        if !inline || self.lexed.has_blocks(index, end) || self.lexed.has_translated(index, end) {
            self.finish_block(start);
            self.regions.push((end, false));
            return index + 1;
        }
        let raw = &self.text[start..self.lexed.tokens[end].range.end];
        let content = match role {
            Role::Hidden | Role::Annotation => String::new(),
            _ => content(self.text, &self.lexed.tokens[index..=end]),
        };
        self.blocks.builder(start).atom(&content, raw);
        end + 1
    }

    /// Returns whether tokens `index..=end`, the element `name`, are a note mark.
    fn is_note(&self, index: usize, end: usize, name: &str) -> bool {
        may_be_note(name)
            && is_note(name, &content(self.text, &self.lexed.tokens[index..=end]))
            && !self.lexed.has_blocks(index, end)
    }

    fn add_lines(&mut self, range: Span) {
        let mut at = range.start;
        if self.newline != Newline::Space {
            let ends = self.text[range.clone()].match_indices('\n');
            let ends = ends.map(|(end, _)| range.start + end);
            for end in ends.filter(|&end| !is_within(&self.lexed.templates, end)) {
                let line = at..self.text[..end].trim_end_matches('\r').len().max(at);
                self.add_text(line.clone());
                let raw = &self.text[line.end..end + 1];
                let is_paragraph = self.text[end + 1..]
                    .trim_start_matches(' ')
                    .starts_with(['\r', '\n']);
                match self.blocks.open.as_mut().filter(|(_, it)| it.has_begun()) {
                    _ if self.newline == Newline::Divides || is_paragraph => {
                        self.finish_block(line.end);
                    }
                    Some((_, builder)) => builder.break_point(raw),
                    None => self.blocks.builder(line.end).text(raw),
                }
                at = end + 1;
            }
        }
        self.add_text(at..range.end);
    }

    fn add_text(&mut self, range: Span) {
        if range.is_empty() {
            return;
        }
        let templates = &self.lexed.templates;
        let inside = &templates[within(templates, |template| template, &range)];
        let builder = self.blocks.builder(range.start);
        let mut at = range.start;
        for template in inside {
            plain_text(&self.text[at..template.start], builder);
            let raw = &self.text[template.clone()];
            let shown = if raw.len() > MAX_CODE {
                ""
            } else {
                &single_spaced(raw)
            };
            builder.atom(shown, raw);
            at = template.end;
        }
        plain_text(&self.text[at..range.end], builder);
    }

    fn finish_block(&mut self, end: usize) {
        let escape = Escape::Html(self.entities.clone());
        self.blocks.finish(end, |builder| builder.finish(escape));
    }
}

/// Returns whether `token` is a tag `br`.
fn is_break(token: Option<&Token>) -> bool {
    let kind = token.map(|token| &token.kind);
    matches!(kind, Some(TokenKind::Start { name, .. } | TokenKind::End { name }) if name == "br")
}

fn plain_text(text: &str, builder: &mut Builder) {
    // A closing tag without a name is neither text nor an element.
    for (number, part) in text.split("</>").enumerate() {
        if number > 0 {
            builder.point("</>");
        }
        builder.text(&decode(part));
    }
}
