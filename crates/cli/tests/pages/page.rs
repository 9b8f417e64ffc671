//! The commands of a page.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A command of a page.
#[derive(Debug, PartialEq)]
pub struct PageCommand {
    /// The page and the line, from 1.
    pub location: String,
    pub text: String,
    /// The number of the block on the page. A server ends with its block.
    pub block: usize,
}

/// The commands in the fenced `sh` blocks of `page`.
pub fn commands(page: &str, text: &str) -> Vec<PageCommand> {
    let mut found: Vec<PageCommand> = Vec::new();
    let mut block = 0;
    let mut inside = false;
    let mut does_continue = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```sh";
            block += usize::from(inside);
            continue;
        }
        if !inside
            || (!does_continue && (line.trim().is_empty() || line.trim_start().starts_with('#')))
        {
            continue;
        }
        match found.last_mut().filter(|_| does_continue) {
            Some(begun) => begun.text += &format!("\n{line}"),
            None => {
                let location = format!("{page}:{number}");
                let text = line.to_owned();
                found.push(PageCommand {
                    location,
                    text,
                    block,
                });
            }
        }
        does_continue = line.ends_with('\\');
    }
    found
}

/// The commands of the page at `page` in the repository.
pub fn commands_of(page: &str) -> Vec<PageCommand> {
    commands(page, &fs::read_to_string(repository().join(page)).unwrap())
}
