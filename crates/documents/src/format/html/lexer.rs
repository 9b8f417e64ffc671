//! HTML as tags and text with byte ranges, tokenised by the HTML standard (`html5gum`).

use std::collections::HashMap;
use std::iter;
use std::sync::LazyLock;

use html5gum::{DefaultEmitter, HtmlString, Spanned, StartTag, State, Tokenizer};
use regex::Regex;

use super::tags::{Role, is, role};
use crate::message::{masked, messages};
use crate::words::{Span, has_letters, is_within, overlaps, regex};

/// React's numbered tags, `<0>` and `</0>`, and the letters that replace their digits. No HTML name
/// consists of these letters.
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| regex(r"</?[0-9]+\s*/?>"));
const DIGIT_LETTERS: &[u8; 10] = b"cefgjkvwxz";

#[derive(Debug)]
pub(super) struct Token {
    pub(super) range: Span,
    pub(super) kind: TokenKind,
}

impl Token {
    /// Returns whether the tag divides text or is a line break.
    pub(super) fn divides(&self) -> bool {
        let is_break =
            |name: &str| name == "br" || matches!(role(name), Role::Block | Role::Preformatted);
        matches!(&self.kind, TokenKind::Start { name, .. } | TokenKind::End { name } if is_break(name))
    }

    /// Returns the role of the tag's element.
    pub(super) fn role(&self) -> Option<Role> {
        match &self.kind {
            TokenKind::Start { name, .. } | TokenKind::End { name } => Some(role(name)),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum TokenKind {
    /// `translate` is the element's `translate` attribute, if it has one.
    Start {
        name: String,
        translate: Option<bool>,
        self_closing: bool,
    },
    End {
        name: String,
    },
    Text,
    /// Comments, document types, and text that the standard drops.
    Other,
}

/// The tokens of a text, without gaps.
#[derive(Debug)]
pub(super) struct LexedText {
    pub(super) tokens: Vec<Token>,
    /// Tags of template languages, sorted and disjoint.
    pub(super) templates: Vec<Span>,
    /// The text with `x` for each character of these tags, because some would be markup.
    pub(super) masked: String,
    /// For each tag, its matching start or end tag.
    pub(super) partner: Vec<Option<usize>>,
    /// The indices of tokens that divide text into blocks.
    blocks: Vec<usize>,
    /// The indices of tokens with `translate="yes"`.
    translated: Vec<usize>,
    /// The indices of texts with letters.
    words: Vec<usize>,
}

pub(super) fn lex(text: &str) -> LexedText {
    let templates = templates(text);
    let masked = numbered(&masked(text, &templates));
    let text = masked.as_str();
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut tokenizer = Tokenizer::new_with_emitter(text, emitter);
    let mut tokens = Vec::new();
    let mut end = 0;
    while let Some(Ok(token)) = tokenizer.next() {
        if is_noscript(&token) {
            // A reader without scripts sees the markup in it.
            tokenizer.set_state(State::Data);
        }
        let Some(token) = convert(token) else {
            continue;
        };
        let Span { start, end: until } = token.range;
        // Spans are in order; a token that is not would be read as dropped text.
        if start < end || until <= start || text.get(start..until).is_none() {
            continue;
        }
        if end < start {
            tokens.push(Token {
                range: end..start,
                kind: TokenKind::Other,
            });
        }
        end = until;
        tokens.push(token);
    }
    if end < text.len() {
        tokens.push(Token {
            range: end..text.len(),
            kind: TokenKind::Other,
        });
    }
    LexedText::new(without_cdata(text, tokens), templates, masked)
}

fn is_noscript(token: &html5gum::Token<usize>) -> bool {
    matches!(token, html5gum::Token::StartTag(tag) if tag.name.as_slice() == b"noscript")
}

/// Finds the tags of Jinja, Liquid, Mustache, ERB and PHP in `text`.
fn templates(text: &str) -> Vec<Span> {
    const CLOSING: [(&str, &str); 6] = [
        ("{{", "}}"),
        ("{%", "%}"),
        ("{#", "#}"),
        ("<%", "%>"),
        ("<?php", "?>"),
        ("<?=", "?>"),
    ];
    // A declaration ends at the first `>`, so a template in it does not count.
    static OPENING: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\{\{|\{%|\{#|<%|<\?(?:php|=)|<(?:!(?:-?[^-<>][^<>]*)?|\?[^<>]*)<[%?]")
    });
    let mut all = Vec::new();
    let mut at = 0;
    let mut unclosed = [0; CLOSING.len()];
    let messages = messages(text);
    while let Some(found) = OPENING.find_at(text, at) {
        at = found.end();
        let kind = CLOSING
            .iter()
            .position(|(opening, _)| *opening == found.as_str());
        let Some(kind) = kind.filter(|&kind| unclosed[kind] <= at && !is_within(&messages, at))
        else {
            continue;
        };
        let rest = &text[at..];
        // Braces are closed on the same line.
        let end = if kind < 3 {
            rest.find('\n').unwrap_or(rest.len())
        } else {
            rest.len()
        };
        match rest[..end].find(CLOSING[kind].1) {
            Some(length) => {
                at += length + CLOSING[kind].1.len();
                all.push(found.start()..at);
            }
            None => unclosed[kind] = at + end,
        }
    }
    let quoted = QUOTED.find_iter(text).map(|found| found.range());
    let quoted: Vec<Span> = quoted.filter(|range| !overlaps(&all, range)).collect();
    all.extend(quoted);
    all.sort_by_key(|template| template.start);
    all
}

/// A tag in the quotes of ICU, which is text.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r"'</?[A-Za-z][^<>'\n]{0,80}>'"));

/// Replaces the digits of numeric tag names by letters.
fn numbered(text: &str) -> String {
    NUMBERED
        .replace_all(text, |tag: &regex::Captures<'_>| {
            tag[0]
                .chars()
                .map(|c: char| {
                    c.to_digit(10)
                        .map_or(c, |digit| char::from(DIGIT_LETTERS[digit as usize]))
                })
                .collect::<String>()
        })
        .into_owned()
}

fn convert(token: html5gum::Token<usize>) -> Option<Token> {
    use html5gum::Token as Html;
    let (span, kind) = match token {
        Html::StartTag(tag) => (tag.span, start(&tag)),
        Html::EndTag(tag) => (
            tag.span,
            TokenKind::End {
                name: name(&tag.name),
            },
        ),
        Html::String(text) => (text.span, TokenKind::Text),
        Html::Comment(Spanned { span, .. }) => (span, TokenKind::Other),
        Html::Doctype(doctype) => (doctype.span, TokenKind::Other),
        Html::Error(_) => return None,
    };
    Some(Token {
        range: span.start..span.end,
        kind,
    })
}

fn name(name: &HtmlString) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn start(tag: &StartTag<usize>) -> TokenKind {
    let attribute = |name: &str| {
        let value = tag.attributes.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(&value.value).to_ascii_lowercase())
    };
    let translate = match attribute("translate").as_deref() {
        Some("no") => Some(false),
        Some("yes" | "") => Some(true),
        // XLIFF's and ITS's marks of names and code.
        _ if matches!(
            attribute("mtype").as_deref(),
            Some("protected" | "x-its-translate-no")
        ) =>
        {
            Some(false)
        }
        _ if attribute("mtype").as_deref() == Some("x-its-translate-yes") => Some(true),
        _ if attribute("class").is_some_and(|classes: String| {
            classes
                .split_ascii_whitespace()
                .any(|class| class == "notranslate")
        }) =>
        {
            Some(false)
        }
        _ => None,
    };
    TokenKind::Start {
        name: name(&tag.name),
        translate,
        self_closing: tag.self_closing,
    }
}

/// In SVG and MathML, `<![CDATA[` extends to `]]>`. The tokeniser has no tree and ends it at the
/// next `>`.
fn without_cdata(text: &str, tokens: Vec<Token>) -> Vec<Token> {
    let mut all: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut foreign = 0usize;
    let mut until = 0;
    let mut unclosed = false;
    for mut token in tokens {
        if token.range.end <= until {
            continue;
        }
        token.range.start = token.range.start.max(until);
        match &token.kind {
            TokenKind::Start {
                name,
                self_closing: false,
                ..
            } if is_foreign(name) => foreign += 1,
            TokenKind::End { name } if is_foreign(name) => foreign = foreign.saturating_sub(1),
            TokenKind::Other if foreign > 0 && !unclosed => {
                let rest = &text[token.range.start..];
                if rest.starts_with("<![CDATA[") {
                    let end = rest.find("]]>").map(|end| token.range.start + end + 3);
                    unclosed = end.is_none();
                    token.range.end = token.range.end.max(end.unwrap_or(0));
                    until = token.range.end;
                }
            }
            _ => {}
        }
        all.push(token);
    }
    all
}

fn is_foreign(name: &str) -> bool {
    matches!(name, "svg" | "math")
}

impl LexedText {
    fn new(tokens: Vec<Token>, templates: Vec<Span>, masked: String) -> Self {
        let is_block =
            |token: &Token| matches!(token.role(), Some(Role::Block | Role::Preformatted));
        let all = |test: fn(&Token) -> bool| {
            (0..tokens.len())
                .filter(|&index| test(&tokens[index]))
                .collect()
        };
        let blocks = all(is_block);
        let translated = all(|token: &Token| {
            matches!(
                token.kind,
                TokenKind::Start {
                    translate: Some(true),
                    ..
                }
            )
        });
        let words = (0..tokens.len())
            .filter(|&index| {
                let token = &tokens[index];
                let is_code = index > 0 && is_code(&tokens[index - 1]);
                matches!(token.kind, TokenKind::Text)
                    && !is_code
                    && has_letters(&masked[token.range.clone()])
            })
            .collect();
        Self {
            partner: partners(&tokens),
            tokens,
            templates,
            masked,
            blocks,
            translated,
            words,
        }
    }

    /// Returns whether a tag strictly between tokens `index` and `end` divides text.
    pub(super) fn has_blocks(&self, index: usize, end: usize) -> bool {
        self.next_block(index) < end
    }

    /// Iterates over the texts of elements that show their content.
    pub(super) fn shown(&self) -> impl Iterator<Item = &str> {
        let before = iter::once(None).chain(self.tokens.iter().map(Some));
        let texts = before.zip(&self.tokens).filter(move |(before, token)| {
            let is_hidden = match before.map(|before| &before.kind) {
                Some(TokenKind::Start { name, .. }) => role(name) == Role::Hidden,
                _ => false,
            };
            matches!(token.kind, TokenKind::Text) && !is_hidden
        });
        texts.map(|(_, token)| &self.masked[token.range.clone()])
    }

    /// Returns whether a text strictly between tokens `index` and `end` has letters.
    pub(super) fn has_words(&self, index: usize, end: usize) -> bool {
        next(&self.words, index).is_some_and(|next| next < end)
    }

    pub(super) fn has_translated(&self, index: usize, end: usize) -> bool {
        next(&self.translated, index).is_some_and(|next| next < end)
    }

    /// Returns whether the element of start tag `index` ends where the next block begins.
    pub(super) fn closes_itself(&self, index: usize) -> bool {
        matches!(&self.tokens[index].kind, TokenKind::Start { name, .. } if is("closes itself", name))
    }

    /// Returns the last token of the annotation without an end tag that begins at `index`: the one
    /// before the next annotation or the end of its ruby.
    pub(super) fn end_of_annotation(&self, index: usize) -> Option<usize> {
        let rest = &self.tokens[index + 1..self.next_block(index)];
        let length = rest.iter().position(|token| match &token.kind {
            TokenKind::Start { name, .. } => role(name) == Role::Annotation,
            TokenKind::End { name } => name == "ruby",
            _ => false,
        })?;
        Some(index + length)
    }

    /// Returns the next token after `index` that divides text, or the number of tokens.
    pub(super) fn next_block(&self, index: usize) -> usize {
        next(&self.blocks, index).unwrap_or(self.tokens.len())
    }
}

/// Returns whether the text after the tag `token` is code.
pub(super) fn is_code(token: &Token) -> bool {
    matches!(&token.kind, TokenKind::Start { name, .. } if matches!(&**name, "script" | "style"))
}

/// Returns the first of the sorted `all` above `index`.
fn next(all: &[usize], index: usize) -> Option<usize> {
    all.get(all.partition_point(|&it| it <= index)).copied()
}

/// Matches each start tag with the end tag that closes it.
fn partners(tokens: &[Token]) -> Vec<Option<usize>> {
    let mut partner = vec![None; tokens.len()];
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, token) in tokens.iter().enumerate() {
        match &token.kind {
            TokenKind::Start { name, .. } if !(is("void", name) || is("empty", name)) => {
                open.entry(name).or_default().push(index);
            }
            TokenKind::End { name } => {
                if let Some(start) = open.get_mut(name.as_str()).and_then(Vec::pop) {
                    (partner[start], partner[index]) = (Some(index), Some(start));
                }
            }
            _ => {}
        }
    }
    partner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cover_the_text_without_gaps() {
        let text = "</><p>a</>b<!x>\0<é><script>if (a<b)</script x></p a=b\n><div class=\"";
        let lexed = lex(text);
        let joined: String = lexed
            .tokens
            .iter()
            .map(|token| &text[token.range.clone()])
            .collect();
        assert_eq!(joined, text);
    }

    #[test]
    fn cdata_in_svg_lasts_to_its_end() {
        let text = "<svg><![CDATA[ > </svg> ]]></svg>x";
        let lexed = lex(text);
        assert_eq!(lexed.partner[0], Some(2));
        assert_eq!(
            &text[lexed.tokens[1].range.clone()],
            "<![CDATA[ > </svg> ]]>"
        );
    }
}
