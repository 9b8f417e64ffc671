//! The languages that a document declares. Its translation declares the target language wherever
//! the document declares its source language.

use std::sync::LazyLock;

use burnformer_text::apply_edits;
use regex::{Captures, Regex};

use crate::catalogue::{is_same, tag_of};
use crate::words::{Span, moved, regex};
use crate::xml::{attributes, local};

/// A start tag of XML, and its name.
static TAG: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"<([A-Za-z_][\w.:-]*)(?:[^<>"']|"[^"<]*"|'[^'<]*')*>"#));
/// The language of a book or an office document as a whole.
static ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(<(?:\w+:)?language(?:\s[^<>]*)?>\s*)([\w-]+)(\s*</)"));

/// Languages that office programs format as East Asian text.
const ASIAN_LANGUAGES: &str = "ja ko zh yue";
/// Languages that office programs format as complex text (Arabic, Hebrew, the scripts of India and
/// others). All others are Western text.
const COMPLEX_LANGUAGES: &str = "am ar as bn bo ckb dv dz fa gu he hi km kn ks lo ml mr my ne or pa pnb ps sa sd \
    si syr ta te th ti ug ur yi";
/// Languages that are written from right to left, as CLDR 47 and NLLB name them.
const RIGHT_TO_LEFT: &str = "acm aeb ajp apc ar arb arc ars ary arz azb bal bgn bqi brh ckb dv fa glk \
    he iw khw ks lrc mzn nqo pbt pes pnb prs ps rhg sd sdh skr syr trw ug ur yi";
/// Scripts that are written from right to left.
const SCRIPTS: &str = "Adlm Arab Aran Hebr Mand Nkoo Rohg Samr Syrc Thaa";
/// The attributes of Word for the language of Western, East Asian and complex text.
const WORD_ATTRIBUTES: [&str; 3] = ["val", "eastAsia", "bidi"];
/// The ends of OpenDocument's attributes for the language of the same kinds of text.
const OPEN_DOCUMENT_ENDINGS: [&str; 3] = ["", "-asian", "-complex"];

fn has_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Returns the direction in which the language `code` is written.
fn direction(code: &str) -> &'static str {
    let mut parts = code.split('-');
    let base = parts.next().unwrap_or_default();
    let is_right_to_left = match parts.find(|part| part.len() == 4) {
        Some(script) => has_word(SCRIPTS, script),
        None => has_word(RIGHT_TO_LEFT, base),
    };
    if is_right_to_left { "rtl" } else { "ltr" }
}

/// A change of the declared language.
#[derive(Clone, Debug)]
pub(crate) struct Renaming<'a> {
    from: &'a str,
    into: String,
}

impl<'a> Renaming<'a> {
    pub(crate) fn new(from: &'a str, into: &str) -> Self {
        let into = tag_of(into);
        Self { from, into }
    }

    /// Returns the target language, written with `_` or `-` like `known`; `None` if `known` is not
    /// the source language.
    pub(crate) fn of(&self, known: &str) -> Option<String> {
        is_same(known, self.from).then(|| {
            if known.contains('_') {
                self.into.replace('-', "_")
            } else {
                self.into.clone()
            }
        })
    }

    /// Returns the direction of the source language and of the target language, as HTML names them.
    pub(crate) fn directions(&self) -> [&'static str; 2] {
        [direction(&tag_of(self.from)), direction(&self.into)]
    }

    /// Returns the XML file `xml` with its declarations renamed.
    pub(crate) fn of_xml(&self, xml: &str) -> String {
        let mut edits = Vec::new();
        for found in TAG.captures_iter(xml) {
            let tag = found.get_match();
            // Most tags name no language: `lang`, `Lang`, `language`.
            if tag.as_str().contains("ang") {
                for (range, value) in self.of_tag(&found[1], tag.as_str()) {
                    edits.push((moved(&range, 0, tag.start()), value));
                }
            }
        }
        let renamed = apply_edits(xml, &edits);
        ELEMENT
            .replace_all(&renamed, |found: &Captures<'_>| match self.of(&found[2]) {
                Some(code) => format!("{}{code}{}", &found[1], &found[3]),
                None => found[0].to_owned(),
            })
            .into_owned()
    }

    /// Returns the edits to the start tag `tag` of the element `name`, in their order.
    fn of_tag(&self, name: &str, tag: &str) -> Vec<(Span, String)> {
        let all: Vec<(&str, Span)> = attributes(tag).collect();
        let mut edits = Vec::new();
        match local(name) {
            "lang" | "themeFontLang" => {
                let named = |slot: usize| {
                    all.iter()
                        .find(|(name, _)| local(name) == WORD_ATTRIBUTES[slot])
                };
                let codes = |slot: usize| {
                    let (_, range) = named(slot)?;
                    self.of(&tag[range.clone()])
                };
                let slots = [0, 1, 2].map(codes);
                if slots.iter().all(Option::is_none) {
                    return edits;
                }
                let own = self.slot();
                for (slot, code) in slots.into_iter().enumerate() {
                    let code = code.or_else(|| (slot == own).then(|| self.into.clone()));
                    let range = named(slot).map(|(_, range)| range.clone());
                    edits.extend(range.zip(code));
                }
                if named(own).is_none() {
                    let at = 1 + name.len();
                    let prefix = prefix(name);
                    let attribute = format!(" {prefix}{}=\"{}\"", WORD_ATTRIBUTES[own], self.into);
                    edits.push((at..at, attribute));
                }
            }
            _ => {
                let plain = all.iter().filter(|(name, _)| local(name) == "lang");
                edits.extend(
                    plain.filter_map(|(_, it)| Some((it.clone(), self.of(&tag[it.clone()])?))),
                );
                edits.extend(self.of_open_document(tag, &all));
            }
        }
        edits.sort_by_key(|(range, _)| range.start);
        edits
    }

    /// Returns the edits to a tag of OpenDocument, which has attributes for a language, its country
    /// and its script.
    fn of_open_document(&self, tag: &str, all: &[(&str, Span)]) -> Vec<(Span, String)> {
        let named = |name: &str, slot: usize| {
            let is_it = |known: &str| {
                let rest = local(known).strip_prefix(name);
                rest == Some(OPEN_DOCUMENT_ENDINGS[slot])
            };
            all.iter()
                .find(|(known, _)| is_it(known))
                .map(|(_, range)| range)
        };
        let is_source = |slot: usize| {
            let language = named("language", slot);
            language.is_some_and(|range| is_same(&tag[range.clone()], self.from))
        };
        let slots = [0, 1, 2].map(is_source);
        if slots == [false; 3] {
            return Vec::new();
        }
        let mut parts = self.into.split('-');
        let language = parts.next().unwrap_or_default();
        let (regions, scripts): (Vec<&str>, Vec<&str>) = parts.partition(|part| part.len() < 4);
        let mut edits = Vec::new();
        for slot in (0..3).filter(|&slot| slots[slot] || slot == self.slot()) {
            let values = [
                ("language", language),
                ("country", regions.first().unwrap_or(&"none")),
                ("script", scripts.first().unwrap_or(&"")),
                ("rfc-language-tag", &self.into),
            ];
            for (name, value) in values {
                let range = named(name, slot).cloned();
                edits.extend(range.map(|range| (range, String::from(value))));
            }
        }
        edits
    }

    /// Returns which of three attributes names the target language: 0 for Western text, 1 for East
    /// Asian text, 2 for complex text.
    fn slot(&self) -> usize {
        let language = self.into.split('-').next().unwrap_or_default();
        if has_word(ASIAN_LANGUAGES, language) {
            1
        } else if has_word(COMPLEX_LANGUAGES, language) {
            2
        } else {
            0
        }
    }
}

/// Returns the byte ranges of the start tags of elements with the local name `name`.
pub(crate) fn tags<'x>(xml: &'x str, name: &'x str) -> impl Iterator<Item = Span> + 'x {
    let tags = TAG.captures_iter(xml);
    tags.filter(move |found| local(&found[1]) == name)
        .map(|found| found.get_match().range())
}

/// Returns the value of an attribute, given by its name with its prefix, in a start tag of XML.
pub(crate) fn attribute(tag: &str, name: &str) -> Option<Span> {
    let mut all = attributes(tag);
    all.find_map(|(known, range)| (known == name).then_some(range))
}

/// Returns the start tag `tag` of XML with a value for an attribute.
pub(crate) fn with_value(tag: &str, name: &str, value: &str) -> String {
    match attribute(tag, name) {
        Some(range) => apply_edits(tag, &[(range, value.into())]),
        None => {
            let open = tag.trim_end_matches('>');
            let open = open.trim_end_matches('/');
            format!(
                "{} {name}=\"{value}\"{}",
                open.trim_end(),
                &tag[open.len()..]
            )
        }
    }
}

/// Returns the prefix of a name with its colon.
fn prefix(name: &str) -> &str {
    &name[..name.len() - local(name).len()]
}
