//! The target language in the header of a catalogue.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::message::{is_same, tag_of};
use crate::format::Format;
use crate::words::regex;
use crate::xml_text::with_attribute;

/// The plural rules of gettext, one a line, and the languages that have them: as msginit of gettext
/// 0.21 writes them, and for languages that it does not know as translate-toolkit 3.16 has them.
const PLURAL_FORMS: &str = include_str!("plural_forms.tsv");

/// The fields of a PO template's header that msginit fills.
static PO: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?m)^"(Language: *|Plural-Forms: *nplurals=INTEGER; *plural=EXPRESSION;)\\n""#)
});
/// The element of XLIFF that names languages. The group is the name of its source language.
static XLIFF: LazyLock<Regex> =
    LazyLock::new(|| regex(r"<(?:\w+:)?(?:file|xliff)\s[^<>]*(source-language|srcLang)=[^<>]*>"));
/// The root of a catalogue of Qt, and the language that it names.
static QT: LazyLock<Regex> = LazyLock::new(|| regex(r"<TS(?:\s[^<>]*)?>"));
static QT_LANGUAGE: LazyLock<Regex> = LazyLock::new(|| regex(r#"\slanguage=(?:"[^"]|'[^'])"#));
/// The language of a file with texts in one language: ARB, Android and Rails.
static OWN: LazyLock<[(Format, Regex); 3]> = LazyLock::new(|| {
    [
        (Format::Json, r#"("@@locale"\s*:\s*")([A-Za-z]\w*)"#),
        (
            Format::Android,
            r#"(<resources\s[^<>]*tools:locale=["'])([A-Za-z][\w-]*)"#,
        ),
        (Format::Yaml, r#"(?m)(^["']?)([A-Za-z][\w-]*)(?:["']?:)"#),
    ]
    .map(|(format, pattern)| (format, regex(pattern)))
});
/// A key of YAML at the beginning of a line.
static ROOT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^[^\s#%-][^\n]*:"));

/// Returns `text` with the second of `languages` where it should name its target language: in a
/// field that is empty, or in place of the first.
pub(crate) fn in_language(text: &str, format: Format, languages: [Option<&str>; 2]) -> String {
    let Some(into) = languages[1] else {
        return text.into();
    };
    let code = tag_of(into);
    match (format, languages[0]) {
        (Format::Po, _) => po(text, &code.replace('-', "_")),
        (Format::Xliff, _) => xliff(text, &code),
        (Format::Qt, _) => qt(text, &code.replace('-', "_")),
        (Format::Json | Format::Android | Format::Yaml, Some(from)) => {
            own(text, format, from, &code)
        }
        _ => text.into(),
    }
}

/// Fills the header of a PO template, which ends at the first empty line.
fn po(text: &str, code: &str) -> String {
    let end = text.find("\nmsgstr").map_or(0, |at| at + 1);
    let length = ["\n\n", "\r\n\r\n"]
        .iter()
        .filter_map(|it| text[end..].find(it))
        .min();
    let (head, rest) = text.split_at(length.map_or(text.len(), |length| end + length));
    let filled = PO.replace_all(head, |found: &Captures<'_>| match &found[1] {
        field if field.starts_with("Language") => format!("\"Language: {code}\\n\""),
        _ => match plural_forms(code) {
            Some(rule) => format!("\"Plural-Forms: {rule}\\n\""),
            None => found[0].to_owned(),
        },
    });
    filled.into_owned() + rest
}

/// Returns the plural rule of the language `code`.
fn plural_forms(code: &str) -> Option<&'static str> {
    let base = code.split('_').next().unwrap_or_default();
    let rule = |code: &str| {
        let mut rows = PLURAL_FORMS
            .lines()
            .filter_map(|line| line.split_once('\t'));
        rows.find(|(_, codes)| codes.split(' ').any(|known| known == code))
    };
    let found = [code, base, &format!("{base}_CN")]
        .into_iter()
        .find_map(rule);
    found.map(|(rule, _)| rule)
}

fn xliff(text: &str, code: &str) -> String {
    let named = |found: &Captures<'_>| {
        let name = match &found[1] {
            "srcLang" => "trgLang",
            _ => "target-language",
        };
        if found[0].contains(&format!("{name}=")) {
            found[0].to_owned()
        } else {
            with_attribute(&found[0], name, code)
        }
    };
    XLIFF.replace_all(text, named).into_owned()
}

/// Names the language `code` in the root of a catalogue of Qt that names none.
fn qt(text: &str, code: &str) -> String {
    let named = |found: &Captures<'_>| {
        if QT_LANGUAGE.is_match(&found[0]) {
            found[0].to_owned()
        } else {
            with_attribute(&found[0], "language", code)
        }
    };
    QT.replace(text, named).into_owned()
}

fn own(text: &str, format: Format, from: &str, code: &str) -> String {
    let is_root = format != Format::Yaml || ROOT.find_iter(text).take(2).count() == 1;
    let declaration = OWN.iter().find(|(known, _)| *known == format && is_root);
    let Some((_, declaration)) = declaration else {
        return text.into();
    };
    let replaced = declaration.replacen(text, 1, |found: &Captures<'_>| {
        let [whole, before, known] = [0, 1, 2].map(|group| &found[group]);
        if is_same(known, from) {
            let code = if known.contains('_') || format == Format::Json {
                code.replace('-', "_")
            } else {
                code.to_owned()
            };
            format!("{before}{code}{}", &whole[before.len() + known.len()..])
        } else {
            whole.to_owned()
        }
    });
    replaced.into_owned()
}
