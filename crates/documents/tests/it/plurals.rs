//! Plurals get the categories of the target language.

mod kinds;

use std::collections::BTreeMap;

use burnformer_documents::{Document, Format};

use self::kinds::{Kind, kinds};
use crate::common::{identity, translate, translate_into, upper};

/// Languages with their cardinal and ordinal categories, as Node knows them.
const LANGUAGES: &str = include_str!("../fixtures/categories.tsv");
/// The languages of the generated files.
const SOURCES: [&str; 5] = ["en", "ja", "ru", "ar", "cy"];

fn into(text: &str, format: Format, target: &str) -> String {
    translate_into(text, format, Some(target), &upper).0
}

/// The languages and their categories, ordinal ones if `is_ordinal`.
fn languages(is_ordinal: bool) -> BTreeMap<&'static str, Vec<&'static str>> {
    LANGUAGES
        .lines()
        .skip(1)
        .map(|row: &'static str| {
            let columns: Vec<&str> = row.split('\t').collect();
            (
                columns[0],
                columns[1 + usize::from(is_ordinal)].split(' ').collect(),
            )
        })
        .collect()
}

/// A file, a target language, and the names and texts of the arms in its translation.
type Case = (String, &'static str, Vec<(String, String)>);

/// Files of `kind` in each of the [`SOURCES`], with the arms that they have in each language.
fn cases(kind: &Kind) -> Vec<Case> {
    let languages = languages(kind.is_ordinal);
    let mut all = Vec::new();
    for (source, last) in SOURCES
        .iter()
        .flat_map(|source| [(source, true), (source, false)])
    {
        let text = |name: &str| format!("{} {name} files", kind.number);
        let mut arms: Vec<(&str, String)> = languages[source]
            .iter()
            .map(|name| (*name, text(name)))
            .collect();
        if !last {
            arms.rotate_right(1);
        }
        let file = kind.file(&arms);
        for (target, names) in &languages {
            let zero = arms
                .iter()
                .filter(|(name, _)| kind.has_zero && *name == "zero");
            let mut expected: BTreeMap<&str, String> =
                zero.map(|(name, text)| (*name, text.clone())).collect();
            for name in names {
                let known = arms.iter().find(|(known, _)| known == name);
                expected.insert(
                    name,
                    known.map_or_else(|| text("other"), |(_, text)| text.clone()),
                );
            }
            all.push((
                file.clone(),
                *target,
                expected
                    .into_iter()
                    .map(|(name, text): (&str, String)| {
                        let text = ["zero", "one", "two", "few", "many", "other", "files"]
                            .iter()
                            .fold(text, |text, word| {
                                text.replace(
                                    &format!(" {word}"),
                                    &format!(" {}", word.to_uppercase()),
                                )
                            });
                        (name.to_owned(), text)
                    })
                    .collect(),
            ));
        }
    }
    all
}

#[test]
fn a_plural_has_the_categories_of_its_language() {
    for kind in kinds() {
        for (file, target, expected) in cases(&kind) {
            assert_eq!(translate(&file, kind.format, &identity), file);
            let found = into(&file, kind.format, target);
            let mut arms = kind.arms(&found);
            arms.sort();
            assert_eq!(arms, expected, "{target}\n{file}\n{found}");
            // A file that has the categories already stays as it is.
            let again = translate_into(&found, kind.format, Some(target), &identity).0;
            assert_eq!(again, found, "{target}");
        }
    }
}

#[test]
fn an_arm_that_hides_its_number_is_not_that_of_several_numbers() {
    for (target, source, expected) in [
        (
            "ru",
            "{n, plural, one {a file} other {# files}}",
            "{n, plural, one {# FILES} few {# FILES} many {# FILES} other {# FILES}}",
        ),
        (
            "de",
            "{n, plural, one {a file} other {# files}}",
            "{n, plural, one {A FILE} other {# FILES}}",
        ),
        // In French, 0 is singular too.
        (
            "fr",
            "{n,plural,one{a file}other{# files}}",
            "{n,plural,one{# FILES}many{# FILES}other{# FILES}}",
        ),
        (
            "fr",
            "{n,plural,one{a file}other{files}}",
            "{n,plural,one{A FILE}many{FILES}other{FILES}}",
        ),
        (
            "ru",
            "{n, plural, one {a {x} cat} other {{x} cats}}",
            "{n, plural, one {A {x} CAT} few {{x} CATS} many {{x} CATS} other {{x} CATS}}",
        ),
    ] {
        assert_eq!(into(source, Format::Text, target), expected);
    }
}

#[test]
fn the_rest_of_a_file_with_plurals_stays() {
    for (format, target, source, expected) in [
        // A select has no numbers, and nobody knows the categories of these languages.
        (
            Format::Text,
            "ru",
            "{g, select, one {a} other {b}}",
            "{g, select, one {A} other {B}}",
        ),
        (
            Format::Text,
            "tlh",
            "{n, plural, one {a} other {b}}",
            "{n, plural, one {A} other {B}}",
        ),
        (
            Format::Text,
            "oc",
            "{n, plural, one {a} other {b}}",
            "{n, plural, one {A} other {B}}",
        ),
        // Explicit numbers, an offset, arms in another order and messages in arms.
        (
            Format::Text,
            "ja",
            "{n, plural, offset:1 =1 {a} one {b} other {c {g, select, one {d} other {e}}} =2{f}}",
            "{n, plural, offset:1 =1 {A} other {C {g, select, one {D} other {E}}} =2{F}}",
        ),
        (
            Format::Text,
            "cs",
            "{n, plural, other {# of {m, plural, one {a cat} other {# cats}}}}",
            "{n, plural, one {# OF {m, plural, one {A CAT} few {# CATS} many {# CATS} other {# CATS}}} few {# OF {m, plural, one {A CAT} few {# CATS} many {# CATS} other {# CATS}}} many {# OF {m, plural, one {A CAT} few {# CATS} many {# CATS} other {# CATS}}} other {# OF {m, plural, one {A CAT} few {# CATS} many {# CATS} other {# CATS}}}}",
        ),
        // A message that a translation does not change stays.
        (
            Format::Text,
            "ru",
            "{n, plural, one {1} other {#}} x",
            "{n, plural, one {1} other {#}} X",
        ),
        // Keys that are names, numbers that are words, and what has no text.
        (
            Format::Json,
            "ru",
            "{\"male\": \"he\", \"other\": \"it\", \"one\": \"first one\", \"few\": null, \"b\": [\"one\", \"other\"], \"c_other\": \"rest\"}",
            "{\"male\": \"HE\", \"other\": \"IT\", \"one\": \"FIRST ONE\", \"few\": null, \"b\": [\"ONE\", \"OTHER\"], \"c_other\": \"REST\"}",
        ),
        (
            Format::Json,
            "ru",
            "{\"kinds\": {\"one\": \"first\", \"two\": \"second\", \"other\": \"rest\", \"else\": \"no\"}}",
            "{\"kinds\": {\"one\": \"FIRST\", \"two\": \"SECOND\", \"other\": \"REST\", \"else\": \"NO\"}}",
        ),
        // Notes beside a text, and beside categories.
        (
            Format::Json,
            "ja",
            "{\"a\": {\"message\": \"it\", \"description\": {\"one\": \"of one\", \"other\": \"of all\"}}, \"b\": {\"message\": {\"one\": \"one\", \"other\": \"all\"}}}",
            "{\"a\": {\"message\": \"IT\", \"description\": {\"one\": \"of one\", \"other\": \"of all\"}}, \"b\": {\"message\": {\"other\": \"ALL\"}}}",
        ),
        (
            Format::Json,
            "ja",
            "{\"a\": {\"one\": \"one\", \"other\": \"all\", \"context\": \"note\"}}",
            "{\"a\": {\"other\": \"ALL\", \"context\": \"NOTE\"}}",
        ),
        (
            Format::Json,
            "ja",
            "{\"a_other\":\"all\",\"a_one\":\"one\",\"a_two\":\"two\",\"b_one\":\"one\",\"b_two\":\"two\",\"b_other\":\"all\"}",
            "{\"a_other\":\"ALL\",\"b_other\":\"ALL\"}",
        ),
        // A single key counts as part of a plural only if its text counts something.
        (
            Format::Json,
            "de",
            "{\"a_other\": \"no\"}",
            "{\"a_other\": \"NO\"}",
        ),
        (
            Format::Json,
            "de",
            "{\"a_other\": \"{{count}} no\"}",
            "{\"a_one\": \"{{count}} NO\",\"a_other\": \"{{count}} NO\"}",
        ),
        (
            Format::Yaml,
            "pl",
            "en:\r\n  files:\r\n    one: a file # note\r\n    # note\r\n    other: |\r\n      All files\r\n      and more\r\n  x: it\r\n",
            "pl:\r\n  files:\r\n    one: A FILE # note\r\n    # note\r\n    few: |\r\n      ALL FILES\r\n      AND MORE\r\n    many: |\r\n      ALL FILES\r\n      AND MORE\r\n    other: |\r\n      ALL FILES\r\n      AND MORE\r\n  x: IT\r\n",
        ),
        (
            Format::Android,
            "ru",
            "<resources><plurals name='a' translatable='false'><item quantity='one'>a</item><item quantity='other'>b</item></plurals><plurals name=\"b\"><!-- note --><item quantity='one'>one <b>cat</b></item><item quantity='other'>two <b>cats</b></item></plurals></resources>",
            "<resources><plurals name='a' translatable='false'><item quantity='one'>a</item><item quantity='other'>b</item></plurals><plurals name=\"b\"><!-- note --><item quantity='one'>ONE <b>CAT</b></item><item quantity='few'>TWO <b>CATS</b></item><item quantity='many'>TWO <b>CATS</b></item><item quantity='other'>TWO <b>CATS</b></item></plurals></resources>",
        ),
        // The default of Fluent stays.
        (
            Format::Fluent,
            "ja",
            "a = { $n ->\n   *[one] a file\n    [two] two\n    [other] { $n } files\n }\n",
            "a = { $n ->\n   *[one] A FILE\n    [other] { $n } FILES\n }\n",
        ),
        (
            Format::Fluent,
            "cs",
            "a = { $kind ->\n    [male] he\n   *[other] it\n }\nb = { $n ->\n    [0] none\n   *[other] { $m ->\n        [one] cat\n       *[other] cats\n     }\n }\n",
            "a = { $kind ->\n    [male] HE\n   *[other] IT\n }\nb = { $n ->\n    [0] NONE\n    [one] { $m ->\n        [one] CAT\n        [few] CATS\n        [many] CATS\n       *[other] CATS\n     }\n    [few] { $m ->\n        [one] CAT\n        [few] CATS\n        [many] CATS\n       *[other] CATS\n     }\n    [many] { $m ->\n        [one] CAT\n        [few] CATS\n        [many] CATS\n       *[other] CATS\n     }\n   *[other] { $m ->\n        [one] CAT\n        [few] CATS\n        [many] CATS\n       *[other] CATS\n     }\n }\n",
        ),
    ] {
        assert_eq!(into(source, format, target), expected, "{target}");
    }
}

/// Each level multiplies the text at most by the number of categories, and only two do.
#[test]
fn plurals_within_plurals_stay_small() {
    let deep = |depth: usize| {
        "{n, plural, one {a} other {b ".repeat(depth) + "# cats" + &"}}".repeat(depth)
    };
    for depth in [3, 8, 200] {
        let text = deep(depth);
        let found = into(&text, Format::Text, "ar");
        assert!(
            found.len() < 40 * text.len(),
            "{} of {}",
            found.len(),
            text.len()
        );
    }
    let fluent = "a = { $n ->\n   *[other] ".to_owned()
        + &"{ $n ->\n   *[other] ".repeat(200)
        + "cats\n"
        + &"}\n".repeat(201).replace("}\n", " }\n");
    let found = into(&fluent, Format::Fluent, "ar");
    assert!(
        found.len() < 40 * fluent.len(),
        "{} of {}",
        found.len(),
        fluent.len()
    );
}

/// Catalogues with an empty or missing language and a plural of one category, each with a fault in
/// its last line.
const BROKEN: [(Format, &str); 6] = [
    (
        Format::Po,
        "msgid \"one file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n\nmsgid \"a\"\nmsgstr\n",
    ),
    (
        Format::Po,
        "msgid \"\"\nmsgstr \"\"\n\"Language: \\n\"\n\nmsgid \"one file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\nmsgid \"a\n",
    ),
    (
        Format::Android,
        "<resources>\n<plurals name=\"a\">\n<item quantity=\"other\">%d files</item>\n</plurals>\n<string name=\"b\">x</strin>\n",
    ),
    (
        Format::Qt,
        "<!DOCTYPE TS>\n<TS version=\"2.1\">\n<context>\n<message numerus=\"yes\"><source>%n file(s)</source>\n<translation type=\"unfinished\"><numerusform></numerusform></translation></message>\n</contex>\n",
    ),
    (
        Format::Xliff,
        "<xliff version=\"1.2\">\n<file source-language=\"en\" original=\"a\" datatype=\"x\">\n<body>\n<trans-unit id=\"1\"><source>a</source></trans-unit>\n</bod>\n",
    ),
    (
        Format::Json,
        "{\"files_one\": \"{{count}} file\",\n\"files_other\": \"{{count}} files\",\n\"b\": x}\n",
    ),
];

#[test]
fn an_error_names_the_line_of_the_file_whatever_was_filled_in() {
    for (format, text) in BROKEN {
        let last = text.lines().count();
        for target in [None, Some("de"), Some("ja"), Some("ar"), Some("ru")] {
            let languages = [Some("en"), target];
            let error = Document::try_parse(text, format, languages, &[], &|_| true)
                .err()
                .unwrap_or_else(|| panic!("{format:?} is read"));
            let start = format!("line {last}: ");
            assert!(
                error.to_string().starts_with(&start),
                "{format:?} into {target:?}: {error}"
            );
        }
    }
}
