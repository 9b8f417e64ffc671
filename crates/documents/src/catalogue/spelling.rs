//! Quoting, escapes and line breaks of each format.

use std::sync::LazyLock;

use burnformer_text::Grammar;
use regex::Regex;

use super::fluent_pattern::Pattern;
use super::yaml_scalar::{self, Block};
use crate::escape::{by_number, escaped};
use crate::format::Format;
use crate::message::messages;
use crate::words::{Span, regex};
use crate::xml_text;

/// A tag or a comment in a message.
static TAG: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?s)</?(?:[A-Za-z][^<>]*|\d+\s*/?)>|<!--.*?-->"));

/// How a translation is written. For any text, the file stays readable and reads back as the
/// translation. A character that the format cannot contain becomes U+FFFD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// A PO string: the line end of the file, and the grammar of the message's placeholders.
    Po(&'static str, Grammar),
    /// Text in XML.
    Xml,
    /// Text in XML with the line ends of Windows, which readers take for `\n`.
    XmlOfWindows,
    /// XML, written as it is.
    Markup,
    /// XML that is an ICU message with elements in its arms.
    Arms,
    /// Android text in XML, with elements if true.
    Android(bool),
    /// Android text between quotes.
    AndroidQuoted,
    /// The content of a JSON string, in ASCII if true.
    Json(bool),
    /// The lines of a text as strings of a JSON list, with `separator` between them.
    JsonLines {
        is_ascii: bool,
        separator: String,
    },
    /// A text of i18next's intervals in a JSON string, in ASCII if true.
    Interval(bool),
    /// The content of an Apple string.
    Apple,
    /// YAML strings: double-quoted, single-quoted, plain, and a block.
    Quoted,
    Single,
    Plain,
    Block(Block),
    /// A pattern of Fluent.
    Pattern(Pattern),
    /// A value in Java properties, in ASCII if `is_ascii`. `doubles` doubles each apostrophe, as in
    /// a Java message with parameters.
    Property {
        is_ascii: bool,
        doubles: bool,
    },
}

impl Spelling {
    /// Returns the spelling of a text in XML that has the line ends of `raw`.
    pub(super) fn of_xml(raw: &str) -> Self {
        if raw.contains("\r\n") {
            Self::XmlOfWindows
        } else {
            Self::Xml
        }
    }

    /// Returns the bytes for `text`.
    pub(crate) fn write(&self, text: &str) -> String {
        match self {
            Self::Po(newline, _) => po_string(text, newline),
            Self::Xml => xml_text::escaped(text),
            Self::XmlOfWindows => xml_text::escaped(text).replace('\n', "\r\n"),
            Self::Markup => markup(text, xml_text::readable),
            Self::Arms => markup(text, xml_text::escaped),
            Self::Android(false) => xml_text::escaped(&spaced(&android(text))),
            Self::AndroidQuoted => xml_text::escaped(&android(text)),
            Self::Android(true) => markup(text, |text| xml_text::readable(&android(text))),
            Self::Json(is_ascii) => escaped(text, "\"\\", units(*is_ascii)),
            Self::JsonLines {
                is_ascii,
                separator,
            } => json_lines(text, *is_ascii).join(separator),
            Self::Interval(is_ascii) => {
                // These signs end a text, and have no escapes.
                let text = text.replace('[', "(").replace(']', ")").replace(';', ",");
                escaped(&text, "\"\\", units(*is_ascii))
            }
            Self::Apple => escaped(text, "\"\\", |c| {
                c.is_control().then(|| by_number(c).replace("\\u", "\\U"))
            }),
            Self::Quoted => yaml_scalar::quoted(text),
            Self::Single => yaml_scalar::single(text),
            Self::Plain => yaml_scalar::plain(text),
            Self::Block(block) => block.write(text),
            Self::Pattern(pattern) => pattern.write(text),
            Self::Property { is_ascii, doubles } => {
                let doubled = if *doubles {
                    text.replace('\'', "''")
                } else {
                    text.into()
                };
                let written = escaped(&doubled, "\\", units(*is_ascii));
                // White space before a value is not a part of it.
                let begin = if written.starts_with(' ') { "\\" } else { "" };
                begin.to_string() + &written
            }
        }
    }
}

/// Applies `write` to the text outside of the tags in `xml`. If the result is not well-formed, all
/// of `xml` is escaped as text.
fn markup(xml: &str, write: fn(&str) -> String) -> String {
    let out = outside_tags(xml, write);
    if xml_text::is_well_formed(&out) {
        out
    } else {
        xml_text::escaped(xml)
    }
}

/// Resolves the backslash escapes of a Java, Android or Apple value: special characters, numbers
/// and line ends. Returns `None` if a number is invalid.
pub(super) fn unescaped(value: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::new();
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        let c = match (c, if c == '\\' { chars.next() } else { None }) {
            (c, None) => c,
            (_, Some('n')) => '\n',
            (_, Some('t')) => '\t',
            (_, Some('r')) => '\r',
            (_, Some('f')) => ' ',
            (_, Some('u' | 'U')) => {
                let digits: String = chars.by_ref().take(4).collect();
                units.push(
                    u16::from_str_radix(&digits, 16)
                        .ok()
                        .filter(|_| digits.len() == 4)?,
                );
                continue;
            }
            (_, Some('\r' | '\n')) => {
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                continue;
            }
            (_, Some(c)) => c,
        };
        units.extend(c.encode_utf16(&mut [0; 2]).iter());
    }
    Some(String::from_utf16_lossy(&units))
}

/// Returns how a character is written by number.
fn units(is_ascii: bool) -> fn(char) -> Option<String> {
    if is_ascii {
        |c| (c.is_control() || !c.is_ascii()).then(|| by_number(c))
    } else {
        |c| c.is_control().then(|| by_number(c))
    }
}

/// Returns a JSON string for each line of `text`, or an empty one.
fn json_lines(text: &str, is_ascii: bool) -> Vec<String> {
    let string = |line| format!("\"{}\"", Spelling::Json(is_ascii).write(line));
    let lines: Vec<String> = text.split_inclusive('\n').map(string).collect();
    if lines.is_empty() {
        vec![string("")]
    } else {
        lines
    }
}

/// A C string ends at its first NUL. Other control characters are written by their numbers.
fn po_character(c: char) -> Option<String> {
    match c {
        '\0' => Some(char::REPLACEMENT_CHARACTER.into()),
        c if c.is_ascii_control() => Some(format!("\\{:03o}", u32::from(c))),
        _ => None,
    }
}

/// Quotes `text`: on one line, or as an empty string followed by one string per line.
fn po_string(text: &str, newline: &str) -> String {
    let lines: Vec<String> = text
        .split_inclusive('\n')
        .map(|line: &str| format!("\"{}\"", escaped(line, "\"\\", po_character)))
        .collect();
    match &lines[..] {
        [] => "\"\"".into(),
        [line] => line.clone(),
        lines => format!("\"\"{newline}{}", lines.join(newline)),
    }
}

/// Escapes `text` for Android, where two signs are special at the beginning.
fn android(text: &str) -> String {
    let begin = if text.starts_with(['@', '?']) {
        "\\"
    } else {
        ""
    };
    begin.to_string() + &escaped(text, "'\"\\", android_character)
}

/// XML cannot contain these characters; Android has its own escapes for them.
fn android_character(c: char) -> Option<String> {
    let is_unknown = c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    is_unknown.then(|| by_number(c))
}

/// Escapes by number the spaces that Android would drop: at the ends, and all but one in a row.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_single = !out.is_empty() && chars.peek().is_some_and(|&next| next != ' ');
        if c == ' ' && !is_single {
            out += &by_number(c);
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the format of a message. With a plural or select, tags belong to the ICU message.
pub(crate) fn format_of(text: &str) -> Format {
    let is_html =
        TAG.find_iter(text).any(|tag| is_tag(text, tag.range())) && messages(text).is_empty();
    if is_html { Format::Html } else { Format::Text }
}

/// Returns whether the tag at `range` of a message is no text: not in ICU's quotes, and no name of
/// Ruby's or C's placeholders (`%<name>s`).
fn is_tag(text: &str, range: Span) -> bool {
    let before = text[..range.start].trim_end_matches(['#', '0', '+', '-']);
    let is_quoted = before.ends_with('\'') && text[range.end..].starts_with('\'');
    let sign = before.strip_suffix('%').map(str::trim_end);
    let is_name = sign.is_some_and(|before| !before.ends_with(char::is_numeric));
    !is_quoted && !is_name
}

/// Applies `write` to the text outside of the tags in `xml`.
pub(super) fn outside_tags(xml: &str, write: fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut at = 0;
    for tag in TAG.find_iter(xml) {
        out += &write(&xml[at..tag.start()]);
        out += tag.as_str();
        at = tag.end();
    }
    out + &write(&xml[at..])
}

/// Returns whether `text` is well-formed and has the tags of `source`, in any order.
pub(crate) fn has_tags_of(source: &str, text: &str) -> bool {
    let [one, other] = [source, text].map(|text| {
        let mut tags: Vec<&str> = TAG.find_iter(text).map(|tag| tag.as_str()).collect();
        tags.sort_unstable();
        tags
    });
    one == other && xml_text::is_well_formed(text)
}
