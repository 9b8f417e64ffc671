//! The quoting, escapes and line breaks of texts in each format.

use std::sync::LazyLock;

use quick_xml::escape::partial_escape;
use regex::Regex;

use crate::escape::by_number;
use crate::format::Format;
use crate::message::messages;
use crate::words::regex;

/// A tag or a comment in the text of a message.
static TAG: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?s)</?(?:[A-Za-z][^<>]*|\d+\s*/?)>|<!--.*?-->"));

/// The rules by which a translation is written.
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
    /// The inside of a string of JSON or Apple; if true, it is in ASCII.
    Json(bool),
    /// A string of YAML in double quotes, in single quotes, and without any.
    Quoted,
    Single,
    Plain,
    /// Lines with this between them, which ends with their indentation.
    Lines(String),
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
            Self::Xml => partial_escape(text).into_owned(),
            Self::Markup => text.into(),
            Self::Arms => outside_tags(text, |text| partial_escape(text).into_owned()),
            Self::Android(false) => partial_escape(android(text)).into_owned(),
            Self::Android(true) => outside_tags(text, android),
            Self::Json(is_ascii) => escaped(text, "\"\\", units(*is_ascii)),
            Self::Quoted => format!("\"{}\"", escaped(text, "\"\\", char::is_control)),
            Self::Plain if !is_plain(text) => Self::Quoted.write(text),
            Self::Plain => text.into(),
            Self::Single if text.contains('\n') => Self::Quoted.write(text),
            Self::Single => format!("'{}'", text.replace('\'', "''")),
            Self::Lines(between) => lines(text, between),
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

/// Returns whether a character is written by its number.
fn units(is_ascii: bool) -> fn(char) -> bool {
    if is_ascii {
        |c| c.is_control() || !c.is_ascii()
    } else {
        char::is_control
    }
}

/// `text` with a backslash before `special` characters; those of `numbers` are written by their
/// number.
fn escaped(text: &str, special: &str, numbers: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            '\r' => out += "\\r",
            c if special.contains(c) => out.extend(['\\', c]),
            c if numbers(c) => out += &by_number(c),
            c => out.push(c),
        }
    }
    out
}

/// `text` in quotes: one line, or an empty string and then one string for each line.
fn po_string(text: &str, newline: &str) -> String {
    let quoted = |line: &str| format!("\"{}\"", escaped(line, "\"\\", |_| false));
    let lines: Vec<String> = text.split_inclusive('\n').map(quoted).collect();
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
    begin.to_string() + &escaped(text, "'\"\\", |_| false)
}

/// The format of the text of a message. Tags are those of ICU where it has a plural or a select.
pub(crate) fn format_of(text: &str) -> Format {
    let is_html = TAG.is_match(text) && messages(text).is_empty();
    if is_html { Format::Html } else { Format::Text }
}

/// `xml` with the text outside of its tags as `write` writes it.
pub(super) fn outside_tags(xml: &str, write: fn(&str) -> String) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for tag in TAG.find_iter(xml) {
        out += &write(&xml[at..tag.start()]);
        out += tag.as_str();
        at = tag.end();
    }
    out + &write(&xml[at..])
}

/// Returns whether `text` is a text of YAML without quotes, wherever it stands.
fn is_plain(text: &str) -> bool {
    let is_value =
        text.parse::<f64>().is_ok() || VALUES.iter().any(|value| text.eq_ignore_ascii_case(value));
    !is_value
        && text.starts_with(char::is_alphanumeric)
        && !text.ends_with([' ', ':'])
        && !text.contains(['\n', '\t', '[', ']', '{', '}', ','])
        && !text.contains(": ")
        && !text.contains(" #")
}

/// Words that stand for other values in one version of YAML or another.
pub(super) const VALUES: [&str; 10] = [
    "true", "false", "null", "~", "yes", "no", "on", "off", "y", "n",
];

/// The lines of `text` with `between` them; empty lines have no indentation.
fn lines(text: &str, between: &str) -> String {
    let (blank, mut out) = (between.trim_end_matches(' '), String::new());
    for (number, line) in text.trim_matches('\n').split('\n').enumerate() {
        if number > 0 {
            out += if line.is_empty() { blank } else { between };
        }
        out += line;
    }
    out
}
