//! The subset of YAML in Marian's files: scalars and lists of scalars by key, all as text. Tokens
//! such as `null` and `1.0` stay text. The parser works event by event: nested values are skipped,
//! and aliases are refused.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

/// The deepest allowed nesting, which bounds the parser's memory.
const MAX_DEPTH: usize = 16;

/// The value of a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Scalar(String),
    List(Vec<String>),
    /// Nested values, which are ignored.
    Nested,
}

/// The entries of the document `text`, a mapping, in order.
///
/// # Errors
/// Returns a message with the line if `text` is not such a document.
pub(super) fn entries(text: &str) -> Result<Vec<(String, Value)>, String> {
    let mut entries = Entries::default();
    for event in Parser::new_from_str(text.trim_start_matches('\u{feff}')) {
        let (event, span) = event.map_err(|error| error.to_string())?;
        if !entries.add(event) {
            let line = span.start.line();
            return Err(format!(
                "line {line} is neither a key with a value nor a list of texts"
            ));
        }
    }
    match entries.key {
        None => Ok(entries.found),
        Some(key) => Err(format!("key {key:?} has no value")),
    }
}

/// The entries read so far, and the open values.
#[derive(Default)]
struct Entries {
    found: Vec<(String, Value)>,
    key: Option<String>,
    open: Option<Value>,
    depth: usize,
}

impl Entries {
    /// Adds an event, and returns whether it is allowed.
    fn add(&mut self, event: Event) -> bool {
        match event {
            Event::Alias(_) => return false,
            Event::MappingStart(..) if self.depth == 0 && self.found.is_empty() => self.depth = 1,
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_list = matches!(event, Event::SequenceStart(..)) && self.depth == 1;
                if self.depth == 0 || self.depth == MAX_DEPTH || self.key.is_none() {
                    return false;
                }
                self.depth += 1;
                self.open = Some(if is_list {
                    Value::List(Vec::new())
                } else {
                    Value::Nested
                });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.depth -= 1;
                if self.depth == 1 {
                    let entry = self.key.take().zip(self.open.take());
                    self.found.extend(entry);
                }
            }
            Event::Scalar(text, style, ..) => return self.scalar(text.into_owned(), style),
            _ => {}
        }
        true
    }

    fn scalar(&mut self, text: String, style: ScalarStyle) -> bool {
        match (&mut self.open, self.key.take()) {
            (Some(open), key) => {
                self.key = key;
                if let Value::List(items) = open {
                    items.push(text);
                }
            }
            // An empty document is a scalar too.
            (None, _) if self.depth == 0 => return text.is_empty() && style == ScalarStyle::Plain,
            (None, None) => self.key = Some(text),
            (None, Some(key)) => self.found.push((key, Value::Scalar(text))),
        }
        true
    }
}

/// The values of a file of options, by key.
#[derive(Clone, Debug, Default)]
pub(super) struct Options(BTreeMap<String, Value>);

impl Options {
    /// Reads the options in `text`.
    ///
    /// # Errors
    /// Returns a message with the line if `text` is not such a document.
    pub fn read(text: &str) -> Result<Self, String> {
        Ok(Self(entries(text)?.into_iter().collect()))
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The value of `key` for a message.
    pub fn shown(&self, key: &str) -> String {
        match self.0.get(key) {
            Some(Value::Scalar(text)) => text.clone(),
            Some(Value::List(items)) => format!("[{}]", items.join(", ")),
            Some(Value::Nested) => "{...}".into(),
            None => String::new(),
        }
    }

    /// Returns whether `key` is set to true.
    pub fn is(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The number in `key`.
    ///
    /// # Errors
    /// Returns an error if the value is not a number.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, String> {
        self.get(key)
            .map(|text| {
                text.parse()
                    .map_err(|_| format!("{key}: {text:?} is no number"))
            })
            .transpose()
    }

    /// The items of the list `key`; a scalar is a list of one.
    pub fn list(&self, key: &str) -> &[String] {
        match self.0.get(key) {
            Some(Value::List(items)) => items,
            Some(Value::Scalar(text)) => std::slice::from_ref(text),
            _ => &[],
        }
    }
}

/// The tokens of a vocabulary, indexed by id.
///
/// # Errors
/// Returns a message if `text` is not a vocabulary.
pub(super) fn vocabulary(text: &str) -> Result<BTreeMap<usize, String>, String> {
    // Unlike YAML, JSON escapes characters beyond 16 bits as surrogate pairs.
    let json = text
        .starts_with('{')
        .then(|| serde_json::from_str::<BTreeMap<String, usize>>(text));
    let entries = match json {
        Some(Ok(ids)) => ids
            .into_iter()
            .map(|(token, id)| (token, Value::Scalar(id.to_string())))
            .collect(),
        _ => entries(text)?,
    };
    let mut tokens = BTreeMap::new();
    for (token, id) in entries {
        let id = match &id {
            Value::Scalar(id) => id
                .parse()
                .map_err(|_| format!("token {token:?} has id {id:?}"))?,
            _ => return Err(format!("token {token:?} has no id")),
        };
        if let Some(other) = tokens.insert(id, token.clone()) {
            return Err(format!("{other:?} and {token:?} have the same id {id}"));
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_and_lists_of_every_style_are_read() {
        let text = "# a\na: 1 # one\nb: [x, 'y z'] # two\nc:\n- 2 # three\n- \"q\"\nd:\n  - 5\n\
            e: \"x: y\"\nf: {g: [1, {h: 2}]}\n\"i j\": true\nk: >\n  folded\n  text\n";
        let options = Options::read(text).unwrap();
        assert_eq!(options.number::<usize>("a"), Ok(Some(1)));
        assert_eq!(
            (options.list("b"), options.list("c")),
            (
                &["x", "y z"].map(String::from)[..],
                &["2", "q"].map(String::from)[..]
            )
        );
        assert_eq!(
            (options.list("d"), options.get("e")),
            (&["5".to_string()][..], Some("x: y"))
        );
        assert_eq!((options.get("f"), options.list("f").len()), (None, 0));
        assert!(options.is("i j") && !options.is("a"));
        assert_eq!(options.get("k"), Some("folded text\n"));
        assert!(options.number::<usize>("e").is_err());
        assert!(Options::read("").unwrap().0.is_empty());
    }

    #[test]
    fn aliases_and_deep_nesting_are_refused() {
        for text in ["a: &x [1]\nb: *x\n", "a: *x\n", "- a\n", "a\n", "a: [1\n"] {
            assert!(entries(text).is_err(), "{text}");
        }
        let start = std::time::Instant::now();
        for open in ["[", "{a: ", "- ", "? ", "&a [", "!t ["] {
            assert!(entries(&format!("a: {}", open.repeat(300_000))).is_err());
            assert!(entries(&open.repeat(300_000)).is_err());
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn tokens_in_every_kind_of_quotes_are_read() {
        let text = "</s>: 0\n<unk>: 1\n\"\\\"\": 2\n'''': 3\n? \"\\x85\"\n: 4\n\":\": 5\n▁a: 6\n\"\\u0301\": 7\nnull: 8\n1.0: 9\n? long\n: 10\n";
        let tokens = vocabulary(text).unwrap();
        let expected = [
            "</s>", "<unk>", "\"", "'", "\u{85}", ":", "▁a", "\u{301}", "null", "1.0", "long",
        ];
        assert_eq!(
            tokens.values().map(String::as_str).collect::<Vec<_>>(),
            expected
        );
        let json = vocabulary("{\"</s>\": 0, \"\\ud83d\\ude00\": 1, \"\\/\": 2}").unwrap();
        assert_eq!(json.into_values().collect::<Vec<_>>(), ["</s>", "😀", "/"]);
        for bad in ["a: 1\nb\n", "a: x\n", "a: [1]\n", "a: 1\nb: 1\n", "a: -1\n"] {
            assert!(vocabulary(bad).is_err(), "{bad}");
        }
    }
}
