//! Counts the code outside of tests and the guide, and fails where a count is above its limit, so
//! that neither grows unseen.
//!
//! A line of code is one that is neither blank nor a comment. Files of tests and inline test
//! modules do not count. Code is read by its indentation, which is reliable because `check` has
//! rustfmt look at it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::say;

/// The most lines of a function, and arguments of a signature; those beyond are counted.
const LONGEST: usize = 60;
const WIDEST: usize = 7;

/// The limits of the counts. Lower them when a count falls.
const LIMITS: [(&str, usize); 4] = [
    ("lines of code outside of tests", 53_953),
    ("words of documents", 36_000),
    ("functions of more than 60 lines", 0),
    ("signatures of more than 7 arguments", 0),
];

/// Prints the counts of the `workspace`, and returns whether all are within their limits.
pub fn report(workspace: &Path) -> bool {
    let mut crates = BTreeMap::<PathBuf, usize>::new();
    let [mut documents, mut long, mut wide] = [0; 3];
    for path in files(workspace) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let own = path.strip_prefix(workspace).unwrap_or(&path);
        let parts: Vec<&str> = own.iter().filter_map(|part| part.to_str()).collect();
        if path.extension().is_some_and(|end| end == "md") {
            documents += if parts[0] == "docs" { text.split_whitespace().count() } else { 0 };
            continue;
        }
        if parts.iter().any(is_test) {
            continue;
        }
        let code = code(&text);
        let folders = if parts[0] == "crates" { 2 } else { 1 };
        *crates.entry(parts[..folders].iter().collect()).or_default() += code.len();
        for Function { name, lines, arguments } in functions(&code) {
            long += usize::from(lines > LONGEST);
            wide += usize::from(arguments > WIDEST);
            if lines > LONGEST || arguments > WIDEST {
                say(format_args!(
                    "{}: {name}: {lines} lines, {arguments} arguments",
                    own.display()
                ));
            }
        }
    }
    crates.iter().for_each(|(name, lines)| say(format_args!("{lines:>8}  {}", name.display())));
    let counts = [crates.values().sum(), documents, long, wide];
    for (count, (what, limit)) in counts.into_iter().zip(LIMITS) {
        let verdict = if count > limit { ": TOO MANY" } else { "" };
        say(format_args!("{count:>8}  {what}, at most {limit}{verdict}"));
    }
    counts.into_iter().zip(LIMITS).all(|(count, (_, limit))| count <= limit)
}

/// Whether a file or folder of this name holds tests.
pub fn is_test(name: &&str) -> bool {
    matches!(*name, "tests" | "tests.rs" | "test.rs" | "fuzz")
}

/// The sources and documents below `folder`, without what a build has made.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_hidden = name.to_str().is_none_or(|name| name.starts_with('.') || name == "target");
        if path.is_dir() && !is_hidden {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|end| end == "rs" || end == "md") {
            all.push(path);
        }
    }
    all
}

/// The lines of code of `text`, without inline tests.
pub fn code(text: &str) -> Vec<&str> {
    let (mut lines, mut code, mut is_comment) = (text.lines(), Vec::new(), false);
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        if is_comment || start.starts_with("/*") {
            is_comment = !start.contains("*/");
        } else if ["#[cfg(test)]", "#[cfg(all(test"].iter().any(|test| start.starts_with(test)) {
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

#[derive(Debug, PartialEq)]
struct Function<'a> {
    name: &'a str,
    lines: usize,
    arguments: usize,
}

/// The functions with a body in `code`.
fn functions<'a>(code: &[&'a str]) -> Vec<Function<'a>> {
    let is_qualifier = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
    };
    let function = |first: usize| {
        let line = code[first];
        let (before, rest) = line.trim_start().split_once("fn ")?;
        let name = rest.split(['(', '<']).next()?;
        let body = first + code[first..].iter().position(|line| line.ends_with(['{', '}', ';']))?;
        let signature = code[first..=body].concat();
        let arguments = arguments(signature.split_once(name)?.1);
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let last = match code[body].ends_with('{') {
            true => body + code[body..].iter().position(|line| *line == end)?,
            false => body,
        };
        let is_function = before.split_whitespace().all(is_qualifier);
        is_function.then_some(Function { name, lines: last - first + 1, arguments })
    };
    (0..code.len()).filter_map(function).collect()
}

/// The number of arguments in a `signature` behind the function's name.
fn arguments(signature: &str) -> usize {
    let (mut depth, mut inside, mut count, mut is_empty) = (0, false, 0, true);
    for (previous, c) in [' '].into_iter().chain(signature.chars()).zip(signature.chars()) {
        match c {
            '(' if depth == 0 => (depth, inside, is_empty) = (1, true, true),
            '(' | '[' | '<' | '{' => depth += 1,
            // The end of `->` closes nothing.
            ')' | ']' | '}' | '>' if previous != '-' => depth -= 1,
            ',' if depth == 1 && inside => {
                (count, is_empty) = (count + usize::from(!is_empty), true)
            }
            _ => is_empty &= c.is_whitespace(),
        }
        if inside && depth == 0 {
            break;
        }
    }
    count + usize::from(!is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_without_comments_blank_lines_and_tests() {
        let text = "//! About.\n\nuse a::b;\n/* not\ncode */\nfn f() {\n    // Why.\n    g();\n}\n\
                    #[cfg(test)]\nuse c::d;\n#[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\nconst A: u8 = 1;\n";
        assert_eq!(code(text), ["use a::b;", "fn f() {", "    g();", "}", "const A: u8 = 1;"]);
    }

    #[test]
    fn functions_have_lines_and_arguments() {
        let text = "fn none() {}\nimpl A {\n    pub(crate) async fn f<F: Fn(u8, u8) -> u8>(\n        &self,\n        \
                    pair: (u8, [u8; 2]),\n        of: F,\n    ) -> Vec<(u8, u8)> {\n        x\n    }\n    fn declared(&self);\n}\n";
        let code = code(text);
        let found = functions(&code);
        let of = |name, lines, arguments| Function { name, lines, arguments };
        assert_eq!(found, [of("none", 1, 0), of("f", 7, 3), of("declared", 1, 1)]);
    }
}
