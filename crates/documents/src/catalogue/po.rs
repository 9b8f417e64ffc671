//! GNU gettext catalogues (PO) and templates (POT).

use std::collections::HashMap;
use std::sync::LazyLock;

use burnformer_text::Grammar;
use encoding_rs::{Encoding, WINDOWS_1252};
use regex::Regex;

use super::message::{BrokenCatalogue, Context, Lines, Message, MessageState, Result, Slot};
use super::plural::{Form, forms};
use super::spelling::Spelling;
use crate::plurals::hides;
use crate::words::{Span, regex};

/// Maximum number of strings in an entry. No language has more than six plural forms.
const MAX_FIELDS: usize = 16;

/// A string of an entry, which may span lines.
struct Field<'a> {
    keyword: &'a str,
    /// The decoded text.
    text: String,
    /// The byte range from the first quote to the last.
    range: Span,
}

/// An entry being read.
#[derive(Default)]
struct Entry<'a> {
    /// The byte where its first keyword begins.
    start: usize,
    fields: Vec<Field<'a>>,
    /// The byte after the `#,` of its flags.
    flags: Option<usize>,
    is_fuzzy: bool,
    /// The grammar that its flags name.
    grammar: Grammar,
}

/// Reads the messages and languages of `text`. A file may name only the target language.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, [Option<String>; 2])> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let known = HashMap::new();
    let lines = Lines::of(text);
    Reader {
        text,
        newline,
        language: None,
        encoding: WINDOWS_1252,
        forms: None,
        known,
        lines,
    }
    .read()
}

struct Reader<'a> {
    text: &'a str,
    newline: &'static str,
    language: Option<String>,
    /// The encoding of bytes that are written by their numbers.
    encoding: &'static Encoding,
    forms: Option<Vec<Form>>,
    /// The first byte of each message, by context and source.
    known: HashMap<(Option<String>, String), usize>,
    lines: Lines,
}

impl<'a> Reader<'a> {
    fn read(mut self) -> Result<(Vec<Message>, [Option<String>; 2])> {
        let mut messages = Vec::new();
        let mut entry = Entry::default();
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let start = at + line.len() - line.trim_start().len();
            at += line.len();
            let line = line.trim();
            let is_string = line.starts_with('"');
            let follows = line.starts_with("msg") && !(entry.is_whole() && begins(line));
            if !is_string && !follows && entry.is_whole() {
                self.finish(std::mem::take(&mut entry), &mut messages)?;
            }
            if let Some(flags) = line.strip_prefix("#,") {
                entry.flags = Some(start + 2);
                let mut flags = flags.split(',').map(str::trim);
                entry.is_fuzzy |= flags.clone().any(|flag| flag == "fuzzy");
                entry.grammar = flags.find_map(Grammar::of_flag).unwrap_or(entry.grammar);
            } else if !line.is_empty() && !line.starts_with('#') {
                self.field(&mut entry, line, start)?;
            }
        }
        self.finish(entry, &mut messages)?;
        Ok((messages, [None, self.language]))
    }

    /// Adds the string on `line` to `entry`; the line begins at `start`.
    fn field(&self, entry: &mut Entry<'a>, line: &'a str, start: usize) -> Result<()> {
        let broken = |fault: &str| BrokenCatalogue::at(self.text, start, fault);
        let quote = line.find('"').ok_or_else(|| {
            broken("is no comment, no keyword of gettext and no string in quotes; `msgfmt -c` shows more")
        })?;
        let keyword = line[..quote].trim_end();
        let strings = &line[quote..];
        let text = unquoted(strings, self.encoding).ok_or_else(|| {
            broken(
                "the string has no closing quote, or text behind it; add the \
                quote, and write \\\" within a string",
            )
        })?;
        let range = start + quote..start + line.len();
        if keyword.is_empty() {
            let last = entry.fields.last_mut().ok_or_else(|| {
                broken("the string belongs to no keyword; put `msgid` or `msgstr` before it")
            })?;
            last.text += &text;
            last.range.end = range.end;
            return Ok(());
        }
        if entry.fields.is_empty() {
            entry.start = start;
        }
        let is_known = matches!(keyword, "msgctxt" | "msgid" | "msgid_plural" | "msgstr")
            || index_of(keyword).is_some() && entry.fields.len() < MAX_FIELDS;
        if !is_known || entry.fields.iter().any(|field| field.keyword == keyword) {
            return Err(broken(&format!(
                "`{keyword}` is unknown or one too many in its message; put an empty line between messages"
            )));
        }
        entry.fields.push(Field {
            keyword,
            text,
            range,
        });
        Ok(())
    }

    /// Adds the messages of `entry`, if it has any.
    fn finish(&mut self, entry: Entry<'_>, messages: &mut Vec<Message>) -> Result<()> {
        if entry.fields.is_empty() {
            return Ok(());
        }
        let broken = |fault: String| BrokenCatalogue::at(self.text, entry.start, fault);
        let fault = "the message has no `msgid`; add it";
        let source = entry.field("msgid").ok_or_else(|| broken(fault.into()))?;
        if !entry.is_whole() {
            return Err(broken(
                "the message has no `msgstr`; add `msgstr \"\"`".into(),
            ));
        }
        let context = entry.field("msgctxt").map(|field| field.text.clone());
        let name = (context.clone(), source.text.clone());
        if let Some(first) = self.known.insert(name, entry.start) {
            let first = self.lines.number(first);
            return Err(broken(format!(
                "the message {:?} is the same as the one of line {first}; `msguniq` joins them",
                source.text
            )));
        }
        if source.text.is_empty() && context.is_none() {
            self.head(&entry);
            return Ok(());
        }
        self.add(&entry, entry.field("msgid_plural"), messages);
        Ok(())
    }

    /// Reads the header, the translation of the empty text.
    fn head(&mut self, entry: &Entry<'_>) {
        let Some(field) = entry.fields.last() else {
            return;
        };
        let mut rule = None;
        for (name, value) in field.text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "language" if !value.is_empty() => self.language = Some(value.into()),
                "plural-forms" => rule = rule.or(Some(value)),
                "content-type" => {
                    let label = value.split_once("charset=").map(|(_, label)| label.trim());
                    let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes()));
                    self.encoding = encoding.unwrap_or(self.encoding);
                }
                _ => {}
            }
        }
        // A rule is evaluated for many numbers. Like gettext, only the first is read.
        self.forms = rule.and_then(forms);
    }

    /// Adds a message for each translation of `entry`.
    fn add(&self, entry: &Entry<'_>, plural: Option<&Field<'_>>, messages: &mut Vec<Message>) {
        let text = |keyword: &str| entry.field(keyword).map(|field| field.text.clone());
        let context = Context::from(text("msgctxt").unwrap_or_default());
        let translations: Vec<&Field> = entry
            .fields
            .iter()
            .filter(|field| field.keyword.starts_with("msgstr"))
            .collect();
        // gettext ignores flags between the previous texts and the keywords.
        let before = self.text[..entry.start].split_inclusive('\n').rev();
        let previous = before.take_while(|line| line.trim_start().starts_with("#|"));
        let at = entry.start - previous.map(str::len).sum::<usize>();
        let marks = match entry.flags {
            _ if entry.is_fuzzy => vec![],
            Some(at) => vec![(at..at, " fuzzy,".into())],
            None => vec![(at..at, format!("#, fuzzy{}", self.newline))],
        };
        let group = messages.len();
        let line = self.lines.number(entry.start);
        let message = |source: String, target: &str, range: Span, around: [String; 2]| {
            let spelling = Spelling::Po(self.newline, entry.grammar);
            let marks = marks.clone();
            let slot = Slot {
                range,
                around,
                spelling,
                marks,
                group,
                is_plural: plural.is_some(),
            };
            let context = context.clone();
            Message {
                line,
                context,
                source,
                target: target.into(),
                state: state_of(target, entry.is_fuzzy),
                time: String::new(),
                slot,
            }
        };
        let singular = text("msgid").unwrap_or_default();
        for field in &translations {
            let form = index_of(field.keyword).zip(plural);
            let source = form.map_or(&singular, |(form, plural)| {
                self.source(form, [&singular, &plural.text])
            });
            let target = &field.text;
            let range = field.range.clone();
            messages.push(message(source.clone(), target, range, Default::default()));
        }
        // Plural forms of the language that the template lacks.
        let count = self.forms.as_ref().map_or(0, Vec::len);
        let (Some(plural), Some(last)) = (plural, translations.last()) else {
            return;
        };
        for form in translations.len()..count {
            let around = [format!("{}msgstr[{form}] ", self.newline), String::new()];
            let source = self.source(form, [&singular, &plural.text]);
            messages.push(message(
                source.clone(),
                "",
                last.range.end..last.range.end,
                around,
            ));
        }
    }

    /// Returns the source of plural form `form`. It is the singular if the form applies to 1, and
    /// either to no other number or the singular shows the number.
    fn source<'s>(&self, form: usize, [singular, plural]: [&'s String; 2]) -> &'s String {
        let usual = [(true, false), (false, true)][form.min(1)];
        let known = self.forms.as_ref().and_then(|forms| forms.get(form));
        let (has_one, has_others) = known.map_or(usual, |form| (form.has_one, form.has_others));
        if has_one && (!has_others || !hides(singular, plural)) {
            singular
        } else {
            plural
        }
    }
}

/// Returns the state of one plural form. An empty form is translated even if other forms are not
/// empty.
fn state_of(target: &str, is_fuzzy: bool) -> MessageState {
    match (target.trim().is_empty(), is_fuzzy) {
        (true, _) => MessageState::Untranslated,
        (false, true) => MessageState::Fuzzy,
        (false, false) => MessageState::Translated,
    }
}

impl<'a> Entry<'a> {
    fn field(&self, keyword: &str) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| field.keyword == keyword)
    }

    /// Returns whether the entry has a translation, even an empty one.
    fn is_whole(&self) -> bool {
        self.fields
            .iter()
            .any(|field| field.keyword.starts_with("msgstr"))
    }
}

/// Returns whether the keyword on `line` begins a message.
fn begins(line: &str) -> bool {
    line.starts_with("msgctxt") || line.starts_with("msgid") && !line.starts_with("msgid_plural")
}

/// Returns the index in `msgstr[2]`.
fn index_of(keyword: &str) -> Option<usize> {
    keyword
        .strip_prefix("msgstr[")?
        .strip_suffix(']')?
        .trim()
        .parse()
        .ok()
}

/// The strings of a line, of which gettext makes one.
static STRINGS: LazyLock<Regex> = LazyLock::new(|| regex(r#"^(?:"(?:\\.|[^"\\])*"\s*)+$"#));
/// A string; the group is its content.
static STRING: LazyLock<Regex> = LazyLock::new(|| regex(r#""((?:\\.|[^"\\])*)""#));

/// Unquotes `strings` and joins them; `None` if there is anything else. Bytes by their numbers are
/// UTF-8, or text in `encoding`.
fn unquoted(strings: &str, encoding: &'static Encoding) -> Option<String> {
    if !STRINGS.is_match(strings) {
        return None;
    }
    let mut text = String::with_capacity(strings.len());
    for string in STRING.captures_iter(strings) {
        for chunk in unescaped(&string[1]).utf8_chunks() {
            text += chunk.valid();
            text += &encoding.decode_without_bom_handling(chunk.invalid()).0;
        }
    }
    Some(text)
}

/// An escape of a string.
static ESCAPE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(?s:(.)))"));

/// Resolves the escapes of C in `inside`.
fn unescaped(inside: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(inside.len());
    let mut at = 0;
    for found in ESCAPE.captures_iter(inside) {
        let whole = found.get(0).map_or(at..at, |whole| whole.range());
        bytes.extend_from_slice(&inside.as_bytes()[at..whole.start]);
        at = whole.end;
        let number =
            |group: usize, radix| u32::from_str_radix(found.get(group)?.as_str(), radix).ok();
        match number(1, 8).or_else(|| number(2, 16)) {
            // Like gettext, only the lowest eight bits count.
            Some(number) => bytes.push((number & 0xff) as u8),
            None => match &found[3] {
                "n" => bytes.push(b'\n'),
                "t" => bytes.push(b'\t'),
                "r" => bytes.push(b'\r'),
                "a" => bytes.push(0x07),
                "b" => bytes.push(0x08),
                "f" => bytes.push(0x0c),
                "v" => bytes.push(0x0b),
                other => bytes.extend_from_slice(other.as_bytes()),
            },
        }
    }
    bytes.extend_from_slice(&inside.as_bytes()[at..]);
    bytes
}
