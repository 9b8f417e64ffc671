//! The target language in the header of a catalogue.

use std::sync::LazyLock;

use burnformer_text::apply_edits;
use regex::{Captures, Regex};

use super::json;
use super::message::tag_of;
use super::po_header;
use super::yaml_scalar::plain;
use crate::format::Format;
use crate::language::{Renaming, attribute, tags, with_value};
use crate::words::{Span, regex};

/// The language of a file with texts in one language: ARB and Rails.
static OWN: LazyLock<[(Format, Regex); 2]> = LazyLock::new(|| {
    [
        (Format::Json, r#"("@@locale"\s*:\s*")([A-Za-z][\w-]*)"#),
        (Format::Yaml, r#"(?m)(^["']?)([A-Za-z][\w-]*)(?:["']?:)"#),
    ]
    .map(|(format, pattern)| (format, regex(pattern)))
});
/// A key of YAML at the beginning of a line.
static ROOT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^[^\s#%-][^\n]*:"));

/// Returns `text` with the second of `languages` where it should name its target language: in a
/// field that is empty or missing, or in place of the first.
pub(crate) fn in_language(text: &str, format: Format, languages: [Option<&str>; 2]) -> String {
    let Some(into) = languages[1] else {
        return text.into();
    };
    let code = tag_of(into);
    match (format, languages[0]) {
        (Format::Po, _) => po_header::filled(text, &code.replace('-', "_")),
        (Format::Xliff, _) => xliff(text, &code),
        (Format::Qt, _) => qt(text, &code.replace('-', "_")),
        (Format::Android, Some(from)) => android(text, &Renaming::new(from, into)),
        (Format::Json | Format::Yaml, Some(from)) => {
            let renaming = Renaming::new(from, into);
            let text = own(text, format, &renaming);
            match format {
                Format::Json => manifest(&text, &renaming),
                _ => text,
            }
        }
        _ => text.into(),
    }
}

/// Names the target language in the root of XLIFF 2, or in each file of XLIFF 1.2.
fn xliff(text: &str, code: &str) -> String {
    let first = tags(text, "file").map(|range| (range, "source-language", "target-language"));
    let second = tags(text, "xliff").map(|range| (range, "srcLang", "trgLang"));
    let mut edits: Vec<(Span, String)> = Vec::new();
    for (range, source, target) in second.chain(first) {
        let tag = &text[range.clone()];
        if attribute(tag, source).is_some() && is_open(tag, target) {
            edits.push((range, with_value(tag, target, code)));
        }
    }
    apply_edits(text, &edits)
}

/// Returns whether the attribute `name` of the start tag `tag` is missing or empty.
fn is_open(tag: &str, name: &str) -> bool {
    attribute(tag, name).is_none_or(|value| value.is_empty())
}

/// Names the language `code` in the root of a catalogue of Qt that names none.
fn qt(text: &str, code: &str) -> String {
    let root = tags(text, "TS").next();
    let root = root.filter(|range| is_open(&text[range.clone()], "language"));
    let edit = root.map(|range| (range.clone(), with_value(&text[range], "language", code)));
    apply_edits(text, &Vec::from_iter(edit))
}

/// Renames the language of Android's resources, which their root names for tools.
fn android(text: &str, renaming: &Renaming<'_>) -> String {
    let edit = edit_of_android(text, renaming);
    apply_edits(text, &Vec::from_iter(edit))
}

fn edit_of_android(text: &str, renaming: &Renaming<'_>) -> Option<(Span, String)> {
    let root = tags(text, "resources").next()?;
    let tag = &text[root.clone()];
    let value = attribute(tag, "tools:locale")?;
    let code = renaming.of(&tag[value])?;
    Some((root, with_value(tag, "tools:locale", &code)))
}

/// Renames the language of a web manifest, and its direction.
fn manifest(text: &str, renaming: &Renaming<'_>) -> String {
    let fields = json::fields_of_manifest(text);
    let Some((_, language)) = fields.iter().find(|(name, _)| *name == "lang") else {
        return text.to_owned();
    };
    let Some(code) = renaming.of(&text[language.clone()]) else {
        return text.to_owned();
    };
    let mut edits = vec![(language.clone(), code)];
    let [from, into] = renaming.directions();
    let direction = fields.iter().find(|(name, _)| *name == "dir");
    if let Some((_, range)) = direction.filter(|(_, range)| text[range.clone()] == *from) {
        edits.push((range.clone(), into.to_owned()));
    }
    edits.sort_by_key(|(range, _)| range.start);
    apply_edits(text, &edits)
}

/// Renames the language of ARB, which is written with `_`, or the only root key of Rails.
fn own(text: &str, format: Format, renaming: &Renaming<'_>) -> String {
    let is_root = format != Format::Yaml || ROOT.find_iter(text).take(2).count() == 1;
    let declaration = OWN.iter().find(|(known, _)| *known == format && is_root);
    let Some((_, declaration)) = declaration else {
        return text.into();
    };
    let replaced = declaration.replacen(text, 1, |found: &Captures<'_>| {
        let [whole, before, known] = [0, 1, 2].map(|group| &found[group]);
        let Some(code) = renaming.of(known) else {
            return whole.to_owned();
        };
        let code = if format == Format::Json {
            code.replace('-', "_")
        } else {
            code
        };
        // Norwegian's code is a boolean in YAML.
        let is_plain = format == Format::Yaml && !before.ends_with(['"', '\'']);
        let code = if is_plain { plain(&code) } else { code };
        format!("{before}{code}{}", &whole[before.len() + known.len()..])
    });
    replaced.into_owned()
}
