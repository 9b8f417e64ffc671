//! HTML: tags that divide text into blocks, tags within text, and elements that are not translated.

pub(super) mod attributes;
mod language;
mod lexer;
pub(super) mod read;
mod references;
mod tags;
mod untranslated;

use std::sync::LazyLock;

use regex::Regex;

pub(crate) use self::attributes::{is_prose, texts as values};
pub(crate) use self::language::in_language;
use self::lexer::{Token, TokenKind, lex};
pub(super) use self::references::{decode, entities};
use self::tags::{Role, role};
pub(crate) use self::untranslated::untranslated;
use crate::builder::Builder;
use crate::words::{has_letters, regex, single_spaced};

/// Maximum number of bytes of code that a block shows as text.
const MAX_CODE: usize = 1000;
/// Maximum number of bytes in a note mark.
const MAX_NOTE: usize = 12;

/// Returns whether the element `name` divides text into blocks.
pub(crate) fn is_block(name: &str) -> bool {
    matches!(role(name), Role::Block | Role::Fallback)
}

/// Returns whether the element `name`, which stays unchanged, is a part of the sentence around it.
pub(crate) fn is_code(name: &str) -> bool {
    matches!(role(name), Role::Code | Role::Inline)
}

/// Returns whether the element with the start tag `raw` stays unchanged; `None` if the element
/// around it decides.
pub(crate) fn keeps(raw: &str) -> Option<bool> {
    match &lex(raw).tokens.first()?.kind {
        TokenKind::Start {
            name, translate, ..
        } if role(name).keeps(*translate) => Some(true),
        TokenKind::Start { translate, .. } => {
            translate.filter(|translate| *translate).map(|_| false)
        }
        _ => None,
    }
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
        ] => {
            if !*self_closing && role(name) != Role::Void {
                builder.open(name, raw);
            } else if name == "br" {
                builder.break_point(raw);
            } else {
                builder.point(raw);
            }
        }
        [
            Token {
                kind: TokenKind::End { name },
                ..
            },
        ] => builder.close(name, raw, None),
        _ => builder.point(raw),
    }
}

/// A link that is a note mark such as "[1]", "[a]", "[note 2]" or an arrow.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:\[(?:[^\[\]\p{L}]*|\p{L}|\p{L}[\p{L}.]*\s?\d+)\]|[^\p{L}\p{N}]+)$")
});

/// Returns whether the element `name` with this content is a note mark, such as "[1]" or a raised
/// "*", which would disturb the model.
pub(super) fn is_note(name: &str, content: &str) -> bool {
    content.len() <= MAX_NOTE
        && match name {
            "sup" => !has_letters(content) || REFERENCE.is_match(content),
            "a" => REFERENCE.is_match(content),
            _ => false,
        }
}

/// Returns whether an element with this name can be a note mark.
pub(super) fn may_be_note(name: &str) -> bool {
    matches!(name, "sup" | "a")
}

/// Returns whether the element `raw` with this name is a note mark, or its name cannot be one.
pub(super) fn is_note_or_kept(name: &str, raw: &str) -> bool {
    !may_be_note(name) || is_note(name, &content(raw, &lex(raw).tokens))
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
    let content = content(raw, &lexed.tokens);
    let is_shown = match &lexed.tokens[0].kind {
        TokenKind::Start { name, .. } => {
            !matches!(role(name), Role::Hidden | Role::Annotation) && !is_note(name, &content)
        }
        _ => true,
    };
    if is_shown {
        builder.atom(&content, raw);
    } else {
        builder.point(raw);
    }
}

/// Returns whether the tag `raw` divides text into blocks.
pub(super) fn divides(raw: &str) -> bool {
    let tokens = lex(raw).tokens;
    tokens.len() == 1 && tokens[0].role() == Some(Role::Block)
}

/// Returns the text of `tokens` with single spaces; empty if it is very long.
fn content(text: &str, tokens: &[Token]) -> String {
    let mut all = String::new();
    for Token { range, kind } in tokens {
        match kind {
            TokenKind::Text => all.push_str(&decode(&text[range.clone()])),
            TokenKind::Start { name, .. } => match name.as_str() {
                // In XLIFF and TMX, the code of a tag is not part of a sentence.
                "bpt" | "ept" | "it" | "ut" => return String::new(),
                "br" => all.push(' '),
                _ => {}
            },
            _ => {}
        }
        if all.len() > MAX_CODE {
            return String::new();
        }
    }
    single_spaced(&all)
}
