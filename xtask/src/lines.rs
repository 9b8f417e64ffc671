//! Measures the code and the comments of the workspace, and prints figures of projects that are
//! known to read well beside them. It never fails.
//!
//! A line of code is neither blank nor a comment. Test files and inline test modules are left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::say;

/// Prefixes of names of constants that usually begin with `MAX` or `MIN`.
const SUPERLATIVES: [&str; 5] = ["MOST_", "LONGEST", "FEWEST", "SHORTEST", "LARGEST"];

/// The prepositions that [`Totals::prepositional_which`] counts.
const PREPOSITIONS: [&str; 14] = [
    "of", "in", "on", "by", "with", "from", "for", "to", "at", "after", "before", "under",
    "between", "through",
];

/// Sums over all sources outside of tests.
#[derive(Default)]
struct Totals {
    lines: usize,
    characters: usize,
    /// Statements `let (a, b) = (x, y);`.
    paired_lets: usize,
    /// Closures that a `let` binds to a name.
    named_closures: usize,
    /// Statements that match on `true` and `false`.
    bool_matches: usize,
    /// Constants with a name that begins with a superlative.
    superlative_constants: usize,
    /// Words of comments.
    words: usize,
    /// "those" or "that" followed by "of" in comments.
    those_of: usize,
    whose: usize,
    /// "which" after a preposition.
    prepositional_which: usize,
}

/// Prints the measurements of the `workspace`.
pub fn report(workspace: &Path) {
    let mut crates = BTreeMap::<PathBuf, (usize, usize)>::new();
    let mut totals = Totals::default();
    for path in files(workspace) {
        let relative = path.strip_prefix(workspace).unwrap_or(&path);
        let parts: Vec<&str> = relative.iter().filter_map(|part| part.to_str()).collect();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if !is_source || parts.iter().any(is_test) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let code = code(&text);
        totals.add_code(&code);
        totals.add_comments(&text);
        let folders = if parts[0] == "crates" { 2 } else { 1 };
        let (files, lines) = crates.entry(parts[..folders].iter().collect()).or_default();
        *files += 1;
        *lines += code.len();
    }
    say("   files    lines");
    for (name, (files, lines)) in &crates {
        say(format_args!("{files:>8} {lines:>8}  {}", name.display()));
    }
    say(totals.table());
}

impl Totals {
    fn add_code(&mut self, code: &[&str]) {
        for (index, line) in code.iter().enumerate() {
            let line = line.trim();
            self.lines += 1;
            self.characters += line.chars().count();
            self.paired_lets += usize::from(is_paired_let(line));
            self.named_closures += usize::from(is_named_closure(line));
            self.superlative_constants += usize::from(is_superlative_constant(line));
            let next = code.get(index + 1).map_or("", |next| next.trim());
            let is_match = line.contains("match ") && line.ends_with('{');
            let is_bool = next.starts_with("true =>") || next.starts_with("false =>");
            self.bool_matches += usize::from(is_match && is_bool);
        }
    }

    fn add_comments(&mut self, text: &str) {
        let words: Vec<String> = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("//"))
            .flat_map(|line| line.split(|c: char| !c.is_ascii_alphabetic()))
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        self.words += words.len();
        self.whose += words.iter().filter(|word| *word == "whose").count();
        for pair in words.windows(2) {
            let first = pair[0].as_str();
            let second = pair[1].as_str();
            let is_demonstrative = first == "those" || first == "that";
            self.those_of += usize::from(is_demonstrative && second == "of");
            let is_preposition = PREPOSITIONS.contains(&first);
            self.prepositional_which += usize::from(is_preposition && second == "which");
        }
    }

    /// Formats a row for each measurement, with the range in ripgrep, burn-nn, tokenizers,
    /// mistral.rs and rust-analyzer.
    fn table(&self) -> String {
        let in_thousand_lines = |count: usize| 1e3 * count as f64 / self.lines.max(1) as f64;
        let in_ten_thousand_words = |count: usize| 1e4 * count as f64 / self.words.max(1) as f64;
        let characters_a_line = self.characters as f64 / self.lines.max(1) as f64;
        let rows = [
            (
                "characters of code, in millions",
                self.characters as f64 / 1e6,
                "-",
            ),
            ("characters a line of code", characters_a_line, "22 to 28"),
            (
                "lets of two names in 1,000 lines",
                in_thousand_lines(self.paired_lets),
                "0.2 to 1.3",
            ),
            (
                "closures with a name in 1,000 lines",
                in_thousand_lines(self.named_closures),
                "0 to 2.2",
            ),
            (
                "matches on a bool in 1,000 lines",
                in_thousand_lines(self.bool_matches),
                "0 to 0.5",
            ),
            (
                "constants MOST, LONGEST, FEWEST",
                self.superlative_constants as f64,
                "0",
            ),
            (
                "words of comments, in thousands",
                self.words as f64 / 1e3,
                "-",
            ),
            (
                "\"those of\", \"that of\" in 10,000 words",
                in_ten_thousand_words(self.those_of),
                "0",
            ),
            (
                "\"whose\" in 10,000 words",
                in_ten_thousand_words(self.whose),
                "0 to 3.3",
            ),
            (
                "\"of which\" and the like in 10,000 words",
                in_ten_thousand_words(self.prepositional_which),
                "0.8 to 6.3",
            ),
        ];
        let mut table = format!("{:>8}  {:<42} elsewhere", "here", "");
        for (name, value, elsewhere) in rows {
            table.push_str(&format!("\n{value:>8.1}  {name:<42} {elsewhere}"));
        }
        table
    }
}

/// Returns whether `line` is `let (a, b) = (x, y);`.
fn is_paired_let(line: &str) -> bool {
    let Some(pattern) = line.strip_prefix("let (") else {
        return false;
    };
    let Some((names, value)) = pattern.split_once(") = ") else {
        return false;
    };
    names.contains(", ") && value.starts_with('(')
}

/// Returns whether `line` begins with `let name = |`.
fn is_named_closure(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("let ") else {
        return false;
    };
    let Some((name, value)) = rest.split_once(" = ") else {
        return false;
    };
    let name = name.trim_start_matches("mut ");
    let is_name = name.chars().all(|c| c == '_' || c.is_alphanumeric());
    is_name && value.trim_start_matches("move ").starts_with('|')
}

/// Returns whether `line` declares a constant with a name that begins with a superlative.
fn is_superlative_constant(line: &str) -> bool {
    let Some((_, name)) = line.split_once("const ") else {
        return false;
    };
    SUPERLATIVES.iter().any(|word| name.starts_with(word))
}

/// Returns whether a file or folder of this name holds tests.
pub fn is_test(name: &&str) -> bool {
    matches!(*name, "tests" | "tests.rs" | "test.rs" | "fuzz")
}

/// The sources and documents below `folder`, without build outputs.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_hidden = name
            .to_str()
            .is_none_or(|name| name.starts_with('.') || name == "target");
        if path.is_dir() && !is_hidden {
            all.extend(files(&path));
        } else if path
            .extension()
            .is_some_and(|end| end == "rs" || end == "md")
        {
            all.push(path);
        }
    }
    all
}

/// The lines of code of `text`, without inline tests.
pub fn code(text: &str) -> Vec<&str> {
    let mut lines = text.lines();
    let mut code = Vec::new();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        if ["#[cfg(test)]", "#[cfg(all(test"]
            .iter()
            .any(|test| start.starts_with(test))
        {
            let end = format!("{}}}", &line[..line.len() - start.len()]);
            let item = lines.find(|line| !line.trim_start().starts_with("#["));
            if item.is_some_and(|item| !item.ends_with(';') && !item.starts_with(&end)) {
                lines.find(|line| line.starts_with(&end));
            }
        } else if !start.is_empty() && !start.starts_with("//") {
            code.push(line);
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_without_comments_blank_lines_and_tests() {
        let text = "//! About.\n\nuse a::b;\nfn f() {\n    // Why.\n    g();\n}\n\
                    #[cfg(test)]\nuse c::d;\n#[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\nconst A: u8 = 1;\n";
        assert_eq!(
            code(text),
            ["use a::b;", "fn f() {", "    g();", "}", "const A: u8 = 1;"]
        );
    }

    #[test]
    fn packed_statements_are_counted() {
        let text = "const MOST_ROWS: u8 = 1;\nlet (a, b) = (1, 2);\nlet (a, b) = pair();\n\
                    let mut f = move |x| x;\nlet g = h(|x| x);\nlet y = match a {\n    true => 1,\n    false => 2,\n};\n";
        let mut totals = Totals::default();
        totals.add_code(&code(text));
        let counts = [
            totals.superlative_constants,
            totals.paired_lets,
            totals.named_closures,
            totals.bool_matches,
        ];
        assert_eq!(counts, [1; 4]);
    }

    #[test]
    fn phrases_are_counted_only_in_comments() {
        let text = "/// Those of a model whose key, by which it is found,\n/// and that of\n/// another.\nlet whose = 1;\n";
        let mut totals = Totals::default();
        totals.add_comments(text);
        let counts = [
            totals.those_of,
            totals.whose,
            totals.prepositional_which,
            totals.words,
        ];
        assert_eq!(counts, [2, 1, 1, 15]);
    }
}
