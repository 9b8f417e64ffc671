//! How text is escaped in a document.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The escaping rules of a block.
#[derive(Clone, Debug)]
pub(crate) enum Escape {
    Plain,
    Html(Entities),
    Markdown(Markdown),
    Srt,
    /// WebVTT, which has references to characters.
    Cue(Entities),
    Ass,
    /// The alternative text of a Markdown image.
    Alternative,
    /// A text with ICU messages, or an arm of a message, where `#` is a number. An apostrophe
    /// before a letter quotes nothing. It is doubled only if the text `doubles` others, because
    /// some programs would show both.
    Message {
        doubles: bool,
        is_arm: bool,
    },
    /// An attribute value in quotes of this kind.
    Attribute(Option<char>, Entities),
}

/// Characters that Unicode keeps for programs. One that a document does not contain marks the
/// places of its attributes, before and after their numbers. No block contains any of them.
pub(crate) const NONCHARACTERS: RangeInclusive<char> = '\u{fdd0}'..='\u{fdef}';

/// Returns whether `c` is one of the [`NONCHARACTERS`].
pub(crate) fn is_noncharacter(c: char) -> bool {
    NONCHARACTERS.contains(&c)
}

/// How a document writes special characters, and therefore how its translation does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entities {
    /// Characters by their references, such as `é` by `&eacute;`.
    pub(crate) names: Arc<BTreeMap<char, String>>,
    /// Characters among `<`, `>` and `&` that the text contains unescaped.
    pub(crate) bare: Vec<char>,
}

/// The rules for backslashes in a Markdown block.
#[derive(Clone, Debug)]
pub(crate) struct Markdown {
    pub(crate) level: Level,
    pub(crate) position: Position,
    /// If true, the block is a part of a paragraph, and markup can end in the other parts.
    pub(crate) is_part: bool,
    pub(crate) references: Arc<References>,
}

/// The definitions of a document. They turn brackets in its text into links and footnotes.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Link labels, case-folded.
    pub(crate) labels: HashSet<String>,
    /// If true, a line begins like a footnote definition.
    pub(crate) notes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Only characters that divide table cells, and backslashes.
    Bare,
    /// Characters that would begin markup in most positions.
    Light,
    /// Every character that can begin markup.
    Full,
}

/// Where a Markdown block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    Paragraph,
    /// In a list item, where `[x]` is a task.
    Item,
    /// In a block quote, where `[!NOTE]` is an alert.
    Quote,
    Heading,
    /// A heading with an underline.
    Underlined,
    TableCell,
}

impl Position {
    /// Returns the Markdown before a block in this position, its line break, and the Markdown after
    /// it.
    pub(crate) fn around(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Paragraph => ("", "\n", ""),
            Self::Item => ("- ", "\n  ", ""),
            Self::Quote => ("> ", "\n> ", ""),
            Self::Heading => ("# ", "\n", ""),
            Self::Underlined => ("", "\n", "\n==="),
            Self::TableCell => ("| ", "\n", " |\n|---|"),
        }
    }
}

impl Escape {
    /// Returns whether `c` is written in atoms without escaping.
    pub(crate) fn keeps_atoms(&self, c: char) -> bool {
        match self {
            Self::Markdown(rules) => rules.level != Level::Full && c != '|',
            _ => matches!(self, Self::Message { .. }),
        }
    }

    /// Returns the characters that have no special meaning in the block's text, because it escapes
    /// them.
    pub(crate) fn signs(&self) -> &[char] {
        match self {
            Self::Plain | Self::Message { .. } => &[],
            Self::Srt | Self::Cue(_) => &['<', '{'],
            Self::Ass => &['{', '\\'],
            _ => &['<', '[', '*', '\\', '|', '_'],
        }
    }

    /// Writes `c`, which stands between `last` and `after`.
    pub(crate) fn write(&self, out: &mut String, last: Option<char>, c: char, after: Option<char>) {
        match self {
            Self::Plain => out.push(c),
            // SubRip has no escapes: lookalike characters keep text from becoming a tag.
            Self::Srt => out.push(match (c, after) {
                ('<', Some(next)) if next.is_ascii_alphabetic() || next == '/' => '‹',
                ('{', Some('\\')) => '(',
                _ => c,
            }),
            // SSA has none either: lookalikes keep text from becoming a tag or a line break.
            Self::Ass => out.push(match (c, after) {
                ('{', _) => '(',
                ('}', _) => ')',
                ('\\', Some('N' | 'n' | 'h')) => '⧵',
                _ => c,
            }),
            Self::Alternative => match c {
                // Code spans bind tighter than brackets, and a backslash does not hide their marks.
                '`' => out.push_str("&#96;"),
                '&' if after.is_none_or(|c| c.is_whitespace()) => out.push(c),
                _ => {
                    out.extend("\\[]*_<&~|$".contains(c).then_some('\\'));
                    out.push(c);
                }
            },
            Self::Message { doubles, is_arm } => match c {
                '\'' if *doubles || after.is_some_and(|c| "{}#|'".contains(c)) => {
                    out.push_str("''");
                }
                '{' | '}' => out.extend(['\'', c, '\'']),
                '#' if *is_arm => out.push_str("'#'"),
                _ => out.push(c),
            },
            Self::Html(entities) | Self::Cue(entities) => entities.write(out, c, after),
            Self::Attribute(quote, entities) => match c {
                '"' if *quote != Some('\'') => out.push_str("&quot;"),
                '\'' if *quote == Some('\'') => out.push_str("&#39;"),
                _ => entities.write(out, c, after),
            },
            Self::Markdown(rules) => {
                if rules.escapes(last, c, after) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
}

impl Entities {
    /// Returns how `source`, a block of the document, writes special characters. If the document
    /// writes a sign in two ways and the block has no reference to it, the sign stays bare.
    pub(crate) fn of_block(&self, source: &str) -> Self {
        Self {
            bare: self
                .bare
                .iter()
                .copied()
                .filter(|c: &char| {
                    !self
                        .names
                        .get(c)
                        .is_some_and(|name| source.contains(&**name))
                })
                .collect(),
            ..self.clone()
        }
    }

    fn write(&self, out: &mut String, c: char, after: Option<char>) {
        if let Some(name) = self.names.get(&c).filter(|_| !self.bare.contains(&c)) {
            return out.push_str(name);
        }
        // After a bare character, these would begin a tag or a reference.
        let harmless = after.is_none_or(|c| !c.is_ascii_alphanumeric() && !"/!?#".contains(c));
        match c {
            '<' | '&' if self.bare.contains(&c) && harmless => out.push(c),
            '>' if self.bare.contains(&c) => out.push(c),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
}

impl Markdown {
    fn escapes(&self, before: Option<char>, c: char, after: Option<char>) -> bool {
        let before = before.filter(|&c| c != '\n');
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let harmless = match c {
            '|' if self.position == Position::TableCell => false,
            '\\' => after.is_some_and(|c| !c.is_ascii_punctuation()),
            _ if self.level == Level::Bare && !self.is_part => true,
            '`' => false,
            '*' => space(before) && space(after),
            '_' => word(before) && word(after) || space(before) && space(after),
            _ if self.level == Level::Light => !(self.is_part && "[]<~$".contains(c)),
            '[' | ']' | '<' | '>' | '~' | '&' | '$' => false,
            // Attributes and closing marks of headings.
            '#' if self.position == Position::Heading => false,
            '{' | '}' => !matches!(self.position, Position::Heading | Position::Underlined),
            '!' => after.is_some_and(|c| c != '['),
            // These are markup only at the beginning of a line, or, for a list, after a number.
            '-' | '+' | '#' | '=' | ':' | '|' => before.is_some(),
            '.' | ')' => !before.is_some_and(|c| c.is_ascii_digit()),
            _ => true,
        };
        !harmless || self.level == Level::Full && "*_\\".contains(c)
    }
}

/// Escapes `special` characters with a backslash, and other characters with `other`.
pub(crate) fn escaped(text: &str, special: &str, other: fn(char) -> Option<String>) -> String {
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

/// Returns `c` as its UTF-16 code units, the way Java and JSON escape it: `\u00e9`.
pub(crate) fn by_number(c: char) -> String {
    c.encode_utf16(&mut [0; 2])
        .iter()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(entities: Entities, text: &str) -> String {
        written(&Escape::Html(entities), text)
    }

    fn written(escape: &Escape, text: &str) -> String {
        let mut out = String::new();
        let mut before = None;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            escape.write(&mut out, before, c, rest.peek().copied());
            before = Some(c);
        }
        out
    }

    #[test]
    fn html_escapes_what_would_be_markup() {
        assert_eq!(
            html(Entities::default(), "a<b & c>d"),
            "a&lt;b &amp; c&gt;d"
        );
    }

    #[test]
    fn html_writes_characters_as_the_document_does() {
        let names = Arc::new([('é', "&eacute;".into())].into());
        let entities = Entities {
            names,
            bare: vec!['&', '<'],
        };
        assert_eq!(html(entities, "é & <b a < b"), "&eacute; & &lt;b a < b");
    }

    #[test]
    fn markdown_escapes_emphasis_but_not_names_and_products() {
        let level = Level::Light;
        let position = Position::Paragraph;
        let light = Markdown {
            level,
            position,
            is_part: false,
            references: Arc::default(),
        };
        let light = Escape::Markdown(light);
        assert_eq!(
            written(&light, "*a* snake_case 2 * 3 _x"),
            r"\*a\* snake_case 2 * 3 \_x"
        );
    }
}
