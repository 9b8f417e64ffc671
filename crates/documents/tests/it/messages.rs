//! ICU messages: the arms of plurals and selects are separate texts.

use std::cell::RefCell;

use crate::common::{identity, translate, translate_into, translate_rounds, unlinked, upper};
use burnformer_documents::{Document, Format, PendingSentence, Translated};

/// Random messages and their translations into capitals, one a line. `messageformat` parsers read
/// the same syntax around other text.
const RANDOM: &str = include_str!("../fixtures/messages.txt");

#[test]
fn arms_are_translated_and_syntax_stays() {
    for (message, expected) in [
        (
            "Du hast {count, plural, =0 {keine Nachricht} one {# Nachricht von {name}} other {# Nachrichten}} heute.",
            "DU HAST {count, plural, =0 {KEINE NACHRICHT} one {# NACHRICHT VON {name}} other {# NACHRICHTEN}} HEUTE.",
        ),
        (
            "{g, select, male {{n, plural, one {er kommt} other {sie kommen}}} other {alle kommen}}",
            "{g, select, male {{n, plural, one {ER KOMMT} other {SIE KOMMEN}}} other {ALLE KOMMEN}}",
        ),
        (
            "{n,selectordinal,offset:1 one{#st place}two{#nd}other{#th place}}",
            "{n,selectordinal,offset:1 one{#ST PLACE}two{#ND}other{#TH PLACE}}",
        ),
        (
            "{n, plural, other {it''s '{not}' an '#' <b>item</b>}}",
            "{n, plural, other {IT''S '{not}' AN '#' <b>ITEM</b>}}",
        ),
        // Programs without quoting show what the file has.
        ("{n, plural, other {don't}}", "{n, plural, other {DON'T}}"),
        // These are incomplete: an arm `other` is missing, and a brace.
        (
            "{n, plural, one {a {x} cat}} here",
            "{N, PLURAL, ONE {A {x} CAT}} HERE",
        ),
        (
            "see {n, plural, other {a cat} here",
            "SEE {N, PLURAL, OTHER {a cat} HERE",
        ),
    ] {
        let found = translate(message, Format::Text, &upper);
        assert_eq!(found, expected);
        assert_eq!(translate(message, Format::Text, &identity), message);
    }
}

/// A quoted text in a message that programs may read or not.
#[test]
fn apostrophes_around_braces_keep_their_places() {
    for quoted in [
        "'{a b}''{'",
        "''{name}''",
        "'{a}''{b}'",
        "'{name}'",
        "'{''}'{x}",
        "l''{x}",
    ] {
        for text in [
            format!("the {quoted}"),
            format!("the {quoted} house"),
            format!("{quoted}, the house"),
            format!("the house is {quoted}. the"),
            format!("{{n, plural, other {{# the}}}} the {quoted}"),
            format!("{{n, plural, other {{the '#'}}}}{quoted}"),
            format!("{{n, select, other {{it''s the {quoted}}}}} {quoted}"),
        ] {
            let expected = ["the", "house", "is", "it", "''s"]
                .iter()
                .fold(text.clone(), |all, word| {
                    all.replace(&format!("{word} "), &format!("{} ", word.to_uppercase()))
                });
            let found = translate(&text, Format::Text, &|sentence: &PendingSentence| {
                unlinked(upper(sentence))
            });
            assert_eq!(found.to_lowercase(), expected.to_lowercase());
            assert!(found.contains(quoted), "{text} -> {found}");
            assert_eq!(translate(&text, Format::Text, &identity), text);
        }
    }
}

/// Random messages with quoted text and tags, and what they become in capitals: formatjs
/// (`@formatjs/icu-messageformat-parser`) finds the same arguments, arms and tags in both, and the
/// same text but for its case.
const FORMATJS: &str = include_str!("../fixtures/formatjs.txt");

#[test]
fn formatjs_finds_the_same_syntax_around_translated_text() {
    let mut lines = FORMATJS.lines();
    while let (Some(message), Some(expected)) = (lines.next(), lines.next()) {
        assert_eq!(
            translate(message, Format::Text, &|sentence: &PendingSentence| {
                unlinked(upper(sentence))
            }),
            expected
        );
        assert_eq!(translate(message, Format::Text, &identity), message);
    }
}

#[test]
fn random_messages_have_the_same_syntax_around_translated_text() {
    let mut lines = RANDOM.lines();
    while let (Some(message), Some(expected)) = (lines.next(), lines.next()) {
        assert_eq!(
            once(&translate(message, Format::Text, &upper)),
            once(expected)
        );
        assert_eq!(translate(message, Format::Text, &identity), message);
    }
}

/// Tags in an arm stand around the same words of its translation, whatever is in them.
#[test]
fn tags_in_the_arms_of_a_message_stay() {
    for (message, expected) in [
        (
            "{n, plural, one {<b>#</b> file of {who}} other {<b># good</b> files<br/>}}",
            "{n, plural, one {<b>#</b> FILE OF {who}} other {<b># GOOD</b> FILES<br/>}}",
        ),
        (
            "{g, select, male {See <a href=\"{url}\" title='x'>his page</a>!} other {See <em>it</em>}}",
            "{g, select, male {SEE <a href=\"{url}\" title='x'>HIS PAGE</a>!} other {SEE <em>IT</em>}}",
        ),
        (
            "{g, select, a {{n, plural, other {<i>two <b>cats</b></i>}}} other {no <i>cat}} here",
            "{g, select, a {{n, plural, other {<i>TWO <b>CATS</b></i>}}} other {NO <i>CAT}} HERE",
        ),
    ] {
        let json = |text: &str| format!("{{\"a\": {}}}", serde_json::to_string(text).unwrap());
        assert_eq!(
            translate(&json(message), Format::Json, &upper),
            json(expected)
        );
        assert_eq!(
            translate(&json(message), Format::Json, &identity),
            json(message)
        );
        let po = |text: &str| {
            let text = text.replace('"', "\\\"");
            format!(
                "#, fuzzy\nmsgid \"{}\"\nmsgstr \"{text}\"\n",
                message.replace('"', "\\\"")
            )
        };
        let source = po("").replace("#, fuzzy\n", "");
        assert_eq!(translate(&source, Format::Po, &upper), po(expected));
    }
}

/// Halves doubled apostrophes in `message` where ICU reads both the same: not beside a sign that
/// they quote.
fn once(message: &str) -> String {
    let is_sign = |c: Option<char>| c.is_none_or(|c| "{}#|'".contains(c));
    let mut out = String::new();
    let parts: Vec<&str> = message.split("''").collect();
    for pair in parts.windows(2) {
        out += pair[0];
        let beside = is_sign(out.chars().last()) || is_sign(pair[1].chars().next());
        out += if beside { "''" } else { "'" };
    }
    out + parts[parts.len() - 1]
}

#[test]
fn an_apostrophe_before_a_placeholder_quotes_nothing() {
    let french = |it: &PendingSentence| Translated {
        text: it.text.replace("the ", "l'"),
        links: Vec::new(),
    };
    let text = "{n, plural, one {the {x} of #} other {the '{'} few {the #}}";
    let expected = "{n, plural, one {l''{x} of #} other {l'''{'} few {l''#}}";
    assert_eq!(translate(text, Format::Text, &french), expected);
}

#[test]
fn lines_of_a_message_may_be_indented_with_tabulators() {
    let text = "a\tSee {n, plural,\n\tone {a file}\n\tother {#\tfiles}\n} now\tand\tit\n";
    let expected = "A\tSEE {n, plural,\n\tone {A FILE}\n\tother {#\tFILES}\n} NOW\tAND\tIT\n";
    assert_eq!(translate(text, Format::Text, &upper), expected);
    assert_eq!(translate(text, Format::Text, &identity), text);
}

/// The model sees a number of the category, by CLDR, and the file gets the sign back. If the number
/// does not return, the sign still does.
#[test]
fn an_arm_is_translated_with_a_number_of_its_category() {
    let into = |message: &str, target: &str, model: &dyn Fn(&str) -> String| {
        let seen = RefCell::new(Vec::new());
        (
            translate_into(
                message,
                Format::Text,
                Some(target),
                &|it: &PendingSentence| {
                    seen.borrow_mut().push(it.text.clone());
                    Translated {
                        text: model(&it.text),
                        links: Vec::new(),
                    }
                },
            )
            .0,
            seen.into_inner(),
        )
    };
    let message = "{n, plural, =0 {no # file} one {# file} other {# files}}";
    let polish = |text: &str| match text {
        "1 file" => "1 plik".to_owned(),
        "2 files" => "2 pliki".into(),
        "5 files" => "5 plików".into(),
        other => other.replace("file", "plik"),
    };
    let (found, seen) = into(message, "pl", &polish);
    assert_eq!(
        found,
        "{n, plural, =0 {no # plik} one {# plik} few {# pliki} many {# plików} other {# pliks}}"
    );
    assert_eq!(
        seen,
        ["no 0 file", "1 file", "2 files", "5 files", "# files"]
    );
    let (_, seen) = into(message, "ar", &str::to_owned);
    assert_eq!(
        seen[1..],
        [
            "1 file",
            "0 files",
            "2 files",
            "3 files",
            "11 files",
            "100 files"
        ]
    );
    let (_, seen) = into(
        "{n, selectordinal, one {#st of 9} other {#th}}",
        "en",
        &str::to_owned,
    );
    assert_eq!(seen, ["#st of 9", "2th", "3th", "4th"]);
    let (_, seen) = into(
        "{n, plural, offset:1 other {# files}}",
        "de",
        &str::to_owned,
    );
    assert_eq!(seen, ["# files", "# files"]);
    // A number that is lost, written as a word, doubled or another.
    for lost in ["dwa pliki", "pliki", "2 2 pliki", "3 pliki", "22 pliki", ""] {
        let (found, seen) = into("{n, plural, other {# files}}", "pl", &|text: &str| {
            if text.contains('2') {
                lost.into()
            } else {
                polish(text)
            }
        });
        let few = found
            .split_once("few {")
            .unwrap()
            .1
            .split_once('}')
            .unwrap()
            .0;
        assert_eq!(few.matches('#').count(), 1, "{found}");
        assert!(!few.contains(char::is_numeric), "{found}");
        assert!(seen.contains(&"files".to_owned()), "{seen:?}");
    }
}

#[test]
fn messages_stand_in_every_format_and_cost_no_further_round() {
    let message = "{n, plural, one {a < b} other {it}}";
    let (html, rounds) = translate_rounds(
        "<p>See {n, plural, one {a &lt; b} other {it}} now</p><script>{n, plural, other {it}}</script>",
        Format::Html,
        &upper,
    );
    assert_eq!(rounds, 1);
    assert_eq!(
        html,
        "<p>SEE {n, plural, one {A &lt; B} other {IT}} NOW</p><script>{n, plural, other {it}}</script>"
    );
    let markdown = translate(
        &format!("# {message}\n\n`{message}`\n"),
        Format::Markdown,
        &upper,
    );
    assert_eq!(
        markdown,
        format!("# {{n, plural, one {{A < B}} other {{IT}}}}\n\n`{message}`\n")
    );
}

#[test]
fn messages_of_several_lines_are_read_and_those_with_tags_stay() {
    let message = "Du hast {n, plural,\n  one {# Hund}\n  other {# Hunde}\n} heute.\nUnd mehr.\r\n";
    let expected =
        "DU HAST {n, plural,\n  one {# HUND}\n  other {# HUNDE}\n} HEUTE.\nUND MEHR.\r\n";
    for text in [
        message.to_owned(),
        message.replace('\n', "\r\n").replace("\r\r", "\r"),
    ] {
        let expected = if text.contains("plural,\r") {
            expected.replace('\n', "\r\n").replace("\r\r", "\r")
        } else {
            expected.to_owned()
        };
        assert_eq!(translate(&text, Format::Text, &upper), expected);
        assert_eq!(translate(&text, Format::Text, &identity), text);
    }
    let page = "<p>Du hast {n, plural, one {<b>einen</b> Hund} other {<b>#</b> Hunde. Ja}} da.</p>\n<p>Ja.</p>";
    let found = translate(page, Format::Html, &upper);
    assert_eq!(found, page.replace("<p>Ja.", "<p>JA."));
}

/// Angular's files have a message for each plural, with elements in its arms.
#[test]
fn elements_in_the_arms_of_a_message_of_xliff_stay() {
    let first = |text: &str| {
        format!("<xliff version=\"1.2\"><file><body><trans-unit id=\"a\"><source>{text}</source>")
    };
    let unit =
        |text: &str, target: &str| first(text) + target + "</trans-unit></body></file></xliff>\n";
    for (message, expected) in [
        (
            "{VAR_PLURAL, plural, =0 {just now} =1 {one minute ago} other {<x id=\"INTERPOLATION\" equiv-text=\"{{minutes}}\"/> minutes ago} }",
            "{VAR_PLURAL, plural, =0 {JUST NOW} =1 {ONE MINUTE AGO} other {<x id=\"INTERPOLATION\" equiv-text=\"{{minutes}}\"/> MINUTES AGO} }",
        ),
        (
            "{VAR_SELECT, select, a {R&amp;D <g id='1'>of <x id='2'/></g>} other {none &gt; <ph id=\"0\" equiv=\"X\"/>}}",
            "{VAR_SELECT, select, a {R&amp;D <g id='1'>OF <x id='2'/></g>} other {NONE &gt; <ph id=\"0\" equiv=\"X\"/>}}",
        ),
        (
            "{VAR_PLURAL, plural, other {{VAR_SELECT, select, other {駅 <x id=\"I\"/> abc}}}}",
            "{VAR_PLURAL, plural, other {{VAR_SELECT, select, other {駅 <x id=\"I\"/> ABC}}}}",
        ),
    ] {
        let target = format!("<target state=\"needs-review-translation\">{expected}</target>");
        assert_eq!(
            translate(&unit(message, ""), Format::Xliff, &upper),
            unit(message, &target)
        );
        let source = unit(message, "");
        let same = format!("<target state=\"needs-review-translation\">{message}</target>");
        assert_eq!(
            translate(&source, Format::Xliff, &identity),
            unit(message, &same)
        );
        // A translation has signs that would be markup.
        let signs = |it: &PendingSentence| Translated {
            text: it.text.clone() + " < & >",
            links: vec![],
        };
        let found = translate(&source, Format::Xliff, &signs);
        let target = found.split("<target").nth(1).unwrap().to_owned();
        assert!(
            target.contains(" &lt; &amp; &gt;") && !target.contains(" < "),
            "{target}"
        );
        let tags = |text: &str| text.matches("<x ").count() + text.matches("<ph ").count();
        assert_eq!(tags(&target), tags(message), "{target}");
    }
    // A text that looks like a tag is not one, and such a message stays.
    for message in [
        "{n, plural, other {&lt;b&gt; <x id='1'/>}}",
        "{n, plural, other {&nbsp; <x id='1'/> a}}",
    ] {
        let source = unit(message, "");
        assert_eq!(translate(&source, Format::Xliff, &upper), source);
    }
}

#[test]
fn deep_messages_end() {
    let text = "{n, plural, other {a ".repeat(20_000) + &"}}".repeat(20_000);
    let document = Document::parse(&text, Format::Text, None, &|_| true);
    assert!(document.pending().len() < 20);
}

/// `MESSAGES_OF=lines.txt MESSAGES_TO=others.txt cargo test --release -p burnformer-documents
/// --test it messages_of -- --ignored`
#[test]
#[ignore = "reads a file"]
fn messages_of_a_file_in_capitals() {
    let name = |key: &str| std::env::var(key).expect("MESSAGES_OF and MESSAGES_TO name files");
    let text = std::fs::read_to_string(name("MESSAGES_OF")).unwrap();
    std::fs::write(name("MESSAGES_TO"), translate(&text, Format::Text, &upper)).unwrap();
}
