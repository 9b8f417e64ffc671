//! Marks in XML that say what stays unchanged.

use crate::compute::CancelWatch;

/// The mark of an element that stays unchanged. It is removed after the translation.
const STAYS: &str = " translate=\"no\"";
/// A tag that separates blocks of text and occurs in no text by chance. It is removed after the
/// translation.
const BLOCK: &str = "<hr translate=\"/\">";

/// Marks `text`, which is XML. Start tags with these names get a mark behind their name, and lines
/// that consist of tags begin with [`BLOCK`].
fn marked(text: String, tags: &[String]) -> String {
    let mut parts = text.split('<');
    let mut marked = parts.next().unwrap_or_default().to_owned();
    let mut between = "";
    for part in parts {
        let (name, rest) = part.split_at(
            part.find(|c: char| c.is_whitespace() || c == '>' || c == '/')
                .unwrap_or(part.len()),
        );
        let stays = if tags.iter().any(|tag| tag == name) {
            STAYS
        } else {
            ""
        };
        let is_line = between.trim().is_empty() && between.contains('\n');
        marked += &[if is_line { BLOCK } else { "" }, "<", name, stays, rest].concat();
        between = part.split_once('>').map_or("", |(_, after)| after);
    }
    marked
}

/// `text` without the marks of [`marked`].
pub(super) fn unmarked(text: &str, tags: &[String]) -> String {
    let mut plain = text.replace(BLOCK, "");
    for tag in tags {
        plain = plain.replace(&format!("<{tag}{STAYS}"), &format!("<{tag}"));
    }
    plain
}

/// The texts of a request with marks, and what is needed to remove them.
pub(super) struct Prepared {
    pub texts: Vec<String>,
    /// The characters of each text without marks.
    pub counts: Vec<usize>,
    /// If true, the texts have marks.
    pub is_xml: bool,
    pub tags: Vec<String>,
}

impl Prepared {
    pub fn new(texts: Vec<String>, tags: Vec<String>, is_xml: bool, cancel: &CancelWatch) -> Self {
        let is_xml = is_xml && !texts.iter().any(|text| text.contains(BLOCK));
        let counts = texts.iter().map(|text| text.chars().count()).collect();
        Self {
            texts: texts
                .into_iter()
                .map(|text| {
                    cancel.unwind_if_cancelled();
                    if is_xml { marked(text, &tags) } else { text }
                })
                .collect(),
            counts,
            is_xml,
            tags,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_elements_are_marked_as_html_marks_them() {
        let tags = ["x", "raw"].map(String::from);
        let text = "a <x id=\"1\"></x> <xy/> <raw>b</raw> <x translate=\"no\"> < x> <x";
        let expected = "a <x! id=\"1\"></x> <xy/> <raw!>b</raw> <x!!> < x> <x!";
        assert_eq!(marked(text.into(), &tags).replace(STAYS, "!"), expected);
        let text = "<a>\n<b>c\n</b>\n\t</a> <b>\n";
        let expected = "<a>\n#<b>c\n</b>\n\t#</a> <b>\n";
        assert_eq!(marked(text.into(), &tags).replace(BLOCK, "#"), expected);
    }
}
