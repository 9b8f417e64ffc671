//! Plain text, and what holds in every format.

use crate::common::{identity, reverse, translate, translate_rounds, upper};
use burnformer_documents::{Document, Format, Link, PendingSentence, Translated};

#[test]
fn lines_indentation_and_marks_of_lists_stay() {
    let text =
        "Title\r\n\r\n  - one item\r\n  1. two items \r\n> quoted text\t and a cell\n\n\n# end";
    let expected =
        "TITLE\r\n\r\n  - ONE ITEM\r\n  1. TWO ITEMS \r\n> QUOTED TEXT\t AND A CELL\n\n\n# END";
    assert_eq!(translate(text, Format::Text, &upper), expected);
    assert_eq!(translate(text, Format::Text, &identity), text);
}

#[test]
fn an_empty_document_has_nothing_pending() {
    for text in ["", "\n", " \t\r\n", "12 + 3 = 15\n", "***"] {
        for format in Format::all() {
            let document = Document::parse(text, format, None, &|_| true);
            assert_eq!(document.pending(), []);
            assert_eq!(document.finish(), text);
        }
    }
}

#[test]
fn protected_parts_survive_a_model_that_breaks_them() {
    let text = "Dear {name}, your 12,345 files in /usr/share/doc cost %s: see https://a.org/b?c=d (or a@b.org).";
    let (translated, rounds) = translate_rounds(text, Format::Text, &upper);
    assert_eq!(rounds, 2);
    assert_eq!(
        translated,
        "DEAR {name}, YOUR 12,345 FILES IN /usr/share/doc COST %s: SEE https://a.org/b?c=d (OR a@b.org)."
    );
}

#[test]
fn protected_parts_that_the_model_keeps_cost_no_second_round() {
    let text = "Dear {name}, see https://a.org in 2024.";
    assert_eq!(translate_rounds(text, Format::Text, &identity).1, 1);
}

#[test]
fn a_number_may_change_its_separators() {
    assert_eq!(
        translate_rounds("1,234.5 euros", Format::Text, &|_: &PendingSentence| {
            Translated {
                text: "1.234,5 Euro".into(),
                links: Vec::new(),
            }
        }),
        ("1.234,5 Euro".into(), 1)
    );
}

#[test]
fn protected_parts_follow_the_words_beside_them() {
    assert_eq!(
        translate(
            "Hello {NAME} over there",
            Format::Text,
            &|sentence: &PendingSentence| {
                let Translated { text, links } = reverse(sentence);
                // The first round loses the placeholder.
                Translated {
                    text: text.replace("NAME", "XXXX"),
                    links,
                }
            }
        ),
        "there over Hello {NAME}"
    );
}

#[test]
fn symbols_survive_a_model_that_drops_them() {
    let model = |sentence: &PendingSentence| {
        let keep = |c: char| c.is_ascii();
        Translated {
            text: sentence.text.chars().filter(|&c| keep(c)).collect(),
            links: Vec::new(),
        }
    };
    for text in [
        "Copyright © 2024 by Ann.",
        "♪ la la ♪",
        "Well done 👩🏽‍🚀🇩🇪!",
        "Open File → New ☺",
        "Press 1️⃣ or #️⃣ or *⃣ now",
        "Look ‼️ here ⁉️ and 〰️ there",
        "In 🏴󠁧󠁢󠁥󠁮󠁧󠁿 and 🏴‍☠️ and ❤️‍🔥",
        "Sign ™️ ㊗️ ☑️ ♾️ 🕵️‍♂️ 👨‍👩‍👧‍👦 ok",
    ] {
        assert_eq!(translate(text, Format::Text, &model), text);
    }
}

#[test]
fn a_text_without_a_full_stop_gains_none() {
    let model = |text: &'static str| {
        move |_: &PendingSentence| Translated {
            text: text.into(),
            links: Vec::new(),
        }
    };
    let translated = |source, target| translate(source, Format::Text, &model(target));
    assert_eq!(translated("Haus", "house."), "house");
    assert_eq!(translated("\"Haus\"", "\"house.\""), "\"house\"");
    assert_eq!(translated("Name:", "name."), "name:");
    assert_eq!(translated("Ein Haus.", "A house."), "A house.");
    assert_eq!(translated("Haus ©", "house."), "house ©");
    assert_eq!(translated("Haus", "house..."), "house...");
    assert_eq!(translated("zum Beispiel", "e.g."), "e.g.");
    assert_eq!(
        translated("บ้านหลังใหญ่", "The house is big."),
        "The house is big."
    );
}

#[test]
fn sentences_that_do_not_fit_are_cut_and_nothing_is_lost() {
    let text = format!("He said, {} and left.", "that she came, and ".repeat(100));
    let mut document = Document::parse(&text, Format::Text, Some("en"), &|part| part.len() <= 60);
    let pending = document.pending();
    assert!(pending.len() > 30);
    assert!(pending.iter().all(|sentence| sentence.text.len() <= 60));
    document.accept(pending.iter().map(identity).collect());
    assert_eq!(document.finish(), text);
}

#[test]
fn a_document_may_be_finished_before_it_is_translated() {
    let text = "One. Two.";
    assert_eq!(
        Document::parse(text, Format::Text, None, &|_| true).finish(),
        text
    );
}

#[test]
#[should_panic(expected = "2 pending sentences")]
fn a_wrong_number_of_translations_is_refused() {
    let mut document = Document::parse("One. Two.", Format::Text, None, &|_| true);
    document.accept(vec![Translated::default()]);
}

#[test]
fn links_of_a_padded_translation_are_shifted_with_it() {
    let model = |_: &PendingSentence| Translated {
        text: " \n b a".into(),
        links: vec![
            Link {
                source: 0..1,
                target: 5..6,
            },
            Link {
                source: 2..3,
                target: 3..4,
            },
        ],
    };
    assert_eq!(translate("<i>x</i> y", Format::Html, &model), "b <i>a</i>");
}
