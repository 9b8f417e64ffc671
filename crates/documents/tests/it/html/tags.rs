//! The place of tags, images and code in a translation.

use super::*;

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
