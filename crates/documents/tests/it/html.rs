//! HTML documents, with translators that do what models do.

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
        let link = |(from, to): &(&str, &str)| {
            let (from_at, to_at) = (source.find(from).unwrap(), target.find(to).unwrap());
            Link { source: from_at..from_at + from.len(), target: to_at..to_at + to.len() }
        };
        Translated { text: (*target).into(), links: pairs.iter().map(link).collect() }
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
    assert_eq!(html(page, &upper), include_str!("../fixtures/page.upper.html"));
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
            &[("The big red house, (old).", "La grande maison rouge, (vieille).", &links)]
        ),
        "<p>La <b>grande</b> <a href=x>maison rouge</a>, (<i>vieille</i>).</p>"
    );
}

#[test]
fn punctuation_in_an_element_stays_in_it_and_outside_stays_outside() {
    let links = [("Note", "Remarque"), ("read", "lisez"), ("this", "ceci")];
    let table: [Row<'_>; 1] = [("Note: read this.", "Remarque : lisez ceci.", &links)];
    assert_eq!(by_table("<b>Note:</b> read this.", &table), "<b>Remarque :</b> lisez ceci.");
    assert_eq!(by_table("<b>Note</b>: read this.", &table), "<b>Remarque</b> : lisez ceci.");
}

#[test]
fn an_element_gets_the_longest_run_of_its_words() {
    let links = [("not", "ne"), ("not", "pas du tout"), ("do", "veux"), ("I", "Je")];
    assert_eq!(
        by_table("I do <b>not</b>.", &[("I do not.", "Je ne veux pas du tout.", &links)]),
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
fn an_element_whose_words_are_not_translated_stays_empty_and_stays() {
    let links = [("very", "ja"), ("good", "gut")];
    assert_eq!(
        by_table("<p>very <b>the</b> good</p>", &[("very the good", "ja gut", &links)]),
        "<p>ja <b></b>gut</p>"
    );
}

#[test]
fn without_links_places_are_estimated_from_the_order_of_words() {
    let model = |sentence: &PendingSentence| unlinked(upper(sentence));
    assert_eq!(html("a <b>b</b> c <i>d e</i>.", &model), "A <b>B</b> C <i>D E</i>.");
}

#[test]
fn a_block_in_one_element_needs_no_links() {
    let needs = |page: &str| {
        let document = Document::parse(page, Format::Html, None, &|_| true);
        document.pending().iter().map(|sentence| sentence.links).collect::<Vec<_>>()
    };
    assert_eq!(needs("<p><b>All of it.</b></p>"), [false]);
    assert_eq!(needs("<p><b>One sentence.</b> <i>Another one.</i></p>"), [false, false]);
    assert_eq!(needs("<p>(<b>Bracketed</b>).</p>"), [false]);
    assert_eq!(needs("<p>A <b>part</b>. None here.</p>"), [true, false]);
}

#[test]
fn an_image_stays_beside_its_word() {
    let links = [("one", "eins"), ("two", "zwei"), ("three", "drei")];
    let table: [Row<'_>; 1] = [("one two three.", "drei zwei eins.", &links)];
    assert_eq!(by_table("one <img> two three.", &table), "drei zwei eins <img>.");
    assert_eq!(by_table("one<img> two three.", &table), "drei zwei eins<img>.");
    assert_eq!(by_table("one <img>two three.", &table), "drei <img>zwei eins.");
    assert_eq!(by_table("one two three<img>.", &table), "drei<img> zwei eins.");
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
    let model = |sentence: &PendingSentence| {
        assert!(!sentence.text.contains('1'));
        upper(sentence)
    };
    assert_eq!(html(page, &model), expected);
}

#[test]
fn code_that_the_model_keeps_takes_one_round_and_other_code_two() {
    let page = "<p>Call <code class=c>run</code> now.</p>";
    assert_eq!(translate_rounds(page, Format::Html, &reverse).1, 1);
    let (translated, rounds) = translate_rounds(page, Format::Html, &upper);
    assert_eq!((translated.as_str(), rounds), ("<p>CALL <code class=c>run</code> NOW.</p>", 2));
}

#[test]
fn code_stays_in_the_element_that_it_was_in() {
    let links = [("the", "das"), ("function", "Funktion"), ("now", "jetzt"), ("run", "run")];
    let page = "<p>the <a href=x>function <code>run</code></a> now</p>";
    assert_eq!(
        by_table(page, &[("the function run now", "run jetzt das Funktion", &links)]),
        "<p>jetzt das <a href=x><code>run</code> Funktion</a></p>"
    );
}

#[test]
fn a_translation_cannot_bring_markup_in() {
    let model =
        |_: &PendingSentence| Translated { text: "<b>&amp;</b> & <".into(), links: Vec::new() };
    assert_eq!(html("<p>x</p>", &model), "<p>&lt;b&gt;&amp;amp;&lt;/b&gt; &amp; &lt;</p>");
}

#[test]
fn characters_are_written_as_the_document_writes_them() {
    let model =
        |_: &PendingSentence| Translated { text: "é < ü & \u{a0}".into(), links: Vec::new() };
    assert_eq!(html("<p>Caf&eacute; a < b & c&nbsp;d</p>", &model), "<p>&eacute; < ü &amp;</p>");
}

#[test]
fn sentences_get_a_space_where_the_target_has_spaces_and_lose_it_where_it_has_none() {
    let model = |_: &PendingSentence| Translated { text: "Word.".into(), links: Vec::new() };
    assert_eq!(html("<p>你好。世界。</p>", &model), "<p>Word. Word.</p>");
    let model = |_: &PendingSentence| Translated { text: "词。".into(), links: Vec::new() };
    assert_eq!(html("<p>Hello. World.</p>", &model), "<p>词。词。</p>");
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
fn what_is_not_closed_swallows_no_more_than_in_a_browser() {
    assert_eq!(html("<p>a <code>b</p><p>c</p>", &upper), "<p>A <code>B</p><p>C</p>");
    assert_eq!(html("a<script>b<p>c</p>", &upper), "A<script>b<p>c</p>");
    assert_eq!(html("<p>a <b>b<p>c", &upper), "<p>A <b>B<p>C");
    assert_eq!(html("a <div class=\"x", &upper), "A <div class=\"x");
}

#[test]
fn text_of_forms_stays_and_titles_are_translated() {
    assert_eq!(
        html("<textarea>a</textarea><title>b &lt;i&gt;</title>", &upper),
        "<textarea>a</textarea><title>B &lt;I&gt;</title>"
    );
}

#[test]
fn a_line_break_divides_no_sentence_and_two_divide_paragraphs() {
    let page = "<p>This is a<br>\n long sentence. <br>Here is <b>one <br/></b>more. And<br> <br/>this.<br></p>";
    assert_eq!(html(page, &identity), page);
    let document = Document::parse(page, Format::Html, None, &|_| true);
    let texts: Vec<String> = document.pending().into_iter().map(|sentence| sentence.text).collect();
    assert_eq!(texts, ["This is a long sentence.", "Here is one more.", "And", "this."]);
    let links = [("eine", "one"), ("lange", "long"), ("Zeile", "line")];
    assert_eq!(
        by_table("eine lange<br>Zeile", &[("eine lange Zeile", "one long line", &links)]),
        "one long<br>line"
    );
}

#[test]
fn soft_hyphens_are_kept_from_the_model() {
    assert_eq!(html("<p>Donau&shy;dampf\u{ad}schiff</p>", &upper), "<p>DONAUDAMPFSCHIFF</p>");
}

#[test]
fn without_links_a_second_round_still_knows_the_order_of_words() {
    let model = |sentence: &PendingSentence| unlinked(upper(sentence));
    assert_eq!(
        html("Dear <b>{name}</b>, see <a href='/x'>this page</a>.", &model),
        "DEAR <b>{name}</b>, SEE <a href='/x'>THIS PAGE</a>."
    );
}
