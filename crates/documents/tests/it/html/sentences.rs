//! The borders of sentences and blocks.

use super::*;

/// Models do this with a menu in one sentence, and with a word that the other language omits.
#[test]
fn sentences_are_split_where_an_element_would_lose_its_words() {
    let links = [("very", "ja"), ("good", "gut")];
    let pieces = [
        ("very the good", "ja gut", &links[..]),
        ("very", "sehr", &[]),
        ("the", "das", &[]),
        ("good", "gut", &[]),
    ];
    assert_eq!(
        by_table("<p>very <b>the</b> good</p>", &pieces),
        "<p>sehr <b>das</b> gut</p>"
    );
    let page = "<p>See <a href=x>this</a> or <a href=y>that</a>. End.</p>";
    let table = [
        (
            "See this or that.",
            "Schau jene.",
            &[("See", "Schau"), ("that", "jene")][..],
        ),
        ("See", "Schau", &[]),
        ("this", "diese", &[]),
        (
            "or that.",
            "oder jene.",
            &[("or", "oder"), ("that", "jene")],
        ),
        ("End.", "Ende.", &[]),
    ];
    assert_eq!(
        by_table(page, &table),
        "<p>Schau <a href=x>diese</a> oder <a href=y>jene</a>. Ende.</p>"
    );
}

#[test]
fn items_of_a_menu_are_sentences() {
    let says = |page: &str| {
        let document = Document::parse(page, Format::Html, Some("de"), &|_| true);
        document
            .pending()
            .into_iter()
            .map(|sentence| sentence.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(says("<p><a>Ja</a> <a>Nein</a></p>"), ["Ja", "Nein"]);
    assert_eq!(
        says("<nav><A href=x>Start</A><a href=y>Über uns</a></nav>"),
        ["Start", "Über uns"]
    );
    assert_eq!(
        says("<p><a>Startseite</a> | <b>Kontakt</b></p>"),
        ["Startseite", "Kontakt"]
    );
    assert_eq!(
        says("Datei · Öffnen • Neu › Leer"),
        ["Datei", "Öffnen", "Neu", "Leer"]
    );
    assert_eq!(says("<a>Hier</a> und <a>dort</a>"), ["Hier und dort"]);
    assert_eq!(says("<b>Ja</b> <b>Nein</b>"), ["Ja Nein"]);
}

#[test]
fn the_stop_of_an_abbreviation_is_in_its_element() {
    for short in ["e.g.", "z.B.", "U.S."] {
        let page = format!("<p><b>{short} Ann</b> came</p>");
        let links = [("came", "came"), ("Ann", "Ann"), (short, short)];
        let sentences = [format!("{short} Ann came"), format!("came Ann {short} x")];
        let found = by_table(&page, &[(&sentences[0], &sentences[1], &links)]);
        assert_eq!(found, format!("<p>came <b>Ann {short}</b> x</p>"));
    }
}

#[test]
fn the_target_language_decides_about_the_space_between_sentences() {
    assert_eq!(
        html("<p>你好。世界。</p>", &|_: &PendingSentence| {
            Translated {
                text: "Word.".into(),
                links: Vec::new(),
            }
        }),
        "<p>Word. Word.</p>"
    );
    assert_eq!(
        html("<p>Hello. World.</p>", &|_: &PendingSentence| Translated {
            text: "词。".into(),
            links: Vec::new(),
        }),
        "<p>词。词。</p>"
    );
}

#[test]
fn a_line_break_divides_no_sentence_and_two_divide_paragraphs() {
    let page = "<p>This is a<br>\n long sentence. <br>Here is <b>one <br/></b>more. And<br> <br/>this.<br></p>";
    assert_eq!(html(page, &identity), page);
    let document = Document::parse(page, Format::Html, None, &|_| true);
    let texts: Vec<String> = document
        .pending()
        .into_iter()
        .map(|sentence| sentence.text)
        .collect();
    assert_eq!(
        texts,
        [
            "This is a long sentence.",
            "Here is one more.",
            "And",
            "this."
        ]
    );
    let links = [("eine", "one"), ("lange", "long"), ("Zeile", "line")];
    assert_eq!(
        by_table(
            "eine lange<br>Zeile",
            &[("eine lange Zeile", "one long line", &links)]
        ),
        "one long<br>line"
    );
}

#[test]
fn a_comment_alone_on_its_line_divides_text() {
    let says = |page: &str| {
        let document = Document::parse(page, Format::Html, Some("de"), &|_| true);
        document
            .pending()
            .into_iter()
            .map(|sentence| sentence.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        says("Ein Titel\n<!--more-->\nEin Text"),
        ["Ein Titel", "Ein Text"]
    );
    assert_eq!(
        says("一个标题\r\n  <!-- x -->  \r\n一段文字"),
        ["一个标题", "一段文字"]
    );
    assert_eq!(says("Ein langer\n<!-- x -->\nsatz."), ["Ein langer satz."]);
    assert_eq!(says("Ein <!-- x --> Text"), ["Ein Text"]);
}

#[test]
fn points_stay_before_the_bracket_or_quote_that_they_stood_before() {
    for (before, after) in [
        ("one <img>(two) three", "three <img>(two) one"),
        ("one<sup>1</sup> (two) three", "three (two) one<sup>1</sup>"),
        ("one <!-- c -->\"two\" three", "three <!-- c -->\"two\" one"),
        ("one <a id=x></a>«two» three", "three <a id=x></a>«two» one"),
        ("one <img>[(two)] three", "three <img>[(two)] one"),
        ("one (<img>two) three", "three (<img>two) one"),
    ] {
        assert_eq!(html(before, &identity), before);
        assert_eq!(html(before, &reverse), after);
    }
}

/// A browser shows a reading above its word, and a note mark is not part of the sentence.
#[test]
fn notes_readings_and_hidden_elements_are_no_part_of_a_sentence() {
    let hidden = [
        "<a href=\"#n\">[1]</a>",
        "<a href=\"#n\">[a]</a>",
        "<a href=\"#n\">[note 2]</a>",
        "<a href=\"#n\">↑</a>",
        "<a href=\"#n\">†</a>",
        "<sup>1</sup>",
        "<sup><a href=\"#n\">1</a></sup>",
        "<sup>[a]</sup>",
        "<svg><text>five six</text></svg>",
        "<video src=x><source src=y></video>",
        "<template></template>",
        "<script>five(six)</script>",
        "<rp>(</rp><rt>five six</rt><rp>)</rp>",
        "<i></i>",
        "<a id=x><i></i></a>",
        "<a href=x><img></a>",
    ];
    let says = |page: &str, format| {
        let document = Document::parse(page, format, Some("en"), &|_| true);
        document
            .pending()
            .into_iter()
            .map(|sentence| sentence.text)
            .collect::<Vec<_>>()
    };
    for (mark, (before, after)) in hidden.iter().flat_map(|mark| {
        [(" ", " "), ("", " "), (" ", "")]
            .into_iter()
            .map(move |spaces| (mark, spaces))
    }) {
        let text = format!("one two{before}{mark}{after}three four.");
        assert_eq!(says(&text, Format::Html), ["one two three four."], "{text}");
        let page = html(&text, &upper);
        assert_eq!(
            page,
            text.replace("one two", "ONE TWO")
                .replace("three four", "THREE FOUR")
        );
        let kept: String = html(&text, &reverse).split_whitespace().collect();
        assert!(
            kept.contains(&mark.split_whitespace().collect::<String>()),
            "{kept}"
        );
        if !mark.contains("five") {
            assert_eq!(
                says(&text, Format::Markdown),
                ["one two three four."],
                "{text}"
            );
        }
    }
    // Words in links, powers and readings without end tags.
    assert_eq!(
        says("in <a>2024</a> and <a>[more]</a>", Format::Html),
        ["in 2024 and [more]"]
    );
    let ruby = "one <ruby>two<rt>five<rt>six</ruby> three";
    assert_eq!(says(ruby, Format::Html), ["one two three"]);
    assert_eq!(
        html(ruby, &upper),
        "ONE <ruby>TWO<rt>five<rt>six</ruby> THREE"
    );
    let link = "one two [[1]](#n) three[*](#m).";
    assert_eq!(says(link, Format::Markdown), ["one two three."]);
    assert_eq!(
        translate(link, Format::Markdown, &upper),
        "ONE TWO [[1]](#n) THREE[*](#m)."
    );
}

/// Readers without scripts see `noscript`, scripts copy `template`, and old programs show what is
/// in an element that they do not know.
#[test]
fn the_words_of_fallbacks_are_translated() {
    let names = [
        "noscript",
        "template",
        "object data=a",
        "canvas",
        "audio src=a",
        "video controls",
    ];
    for start in names {
        let name = start.split(' ').next().unwrap();
        for (before, after) in [
            ("one dog", "ONE DOG"),
            ("<p>one <b>dog</b></p>", "<p>ONE <b>DOG</b></p>"),
            ("<img alt='one dog'>", "<img alt='ONE DOG'>"),
            (
                "<script>one()</script><i>one dog</i>",
                "<script>one()</script><i>ONE DOG</i>",
            ),
            (
                "<source src=b><track label=\"one dog\">",
                "<source src=b><track label=\"ONE DOG\">",
            ),
            ("<style>one {}</style>", "<style>one {}</style>"),
            ("<p translate=no>one dog</p>", "<p translate=no>one dog</p>"),
        ] {
            let page = |inside: &str, [two, three]: [&str; 2]| {
                format!("<body><div>{two}</div><{start}>{inside}</{name}><p>{three}</p></body>")
            };
            let found = html(&page(before, ["two", "three"]), &upper);
            assert_eq!(found, page(after, ["TWO", "THREE"]));
            let kept =
                page(before, ["two", "three"]).replacen('<', "<div translate=no><", 1) + "</div>";
            assert_eq!(html(&kept, &upper), kept);
        }
    }
}
