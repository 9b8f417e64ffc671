//! Sentences and their translations: numbers, placeholders, quotation marks, capitals, words.

use burnformer_text::*;

use crate::{Door, halves};

const FLAGS: [&str; 16] = [
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

pub fn doors() -> Vec<Door> {
    vec![
        Door::of_text("words", enter_words),
        Door::of_text("capitals", enter_capitals),
        Door::of_text("pairs", enter_pairs),
        Door::of_text("joins", enter_joins),
        Door::of_text("parts", enter_parts),
        Door::of_text("cloze", enter_cloze),
        Door::of_text("numbers", enter_numbers),
        Door::of_text("grammars", enter_grammars),
    ]
}

/// Asserts that ranges are in order, apart from each other, and within `text`.
fn are_apart<'a>(ranges: impl Iterator<Item = &'a Span>, text: &str) {
    let mut end = 0;
    for range in ranges {
        assert!(range.start >= end, "{range:?} begins before {end}");
        assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
        end = range.end;
    }
}

/// Asserts that edits are in order and within `text`. One may overlap the next.
fn are_in_order(edits: &[(Span, String)], text: &str) {
    let mut start = 0;
    for (range, _) in edits {
        assert!(range.start >= start, "{range:?} begins before {start}");
        assert!(text.get(range.clone()).is_some(), "{range:?} of {text:?}");
        start = range.start;
    }
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

fn enter_words(text: &str) {
    let shown = visible(text).into_owned();
    assert_eq!(visible(&shown), shown, "what is visible stays");
    character_offsets(text);
    let text = normalized(text);
    let words = words(&text);
    joined(&words);
    are_particles("가", &text);
    let (one, other) = halves(&text);
    past(one.chars(), other.chars());
}

fn enter_capitals(text: &str) {
    in_capitals(text);
    may_be_in_capitals(text);
    is_in_capitals(text);
    assert_eq!(small_in_place(text).len(), text.len(), "in place");
    in_small_letters(text);
}

fn enter_pairs(text: &str) {
    let (source, translation) = halves(text);
    pairs(source);
    missing_pairs(source, translation);
    missing_dash(source, translation);
    with_pairs(source, translation, |other| links(source, other), 0);
    with_pairs(source, translation, |_| Vec::new(), 1);
}

fn enter_joins(text: &str) {
    let (source, translation) = halves(text);
    are_apart(joining_signs(source).iter(), source);
    for language in ["en", "de", "ja", "ar"] {
        with_joining_words(source, language);
        loses_joins(source, translation, [Some("en"), Some(language)]);
    }
    loses_joins(source, translation, [None; 2]);
}

fn enter_parts(text: &str) {
    let (source, translation) = halves(text);
    let found = parts(source);
    let ranges: Vec<Span> = found.into_iter().map(|part| part.range).collect();
    are_apart(ranges.iter(), source);
    blank(source, &ranges);
    positions(source, &ranges, translation);
    for [from, into] in arms(source) {
        assert!(source.get(from).is_some() && source.get(into).is_some());
    }
    is_code(source);
    is_translatable(source);
    may_have_parts(source);
    let added = added_placeholders(source, translation, &['#']);
    are_in_order(&added, translation);
    apply_edits(translation, &added);
    missing_placeables(source, &[], translation);
}

fn enter_cloze(text: &str) {
    let (source, translation) = halves(text);
    let ranges = parts(source).into_iter().map(|part| part.range);
    let cloze = Cloze::without(source, ranges);
    cloze.fill(translation, &links(source, translation));
    cloze.fill(translation, &[]);
    let from = translation.floor_char_boundary(2);
    cloze.fill_from(translation, &[], from);
}

fn enter_numbers(text: &str) {
    let (source, translation) = halves(text);
    assert!(numbers_stay(source, source), "{source:?}");
    numbers_stay(source, translation);
    for [from, into] in [["en", "de"], ["de", "en"], ["fr", "hi"], ["en", "ar"]] {
        let Some(writing) = Writing::between(from, into) else {
            continue;
        };
        let changes = writing.changes(source, translation);
        are_in_order(&changes, translation);
        apply_edits(translation, &changes);
    }
}

fn enter_grammars(text: &str) {
    let (source, translation) = halves(text);
    for grammar in FLAGS.iter().filter_map(|flag| Grammar::of_flag(flag)) {
        let grammar = grammar.for_message(source);
        are_apart(grammar.parts(source).iter().map(|part| &part.range), source);
        grammar.arguments(source);
        grammar.can_number(source);
        grammar.keeps_order(source, translation);
        let shown = grammar.shown(source).into_owned();
        grammar.written(source, shown, None);
        grammar.written(source, translation.to_owned(), None);
    }
}
