//! The rules by which files write texts.

use quick_xml::escape::partial_escape;

/// The rules by which a translation is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// A string of PO, whose lines end as those of the file do.
    Po(&'static str),
    /// Text in XML.
    Xml,
    /// XML, which is written as it is.
    Markup,
}

impl Spelling {
    /// The bytes that stand for `text`.
    pub(crate) fn write(&self, text: &str) -> String {
        match self {
            Self::Po(newline) => po_string(text, newline),
            Self::Xml => partial_escape(text).into_owned(),
            Self::Markup => text.into(),
        }
    }
}

/// `text` with a backslash before what is special in a string.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            '\r' => out += "\\r",
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// `text` in quotes: one line, or an empty string and then one string for each line.
fn po_string(text: &str, newline: &str) -> String {
    let quoted = |line: &str| format!("\"{}\"", escaped(line));
    let lines: Vec<String> = text.split_inclusive('\n').map(quoted).collect();
    match &lines[..] {
        [] => "\"\"".into(),
        [line] => line.clone(),
        lines => format!("\"\"{newline}{}", lines.join(newline)),
    }
}
