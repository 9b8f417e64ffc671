//! The work on a text grows with its length: `cargo xtask growth`.

#![cfg(unix)]

#[path = "../../../tests/growth/mod.rs"]
mod growth;

use burnformer_text::*;
use growth::{PIECES, grows_in_proportion};

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn invisible_characters_and_words() {
    grows_in_proportion("invisible characters", PIECES, |text| {
        visible(text);
        character_offsets(text);
    });
    grows_in_proportion("words", PIECES, |text| {
        let text = normalized(text);
        let words = words(&text);
        joined(&words);
        are_particles("가", &text);
        past(text.chars(), text.chars());
    });
    grows_in_proportion("capitals", PIECES, |text| {
        in_capitals(text);
        may_be_in_capitals(text);
        is_in_capitals(text);
        small_in_place(text);
        in_small_letters(text);
    });
}

/// A translation with the words and signs of `text` in another order.
fn translation(text: &str) -> String {
    let middle = text.floor_char_boundary(text.len() / 3);
    format!("{} {}", &text[middle..], &text[..middle])
}

/// Links between the characters of two texts, in order.
fn links(source: &str, target: &str) -> Vec<Link> {
    let spans = |text: &str| -> Vec<Span> {
        let characters = text.char_indices();
        characters.map(|(at, c)| at..at + c.len_utf8()).collect()
    };
    let both = spans(source).into_iter().zip(spans(target));
    both.map(|(source, target)| Link { source, target })
        .collect()
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn pairs_and_joining_signs() {
    grows_in_proportion("quotation marks and brackets", PIECES, |text| {
        let other = translation(text);
        pairs(text);
        missing_pairs(text, &other);
        missing_dash(text, &other);
        with_pairs(text, &other, |other| links(text, other), 0);
        with_pairs(text, "a b c", |other| links(text, other), 0);
    });
    grows_in_proportion("signs that join words", PIECES, |text| {
        let other = translation(text);
        joining_signs(text);
        for language in ["en", "de", "ja", "ar"] {
            with_joining_words(text, language);
            loses_joins(text, &other, [Some("en"), Some(language)]);
        }
    });
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn numbers_and_placeholders() {
    grows_in_proportion("parts of a text", PIECES, |text| {
        parts(text);
        arms(text);
        is_code(text);
        is_translatable(text);
        may_have_parts(text);
    });
    grows_in_proportion("parts of a translation", PIECES, |text| {
        let other = translation(text);
        added_placeholders(text, &other, &['#']);
        missing_placeables(text, &[], &other);
        numbers_stay(text, &other);
        let ranges: Vec<Span> = parts(text).into_iter().map(|part| part.range).collect();
        positions(text, &ranges, &other);
        blank(text, &ranges);
    });
    grows_in_proportion("parts that a translation lacks", PIECES, |text| {
        missing_placeables(text, &[], "a b");
        numbers_stay(text, "a b");
        numbers_stay("1:2", text);
    });
    grows_in_proportion("a text without its parts", PIECES, |text| {
        let cloze = Cloze::without(text, parts(text).into_iter().map(|part| part.range));
        let other = translation(text);
        cloze.fill(&other, &links(text, &other));
        cloze.fill_from("a b c", &[], 2);
    });
    grows_in_proportion("numbers of another language", PIECES, |text| {
        let other = translation(text);
        for [from, into] in [["en", "de"], ["de", "en"], ["fr", "hi"]] {
            let writing = Writing::between(from, into).expect("they differ");
            let changes = writing.changes(text, &other);
            apply_edits(&other, &changes);
        }
    });
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn grammars_of_messages() {
    let flags = [
        "c-format",
        "php-format",
        "ruby-format",
        "java-printf-format",
        "boost-format",
        "object-pascal-format",
        "go-format",
        "python-brace-format",
        "lisp-format",
        "python-format",
        "lua-format",
        "qt-format",
        "csharp-format",
        "java-format",
        "perl-brace-format",
        "ycp-format",
    ];
    let grammars: Vec<Grammar> = flags
        .iter()
        .filter_map(|flag| Grammar::of_flag(flag))
        .collect();
    grows_in_proportion("placeholders of messages", PIECES, |text| {
        for grammar in &grammars {
            let grammar = grammar.for_message(text);
            grammar.parts(text);
            grammar.arguments(text);
            grammar.can_number(text);
            grammar.keeps_order(text, text);
            grammar.written(text, grammar.shown(text).into_owned(), None);
        }
    });
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn codes_of_languages() {
    let known = ["de", "en", "zh-Hans", "fra_Latn"];
    grows_in_proportion("codes of languages", PIECES, |text| {
        language(text);
        let _ = find_language(text, known);
        let _ = find_language("de", text.split(' '));
    });
}
