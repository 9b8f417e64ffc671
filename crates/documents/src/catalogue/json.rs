//! JSON objects and lists of strings, and ARB, where the strings are ICU messages. YAML shares
//! [`Keys`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::json_kinds::Kind;
use super::message::{Message, Result};
use super::spelling::Spelling;
use crate::json_tree::check;
use crate::plurals::{Arm, NAMES, Plural};
use crate::words::{Span, regex};

/// A string, or the beginning or end of an object or list.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r#""(?:\\.|[^"\\])*"|[{}\[\]]"#));

/// Reads the texts of a file and their plurals.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, Vec<Plural>)> {
    check(text)?;
    let spelling = Spelling::Json(text.is_ascii() && text.contains("\\u"));
    let mut keys = Keys {
        text,
        ..Keys::default()
    };
    for token in TOKEN.find_iter(text) {
        match token.as_str() {
            "{" => keys.open_as(&["{}"], false),
            "[" => keys.open_as(&["[]"], false),
            "}" | "]" => keys.close(),
            string => {
                let value = serde_json::from_str::<String>(string).ok();
                let range = token.start() + 1..token.end() - 1;
                if text[token.end()..].trim_start().starts_with(':') {
                    keys.key(value.unwrap_or_default(), token.start())
                } else {
                    keys.value(range, value, spelling.clone())
                }
            }
        }
    }
    keys.finish()
}

/// Returns the top-level texts of a web manifest with their keys, as they are written; none of
/// another file.
pub(super) fn fields_of_manifest(text: &str) -> Vec<(&str, Span)> {
    let mut keys: BTreeSet<&str> = BTreeSet::new();
    let mut fields = Vec::new();
    let mut key = "";
    let mut depth = 0usize;
    for token in TOKEN.find_iter(text) {
        let inner = token.start() + 1..token.end().saturating_sub(1);
        match token.as_str() {
            "{" | "[" => depth += 1,
            "}" | "]" => depth = depth.saturating_sub(1),
            _ if depth != 1 => {}
            _ if text[token.end()..].trim_start().starts_with(':') => {
                key = &text[inner];
                keys.insert(key);
            }
            _ => fields.push((key, inner)),
        }
    }
    let is_app = keys.contains("display") || keys.contains("short_name");
    let is_manifest = keys.contains("start_url") || keys.contains("icons") && is_app;
    if is_manifest { fields } else { Vec::new() }
}

/// The keys of an entry's text (browser extensions, FormatJS, Transifex), and the keys of notes
/// about it.
const TEXTS: [&str; 3] = ["message", "defaultMessage", "string"];
const NOTES: [&str; 5] = [
    "description",
    "placeholders",
    "developer_comment",
    "character_limit",
    "context",
];

/// Collects the texts of a file in order.
#[derive(Default)]
pub(super) struct Keys<'a> {
    pub(super) text: &'a str,
    open: Vec<Container>,
    pub(super) texts: Vec<Message>,
    pub(super) plurals: Vec<Plural>,
    /// The keys of the file itself that tell its kind, as [`Kind`] writes them.
    marks: BTreeSet<String>,
}

/// An object or a list.
#[derive(Default)]
struct Container {
    name: String,
    /// The number of texts and plurals before it.
    start: [usize; 2],
    /// The key of the next value and its first byte; `None` in a list.
    key: Option<(String, usize)>,
    /// Plurals by their key without the category, each with its number of keys.
    plurals: BTreeMap<String, (usize, Plural)>,
    /// If true, nothing in it is translated.
    is_kept: bool,
    /// If true, it has one of [`TEXTS`].
    is_entry: bool,
    /// If true, it has keys other than categories and [`NOTES`].
    has_words: bool,
    /// The ranges of texts and plurals that belong to its [`NOTES`].
    notes: Vec<[Span; 2]>,
}

/// The texts of i18next's plurals by intervals: `(0)[no files];(2-inf)[files];`.
static INTERVALS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\s*(?:\(-?\d+(?:-(?:\d+|inf))?\)\s*(?:\[[^\[\];]*\]|\{[^{};]*\})\s*(?:;\s*|$))+$")
});
static INTERVAL: LazyLock<Regex> = LazyLock::new(|| regex(r"\)\s*[\[{]([^;]*)[\]}]"));

/// Returns the texts of the intervals in the JSON string at `range`, with their ranges.
fn intervals(text: &str, range: &Span, spelling: &Spelling) -> Vec<(Span, String)> {
    let value = &text[range.clone()];
    if !matches!(spelling, Spelling::Json(_)) || !INTERVALS.is_match(value) {
        return Vec::new();
    }
    let all = INTERVAL
        .captures_iter(value)
        .filter_map(|found| found.get(1));
    all.filter_map(|inner| {
        let source = serde_json::from_str(&format!("\"{}\"", inner.as_str())).ok()?;
        Some((
            range.start + inner.start()..range.start + inner.end(),
            source,
        ))
    })
    .collect()
}

/// Splits the category off the end of `key`.
fn category(key: &str) -> Option<(&str, &'static str)> {
    NAMES
        .iter()
        .find_map(|name| Some((key.strip_suffix(*name)?, *name)))
        .filter(|(base, _)| base.is_empty() || base.ends_with('_'))
}

/// Removes the items at the sorted `ranges` from `all`. Each item moves at most once.
fn remove<T>(all: &mut Vec<T>, ranges: &[Span]) {
    let Some(first) = ranges.first() else {
        return;
    };
    let tail = all.split_off(first.start);
    let mut ranges = ranges.iter().peekable();
    for (index, item) in (first.start..).zip(tail) {
        while ranges.next_if(|range| range.end <= index).is_some() {}
        if ranges.peek().is_none_or(|range| index < range.start) {
            all.push(item);
        }
    }
}

impl Keys<'_> {
    /// Sets the key of the next value; its first byte is at `start`.
    pub(super) fn key(&mut self, key: String, start: usize) {
        self.mark(&key, "");
        let Some(container) = self.open.last_mut() else {
            return;
        };
        match category(&key) {
            Some((base, _)) => container.plurals.entry(base.into()).or_default().0 += 1,
            None => container.has_words |= !NOTES.contains(&&*key),
        }
        container.key = Some((key, start));
    }

    /// Notes the `key` of the file itself that has the value `end`.
    fn mark(&mut self, key: &str, end: &str) {
        if self.open.len() == 1 && Kind::has_mark(key, end) {
            self.marks.insert([key, end].concat());
        }
    }

    /// Returns the texts and plurals of the whole file.
    ///
    /// # Errors
    /// If the file is of a kind that is read as another format, or has no texts for readers.
    pub(super) fn finish(mut self) -> Result<(Vec<Message>, Vec<Plural>)> {
        let Some(kind) = Kind::of(&self.marks) else {
            return Ok((self.texts, self.plurals));
        };
        let keys = kind.texts()?;
        self.texts
            .retain(|it| keys.contains(&&*it.context.to_string()));
        Ok((self.texts, Vec::new()))
    }

    /// Takes the key of the next value with its first byte, and whether the value stays unchanged.
    /// Values stay if their key is empty or begins with `@` or `$`, which marks metadata.
    fn next(&mut self) -> ((String, usize), bool) {
        let Some(container) = self.open.last_mut() else {
            return Default::default();
        };
        let key = container.key.take();
        let is_kept = container.is_kept
            || key.as_ref().is_some_and(|(key, _): &(String, _)| {
                key.is_empty() || key.starts_with(['@', '$'])
            });
        (key.unwrap_or_default(), is_kept)
    }

    /// Begins an object or list. If `kept` is set, nothing in it is translated.
    pub(super) fn open(&mut self, kept: bool) {
        self.open_as(&["{}", "[]"], kept);
    }

    /// Like [`open`](Self::open), for what is an object (`{}`), a list (`[]`), or one of both.
    fn open_as(&mut self, kinds: &[&str], kept: bool) {
        let (((name, _), is_kept), start) = (self.next(), [self.texts.len(), self.plurals.len()]);
        let is_kept = is_kept || kept;
        kinds.iter().for_each(|kind| self.mark(&name, kind));
        self.open.push(Container {
            name,
            start,
            is_kept,
            ..Container::default()
        });
    }

    /// Ends an object or list. Notes in an entry stay unchanged. An object is a plural if all its
    /// keys are categories or notes: "one" alone may be a word.
    pub(super) fn close(&mut self) {
        let Some(container) = self.open.pop() else {
            return;
        };
        let Container {
            name,
            start,
            is_entry,
            notes,
            plurals,
            has_words,
            ..
        } = container;
        let text = self.text;
        let plurals =
            plurals
                .into_iter()
                .filter(|(base, (keys, it)): &(String, (usize, Plural))| {
                    let arms = it.arms.iter().map(|arm| &text[arm.inner.clone()]);
                    *keys == arms.len()
                        && !(has_words && base.is_empty())
                        && (*keys > 1 || arms.into_iter().any(|it| it.contains("count}")))
                });
        self.plurals.extend(plurals.map(|(_, (_, plural))| plural));
        if is_entry && self.open.len() == 1 {
            let (texts, plurals): (Vec<Span>, Vec<Span>) = notes
                .into_iter()
                .map(|[texts, plurals]| (texts, plurals))
                .unzip();
            remove(&mut self.texts, &texts);
            remove(&mut self.plurals, &plurals);
        }
        self.end(&name, start);
    }

    /// Ends the value of `key`. `text` and `plural` count the texts and plurals before it.
    fn end(&mut self, key: &str, [text, plural]: [usize; 2]) {
        let Some(container) = self.open.last_mut() else {
            return;
        };
        container.is_entry |= TEXTS.contains(&key);
        let note = [text..self.texts.len(), plural..self.plurals.len()];
        container.notes.extend(NOTES.contains(&key).then_some(note));
    }

    /// Adds the value at `range`. Without a text it stays unchanged.
    pub(super) fn value(&mut self, range: Span, text: Option<String>, spelling: Spelling) {
        let (((key, first), is_kept), start) =
            (self.next(), [self.texts.len(), self.plurals.len()]);
        if let Some(value) = text.as_ref().filter(|_| self.open.len() == 1) {
            self.mark(&key, &["=", value].concat());
        }
        if let Some(source) = text.filter(|_| !is_kept) {
            let intervals = intervals(self.text, &range, &spelling);
            if !intervals.is_empty() {
                for (inner, source) in intervals {
                    let spelling = Spelling::Interval(spelling == Spelling::Json(true));
                    let message = Message::text(key.clone(), inner, source, spelling);
                    self.texts.push(message);
                }
                return self.end(&key, start);
            }
            let end = range.end + usize::from(matches!(spelling, Spelling::Json(_)));
            self.arm(&key, first..end, &range);
            self.texts
                .push(Message::text(key.clone(), range, source, spelling));
        }
        self.end(&key, start);
    }

    /// Adds the value of `key` at `inner` to a plural. In Rails, the category is the key; in
    /// i18next, it ends the key. Both have an arm for the number 0.
    fn arm(&mut self, key: &str, whole: Span, inner: &Span) {
        let Some(container) = self.open.last_mut() else {
            return;
        };
        if let Some((base, name)) = category(key) {
            let mut arm = Arm::new(self.text, name, whole.clone(), inner.clone());
            if self.text[whole.end..].trim_start().starts_with([',', '}']) {
                arm.separator.insert(0, ',');
            } else if !arm.separator.contains('\n') {
                let line = self.text[..whole.start]
                    .rsplit('\n')
                    .next()
                    .unwrap_or_default();
                arm.separator = format!("\n{:1$}", "", line.chars().count());
            }
            let (_, plural) = container.plurals.entry(base.into()).or_default();
            (plural.is_ordinal, plural.has_zero) = (base.ends_with("ordinal_"), true);
            plural.arms.push(arm);
        }
    }
}
