//! The quoting, escapes and line breaks of texts in each format.

use std::sync::LazyLock;

use regex::Regex;

use super::fluent::Pattern;
use super::yaml::{self, Block};
use crate::escape::by_number;
use crate::format::Format;
use crate::message::messages;
use crate::words::regex;
use crate::xml_text;

/// A tag or a comment in the text of a message.
static TAG: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?s)</?(?:[A-Za-z][^<>]*|\d+\s*/?)>|<!--.*?-->"));

/// The rules by which a translation is written. Whatever the text is, the file can be read, and the
/// text is that of the translation. A character that a format cannot contain becomes U+FFFD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// A string of PO, whose lines end as those of the file do.
    Po(&'static str),
    /// Text in XML.
    Xml,
    /// XML, which is written as it is.
    Markup,
    /// XML that is a message of ICU with elements in its arms.
    Arms,
    /// A text of Android within XML; with elements if it has any.
    Android(bool),
    /// A text of Android between quotes.
    AndroidQuoted,
    /// The inside of a string of JSON; if true, it is in ASCII.
    Json(bool),
    /// The inside of a string of Apple.
    Apple,
    /// A string of YAML in double quotes, in single quotes, without any, and a block of lines.
    Quoted,
    Single,
    Plain,
    Block(Block),
    /// A pattern of Fluent.
    Pattern(Pattern),
    /// A value of Java's properties: in ASCII, and, in a message of Java with parameters, with each
    /// apostrophe doubled.
    Property {
        is_ascii: bool,
        doubles: bool,
    },
}

impl Spelling {
    /// The bytes that stand for `text`.
    pub(crate) fn write(&self, text: &str) -> String {
        match self {
            Self::Po(newline) => po_string(text, newline),
            Self::Xml => xml_text::escaped(text),
            Self::Markup => markup(text, xml_text::readable),
            Self::Arms => markup(text, xml_text::escaped),
            Self::Android(false) => xml_text::escaped(&spaced(&android(text))),
            Self::AndroidQuoted => xml_text::escaped(&android(text)),
            Self::Android(true) => markup(text, |text| xml_text::readable(&android(text))),
            Self::Json(is_ascii) => escaped(text, "\"\\", units(*is_ascii)),
            Self::Apple => escaped(text, "\"\\", |c| {
                c.is_control().then(|| by_number(c).replace("\\u", "\\U"))
            }),
            Self::Quoted => yaml::quoted(text),
            Self::Single => yaml::single(text),
            Self::Plain => yaml::plain(text),
            Self::Block(block) => block.write(text),
            Self::Pattern(pattern) => pattern.write(text),
            Self::Property { is_ascii, doubles } => {
                let doubled = if *doubles {
                    text.replace('\'', "''")
                } else {
                    text.into()
                };
                let written = escaped(&doubled, "\\", units(*is_ascii));
                // White space before a value is not part of it.
                let begin = if written.starts_with(' ') { "\\" } else { "" };
                begin.to_string() + &written
            }
        }
    }
}

/// `xml` with the text outside of its tags as `write` writes it. If it is not well-formed then, all
/// of it is text.
fn markup(xml: &str, write: fn(&str) -> String) -> String {
    let out = outside_tags(xml, write);
    if xml_text::is_well_formed(&out) {
        out
    } else {
        xml_text::escaped(xml)
    }
}

/// The text of a value of Java, Android or Apple, in which a backslash stands before characters
/// that mean something else, their numbers and ends of lines; `None` if a number is broken.
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

/// The number of a character that is written by it.
fn units(is_ascii: bool) -> fn(char) -> Option<String> {
    if is_ascii {
        |c| (c.is_control() || !c.is_ascii()).then(|| by_number(c))
    } else {
        |c| c.is_control().then(|| by_number(c))
    }
}

/// `text` with a backslash before `special` characters, and with what `other` makes of others.
pub(super) fn escaped(text: &str, special: &str, other: fn(char) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            '\r' => out += "\\r",
            c if special.contains(c) => out.extend(['\\', c]),
            c => match other(c) {
                Some(written) => out += &written,
                None => out.push(c),
            },
        }
    }
    out
}

/// A string of C ends with its first zero.
fn po_character(c: char) -> Option<String> {
    (c == '\0').then(|| char::REPLACEMENT_CHARACTER.into())
}

/// `text` in quotes: one line, or an empty string and then one string for each line.
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

/// `text` as Android's resources have it, in which two signs mean something at the beginning.
fn android(text: &str) -> String {
    let begin = if text.starts_with(['@', '?']) {
        "\\"
    } else {
        ""
    };
    begin.to_string() + &escaped(text, "'\"\\", android_character)
}

/// XML cannot contain these characters. In Android's resources they have numbers of their own.
fn android_character(c: char) -> Option<String> {
    let is_unknown = c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    is_unknown.then(|| by_number(c))
}

/// `text`, which Android would show with one space for several and with none at its ends, with the
/// others by their number.
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

/// The format of the text of a message. Tags are those of ICU where it has a plural or a select.
pub(crate) fn format_of(text: &str) -> Format {
    let is_html = TAG.is_match(text) && messages(text).is_empty();
    if is_html { Format::Html } else { Format::Text }
}

/// `xml` with the text outside of its tags as `write` writes it.
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
