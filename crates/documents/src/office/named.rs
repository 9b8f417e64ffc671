//! Texts of cells that a workbook names elsewhere. A formula compares with them, a filter selects
//! by them, and Excel refuses a table with a column of another name than its first cell.

use std::collections::HashSet;
use std::sync::LazyLock;

use quick_xml::escape::unescape;
use regex::Regex;

use crate::words::{has_letters, regex};

/// A formula.
static FORMULA: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"<(?:\w+:)?(?:f|formula|formula1|formula2|calculatedColumnFormula|totalsRowFormula|definedName)",
        r"(?:\s[^<>]*)?>([^<]+)<",
    ))
});
/// A text in a formula.
static LITERAL: LazyLock<Regex> = LazyLock::new(|| regex(r#""((?:[^"]|"")*)""#));
/// The name of a column of a table, a field of a pivot table, or a value of a filter.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"<(?:\w+:)?(?:(?:tableColumn|cacheField)\s(?:[^<>]*\s)?name|"#,
        r#"(?:filter|customFilter)\s(?:[^<>]*\s)?val)="([^"]*)""#,
    ))
});
/// The name of a sheet that is not its program's own, such as `Sheet1`.
static SHEET: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"<(?:\w+:)?sheet\s(?:[^<>]*\s)?name="[^"]*[^\W\d][^"]*""#));
static DEFAULT: LazyLock<Regex> = LazyLock::new(|| regex(r#"name="[^\W\d_]+\s?\d*"$"#));

/// Adds the texts that `xml`, a file of a workbook, names.
pub(super) fn add(xml: &str, named: &mut HashSet<String>) {
    named.extend(literals(xml));
    named.extend(NAME.captures_iter(xml).map(|found| as_named(&found[1])));
}

/// Iterates over the texts in formulas; a list of texts with commas also gives its members.
fn literals(xml: &str) -> impl Iterator<Item = String> {
    FORMULA.captures_iter(xml).flat_map(|formula| {
        let formula = as_named(&formula[1]);
        let texts = LITERAL
            .captures_iter(&formula)
            .map(|found| found[1].replace("\"\"", "\""));
        let members = texts.flat_map(|text| {
            let members: Vec<String> = text.split(',').map(|it| it.trim().to_owned()).collect();
            members.into_iter().chain([text])
        });
        members.filter(|text| !text.is_empty()).collect::<Vec<_>>()
    })
}

/// Returns whether `xml` has a formula with words. Formats of dates have letters of their own.
pub(super) fn has_words(xml: &str) -> bool {
    literals(xml).any(|text| text.contains(is_no_date))
}

/// Returns whether `c` is a letter that no format of dates has.
fn is_no_date(c: char) -> bool {
    c.is_alphabetic() && !"dmyhsapgen".contains(c.to_ascii_lowercase())
}

/// Returns whether `xml` names cells with words that therefore stay: columns of a table, or values
/// of a filter.
pub(super) fn has_names(xml: &str) -> bool {
    NAME.captures_iter(xml).any(|found| has_letters(&found[1]))
}

/// Returns whether `xml`, the list of sheets, has a name that a person gave.
pub(super) fn has_sheet_names(xml: &str) -> bool {
    SHEET
        .find_iter(xml)
        .any(|name| !DEFAULT.is_match(name.as_str()))
}

/// Returns the text of `raw`, from an element or an attribute, as names are compared.
pub(super) fn as_named(raw: &str) -> String {
    let raw = raw
        .replace("_x000a_", "\n")
        .replace("_x000D_", "")
        .replace("\r\n", "\n");
    unescape(&raw).map_or(raw.clone(), |text| text.trim().to_owned())
}
