//! Every command of the README and of the guide, run in order by a shell in a fresh folder. The
//! README is one sequence, and all pages of the guide are another, at the same time.
//!
//! Two things differ from a reader's session. Trainings are short and models are small, by settings
//! at the end of each `train`. A server listens at a free port, not at 5000.
#![cfg(unix)]

#[path = "../it/common/mod.rs"]
mod common;
mod page;
mod reader;

use std::fs;

use page::{PageCommand, commands, commands_of, repository};
use reader::{ADDRESS, Reader};

/// Parts of commands that cannot be run here, each with the reason.
const NOT_RUN: [(&str, &str); 18] = [
    (
        "pip install",
        "needs the wheel, which `cargo xtask wheel --test` builds and installs",
    ),
    (
        "hf:Helsinki-NLP",
        "needs the hub; tests/it/named.rs has a local one",
    ),
    ("hf:facebook", "needs the hub"),
    (
        "firefox:de-en",
        "needs Mozilla's server; crates/interop tests a local one",
    ),
    (
        "apt-get download",
        "needs Debian's packages; the reader has their messages",
    ),
    ("dpkg-deb", "unpacks them"),
    ("msgunfmt", "needs gettext"),
    ("msgfmt", "needs gettext"),
    ("rustup target", "needs the network"),
    (
        "cargo xtask web",
        "needs the target wasm32-unknown-unknown and minutes",
    ),
    (
        "docs/images/draw.py",
        "draws into the repository; a test of xtask runs it",
    ),
    ("cargo install", "compiles the program, which the test has"),
    ("cargo rustc", "compiles the program, which the test has"),
    (
        "cargo xtask test",
        "is the suite of which this test is a part",
    ),
    (
        "--device wgpu",
        "needs a build for graphics cards, and one to compute on",
    ),
    (
        "--device cuda",
        "needs a build for graphics cards, and one to compute on",
    ),
    (
        "study table3",
        "trains some fifteen models; the tests of crates/lab run it with one",
    ),
    (
        "cargo xtask bench",
        "measures for minutes; the tests of crates/lab run it with small sizes",
    ),
];

/// The pages of the guide in the order of its table of contents.
fn guide() -> Vec<String> {
    let summary = fs::read_to_string(repository().join("docs/SUMMARY.md")).unwrap();
    let linked = summary
        .lines()
        .filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    linked
        .filter(|page| page.starts_with("guide/"))
        .map(|page| format!("docs/{page}"))
        .collect()
}

/// Runs the commands of `pages` that can be run, one after another.
fn follow(pages: &[String]) {
    let mut reader = Reader::new();
    for page in pages {
        let mut block = 0;
        let runs = |text: &str| NOT_RUN.iter().all(|(part, _)| !text.contains(part));
        for command in commands_of(page)
            .iter()
            .filter(|command| runs(&command.text))
        {
            // A page of the guide shows calls of one server in several blocks.
            if command.block != block && !command.text.contains(ADDRESS) {
                reader.stop();
            }
            block = command.block;
            reader.follow(command);
        }
        reader.stop();
    }
}

#[test]
fn every_command_of_the_readme_runs() {
    follow(&["README.md".into()]);
}

#[test]
fn every_command_of_the_guide_runs() {
    let guide = guide();
    assert!(guide.len() > 8, "{guide:?}");
    follow(&guide);
}

#[test]
fn every_exception_from_running_is_on_a_page() {
    let pages = [vec!["README.md".into()], guide()].concat();
    let all: Vec<PageCommand> = pages.iter().flat_map(|page| commands_of(page)).collect();
    for (part, reason) in NOT_RUN {
        let is_there = all.iter().any(|command| command.text.contains(part));
        assert!(
            is_there,
            "no page has a command with {part:?} any more ({reason}); remove the entry"
        );
    }
}

#[test]
fn commands_are_the_lines_of_sh_blocks() {
    let page = "a\n```sh\n# why\none \\\n  more # comment\n\ntwo\n```\n```text\nno\n```\n```sh\nthree\n```\n";
    let command = |line: u32, text: &str, block| PageCommand {
        location: format!("p.md:{line}"),
        text: text.into(),
        block,
    };
    let expected = [
        command(4, "one \\\n  more # comment", 1),
        command(7, "two", 1),
        command(13, "three", 2),
    ];
    assert_eq!(commands("p.md", page), expected);
}
