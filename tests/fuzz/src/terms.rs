//! Glossaries and translation memories.

use std::io::Cursor;
use std::path::Path;

use burnformer_documents::stream_tmx;
use burnformer_terminology::{Entry, Glossary, TranslationMemory, longest, rows, wanted};

use crate::{Door, halves, lossy, within};

pub fn doors() -> Vec<Door> {
    vec![
        Door::new("glossary_file", enter_file),
        Door::of_text("glossary_terms", enter_terms),
        Door::of_text("memory_segments", enter_segments),
        Door::new("memory_tmx", enter_tmx),
    ]
}

/// Reads a glossary and searches its own text for its terms.
fn enter_file(bytes: &[u8]) {
    for name in ["terms.tsv", "terms.csv"] {
        let read = || Glossary::parse(Path::new(name), bytes);
        let Ok(glossary) = within(512 * bytes.len() + (1 << 20), read) else {
            continue;
        };
        assert_eq!(glossary.entries().count(), glossary.len());
        glossary.size();
        find(&glossary, &lossy(bytes));
    }
    let text = lossy(bytes);
    for separator in [',', ';', '\t'] {
        for has_quotes in [false, true] {
            rows(&text, separator, has_quotes);
        }
    }
}

/// Asserts that the terms found in `text` are in it, in order.
fn find(glossary: &Glossary, text: &str) {
    longest(wanted(&[glossary], text));
}

/// The first line is searched for the terms in the others.
fn enter_terms(text: &str) {
    let (sentence, terms) = halves(text);
    let mut glossary = Glossary::default();
    for line in terms.split('\n') {
        let (source, target) = line.split_once('\t').unwrap_or((line, "x"));
        if let Ok(entry) = Entry::new(String::new(), source, target) {
            let _ = glossary.add(entry);
        }
    }
    find(&glossary, sentence);
}

/// The first line is looked up in a memory of the others.
fn enter_segments(text: &str) {
    let (sentence, segments) = halves(text);
    let mut memory = TranslationMemory::default();
    let mut context = "";
    for line in segments.split('\n') {
        let (source, translation) = line.split_once('\t').unwrap_or((line, "x"));
        memory.push_in(context, source, translation);
        context = source;
    }
    memory.translation(sentence);
    memory.in_context(sentence, context);
    memory.nearest(sentence);
    for line in segments.split('\n').take(3) {
        memory.nearest(line);
    }
}

fn enter_tmx(bytes: &[u8]) {
    for languages in [[None; 2], [Some("en"), Some("de")]] {
        let _ = stream_tmx(Cursor::new(bytes), languages, &mut |message| {
            message.plain();
        });
    }
}
