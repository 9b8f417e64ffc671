//! Documents and catalogues of messages, one door for each format.

use burnformer_documents::{
    Catalogue, Document, Format, Link, PendingSentence, Translated, WholeFile,
};

use crate::Door;

/// A function that translates a sentence.
type Model = fn(&PendingSentence) -> Translated;

/// The most rounds until every sentence is translated.
const ROUNDS: usize = 2;

pub fn doors() -> Vec<Door> {
    Format::all()
        .map(|format| {
            Door::new(format!("document_{format}"), move |bytes| {
                enter(bytes, format);
            })
        })
        .collect()
}

fn enter(bytes: &[u8], format: Format) {
    let Ok(file) = WholeFile::read(bytes.to_vec(), format.name()) else {
        return;
    };
    file.untranslated();
    let text = file.text.clone();
    let same = translate(&text, format, None, identity);
    if format.has_translations() {
        let again = translate(&same, format, None, identity);
        assert_eq!(again, same, "what has a translation stays byte for byte");
    } else {
        assert_eq!(same, text, "what is not translated stays byte for byte");
    }
    file.write(same, [None; 2]);
    for model in [reverse, hostile, nothing] {
        for target in [None, Some("ru")] {
            let written = translate(&text, format, target, model);
            let is_read = |text: &str| Catalogue::read(text, format, [None; 2]).is_ok();
            assert!(
                !is_read(&text) || is_read(&written),
                "the translation cannot be read again: {written:?}"
            );
            file.write(written, [Some("en"), Some("de")]);
        }
    }
}

/// Translates a document. Sentences of 60 bytes fit.
pub fn translate(text: &str, format: Format, target: Option<&str>, model: Model) -> String {
    let fits = |sentence: &str| sentence.len() <= 60;
    let languages = [Some("en"), target];
    let read = Document::try_parse(text, format, languages, &[], &fits);
    let mut document = read.unwrap_or_else(|_| Document::parse(text, format, Some("en"), &fits));
    for _ in 0..=ROUNDS {
        let pending = document.pending();
        if pending.is_empty() {
            return document.finish();
        }
        document.accept(pending.iter().map(model).collect());
    }
    panic!("sentences are pending after {ROUNDS} rounds");
}

/// Every sentence stays, each word linked to itself.
pub fn identity(sentence: &PendingSentence) -> Translated {
    let text = sentence.text.clone();
    let links = words(&text)
        .into_iter()
        .map(|(start, end)| Link {
            source: start..end,
            target: start..end,
        })
        .collect();
    Translated { text, links }
}

/// The words in the opposite order, with links.
pub fn reverse(sentence: &PendingSentence) -> Translated {
    let source = &sentence.text;
    let mut text = String::new();
    let mut links = Vec::new();
    for (start, end) in words(source).into_iter().rev() {
        if !text.is_empty() {
            text.push(' ');
        }
        let from = text.len();
        text.push_str(&source[start..end]);
        let [source, target] = [start..end, from..text.len()];
        links.push(Link { source, target });
    }
    Translated { text, links }
}

/// Characters that begin markup, and the sentence.
pub fn hostile(sentence: &PendingSentence) -> Translated {
    let text = format!(
        "# *{}_ | <b> & ~~ \"$ ` '![1. {{x}} %s \\ ]]> -->",
        sentence.text
    );
    let links = Vec::new();
    Translated { text, links }
}

/// An empty translation.
pub fn nothing(_: &PendingSentence) -> Translated {
    Translated::default()
}

/// The ranges of the words, which are what white space separates.
fn words(text: &str) -> Vec<(usize, usize)> {
    let start = text.as_ptr() as usize;
    text.split_whitespace()
        .map(|word| {
            let at = word.as_ptr() as usize - start;
            (at, at + word.len())
        })
        .collect()
}
