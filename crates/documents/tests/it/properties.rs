//! Properties of every document and every translator.

use crate::common::{identity, markup, reverse, translate, unlinked, upper};
use burnformer_documents::{Format, Link, PendingSentence, Translated};
use proptest::prelude::*;

/// Pieces of documents, hostile ones among them.
fn html_piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zäß]{1,6}",
        4 => Just(" ".to_string()),
        2 => prop::sample::select(vec![
            ".", ", ", ". ", "! ", "? ", "(", ")", ": ", "\"", "…", "。", "日本語", " 12,345 ", "3", "{name}", "https://a.b/c?d=e", "\u{a0}",
        ]).prop_map(String::from),
        4 => prop::sample::select(vec![
            "<b>", "</b>", "<i>", "</i>", "<a href=\"x>y\">", "</a>", "<span class='q'>", "</span>", "<p>", "</p>", "<div>", "</div>",
            "<br>", "<br/>", "<img src=x>", "<sup>", "</sup>", "<code>", "</code>", "<li>", "<wbr>",
        ]).prop_map(String::from),
        1 => prop::sample::select(vec![
            "<", ">", "&", "&amp;", "&lt;", "&eacute;", "&#x41;", "<!-- c -->", "</>", "<!x>", "<?php ?>", "\0", "\r\n", "\n\t",
            "<script>", "</script>", "<style>a<b</style>", "<pre>", "</pre>", "<svg>", "</svg>", "<![CDATA[", "]]>", "<textarea>",
            "<p translate=no>", "<span translate=\"no\">", "<b translate=yes>", "<td>", "<title>", "</title>", "<a", "\"", "='",
            "</b x=y>", "<B>", "</B\n>",
        ]).prop_map(String::from),
    ]
}

fn html_document() -> impl Strategy<Value = String> {
    prop::collection::vec(html_piece(), 0..40).prop_map(|pieces| pieces.concat())
}

/// Text and links that have nothing to do with the sentence.
fn garbage() -> impl Strategy<Value = Translated> {
    let text = prop::collection::vec(
        prop::sample::select(vec![
            "x",
            " ",
            "wort",
            ".",
            "日",
            "<b>",
            "&amp;",
            "\n",
            "\u{2028}",
            "*",
            "]",
            "(",
            "{name}",
            "12,345",
            "\\",
            "-->",
            "</script>",
            "\0",
            "é",
            "|",
            "_",
            "`",
            "#",
            "1.",
        ]),
        0..12,
    );
    let links = prop::collection::vec((0usize..60, 0usize..60, 0usize..60, 0usize..60), 0..12);
    (text, links).prop_map(|(text, links)| Translated {
        text: text.concat(),
        links: links
            .into_iter()
            .map(|(a, b, c, d)| Link {
                source: a..b,
                target: c..d,
            })
            .collect(),
    })
}

/// Returns whether every tag that is closed closes the last one that is open.
fn is_well_nested(html: &str) -> bool {
    let mut open = Vec::new();
    for token in html5gum::Tokenizer::new(html) {
        let Ok(token) = token;
        match token {
            html5gum::Token::StartTag(tag)
                if !matches!(tag.name.as_slice(), b"br" | b"img" | b"wbr") =>
            {
                open.push(tag.name)
            }
            html5gum::Token::EndTag(tag) if open.pop() != Some(tag.name.clone()) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// Well-nested pages with single spaces.
fn tree() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[a-z]{1,5}( [a-z]{1,5}){0,4}[.,!]?",
        Just(" ".to_string()),
        Just("<img src=x>".to_string()),
        Just("one<br>two".to_string()),
        Just("&eacute;&amp;".to_string()),
        Just(". ".to_string()),
        Just("{x}".to_string()),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        let tags = prop::sample::select(vec!["b", "i", "a", "span", "em", "p", "div", "u"]);
        (tags, prop::collection::vec(inner, 0..6))
            .prop_map(|(tag, inner)| format!("<{tag}>{}</{tag}>", inner.concat()))
    })
}

/// `html` with one space for each run of them, across tags.
fn single_spaced(html: &str) -> String {
    let mut last = ' ';
    let mut inside = false;
    html.chars()
        .filter(|c: &char| {
            inside = *c == '<' || inside && *c != '>';
            if inside || *c == '>' {
                return true;
            }
            let twice = *c == ' ' && last == ' ';
            last = *c;
            !twice
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_tag_is_lost_or_doubled_whatever_the_page_and_the_translator(
        page in html_document(), noise in prop::collection::vec(garbage(), 1..4)
    ) {
        let before = markup(&page);
        let turn = std::cell::Cell::new(0);
        let noise = |_: &PendingSentence| {
            turn.set(turn.get() + 1);
            noise[turn.get() % noise.len()].clone()
        };
        let nothing = |_: &PendingSentence| Translated::default();
        let blind = |sentence: &PendingSentence| unlinked(reverse(sentence));
        let models: [&dyn Fn(&PendingSentence) -> Translated; 6] = [&identity, &upper, &reverse, &blind, &nothing, &noise];
        for model in models {
            let after = translate(&page, Format::Html, model);
            prop_assert_eq!(&before, &markup(&after), "{}", after);
        }
    }

    #[test]
    fn well_nested_pages_stay_well_nested(page in tree(), noise in garbage()) {
        prop_assert!(is_well_nested(&page));
        let noise = |_: &PendingSentence| noise.clone();
        let models: [&dyn Fn(&PendingSentence) -> Translated; 3] = [&reverse, &upper, &noise];
        for model in models {
            let after = translate(&page, Format::Html, model);
            prop_assert!(is_well_nested(&after), "{}", after);
            prop_assert_eq!(markup(&page), markup(&after));
        }
    }

    #[test]
    fn a_page_translated_to_itself_comes_back_byte_for_byte(page in tree()) {
        let page = single_spaced(&page);
        prop_assert_eq!(translate(&page, Format::Html, &identity), page.clone());
        prop_assert_eq!(translate(&page, Format::Html, &|sentence: &PendingSentence| unlinked(identity(sentence))), page);
    }

    #[test]
    fn plain_text_comes_back_byte_for_byte(text in "[ \\t\\r\\n\\-*>1.()a-zA-Z!?{}日。:/@$]{0,200}") {
        prop_assert_eq!(translate(&text, Format::Text, &identity), text);
    }
}

/// A declaration ends at the first `>`, even inside a template.
#[test]
fn templates_in_declarations_hide_no_tag() {
    for open in [
        "<![CDATA[",
        "<!x ",
        "<!DOCTYPE a ",
        "<!-- ",
        "<p>a ",
        "<p title=\"a ",
        "<? ",
    ] {
        for template in ["<?php ?>", "<?= a ?>", "<% a %>", "{{ a }}", "{% a %}"] {
            for rest in ["<a href=\"x>y\">b", ">c<b>d</b>", "]]><i>e</i>", "\">f"] {
                let page = format!("{open}{template}{rest}");
                for model in [identity, upper, reverse] {
                    let after = translate(&page, Format::Html, &model);
                    assert_eq!(markup(&page), markup(&after), "{page} => {after}");
                }
            }
        }
    }
}

/// Pieces of Markdown that are complete in themselves.
fn markdown_document() -> impl Strategy<Value = String> {
    let words = "[a-z]{1,6}( [a-z]{1,6}){0,3}";
    let inline = prop_oneof![
        3 => words,
        1 => words.prop_map(|text| format!("*{text}*")),
        1 => words.prop_map(|text| format!("**{text}**")),
        1 => words.prop_map(|text| format!("~~{text}~~")),
        1 => words.prop_map(|text| format!("[{text}](http://a.b \"t\")")),
        1 => words.prop_map(|text| format!("[{text}][ref]")),
        1 => Just("[ref]".to_string()),
        1 => words.prop_map(|text| format!("**{text} *x* `y`**")),
        1 => words.prop_map(|text| format!("`{text}`")),
        1 => Just("![alt](i.png)".to_string()),
        1 => Just("<kbd>k</kbd>".to_string()),
        1 => Just("<http://c.d>".to_string()),
        1 => Just("1 < 2 & x_y * 3".to_string()),
    ];
    let line = prop::collection::vec(inline, 1..6).prop_map(|parts| parts.join(" "));
    let block = prop_oneof![
        line.clone(),
        line.clone().prop_map(|line| format!("# {line}")),
        line.clone()
            .prop_map(|line| format!("- {line}\n- {line}\n  1. {line}")),
        line.clone().prop_map(|line| format!("> {line}\n> {line}")),
        line.clone()
            .prop_map(|line| format!("| {line} | b |\n|---|---|\n| c | {line} |")),
        line.prop_map(|line| format!("```\n{line}\n```")),
    ];
    prop::collection::vec(block, 0..6)
        .prop_map(|blocks| blocks.join("\n\n") + "\n\n[ref]: http://e.f\n")
}

/// The markup of the document in order, without text and with the children of a block sorted.
/// Emphasis may be written as HTML.
fn structure(markdown: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let mut all = Vec::new();
    let mut inline: Vec<String> = Vec::new();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Text(_) | Event::SoftBreak => {}
            Event::Start(Tag::Emphasis) => inline.push("<em>".into()),
            Event::Start(Tag::Strong) => inline.push("<strong>".into()),
            Event::Start(Tag::Strikethrough) => inline.push("<del>".into()),
            Event::Start(Tag::Link {
                dest_url, title, ..
            }) => {
                inline.push(format!("link {dest_url} {title}"));
            }
            Event::Start(Tag::Image { dest_url, .. }) => inline.push(format!("image {dest_url}")),
            Event::Code(code) => inline.push(format!("code {code}")),
            Event::InlineHtml(html) if matches!(&*html, "</em>" | "</strong>" | "</del>") => {}
            Event::InlineHtml(html) => inline.push(html.to_string()),
            Event::End(
                TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Link
                | TagEnd::Image,
            ) => {}
            Event::End(tag) => {
                inline.sort();
                all.append(&mut inline);
                all.push(format!("{tag:?}"));
            }
            other => all.push(format!("{other:?}")),
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn markdown_keeps_its_structure_whatever_the_translation_is(text in markdown_document(), noise in garbage()) {
        // A paragraph without text does not count.
        let noise = |_: &PendingSentence| Translated { text: format!("w {}", noise.text), links: noise.links.clone() };
        let models: [&dyn Fn(&PendingSentence) -> Translated; 3] = [&upper, &reverse, &noise];
        for model in models {
            let after = translate(&text, Format::Markdown, model);
            prop_assert_eq!(structure(&text), structure(&after), "{}", after);
        }
        prop_assert_eq!(translate(&text, Format::Markdown, &identity), text);
    }

    #[test]
    fn any_text_in_any_format_is_finished_in_two_rounds(
        text in "\\PC{0,60}",
        other in "[<>&*_`\\[\\](){}#|~\\-\n\r\t a-c0-9.:/>!$\\\\]{0,120}",
        noise in garbage(),
    ) {
        let noise = |_: &PendingSentence| noise.clone();
        for format in Format::all() {
            for text in [&text, &other] {
                translate(text, format, &noise);
                translate(text, format, &reverse);
            }
        }
    }
}

/// Cases of each property; more by `PROPTEST_CASES`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(400)
}
