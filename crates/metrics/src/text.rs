//! White space as Python defines it, and the substitutions of the tokenisers.

use regex::Regex;

/// `str.isspace` of Python: Unicode's White_Space and the four ASCII separators U+001C to U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `str.split()` of Python.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Python's `' '.join(line.split())`.
pub(crate) fn squeeze(line: &str) -> String {
    split(line).collect::<Vec<_>>().join(" ")
}

/// `str.rstrip()` of Python.
pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Substitutions that a tokeniser makes one after another, like the `s/…/…/g` of a Perl script.
pub(crate) struct Substitutions(Vec<(Regex, &'static str)>);

impl Substitutions {
    /// Compiles pairs of a regular expression and its replacement.
    pub(crate) fn new(pairs: &[(&str, &'static str)]) -> Self {
        let mut compiled = Vec::with_capacity(pairs.len());
        for &(pattern, replacement) in pairs {
            let pattern = Regex::new(pattern).expect("the patterns of tokenisers are valid");
            compiled.push((pattern, replacement));
        }
        Self(compiled)
    }

    pub(crate) fn apply(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (pattern, replacement) in &self.0 {
            line = pattern.replace_all(&line, *replacement).into_owned();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_matches_python() {
        assert_eq!(
            split("a\u{1c}b\u{a0}c\u{2009}d\te\u{200b}f").collect::<Vec<_>>(),
            ["a", "b", "c", "d", "e\u{200b}f"]
        );
        assert_eq!(trim_end(" a \u{1f}\n"), " a");
    }

    #[test]
    fn substitutions_do_not_overlap() {
        let out = Substitutions::new(&[("(a)(a)", "$1-$2"), ("^a", "b")]).apply("aaa");
        assert_eq!(out, "b-aa");
    }
}
