//! The language of a text, and codes of languages.

use burnformer_documents::{Format, Languages, detect, prose, words_of};
use burnformer_text::{find_language, language};

use crate::Door;

const CODES: [&str; 8] = ["de", "en", "fr", "zh", "ja", "ru", "ar", "hi"];

pub fn doors() -> Vec<Door> {
    vec![
        Door::of_text("languages", enter),
        Door::of_text("language_codes", enter_codes),
    ]
}

fn enter(text: &str) {
    let languages = Languages::new(&CODES);
    languages.detect(text);
    assert!(languages.ranked(text, 3).len() <= 3);
    if let Some(detection) = detect(text.split('\n'), &CODES) {
        drop(detection);
    }
    for format in [Format::Text, Format::Html, Format::Markdown] {
        prose(text, format, &|part| part.len() <= 200);
    }
    let document = burnformer_documents::Document::parse(text, Format::Html, None, &|_| true);
    words_of(&document);
}

fn enter_codes(text: &str) {
    language(text);
    let known = ["de", "en", "zh-Hans", "fra_Latn"];
    if let Ok(found) = find_language(text, known) {
        let _ = found;
    }
    let _ = find_language("de", text.split([' ', '\n']));
}
