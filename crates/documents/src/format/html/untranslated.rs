//! What a page leaves in its language.

use super::attributes::attributes;
use super::lexer::{TokenKind, is_code, lex};
use super::tags::{Role, role};
use crate::words::has_letters;

/// Elements with text for readers that stays unchanged, and what to call it.
const UNTRANSLATED_ELEMENTS: [(&str, &str); 5] = [
    ("svg", "texts in <svg>"),
    ("math", "texts in <math>"),
    ("textarea", "texts in <textarea>"),
    ("iframe", "pages in <iframe>"),
    ("noframes", "texts in <noframes>"),
];

/// Returns what the elements of `page` with words that stay in the source language are.
pub(crate) fn untranslated(page: &str) -> Vec<&'static str> {
    let lexed = lex(page);
    let mut has_text = vec![false; UNTRANSLATED_ELEMENTS.len()];
    let mut open: Option<(usize, usize)> = None;
    for (index, token) in lexed.tokens.iter().enumerate() {
        open = open.filter(|&(end, _)| index <= end);
        match (&token.kind, open) {
            (TokenKind::Start { name, .. }, None) if role(name) == Role::Hidden => {
                let known = UNTRANSLATED_ELEMENTS
                    .iter()
                    .position(|(known, _)| known == name);
                open = lexed.partner[index].zip(known);
                let tag = &lexed.masked[token.range.clone()];
                if let Some(at) = known.filter(|_| has_page(tag)) {
                    has_text[at] = true;
                }
            }
            (TokenKind::Text, Some((_, at))) if !is_code(&lexed.tokens[index - 1]) => {
                has_text[at] |= has_letters(&lexed.masked[token.range.clone()]);
            }
            _ => {}
        }
    }
    let names = UNTRANSLATED_ELEMENTS.into_iter().zip(has_text);
    names
        .filter_map(|((_, title), is_found)| is_found.then_some(title))
        .collect()
}

/// Returns whether an attribute of the start tag `tag` contains a page.
fn has_page(tag: &str) -> bool {
    let all = attributes(tag);
    all.iter()
        .any(|(name, value)| name == "srcdoc" && has_letters(&tag[value.clone()]))
}
