//! The work on glossaries and memories grows with their files and with the texts that are looked
//! up: `cargo xtask growth`.

#![cfg(unix)]

#[path = "../../../tests/growth/mod.rs"]
mod growth;

use std::path::Path;

use burnformer_terminology::{Entry, Glossary, TranslationMemory, longest, rows, wanted};
use growth::{PIECES, grows_in_proportion, grows_with};

fn parse(file: &str) -> Option<Glossary> {
    Glossary::parse(Path::new("terms.tsv"), file.as_bytes()).ok()
}

/// `text` in parts of about 12 bytes.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.ceil_char_boundary(rest.len().min(12)));
        parts.push(part);
        rest = after;
    }
    parts
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn files_of_terms() {
    grows_in_proportion("a glossary's file", PIECES, |text| {
        parse(text);
    });
    grows_in_proportion("a table with quotes", PIECES, |text| {
        for separator in [',', ';', '\t'] {
            rows(text, separator, true);
            rows(text, separator, false);
        }
    });
    // Each part of the text is a term, its translation, and a text to search.
    grows_in_proportion("a glossary's entries", PIECES, |text| {
        let mut glossary = Glossary::default();
        for (number, part) in parts(text).into_iter().enumerate() {
            for source in [format!("{part}{number}"), format!("{number} {part}")] {
                let Ok(entry) = Entry::new(String::new(), &source, part) else {
                    continue;
                };
                let _ = glossary.add(entry);
            }
        }
        glossary.size();
        longest(wanted(&[&glossary], text));
    });
}

/// Terms that begin alike, contain each other, and end alike.
fn terms() -> Glossary {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for length in 1..=60 {
        for piece in ["a", "a ", "1", ". ", "日", "가", "e\u{301}"] {
            pairs.push((piece.repeat(length).trim().into(), format!("x|y{length}")));
        }
        pairs.push((format!("b{}*", "a".repeat(length)), "z".into()));
        pairs.push((format!("{}b", "a ".repeat(length)), "z".into()));
        pairs.push((format!("{}*", "A ".repeat(length).trim()), "z".into()));
    }
    let mut glossary = Glossary::default();
    for (source, target) in pairs {
        let entry = Entry::new(String::new(), &source, &target).expect("it is valid");
        let _ = glossary.add(entry);
    }
    glossary
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn terms_in_a_text() {
    let glossary = terms();
    let other = Glossary::from_pairs([("a a", "z"), ("{a}", "b"), ("B*", "c")]).expect("valid");
    grows_in_proportion("terms in a text", PIECES, |text| {
        longest(wanted(&[&other, &glossary], text));
    });
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn terms_that_contain_each_other() {
    let file = |bytes: usize| {
        let line = |number: usize| format!("{}x{number}\ty\n", "a ".repeat(number % 90));
        lines(line, bytes)
    };
    grows_with("terms that contain each other", 64_000, file, |text| {
        let glossary = parse(text).expect("it is valid");
        wanted(&[&glossary], &"a a x5 a a a x7 ".repeat(100));
    });
    let file = |bytes: usize| lines(|number| format!("a{number}*\ty\n"), bytes);
    grows_with("terms with the same beginning", 64_000, file, |text| {
        let glossary = parse(text).expect("it is valid");
        wanted(&[&glossary], &"a1234567 a99 ".repeat(100));
    });
}

/// The lines 0, 1, 2 and so on, of about `bytes` bytes.
fn lines(line: impl Fn(usize) -> String, bytes: usize) -> String {
    let mut file = String::new();
    for number in 0.. {
        if file.len() >= bytes {
            break;
        }
        file += &line(number);
    }
    file
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn memories() {
    grows_in_proportion("a memory's segments", PIECES, |text| {
        let mut memory = TranslationMemory::default();
        for (number, part) in parts(text).into_iter().enumerate() {
            memory.push_in(part, &format!("{part} {number}"), part);
        }
        memory.translation(text);
        memory.in_context(text, "a");
        memory.nearest(text);
    });
    let segments: Vec<String> = (0..200)
        .map(|number| format!("{} b {number}", "a ".repeat(number)))
        .collect();
    let memory = TranslationMemory::from_iter(segments.iter().map(|segment| (segment, "x")));
    grows_in_proportion("a segment that is looked up", PIECES, |text| {
        memory.translation(text);
        memory.in_context(text, text);
        memory.nearest(text);
    });
    let file = |bytes: usize| lines(|number| format!("a b c d {number} e f g h\n"), bytes);
    grows_with("segments that are alike", 64_000, file, |text| {
        let all = text.lines().map(|line| (line, line));
        let memory = TranslationMemory::from_iter(all);
        for line in text.lines().step_by(16) {
            memory.nearest(&format!("{line} x"));
        }
    });
}
