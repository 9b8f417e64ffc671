//! References to characters, such as `&eacute;`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use html5gum::Tokenizer;
use regex::Regex;

use crate::escape::Entities;
use crate::words::regex;

/// A reference, whose semicolon may be missing.
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"&(?:#[xX]?[0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]{1,31});?"));

/// Decodes the character references of `raw`.
pub(crate) fn decode(raw: &str) -> Cow<'_, str> {
    REFERENCE.replace_all(raw, |found: &regex::Captures<'_>| {
        decode_reference(&found[0])
    })
}

fn decode_reference(raw: &str) -> String {
    let tokens = Tokenizer::new(raw).filter_map(|Ok(token)| match token {
        html5gum::Token::String(text) => Some(String::from_utf8_lossy(&text.value).into_owned()),
        _ => None,
    });
    tokens.collect()
}

/// Finds how the document writes special characters: by reference, such as `&nbsp;`, if it never
/// contains the character itself.
pub(crate) fn entities<'a>(texts: impl Iterator<Item = &'a str>) -> Entities {
    let mut names: BTreeMap<char, String> = BTreeMap::new();
    let mut bare = BTreeSet::new();
    for raw in texts {
        let mut at = 0;
        for found in REFERENCE.find_iter(raw) {
            bare.extend(raw[at..found.start()].chars());
            at = found.end();
            let decoded = decode_reference(found.as_str());
            let mut chars = decoded.chars();
            if let (Some(c), None) = (chars.next(), chars.next())
                && found.as_str().ends_with(';')
                && !c.is_ascii_whitespace()
            {
                names.entry(c).or_insert_with(|| found.as_str().into());
            }
        }
        bare.extend(raw[at..].chars());
    }
    names.retain(|c, _| matches!(c, '<' | '&') || !bare.contains(c));
    let bare = ['<', '>', '&']
        .into_iter()
        .filter(|c| bare.contains(c))
        .collect();
    Entities {
        names: names.into(),
        bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_as_the_standard_says() {
        assert_eq!(
            decode("a &amp; b&nbsp;c &#x41;&copy2 &nosuch; &"),
            "a & b\u{a0}c A©2 &nosuch; &"
        );
    }
}
