//! Parts that touch letters, digits or punctuation: after a translation without them, they return
//! to their neighbours.

use std::cell::RefCell;

use crate::common::{identity, reverse, translate};
use burnformer_documents::{Format, PendingSentence, Translated};
use proptest::prelude::*;

/// Words of ten scripts, each once in a sentence.
const SCRIPTS: [[&str; 6]; 10] = [
    ["Haus", "größer", "ich", "Änderung", "es", "Berge"],
    ["house", "larger", "I", "change", "it", "mountains"],
    ["maison", "élevé", "à", "changement", "ça", "montagnes"],
    ["дом", "больше", "я", "изменение", "он", "горы"],
    ["بيت", "أكبر", "أنا", "تغيير", "هو", "جبال"],
    ["घर", "बड़ा", "मैं", "बदलाव", "वह", "पहाड़"],
    ["房子", "更大", "我", "改变", "他", "山"],
    ["家", "大きい", "私", "変更", "それ", "やま"],
    ["집", "더큰", "나는", "변화", "그것", "산들"],
    ["บ้าน", "ใหญ่", "ฉัน", "เปลี่ยน", "มัน", "เขา"],
];
const PARTS: [&str; 20] = [
    "`a`/`b`", "`x`", "100%", "2024-04", "(5)", "$5-$10", "{name}", "{a}-{b}", "%s", "{a}{b}",
    "${x}", "5", "3,5", "5 €", "({x})", "\"{x}\"", "„%d“", "{{ x }}", "'{x}'", "'{x y}'",
];
const SIGNS: [&str; 16] = [
    "", "", "", "-", "/", "=", ":", ".", "'", "’", "–", "+", "_", "&", "*", "->",
];

/// An engine and its name. All lose the part at first.
type Engine = (&'static str, fn(&PendingSentence) -> Translated);

const ENGINES: [Engine; 4] = [
    ("identity", identity),
    ("reverse", reverse),
    ("shorten", |sentence| {
        let count = sentence.text.split(' ').next().unwrap_or_default().len();
        let mut all = identity(sentence);
        all.links.retain(|link| link.target.end <= count);
        Translated {
            text: all.text[..count].into(),
            ..all
        }
    }),
    ("without punctuation", |sentence| Translated {
        text: sentence
            .text
            .chars()
            .map(|c: char| if c.is_ascii_punctuation() { ' ' } else { c })
            .collect(),
        ..identity(sentence)
    }),
];

/// Returns the translation by `engine`, which first writes each part as `-`, and whether it
/// contains a word.
fn without(part: &str, text: &str, engine: Engine) -> (String, String) {
    let last = RefCell::new(String::new());
    let model = |sentence: &PendingSentence| {
        let lost = sentence.text.contains(part);
        let translated = engine.1(sentence);
        let text = if lost {
            "x".into()
        } else {
            translated.text.clone()
        };
        *last.borrow_mut() = text.clone();
        Translated {
            text,
            links: if lost { Vec::new() } else { translated.links },
        }
    };
    let after = translate(text, Format::Text, &model);
    (after, last.into_inner())
}

fn check(words: &[&str], at: usize, part: &str, left: Option<&str>, right: Option<&str>) {
    let spaced = |sign: Option<&str>| if sign.is_none() { " " } else { "" };
    let before = words[..at].join(" ");
    let after = words[at..].join(" ");
    let [left_sign, right_sign] = [left, right].map(Option::unwrap_or_default);
    let touch = format!("{left_sign}{part}{right_sign}");
    let text = format!("{before}{}{touch}{}{after}", spaced(left), spaced(right));
    // After a letter, `%s` may be a percentage.
    let start = before.len() + spaced(left).len() + left_sign.len();
    if !burnformer_text::parts(&text)
        .into_iter()
        .any(|other: burnformer_text::Part| other.range.start < start + part.len())
    {
        return;
    }
    for engine in ENGINES {
        let (found, reduced) = without(part, &text, engine);
        if engine.0 == "identity" {
            assert_eq!(found, text);
            continue;
        }
        assert!(
            found.contains(&touch),
            "{}: {text:?} -> {found:?}",
            engine.0
        );
        let has = |word: &str| reduced.split(' ').any(|token| token == word);
        let [last, next] = [words[at - 1], words[at]];
        let keeps_left = found.contains(&format!("{last}{touch}"));
        let keeps_right = found.contains(&format!("{touch}{next}"));
        let holds = match (left, right) {
            (None, None) => true,
            (Some(_), None) => keeps_left || !found.contains(last),
            (None, Some(_)) => keeps_right || !found.contains(next),
            _ => keeps_left || keeps_right || !has(last) && !has(next),
        };
        assert!(
            holds,
            "{}: {text:?} -> {found:?} from {reduced:?}",
            engine.0
        );
    }
}

/// Digits and letters without a space between are a word, a number or a name.
#[test]
fn a_number_between_words_stays_whole() {
    for words in SCRIPTS {
        for at in 1..6 {
            for (part, right) in ["3,5", "2024-04"]
                .iter()
                .flat_map(|it| SIGNS.map(|to| (it, to)))
            {
                check(&words, at, part, Some(""), Some(right));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn neighbours_that_touch_a_part_touch_it_in_the_translation(
        script in 0..10usize,
        order in Just((0..6).collect::<Vec<usize>>()).prop_shuffle(),
        at in 1..6usize,
        part in prop::sample::select(&PARTS[..]),
        left in prop::option::of(prop::sample::select(&SIGNS[..])),
        right in prop::option::of(prop::sample::select(&SIGNS[..])),
    ) {
        let words: Vec<&str> = order.iter().map(|&index| SCRIPTS[script][index]).collect();
        check(&words, at, part, left, right);
    }
}
