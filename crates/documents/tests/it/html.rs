//! HTML documents, with translators that behave like models.

mod attributes;
mod sentences;
mod tags;

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
fn soft_hyphens_are_kept_from_the_model() {
    assert_eq!(
        html("<p>Donau&shy;dampf\u{ad}schiff</p>", &upper),
        "<p>DONAUDAMPFSCHIFF</p>"
    );
}
