//! HTML documents, with translators that behave like models.

use crate::common::{Model, identity, reverse, translate, translate_rounds, unlinked, upper};
use burnformer_documents::{Document, Format, Link, PendingSentence, Translated};

fn html(page: &str, model: Model<'_>) -> String {
    translate(page, Format::Html, model)
}

/// A sentence, its translation, and pairs of linked words.
type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

/// Translates `page` sentence by sentence by a table.
fn by_table(page: &str, table: &[Row<'_>]) -> String {
    let model = |sentence: &PendingSentence| {
        let found = table.iter().find(|(source, _, _)| *source == sentence.text);
        let (source, target, pairs) =
            found.unwrap_or_else(|| panic!("asked for {:?}", sentence.text));
        Translated {
            text: (*target).into(),
            links: pairs
                .iter()
                .map(|(from, to): &(&str, &str)| {
                    let from_at = source.find(from).unwrap();
                    let to_at = target.find(to).unwrap();
                    Link {
                        source: from_at..from_at + from.len(),
                        target: to_at..to_at + to.len(),
                    }
                })
                .collect(),
        }
    };
    html(page, &model)
}

#[test]
fn a_page_comes_back_byte_for_byte_if_nothing_changes() {
    let page = include_str!("../fixtures/page.html");
    assert_eq!(html(page, &identity), page);
}

#[test]
fn text_is_translated_and_nothing_else() {
    let page = include_str!("../fixtures/page.html");
    assert_eq!(
        html(page, &upper),
        include_str!("../fixtures/page.upper.html")
    );
}

#[test]
fn tags_stand_around_the_words_that_are_aligned_to_theirs() {
    let page = "<p>The <b>big</b> <a href=x>red house</a>, (<i>old</i>).</p>";
    let links = [
        ("The", "La"),
        ("big", "grande"),
        ("red", "rouge"),
        ("house", "maison"),
        ("old", "vieille"),
    ];
    assert_eq!(
        by_table(
            page,
            &[(
                "The big red house, (old).",
                "La grande maison rouge, (vieille).",
                &links
            )]
        ),
        "<p>La <b>grande</b> <a href=x>maison rouge</a>, (<i>vieille</i>).</p>"
    );
}

#[test]
fn punctuation_in_an_element_stays_in_it_and_outside_stays_outside() {
    let links = [("Note", "Remarque"), ("read", "lisez"), ("this", "ceci")];
    let table: [Row<'_>; 1] = [("Note: read this.", "Remarque : lisez ceci.", &links)];
    assert_eq!(
        by_table("<b>Note:</b> read this.", &table),
        "<b>Remarque :</b> lisez ceci."
    );
    assert_eq!(
        by_table("<b>Note</b>: read this.", &table),
        "<b>Remarque</b> : lisez ceci."
    );
}

#[test]
fn an_element_gets_the_longest_run_of_its_words() {
    let links = [
        ("not", "ne"),
        ("not", "pas du tout"),
        ("do", "veux"),
        ("I", "Je"),
    ];
    assert_eq!(
        by_table(
            "I do <b>not</b>.",
            &[("I do not.", "Je ne veux pas du tout.", &links)]
        ),
        "Je ne veux <b>pas du tout</b>."
    );
}

#[test]
fn children_stay_in_their_parents_when_words_are_scattered() {
    let page = "<a>one <b>two</b></a> three";
    let links = [("one", "eins"), ("two", "zwei"), ("three", "drei")];
    assert_eq!(
        by_table(page, &[("one two three", "zwei drei eins", &links)]),
        // The longest run of the link, the first of equals, is "zwei".
        "<a><b>zwei</b></a> drei eins"
    );
}

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
fn without_links_places_are_estimated_from_the_order_of_words() {
    assert_eq!(
        html("a <b>b</b> c <i>d e</i>.", &|sentence: &PendingSentence| {
            unlinked(upper(sentence))
        }),
        "A <b>B</b> C <i>D E</i>."
    );
}

#[test]
fn a_block_in_one_element_needs_no_links() {
    let needs = |page: &str| {
        let document = Document::parse(page, Format::Html, None, &|_| true);
        document
            .pending()
            .iter()
            .map(|sentence| sentence.links)
            .collect::<Vec<_>>()
    };
    assert_eq!(needs("<p><b>All of it.</b></p>"), [false]);
    assert_eq!(
        needs("<p><b>One sentence.</b> <i>Another one.</i></p>"),
        [false, false]
    );
    assert_eq!(needs("<p>(<b>Bracketed</b>).</p>"), [false]);
    assert_eq!(needs("<p>A <b>part</b>. None here.</p>"), [true, false]);
}

#[test]
fn an_image_stays_beside_its_word() {
    let links = [("one", "eins"), ("two", "zwei"), ("three", "drei")];
    let table: [Row<'_>; 1] = [("one two three.", "drei zwei eins.", &links)];
    assert_eq!(
        by_table("one <img> two three.", &table),
        "drei zwei eins <img>."
    );
    assert_eq!(
        by_table("one<img> two three.", &table),
        "drei zwei eins<img>."
    );
    assert_eq!(
        by_table("one <img>two three.", &table),
        "drei <img>zwei eins."
    );
    assert_eq!(
        by_table("one two three<img>.", &table),
        "drei<img> zwei eins."
    );
}

#[test]
fn images_in_a_row_keep_the_spaces_between_them() {
    let page = "<p>one <img> <img> <b>two</b> <img> <img>.</p>";
    assert_eq!(html(page, &identity), page);
}

#[test]
fn marks_of_notes_are_kept_from_the_model() {
    let page = "<p>A word.<sup id=a><a href=#b>[1]</a></sup> Next word.</p>";
    let expected = "<p>A WORD.<sup id=a><a href=#b>[1]</a></sup> NEXT WORD.</p>";
    assert_eq!(
        html(page, &|sentence: &PendingSentence| {
            assert!(!sentence.text.contains('1'));
            upper(sentence)
        }),
        expected
    );
}

#[test]
fn code_that_the_model_keeps_takes_one_round_and_other_code_two() {
    let page = "<p>Call <code class=c>run</code> now.</p>";
    assert_eq!(translate_rounds(page, Format::Html, &reverse).1, 1);
    let (translated, rounds) = translate_rounds(page, Format::Html, &upper);
    assert_eq!(
        (translated.as_str(), rounds),
        ("<p>CALL <code class=c>run</code> NOW.</p>", 2)
    );
}

#[test]
fn code_stays_in_the_element_that_it_was_in() {
    let links = [
        ("the", "das"),
        ("function", "Funktion"),
        ("now", "jetzt"),
        ("run", "run"),
    ];
    let page = "<p>the <a href=x>function <code>run</code></a> now</p>";
    assert_eq!(
        by_table(
            page,
            &[("the function run now", "run jetzt das Funktion", &links)]
        ),
        "<p>jetzt das <a href=x><code>run</code> Funktion</a></p>"
    );
}

#[test]
fn a_translation_cannot_bring_markup_in() {
    assert_eq!(
        html("<p>x</p>", &|_: &PendingSentence| Translated {
            text: "<b>&amp;</b> & <".into(),
            links: Vec::new(),
        }),
        "<p>&lt;b&gt;&amp;amp;&lt;/b&gt; &amp; &lt;</p>"
    );
}

#[test]
fn characters_are_written_as_the_document_writes_them() {
    assert_eq!(
        html(
            "<p>Caf&eacute; a < b & c&nbsp;d</p>",
            &|_: &PendingSentence| Translated {
                text: "é < ü & \u{a0}".into(),
                links: Vec::new(),
            }
        ),
        "<p>&eacute; < ü &</p>"
    );
}

/// A document may write a sign in two ways; each block and each attribute keeps its own.
#[test]
fn ampersands_are_written_as_in_their_block() {
    let ways = [
        "the & x",
        "the &amp; x",
        "the &",
        "&amp; the",
        "&amp; the &amp; x",
    ];
    for [one, other, next] in ways.iter().flat_map(|one| {
        let pairs = ways
            .iter()
            .flat_map(|other| ways.map(|next| [*other, next]));
        pairs
            .map(|[other, next]| [*one, other, next])
            .collect::<Vec<_>>()
    }) {
        let page = format!("<p>{one} <img alt='{other}'> x</p>\n<b title=\"{next}\">{other}</b>");
        let expected = page.replace("the", "THE").replace('x', "X");
        assert_eq!(html(&page, &upper), expected);
        let json = |text: &str| format!("{{\"a\": {}}}", serde_json::to_string(text).unwrap());
        assert_eq!(
            translate(&json(&page), Format::Json, &upper),
            json(&expected)
        );
    }
}

/// Files of XML have an end tag for elements that are one tag.
#[test]
fn end_tags_of_empty_elements_stay_after_their_start() {
    let links = [("Haus", "house"), ("alt", "old")];
    for tag in [
        "br",
        "img src='x'",
        "wbr",
        "input value='x'",
        "br class='y'",
    ] {
        let element = format!("<{tag}></{}>", tag.split(' ').next().unwrap());
        for [left, right] in [["", ""], [" ", ""], ["", " "], [" ", " "]] {
            let page = format!("<p>Haus{left}{element}{right}alt</p>");
            assert_eq!(html(&page, &identity), page);
            let expected = page.replace("Haus", "HAUS").replace("alt", "ALT");
            assert_eq!(html(&page, &upper), expected);
            if !(left.is_empty() && right.is_empty()) {
                let moved = by_table(&page, &[("Haus alt", "old house", &links)]);
                assert!(moved.contains(&element), "{moved}");
            }
        }
    }
    let page = "<p>One<br></br><br></br>two <b>three<br></br></b>four</p>";
    assert_eq!(html(page, &identity), page);
    let document = Document::parse(page, Format::Html, None, &|_| true);
    let texts: Vec<String> = document
        .pending()
        .into_iter()
        .map(|sentence| sentence.text)
        .collect();
    assert_eq!(texts, ["One", "two three four"]);
}

/// `#{x}` is a placeholder of Ruby, and `#<b>{x}</b>` is not.
#[test]
fn a_sign_before_a_tag_is_not_part_of_the_next_placeholder() {
    for sign in ["#", "$", "%", "100%", "a$"] {
        for placeholder in ["{user_name}", "{0}", "{n, number}", "{{x}}"] {
            for page in [
                format!("see {sign}<b>{placeholder}</b> now"),
                format!("see <b>it {sign}</b>{placeholder} now"),
                format!("see <i>{sign}</i>{placeholder}, <b>it</b>"),
            ] {
                let found = html(&page, &upper);
                assert!(found.contains(placeholder), "{page} -> {found}");
                assert!(found.contains("SEE") && found.contains("IT") == page.contains("it"));
                assert_eq!(html(&page, &identity), page);
            }
        }
    }
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
fn sentences_get_a_space_where_the_target_has_spaces_and_lose_it_where_it_has_none() {
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
fn untranslatable_elements_and_their_exceptions_are_honoured() {
    let page = "<p>a <span class='x notranslate'>b c</span> d</p><p translate=no>e<p>f</p>\
        <div translate=no>g <i translate=yes>h</i> i</div><pre translate=yes>j</pre>";
    assert_eq!(
        html(page, &upper),
        "<p>A <span class='x notranslate'>b c</span> D</p><p translate=no>e<p>F</p>\
        <div translate=no>g <i translate=yes>H</i> i</div><pre translate=yes>J</pre>"
    );
}

#[test]
fn an_unclosed_element_swallows_no_more_than_in_a_browser() {
    assert_eq!(
        html("<p>a <code>b</p><p>c</p>", &upper),
        "<p>A <code>B</p><p>C</p>"
    );
    assert_eq!(html("a<script>b<p>c</p>", &upper), "A<script>b<p>c</p>");
    assert_eq!(html("<p>a <b>b<p>c", &upper), "<p>A <b>B<p>C");
    assert_eq!(html("a <div class=\"x", &upper), "A <div class=\"x");
}

#[test]
fn text_of_forms_stays_and_titles_are_translated() {
    assert_eq!(
        html("<textarea>a</textarea><title>b &lt;i&gt;</title>", &upper),
        "<textarea>a</textarea><title>B &lt;i&gt;</title>"
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
fn soft_hyphens_are_kept_from_the_model() {
    assert_eq!(
        html("<p>Donau&shy;dampf\u{ad}schiff</p>", &upper),
        "<p>DONAUDAMPFSCHIFF</p>"
    );
}

#[test]
fn without_links_a_second_round_still_knows_the_order_of_words() {
    assert_eq!(
        html(
            "Dear <b>{name}</b>, see <a href='/x'>this page</a>.",
            &|sentence: &PendingSentence| unlinked(upper(sentence))
        ),
        "DEAR <b>{name}</b>, SEE <a href='/x'>THIS PAGE</a>."
    );
}

/// The attributes that browsers translate, by the HTML standard.
#[test]
fn attributes_that_readers_see_are_translated() {
    for (before, after) in [
        (
            "<img src=a.png alt='a red house'>",
            "<img src=a.png alt='A RED HOUSE'>",
        ),
        (
            "<p title=\"a &amp; b\">c</p>",
            "<p title=\"A &amp; B\">C</p>",
        ),
        (
            "x <a title=\"b\">c</a> <img alt=d> <input placeholder=\"e &lt; f\">",
            "X <a title=\"B\">C</a> <img alt=\"D\"> <input placeholder=\"E &lt; F\">",
        ),
        (
            "<input type=submit value=Go>",
            "<input type=submit value=\"GO\">",
        ),
        (
            "<meta name=description content='x y'>",
            "<meta name=description content='X Y'>",
        ),
        (
            "<meta property=\"og:title\" content=\"x\">",
            "<meta property=\"og:title\" content=\"X\">",
        ),
        (
            "<option label=\"x\">y</option>",
            "<option label=\"X\">Y</option>",
        ),
        (
            "<textarea placeholder=\"x\">y</textarea>",
            "<textarea placeholder=\"X\">y</textarea>",
        ),
        (
            "<p>a <code title='b'>c</code></p>",
            "<p>A <code title='B'>c</code></p>",
        ),
        (
            "<p aria-label='a'><img alt='b'></p>",
            "<p aria-label='A'><img alt='B'></p>",
        ),
    ] {
        assert_eq!(html(before, &upper), after);
        assert_eq!(html(before, &identity), before);
    }
}

#[test]
fn other_attributes_stay() {
    for page in [
        "<img alt=\"\">",
        "<img alt=\"IMG_1.jpg\">",
        "<input value=x>",
        "<meta name=viewport content=\"width=device-width\">",
        "<p translate=no title=x>y</p>",
        "<link title=\"x\">",
        "<img src=\"x\" class=\"y z\" alt='{{ w }}'>",
        "<a title=x\u{fdd0}0\u{fdd0}></a>",
    ] {
        assert_eq!(html(page, &upper), page);
    }
}

/// The translation swaps the images; each keeps its own text.
#[test]
fn an_attribute_moves_with_its_tag() {
    let page = "<p><b title=\"first\">one</b> <b title=\"second\">two</b></p>";
    assert_eq!(
        html(page, &reverse),
        "<p><b title=\"second\">two</b> <b title=\"first\">one</b></p>"
    );
}

#[test]
fn tags_of_templates_are_no_markup() {
    for page in [
        "<p>x {% if a < b %} y</p> &lt; z",
        "<p>x {% if a <b %} y</p> {% endif %}",
        "<p>x <%= name %> y &lt; z</p>",
        "<p>x {{ a && b }} y &amp; z</p>",
        "<p>x <?php if ($a > 3) { ?> y <?= $b ?> z</p>",
        "<p>x {# <b> #} y</p>",
        "<div {% if a > b %}class=\"c\"{% endif %}>x</div>",
        "<% @posts.each do |p| %>\n<p>x</p>\n<% end %>",
    ] {
        assert_eq!(html(page, &identity), page);
        let lower = |part: &str| part.to_lowercase();
        let upper = html(page, &upper);
        assert_eq!(lower(&upper), lower(page));
        for tag in [
            "{% if a < b %}",
            "{% if a <b %}",
            "<%= name %>",
            "{{ a && b }}",
            "<?php if ($a > 3) { ?>",
            "{# <b> #}",
        ] {
            assert_eq!(upper.contains(tag), page.contains(tag), "{upper}");
        }
        assert!(upper.contains('X') && !upper.contains(" y"), "{upper}");
    }
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

/// Readers without scripts see `noscript`, scripts copy `template`, and old programs show what is in
/// an element that they do not know.
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
