//! Engines that write placeholders missing from the source.

use crate::common::{identity, translate};
use burnformer_documents::{Format, PendingSentence, Translated};
use proptest::prelude::*;
use regex::Regex;

/// Words of ten scripts.
const SCRIPTS: [[&str; 5]; 10] = [
    ["Haus", "größer", "ich", "Änderung", "Berge"],
    ["house", "larger", "I", "change", "mountains"],
    ["maison", "élevé", "à", "changement", "montagnes"],
    ["дом", "больше", "я", "изменение", "горы"],
    ["بيت", "أكبر", "أنا", "تغيير", "جبال"],
    ["घर", "बड़ा", "मैं", "बदलाव", "पहाड़"],
    ["房子", "更大", "我", "改变", "山"],
    ["家", "大きい", "私", "変更", "やま"],
    ["집", "더큰", "나는", "변화", "산들"],
    ["บ้าน", "ใหญ่", "ฉัน", "เปลี่ยน", "เขา"],
];
const PARTS: [&str; 8] = [
    "",
    "",
    "%s",
    "%(count)d",
    "{name}",
    "{}",
    "{{ user }}",
    "${x}",
];
const INVENTED: [&str; 12] = [
    "%s", "%d", "%(%s)s", "%(name)s", "%1$s", "%@", "{0}", "{count}", "{{ x }}", "${y}",
    "%setzung", "%{user}",
];

/// Finds the placeholders of Python's `%` and `format`, JavaScript and Objective-C, by the grammars
/// in their manuals.
fn placeholders(text: &str) -> Vec<String> {
    let grammar = concat!(
        r"\$\{[^{}]*\}|%\{\w*\}|\{\{[^{}]*\}\}|\{[^{}]*\}|",
        r"%(?:\d+\$)?(?:\([^)]*\))?[#0\-+]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlL]?[diouxXeEfFgGcrsa%@]",
    );
    let found = Regex::new(grammar).unwrap();
    let mut all: Vec<String> = found
        .find_iter(text)
        .map(|it| it.as_str().to_owned())
        .collect();
    all.sort();
    all
}

/// `words` with `mark` before, behind or within one of them.
fn with_mark(words: Vec<&str>, mark: &str, index: usize, side: usize) -> String {
    let mut words: Vec<String> = words.into_iter().map(String::from).collect();
    let index = index % words.len();
    let word = &mut words[index];
    let middle = word
        .char_indices()
        .map(|(at, _)| at)
        .nth(word.chars().count() / 2)
        .unwrap_or(0);
    match side {
        0 => *word = format!("{mark} {word}"),
        1 => *word = format!("{word} {mark}"),
        2 => *word = format!("{word} ({mark})"),
        3 => word.push_str(mark),
        _ if word.chars().all(char::is_alphabetic) => word.insert_str(middle, mark),
        _ => word.insert_str(0, mark),
    }
    words.join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_translation_has_the_placeholders_of_its_source_and_no_others(
        script in 0..10usize,
        parts in prop::collection::vec((prop::sample::select(&PARTS[..]), 0..6usize), 0..3),
        invented in prop::sample::select(&INVENTED[..]),
        index in 0..6usize,
        side in 0..5usize,
        is_reversed in any::<bool>(),
        format in prop::sample::select(&[Format::Text, Format::Properties, Format::Android][..]),
    ) {
        let mut words = SCRIPTS[script].to_vec();
        for (part, at) in parts.into_iter().filter(|(part, _)| !part.is_empty()) {
            words.insert(at.min(words.len()), part);
        }
        let source = words.join(" ");
        let file = match format {
            Format::Properties => format!("a = {source}"),
            Format::Android => format!("<resources><string name=\"a\">{source}</string></resources>"),
            _ => source.clone(),
        };
        let found = translate(&file, format, &|sentence: &PendingSentence| {
            let mut words: Vec<&str> = sentence.text.split(' ').collect();
            if is_reversed {
                words.reverse();
            }
            Translated { text: with_mark(words, invented, index, side), links: Vec::new() }
        });
        prop_assert_eq!(placeholders(&found), placeholders(&file), "{}", found);
        for letter in source.chars().filter(|c| c.is_alphabetic()) {
            prop_assert!(found.matches(letter).count() >= source.matches(letter).count(), "{}", found);
        }
    }
}

#[test]
fn signs_of_prose_stay() {
    for text in [
        "100% sure, 50 % of it, 5%ige Lösung",
        "Set { and } in a block, 3 < 4 and 5 > 2",
        "Das kostet $5 oder 5 $US",
        "Er sagte: gut, a:b, C# und F#",
        "%d of 100% are here",
        "{name} has } and {",
    ] {
        assert_eq!(translate(text, Format::Text, &identity), text);
    }
    // The same amounts in other languages.
    for (source, translation) in [
        ("50% of all", "%50'si"),
        ("Five percent", "5 %"),
        ("It costs $5", "Cela coûte 5 $US"),
        ("100% sure", "100%ig sicher"),
    ] {
        assert_eq!(
            translate(source, Format::Text, &|_: &PendingSentence| Translated {
                text: translation.into(),
                links: Vec::new(),
            }),
            translation
        );
    }
}

#[test]
fn a_translation_that_is_nothing_else_is_none() {
    for (source, translation, written) in [
        ("Setting", "%s", "Setting"),
        ("Setting", "%setzung", "setzung"),
        ("Setting (%s)", "%(%s)s", "Setting (%s)"),
        ("Setting.", "{0} Wort {1}.", " Wort."),
    ] {
        assert_eq!(
            translate(source, Format::Text, &|sentence: &PendingSentence| {
                let is_first = sentence.text == source;
                let text = if is_first {
                    translation
                } else {
                    &sentence.text
                };
                Translated {
                    text: text.into(),
                    links: Vec::new(),
                }
            }),
            written,
            "{source}"
        );
    }
}
