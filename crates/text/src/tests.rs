use super::*;

/// Every code point of `\p{Cf}`, `\p{Cc}` and `\p{Default_Ignorable_Code_Point}` that is neither
/// `\p{White_Space}` nor `\p{Prepended_Concatenation_Mark}`, by the PyPI package `regex` 2026.5.9.
const BY_PYTHON: [(u32, u32); 22] = [
    (0x0, 0x8),
    (0xE, 0x1F),
    (0x7F, 0x84),
    (0x86, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
];

const SENTENCES: [&str; 12] = [
    "Die Größe des Hauses beträgt 12,5 m².",
    "He said: \"It costs $7 (not €8)!\"",
    "L'été, où est-ce qu'on va ?",
    "Сколько стоит дом № 5?",
    "هذا بيت كبير، أليس كذلك؟",
    "این کتاب را دیروز خریدم.",
    "यह एक बड़ा घर है।",
    "这是一座大房子。",
    "これは大きな家です。",
    "이것은 큰 집이다. TV도 있다.",
    "นี่คือบ้านหลังใหญ่",
    "Αυτό είναι ένα σπίτι → 1#2*",
];

fn invisible() -> impl Iterator<Item = char> {
    BY_PYTHON
        .into_iter()
        .flat_map(|(first, last)| first..=last)
        .filter_map(char::from_u32)
}

#[test]
fn the_invisible_characters_match_unicode() {
    let known: std::collections::HashSet<char> = invisible().collect();
    for c in '\0'..=char::MAX {
        assert_eq!(
            is_invisible(c),
            known.contains(&c),
            "U+{:04X}",
            u32::from(c)
        );
    }
}

#[test]
fn an_inserted_invisible_character_changes_nothing() {
    for sentence in SENTENCES {
        assert_eq!(visible(sentence), sentence);
        let offsets = sentence
            .char_indices()
            .map(|(at, _)| at)
            .chain([sentence.len()]);
        for (at, c) in offsets.flat_map(|at| invisible().map(move |c| (at, c))) {
            let (before, after) = sentence.split_at(at);
            let is_in_word = |part: Option<char>| part.is_some_and(joins);
            let joined = is_in_word(before.chars().next_back()) && is_in_word(after.chars().next());
            if joined && matches!(c, '\u{200C}' | '\u{200D}') {
                continue;
            }
            for inserted in [format!("{c}"), format!("{c}\u{200B}{c}")] {
                let text = [before, &inserted, after].concat();
                assert_eq!(visible(&text), sentence, "U+{:04X} at {at}", u32::from(c));
            }
        }
    }
}

/// Words from the Unicode standard (chapters 9, 12 and 13) and sequences of `emoji-sequences.txt`.
#[test]
fn characters_with_a_meaning_stay() {
    for text in [
        "می\u{200C}خواهم کتاب\u{200C}ها را",
        "क्\u{200D}ष क्\u{200C}ष",
        "অবন্\u{200D} র\u{200D}্যাব",
        "അവന്\u{200D} പാല്\u{200D}",
        "ශ්\u{200D}රී ලංකා",
        "ᠮᠣᠩᠭᠣᠯ\u{180B} ᠬᠠ\u{180E}ᠠ",
        "👨\u{200D}👩\u{200D}👧\u{200D}👦 🏳\u{FE0F}\u{200D}🌈 🧑🏽\u{200D}🚀 🐈\u{200D}⬛",
        "❤\u{FE0F}\u{200D}🔥 ☎\u{FE0E} ©\u{FE0F} 👁\u{FE0F}\u{200D}🗨\u{FE0F}",
        "1\u{FE0F}\u{20E3} #\u{FE0F}\u{20E3} *\u{FE0F}\u{20E3} ‼\u{FE0F}",
        "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F} 🇩🇪",
        "𓂋\u{13430}𓏏 \u{6DD}١",
        "a\u{301} e\u{A0}f\u{202F}g\th\u{85}i\u{3000}",
    ] {
        assert_eq!(visible(text), text, "{text:?}");
        // Inserted between them, a character without meaning goes and takes no other with it.
        for c in [
            '\u{200B}', '\u{2060}', '\u{AD}', '\u{FEFF}', '\u{202D}', '\u{34F}', '\u{1}',
        ] {
            let apart: String = text.chars().flat_map(|letter| [c, letter, c]).collect();
            assert_eq!(visible(&apart), text, "U+{:04X}", u32::from(c));
        }
    }
}

#[test]
fn a_line_of_invisible_characters_becomes_empty() {
    let line: String = invisible().collect();
    assert_eq!(visible(&line), "");
    assert_eq!(visible(&line.repeat(2)), "");
    assert_eq!(visible("\u{2800}⠓\u{2800}\u{200B}"), " ⠓ ");
}

#[test]
fn visible_but_keeps_the_given_characters() {
    assert_eq!(
        visible_but("a\u{200B}b\u{AD}", |c| c == '\u{200B}'),
        "a\u{200B}b"
    );
}

#[test]
fn visible_is_idempotent() {
    let parts = ["a", "ي", "क", "्", "👨", "1", "🏴", "ᠠ", " ", "\u{20E3}"];
    let mut state = 1u32;
    let all: Vec<char> = parts
        .concat()
        .chars()
        .chain(invisible().step_by(7))
        .collect();
    for _ in 0..20_000 {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let special = ['\u{200C}', '\u{200D}', '\u{FE0F}', '\u{E0067}', '\u{180B}'];
            let index = (state >> 16) as usize;
            if index.is_multiple_of(3) {
                special[index % 5]
            } else {
                all[index % 30.min(all.len())]
            }
        };
        let text: String = (0..9).map(|_| next()).collect();
        let once = visible(&text).into_owned();
        assert_eq!(visible(&once), once, "{text:?}");
    }
}

/// Returns the regular expressions of the rule, from the functions of the rule.
fn expected_patterns() -> Vec<String> {
    let of = |asked: Option<usize>| class(&|c| is_invisible(c) && kind(c) == asked);
    let is_meant = |c| is_invisible(c) && kind(c).is_some();
    let next = format!("{0}*(?!{0})", class(&is_meant));
    let emoji = class(&is_emoji);
    let ending = class(&|c| matches!(c, '\u{FE0F}' | '\u{E007F}') || is_emoji(c));
    let joining = class(&joins);
    let virama = class(&|c| joins(c) && canonical_combining_class(c) == 9);
    let kinds = std::array::from_fn(|kind| of(Some(kind)));
    let [tag, layout, mongolian, variation, non_joiner, joiner] = kinds;
    vec![
        of(None),
        format!(r"(?<![\x{{1F3F4}}\x{{E0020}}-\x{{E007E}}]){tag}+"),
        format!(r"(?<![\x{{13000}}-\x{{1345F}}]){layout}+"),
        format!(r"(?<![\x{{1820}}-\x{{18AA}}]){mongolian}"),
        format!(r"(?<!{emoji})(?<![0-9#*]){variation}|(?<=[0-9#*]){variation}(?!{next}\x{{20E3}})"),
        format!("(?<!{joining}){non_joiner}|{non_joiner}(?!{next}{joining})"),
        format!(
            "(?<!{joining})(?<!{ending}){joiner}|(?<={joining})(?<!{virama}){joiner}(?!{next}{joining})\
             |(?<={ending}){joiner}(?!{next}{emoji})"
        ),
    ]
}

/// Returns the class of the characters that `is` names, as a regular expression.
fn class(is: &dyn Fn(char) -> bool) -> String {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    for c in ('\0'..=char::MAX).filter(|&c| is(c)).map(u32::from) {
        match ranges.last_mut() {
            Some([_, end]) if *end + 1 == c => *end = c,
            _ => ranges.push([c, c]),
        }
    }
    let range = |[first, last]: [u32; 2]| {
        if first == last {
            format!(r"\x{{{first:X}}}")
        } else {
            format!(r"\x{{{first:X}}}-\x{{{last:X}}}")
        }
    };
    format!("[{}]", ranges.into_iter().map(range).collect::<String>())
}

/// After a change of the rule, PATTERNS=src/patterns.txt in the environment writes the file anew.
#[test]
fn the_patterns_match_the_rule() {
    let expected = expected_patterns();
    if let Ok(file) = std::env::var("PATTERNS") {
        std::fs::write(file, expected.join("\n") + "\n").unwrap();
    }
    assert!(
        patterns().eq(expected.iter()),
        "src/patterns.txt differs from the rule"
    );
}
