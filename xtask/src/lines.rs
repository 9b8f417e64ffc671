//! Counts the code outside of tests, the guide, and faults of style. Fails where a count is above
//! its limit, so that none grows unseen.
//!
//! A line of code is one that is neither blank nor a comment. Files of tests and inline test
//! modules do not count. Code is read by its indentation, which is reliable because `check` has
//! rustfmt look at it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::say;
use crate::words;

/// The largest number of lines of a function, and arguments of a signature; those beyond are
/// counted.
const LONGEST: usize = 60;
const WIDEST: usize = 7;

/// The limits of the counts. Lower them when a count falls.
const LIMITS: [(&str, usize); 7] = [
    ("lines of code outside of tests", 52_900),
    ("words of documents", 35_800),
    ("functions of more than 60 lines", 0),
    ("signatures of more than 7 arguments", 0),
    ("lines of comments and pages beyond 100 columns", 0),
    ("comments that begin with What, Which, Whether, Who, Those, That, Of or How", 0),
    ("names that are no words of the field", 0),
];

/// Prints the counts of the `workspace`, and returns whether all are within their limits.
pub fn report(workspace: &Path) -> bool {
    let mut crates = BTreeMap::<PathBuf, usize>::new();
    let [mut documents, mut long, mut wide] = [0; 3];
    let mut faults: [Vec<String>; 3] = Default::default();
    for path in files(workspace) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let relative = path.strip_prefix(workspace).unwrap_or(&path);
        let parts: Vec<&str> = relative.iter().filter_map(|part| part.to_str()).collect();
        let is_page = path.extension().is_some_and(|end| end == "md");
        for (all, lines) in faults.iter_mut().zip(words::faults(&text, is_page)) {
            all.extend(lines.iter().map(|line| format!("{}:{line}", relative.display())));
        }
        if is_page {
            documents += if parts[0] == "docs" { text.split_whitespace().count() } else { 0 };
            continue;
        }
        if parts.iter().any(is_test) {
            continue;
        }
        let code = code(&text);
        let folders = if parts[0] == "crates" { 2 } else { 1 };
        *crates.entry(parts[..folders].iter().collect()).or_default() += code.len();
        for (name, lines, arguments) in functions(&code) {
            long += usize::from(lines > LONGEST);
            wide += usize::from(arguments > WIDEST);
            if lines > LONGEST || arguments > WIDEST {
                say(format_args!(
                    "{}: {name}: {lines} lines, {arguments} arguments",
                    relative.display()
                ));
            }
        }
    }
    crates.iter().for_each(|(name, lines)| say(format_args!("{lines:>8}  {}", name.display())));
    let [columns, openings, names] = faults.each_ref().map(Vec::len);
    let counts = [crates.values().sum(), documents, long, wide, columns, openings, names];
    let lists = LIMITS[4..].iter().zip(&faults).filter(|((_, limit), list)| list.len() > *limit);
    lists.for_each(|(_, list)| say(list.join("\n")));
    for (count, (what, limit)) in counts.into_iter().zip(LIMITS) {
        let verdict = if count > limit { ": TOO MANY" } else { "" };
        say(format_args!("{count:>8}  {what}, at most {limit}{verdict}"));
    }
    counts.into_iter().zip(LIMITS).all(|(count, (_, limit))| count <= limit)
}

/// Returns whether a file or folder of this name holds tests.
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
    let (mut lines, mut code) = (text.lines(), Vec::new());
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        if ["#[cfg(test)]", "#[cfg(all(test"].iter().any(|test| start.starts_with(test)) {
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

/// The name of each function in `code`, the number of its lines and that of its arguments.
fn functions<'a>(code: &[&'a str]) -> Vec<(&'a str, usize, usize)> {
    let is_qualifier = |word: &str| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
    };
    let function = |first: usize| {
        let line = code[first];
        let (before, rest) = line.trim_start().split_once("fn ")?;
        let name = rest.split(['(', '<']).next()?;
        let body = first + code[first..].iter().position(|line| line.ends_with(['{', '}', ';']))?;
        let arguments = arguments(&code[first..=body]);
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let last = match code[body].ends_with('{') {
            true => body + code[body..].iter().position(|line| *line == end)?,
            false => body,
        };
        let is_function = before.split_whitespace().all(is_qualifier);
        is_function.then_some((name, last - first + 1, arguments))
    };
    (0..code.len()).filter_map(function).collect()
}

/// The number of arguments in a `signature`, which rustfmt writes on one line or on a line each.
fn arguments(signature: &[&str]) -> usize {
    let indentation = |line: &&str| line.len() - line.trim_start().len();
    let base = indentation(&signature[0]);
    match signature.iter().position(|line| line.ends_with('(')) {
        None => signature[0].matches(": ").count() + usize::from(signature[0].contains("self")),
        Some(open) => {
            let inside = signature[open + 1..].iter().take_while(|line| indentation(line) > base);
            inside.filter(|line| indentation(line) == base + 4 && line.ends_with(',')).count()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_without_comments_blank_lines_and_tests() {
        let text = "//! About.\n\nuse a::b;\nfn f() {\n    // Why.\n    g();\n}\n\
                    #[cfg(test)]\nuse c::d;\n#[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\nconst A: u8 = 1;\n";
        assert_eq!(code(text), ["use a::b;", "fn f() {", "    g();", "}", "const A: u8 = 1;"]);
    }

    #[test]
    fn functions_have_lines_and_arguments() {
        let text = "fn none() {}\nimpl A {\n    pub(crate) async fn f<F: Fn(u8, u8) -> u8>(\n        &self,\n        \
                    pair: (u8, [u8; 2]),\n        of: F,\n    ) -> Vec<(u8, u8)>\n    where\n        F: Copy,\n    {\n        x\n    }\n    fn declared(&self);\n}\n";
        let code = code(text);
        let found = functions(&code);
        assert_eq!(found, [("none", 1, 0), ("f", 10, 3), ("declared", 1, 1)]);
    }
}
