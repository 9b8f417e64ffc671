//! Headers and footers of sheets. Codes such as `&P`, the number of the page, stand in their texts,
//! which have up to three sections.

use std::sync::LazyLock;

use regex::Regex;

use super::draft::Draft;
use super::item::{Paragraph, Place};
use super::kind::has;
use crate::words::{Span, regex};

/// The elements of headers and footers.
const NAMES: &str = "oddHeader evenHeader firstHeader oddFooter evenFooter firstFooter";

/// A code. The groups are the sign `&` itself, the beginning of a section, a value that Excel
/// computes, and a format.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"(?s)&(?:amp|#38|#[xX]26);(?:(&(?:amp|#38|#[xX]26);)|([LCRlcr])|([PNDTAFZGpndtafzg](?:[+-]\d+)?)|"#,
        r#"((?:"|&quot;).*?(?:"|&quot;)|[Kk](?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d+|[^<&])|)"#,
    ))
});

/// Returns whether `name` is the name of a header or footer.
pub(super) fn is_header(name: &str) -> bool {
    has(NAMES, name)
}

/// Returns the sections of the header `xml[range]` that contain words.
pub(super) fn sections(xml: &str, range: Span) -> Vec<Paragraph> {
    let mut all = Vec::new();
    let mut draft = Draft::new(xml);
    let mut start = range.start;
    let mut at = range.start;
    for found in CODE.captures_iter(&xml[range.clone()]) {
        let moved = |part: Span| range.start + part.start..range.start + part.end;
        let code = moved(found.get_match().range());
        draft.text(at..code.start);
        at = code.end;
        if let Some(sign) = found.get(1) {
            draft.text(moved(sign.range()));
        } else if found.get(2).is_some() {
            let section = std::mem::replace(&mut draft, Draft::new(xml));
            all.extend(section.finish(start..code.start, Place::Header));
            start = code.end;
        } else if let Some(value) = found.get(3) {
            draft.unit(code, None, shown(value.as_str()));
        } else {
            draft.point(code, None, "img");
        }
    }
    draft.text(at..range.end);
    all.extend(draft.finish(start..range.end, Place::Header));
    all
}

/// Returns an example of the value that Excel computes for a code.
fn shown(code: &str) -> String {
    let example = match code.get(..1) {
        Some("P" | "p") => "1",
        Some("N" | "n") => "9",
        _ => "",
    };
    example.to_owned()
}
