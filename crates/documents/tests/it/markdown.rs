//! Markdown documents.

use crate::common::{Model, identity, reverse, translate, unlinked, upper};
use burnformer_documents::{Format, Link, PendingSentence, Translated};

fn markdown(text: &str, model: Model<'_>) -> String {
    translate(text, Format::Markdown, model)
}

fn says(text: &'static str) -> impl Fn(&PendingSentence) -> Translated {
    move |_| Translated {
        text: text.into(),
        links: Vec::new(),
    }
}

#[test]
fn a_chapter_comes_back_byte_for_byte_if_nothing_changes() {
    let chapter = include_str!("../fixtures/chapter.md");
    assert_eq!(markdown(chapter, &identity), chapter);
    assert_eq!(
        markdown(chapter, &|sentence: &PendingSentence| unlinked(identity(
            sentence
        ))),
        chapter
    );
}

#[test]
fn text_is_translated_and_nothing_else() {
    let chapter = include_str!("../fixtures/chapter.md");
    assert_eq!(
        markdown(chapter, &upper),
        include_str!("../fixtures/chapter.upper.md")
    );
}

#[test]
fn emphasis_and_links_follow_their_words() {
    assert_eq!(
        markdown("One *two* **three** [four](u \"t\") `five` six.", &reverse),
        "six `five` [four](u \"t\") **three** *two* One."
    );
}

#[test]
fn characters_that_would_become_markup_are_escaped() {
    assert_eq!(
        markdown("x", &says("*a* b_c_ [d](e) <b>")),
        r"\*a\* b\_c\_ \[d\](e) \<b\>"
    );
    assert_eq!(markdown("x", &says("1. a")), r"1\. a");
    assert_eq!(markdown("x", &says("# a")), r"\# a");
    assert_eq!(markdown("x", &says("- a")), r"\- a");
    assert_eq!(markdown("x", &says("&amp; b")), r"\&amp; b");
    assert_eq!(
        markdown("| a |\n|---|\n| b |\n", &says("a|b")),
        "| a\\|b |\n|---|\n| a\\|b |\n"
    );
}

#[test]
fn characters_that_are_no_markup_are_not_escaped() {
    let text = "A snake_case name, 2 * 3 = 6, a [1] and \"x\" (y) - z! #5 ~ 7 & 8 < 9.";
    assert_eq!(markdown(text, &identity), text);
}

#[test]
fn a_reference_link_keeps_its_definition() {
    let text = "See [the page] and [it][] now.\n\n[the page]: http://a.b/\n[it]: http://c.d/\n";
    assert_eq!(markdown(text, &identity), text);
    assert_eq!(
        markdown(text, &upper),
        "SEE [THE PAGE][the page] AND [IT][it] NOW.\n\n[the page]: http://a.b/\n[it]: http://c.d/\n"
    );
}

#[test]
fn emphasis_where_its_marks_are_none_becomes_html() {
    // Before a letter, `_` closes nothing.
    let text = "重要です";
    let first = "重要".len();
    let links = vec![
        Link {
            source: 0..9,
            target: 0..first,
        },
        Link {
            source: 10..12,
            target: first..text.len(),
        },
    ];
    assert_eq!(
        markdown("_important_ is", &|_: &PendingSentence| Translated {
            text: text.into(),
            links: links.clone(),
        }),
        "<em>重要</em>です"
    );
}

#[test]
fn a_byte_order_mark_stays_and_hides_nothing() {
    let text = "\u{feff}# Title\n\n- a\n";
    assert_eq!(markdown(text, &upper), "\u{feff}# TITLE\n\n- A\n");
    assert_eq!(
        markdown("\u{feff}---\nt: a\n---\nb", &upper),
        "\u{feff}---\nt: a\n---\nB"
    );
}

#[test]
fn tags_of_templates_stay() {
    for tag in [
        "{% include \"x_y*.md\" %}",
        "{%- if a == '%' -%}",
        "{# a b #}",
        "<%= a_b %>",
        "{{< x \"y\" >}}",
    ] {
        let text = format!("One {tag} two.");
        assert_eq!(markdown(&text, &upper), format!("ONE {tag} TWO."));
        assert_eq!(markdown(tag, &upper), tag);
    }
}

#[test]
fn a_line_break_in_a_cell_is_a_space_for_the_model() {
    assert_eq!(
        markdown("|One<br>two|\n|---|\n", &|sentence: &PendingSentence| {
            assert_eq!(sentence.text, "One two");
            upper(sentence)
        }),
        "|ONE<br>TWO|\n|---|\n"
    );
}

#[test]
fn lines_of_a_quotation_keep_their_marks() {
    assert_eq!(
        markdown("> one two\n> three four\n", &reverse),
        "> four\n> three two one\n"
    );
}

/// The first word of a line of the translation begins no heading, although several spaces stood
/// before it.
#[test]
fn a_line_does_not_begin_with_a_space() {
    assert_eq!(markdown("> a\n> a\n", &says("w \0# x")), "> w\n> \\# x\n");
}

#[test]
fn elements_of_html_that_are_not_translated_stay() {
    for element in [
        "<code>a b</code>",
        "<kbd>Ctrl</kbd>",
        "<samp>x *y* z</samp>",
        "<var>n</var>",
        "<span translate=\"no\">Big <span>Red</span> Co</span>",
        "<b class=\"x notranslate\">Name</b>",
        "<textarea>t</textarea>",
        "<svg><text>t</text></svg>",
        "<script>run(x)</script>",
        "<code>a [b](c) `d`</code>",
        "<code>a\nb</code>",
    ] {
        for text in [
            "One %% two.",
            "**One %%** two.",
            "# One %% two",
            "- one %% two\n- three",
            "| one %% two |\n|---|\n",
            "> one %% two",
        ] {
            let [text, expected] =
                [text.to_string(), text.to_uppercase()].map(|text| text.replace("%%", element));
            if element.contains('\n') && !text.contains("One")
                || text.starts_with('#') && element.contains('\n')
            {
                continue;
            }
            assert_eq!(markdown(&text, &upper), expected);
            assert_eq!(markdown(&text, &identity), text);
        }
    }
    let open = "One <code>two *three</code> four* five.";
    assert_eq!(
        markdown(open, &upper),
        "ONE <code>TWO *THREE</code> FOUR* FIVE."
    );
    assert_eq!(
        markdown("a <code>b\n\nc</code> d", &upper),
        "A <code>B\n\nC</code> D"
    );
}

#[test]
fn alternative_texts_of_images_are_translated_and_names_are_not() {
    for (text, expected) in [
        ("![a red house](h.png \"t\")", "![A RED HOUSE](h.png \"t\")"),
        (
            "see ![red *house*](h.png) now",
            "SEE ![red *house*](h.png) NOW",
        ),
        ("[![a house](h.png)](x)", "[![A HOUSE](h.png)](x)"),
        (
            "![a house][h] ![h] ![h][]\n\n[h]: h.png",
            "![A HOUSE][h] ![h] ![h][]\n\n[h]: h.png",
        ),
        (
            "| ![a \\| b](x) | c |\n|---|---|",
            "| ![A \\| B](x) | C |\n|---|---|",
        ),
        ("![a \\] &amp; b](x)", "![A \\] & B](x)"),
        (
            "`![a house](x)` ![h.png](x) ![](x)",
            "`![a house](x)` ![h.png](x) ![](x)",
        ),
        (
            "# ![a house](x)\n\n- ![b c](y)",
            "# ![A HOUSE](x)\n\n- ![B C](y)",
        ),
    ] {
        assert_eq!(translate(text, Format::Markdown, &upper), expected);
        assert_eq!(translate(text, Format::Markdown, &identity), text);
    }
    let found = translate("![a house](x)", Format::Markdown, &|_: &PendingSentence| {
        Translated {
            text: "](y) *a* [b] | `c` <b>".into(),
            links: Vec::new(),
        }
    });
    let alt: String = pulldown_cmark::Parser::new(&found)
        .filter_map(|event| match event {
            pulldown_cmark::Event::Text(text) => Some(text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(alt, "](y) *a* [b] | `c` <b>", "{found}");
}
