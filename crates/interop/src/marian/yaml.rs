//! The part of YAML that Marian's own files use: keys with values, one per line, and lists of scalars. Anchors, aliases
//! and nested keys have no meaning here, so that no file can refer to itself.

use std::collections::BTreeMap;

/// The scalars at the top level, by key.
#[derive(Debug, Default)]
pub(super) struct Options(BTreeMap<String, String>);

impl Options {
    pub fn read(text: &str) -> Self {
        let scalar = |line: &str| {
            let top = !line.starts_with([' ', '-', '#', '\t']);
            let (key, value) = line.split_once(':').filter(|_| top)?;
            Some((key.trim().to_string(), unquoted(value.trim())))
        };
        Self(text.lines().filter_map(scalar).collect())
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Whether `key` is set to true.
    pub fn is(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.parse().ok()
    }
}

/// The scalars of the list `key` at the top level.
pub(super) fn list(text: &str, key: &str) -> Vec<String> {
    let lines =
        text.lines().skip_while(|line| line.split_once(':').is_none_or(|(own, _)| own != key));
    let items = lines.skip(1).map_while(|line| line.trim_start().strip_prefix("- "));
    items.map(|item| unquoted(item.trim())).collect()
}

/// A scalar without its quotes.
fn unquoted(text: &str) -> String {
    let double = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let single = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    match (double, single) {
        (Some(text), _) => unescaped(text),
        (_, Some(text)) => text.replace("''", "'"),
        _ => text.to_string(),
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        plain.extend(escape(&mut rest));
    }
    plain
}

/// The character for which an escape sequence stands, given what follows its backslash.
fn escape(rest: &mut std::str::Chars) -> Option<char> {
    let kind = rest.next()?;
    let width = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        '0' => return Some('\0'),
        other => return Some(other),
    };
    let digits: String = rest.take(width).collect();
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
}

/// The tokens of a `.yml` vocabulary, indexed by id. An entry is one line, `token: id`, or two lines, `? token` and
/// `: id`.
///
/// # Errors
/// The number, counted from 1, of the first line that is neither.
pub(super) fn vocabulary(text: &str) -> Result<BTreeMap<usize, String>, usize> {
    let mut tokens = BTreeMap::new();
    let mut waiting: Option<String> = None;
    for (number, line) in (1usize..).zip(text.lines()) {
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            continue;
        }
        if let Some(token) = line.strip_prefix("? ") {
            waiting = Some(unquoted(token));
            continue;
        }
        let (token, id) = match waiting.take() {
            Some(token) => (token, line.strip_prefix(':').ok_or(number)?),
            None => {
                let (token, id) = line.rsplit_once(':').ok_or(number)?;
                (unquoted(token.trim()), id)
            }
        };
        tokens.insert(id.trim().parse().map_err(|_| number)?, token);
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_top_level_are_read() {
        let options = Options::read(
            "a: 1\nlist:\n  - 2\nb: \"x y\"\nc: true\nnested:\n  d: 3\n&anchor e: *a\n",
        );
        assert_eq!(options.number::<usize>("a"), Some(1));
        assert_eq!(options.get("b"), Some("x y"));
        assert!(options.is("c") && !options.is("a"));
        assert_eq!(options.get("d"), None);
    }

    #[test]
    fn tokens_in_every_kind_of_quotes_are_read() {
        let text = "</s>: 0\n<unk>: 1\n\"\\\"\": 2\n'''': 3\n? \"\\x85\"\n: 4\n\":\": 5\n▁a: 6\n\"\\u0301\": 7\n";
        let tokens = vocabulary(text).unwrap();
        let expected = ["</s>", "<unk>", "\"", "'", "\u{85}", ":", "▁a", "\u{301}"];
        assert_eq!(tokens.values().map(String::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(vocabulary("a: 1\nb\n").unwrap_err(), 2);
        assert_eq!(vocabulary("a: x\n").unwrap_err(), 1);
    }
}
