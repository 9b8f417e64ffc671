//! HTML: tags that divide text into blocks, tags within text, and elements that are not translated.

pub(super) mod attributes;
mod lexer;
mod tags;

use self::lexer::{LexedText, Token, TokenKind, lex};
use self::tags::{Role, role};
use super::blocks::Blocks;
use crate::block::Block;
use crate::builder::Builder;
use crate::escape::{Entities, Escape};
use crate::words::{Mark, Span, has_letters, mark, single_spaced, within};

/// Maximum number of bytes of code that a block shows as text.
const LONGEST_CODE: usize = 1000;
/// Maximum number of bytes in a note mark.
const LONGEST_NOTE: usize = 12;

pub(super) fn parse(text: &str) -> Vec<Block> {
    read(text).0
}

/// Returns the translatable attribute values of `page` with their blocks.
pub(super) fn texts(page: &str) -> Vec<(Span, Block)> {
    read(page)
        .1
        .into_iter()
        .filter_map(|range: Span| Some((range.clone(), attributes::block(page, range)?)))
        .collect()
}

/// Returns the blocks of a text, and the ranges of attribute values that readers see.
fn read(text: &str) -> (Vec<Block>, Vec<Span>) {
    let lexed = lex(text);
    let entities = lexer::entities(lexed.shown());
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
    };
    let mut index = 0;
    while index < lexed.tokens.len() {
        index = parser.token(index);
    }
    parser.finish_block(text.len());
    (parser.blocks.all, parser.texts)
}

/// Adds a tag of inline HTML in another format.
pub(super) fn inline_tag(builder: &mut Builder, raw: &str) {
    let lexed = lex(raw);
    match lexed.tokens.as_slice() {
        [
            Token {
                kind:
                    TokenKind::Start {
                        name, self_closing, ..
                    },
                ..
            },
        ] => match *self_closing || role(name) == Role::Void {
            true if name == "br" => builder.break_point(raw),
            true => builder.point(raw),
            false => builder.open(name, raw),
        },
        [
            Token {
                kind: TokenKind::End { name },
                ..
            },
        ] => builder.close(name, raw, None),
        _ => builder.point(raw),
    }
}

/// Returns the name of the tag `raw`, whether it begins an element, and whether this element stays
/// unchanged.
pub(super) fn inline_role(raw: &str) -> Option<(String, bool, bool)> {
    match lex(raw).tokens.pop()?.kind {
        TokenKind::Start {
            name,
            translate,
            self_closing: false,
        } => {
            let kept = role(&name).keeps(translate);
            Some((name, true, kept))
        }
        TokenKind::End { name } => Some((name, false, false)),
        _ => None,
    }
}

/// Adds the element `raw`, which stays unchanged.
pub(super) fn inline_element(builder: &mut Builder, raw: &str) {
    let lexed = lex(raw);
    let hidden = matches!(&lexed.tokens[0].kind, TokenKind::Start { name, .. } if role(name) == Role::Hidden);
    let content = if hidden {
        String::new()
    } else {
        content(raw, &lexed.tokens)
    };
    builder.atom(&content, raw);
}

/// Returns whether the tag `raw` divides text into blocks.
pub(super) fn divides(raw: &str) -> bool {
    let tokens = lex(raw).tokens;
    tokens.len() == 1 && tokens[0].role() == Some(Role::Block)
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
            TokenKind::End { name } if role(name) == Role::Block => self.finish_block(range.start),
            TokenKind::End { name } => {
                self.blocks
                    .builder(range.start)
                    .close(name, &text[range.clone()], None)
            }
            TokenKind::Text => self.add_text(range.clone()),
            TokenKind::Other if self.stands_alone(range) => self.finish_block(range.start),
            TokenKind::Other => self.blocks.builder(range.start).point(&text[range.clone()]),
        }
        index + 1
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
        let role = role(name);
        let partner = self.lexed.partner[index];
        let verbatim = role.keeps(*translate);
        if verbatim && let Some(end) = self.verbatim_end(index, role) {
            return self.verbatim(index, end, role);
        }
        if let Some(end) = partner.filter(|&end| name == "sup" && self.is_note(index, end)) {
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
        let ends = |c: char| c == '\n' || c == '\r';
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
        let is_break = |token: Option<&Token>| matches!(token, Some(Token { kind: TokenKind::Start { name, .. } | TokenKind::End { name }, .. }) if name == "br");
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
            (None, Role::Block) if self.lexed.closes_itself(index) => {
                Some(self.lexed.next_block(index) - 1)
            }
            (None, Role::Block | Role::Hidden | Role::Preformatted) => Some(last),
            (None, _) => None,
        }
    }

    /// Keeps the element of tokens `index..=end` unchanged.
    fn verbatim(&mut self, index: usize, end: usize, role: Role) -> usize {
        let is_closed = self.lexed.partner[index].is_some();
        let inline = is_closed && matches!(role, Role::Code | Role::Inline | Role::Hidden);
        let start = self.lexed.tokens[index].range.start;
        if !inline || self.lexed.has_blocks(index, end) || self.lexed.has_translated(index, end) {
            self.finish_block(start);
            self.regions.push((end, false));
            return index + 1;
        }
        let raw = &self.text[start..self.lexed.tokens[end].range.end];
        let content = match role {
            Role::Hidden => String::new(),
            _ => content(self.text, &self.lexed.tokens[index..=end]),
        };
        self.blocks.builder(start).atom(&content, raw);
        end + 1
    }

    /// Returns whether tokens `index..=end` are a note mark such as "[1]" or "*", which would
    /// disturb the model.
    fn is_note(&self, index: usize, end: usize) -> bool {
        let content = content(self.text, &self.lexed.tokens[index..=end]);
        !has_letters(&content)
            && content.len() <= LONGEST_NOTE
            && !self.lexed.has_blocks(index, end)
    }

    fn add_text(&mut self, range: Span) {
        let templates = &self.lexed.templates;
        let inside = &templates[within(templates, |template| template, &range)];
        let builder = self.blocks.builder(range.start);
        let mut at = range.start;
        for template in inside {
            plain_text(&self.text[at..template.start], builder);
            let raw = &self.text[template.clone()];
            let shown = if raw.len() > LONGEST_CODE {
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

/// Returns the text of `tokens` with single spaces; empty if it is very long.
fn content(text: &str, tokens: &[Token]) -> String {
    let mut all = String::new();
    for Token { range, kind } in tokens {
        match kind {
            TokenKind::Text => all.push_str(&lexer::decode(&text[range.clone()])),
            TokenKind::Start { name, .. } => match name.as_str() {
                // In XLIFF and TMX, the code of a tag is not part of a sentence.
                "bpt" | "ept" | "it" | "ut" => return String::new(),
                "br" => all.push(' '),
                _ => {}
            },
            _ => {}
        }
        if all.len() > LONGEST_CODE {
            return String::new();
        }
    }
    single_spaced(&all)
}

fn plain_text(text: &str, builder: &mut Builder) {
    // A closing tag without a name is neither text nor an element.
    for (number, part) in text.split("</>").enumerate() {
        if number > 0 {
            builder.point("</>");
        }
        builder.text(&lexer::decode(part));
    }
}
