//! Text inside XML.

use std::borrow::Cow;
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::escape::{partial_escape, unescape};
use quick_xml::events::Event;
use regex::{Captures, Regex};

use crate::words::regex;

/// The largest depth of the elements in a text.
const MAX_DEPTH: usize = 100;

static SECTION: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)<!\[CDATA\[(.*?)\]\]>"));

/// Escapes `text` for XML.
pub(crate) fn escaped(text: &str) -> String {
    readable(&partial_escape(text))
}

/// Makes `xml`, escaped text, mean the same to every reader. Characters that some readers change
/// are written as numeric references. Characters that XML cannot contain become U+FFFD.
pub(crate) fn readable(xml: &str) -> String {
    let mut out = String::with_capacity(xml.len());
    for c in xml.replace("]]>", "]]&gt;").chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' | '\u{7f}'..='\u{9f}' | '\u{2028}' => out += &format!("&#{};", u32::from(c)),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// Returns whether `xml` is well-formed as the content of an element, and not too deep for a
/// reader.
pub(crate) fn is_well_formed(xml: &str) -> bool {
    let mut reader = Reader::from_str(xml);
    let mut depth = 0;
    loop {
        match reader.read_event() {
            Ok(Event::Start(_)) => depth += 1,
            // The reader refuses an end tag without its start tag.
            Ok(Event::End(_)) => depth -= 1,
            Ok(Event::Eof) => return depth == 0,
            Ok(_) => {}
            Err(_) => return false,
        }
        if depth > MAX_DEPTH {
            return false;
        }
    }
}

/// Decodes `raw`, the content of an element; `None` if it has elements or unknown entities.
pub(crate) fn plain(raw: &str) -> Option<String> {
    let with_text = without_sections(raw);
    if with_text.contains('<') {
        return None;
    }
    unescape(&with_text).ok().map(|text| text.into_owned())
}

/// Returns `raw` with the line ends that a reader of XML passes on.
pub(crate) fn with_plain_line_ends(raw: &str) -> Cow<'_, str> {
    if raw.contains('\r') {
        raw.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        raw.into()
    }
}

/// Replaces the CDATA sections of `raw` by escaped text.
pub(crate) fn without_sections(raw: &str) -> String {
    SECTION
        .replace_all(raw, |found: &Captures<'_>| {
            partial_escape(&found[1]).into_owned()
        })
        .into()
}

/// Sets the attribute `name` of the start tag `tag` to `value`.
pub(crate) fn with_attribute(tag: &str, name: &str, value: &str) -> String {
    for quote in ['"', '\''] {
        let before = format!(" {name}={quote}");
        if let Some((start, after)) = tag.split_once(&before)
            && let Some((_, end)) = after.split_once(quote)
        {
            return format!("{start}{before}{value}{quote}{end}");
        }
    }
    let end = tag.len() - if tag.ends_with("/>") { 2 } else { 1 };
    format!(
        "{} {name}=\"{value}\"{}",
        tag[..end].trim_end(),
        &tag[end..]
    )
}

/// The code of a tag in XLIFF or TMX, or any other tag.
static TAGS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"<(?:bpt|ept|it|ph|ut)(?:\s[^<>]*[^<>/])?>[^<]*</[a-z]+>|<[^<>]*>"));

/// Returns the text of `raw` without its elements and their code.
pub(crate) fn text_of(raw: &str) -> String {
    let text = TAGS.replace_all(raw, "");
    unescape(&text).map_or(text.to_string(), |text| text.into_owned())
}
