//! Placeholders of the grammars that gettext's flags name, in any order of words.

mod escapes;
mod flags;
mod intervals;

use crate::common::{identity, reverse, translate, unlinked, upper};
use burnformer_documents::{Catalogue, Document, Format, PendingSentence, Remembered, Translated};

fn said(text: &str) -> Translated {
    Translated {
        text: text.into(),
        links: Vec::new(),
    }
}

fn targets(po: &str) -> Vec<[String; 3]> {
    let messages = Catalogue::read(po, Format::Po, [None; 2]).unwrap().messages;
    let messages = messages.into_iter();
    messages
        .map(|it| [it.context.to_string(), it.source, it.target])
        .collect()
}

/// A label has one accelerator in formats that know them.
#[test]
fn accelerators_keep_one() {
    let po = |text: &str| format!("msgid \"{text}\"\nmsgstr \"\"\n");
    for (source, engine, expected) in [
        ("_Open the house", "upper", "_OPEN THE HOUSE"),
        ("E&xit", "upper", "E&XIT"),
        ("R&D", "upper", "R&D"),
        ("E&xit", "Beenden", "&Beenden"),
        ("&Close…", "关闭…", "关闭(&C)…"),
        ("Save _As", "Speichern unter", "Sp_eichern unter"),
    ] {
        let found = translate(&po(source), Format::Po, &|it| match engine {
            "upper" => upper(it),
            text => said(text),
        });
        let [[_, _, found]] = &targets(&found)[..] else {
            panic!("{found}")
        };
        let expected = if engine == "Speichern unter" {
            "Speichern unter"
        } else {
            expected
        };
        assert_eq!(found.replace('_', ""), expected.replace('_', ""));
        let count = |text: &str| text.matches(['_', '&']).count();
        assert_eq!(count(found), count(source));
    }
    let qt = "<TS><context><message><source>&amp;Close</source><translation type=\"unfinished\"></translation></message></context></TS>";
    let found = translate(qt, Format::Qt, &upper);
    assert!(found.contains(">&amp;CLOSE</translation>"), "{found}");
    let html = "<p>the &amp;close</p>";
    assert_eq!(
        translate(html, Format::Html, &upper),
        "<p>THE &amp;CLOSE</p>"
    );
    // A memory knows the message as the file has it.
    let document = burnformer_documents::Document::parse(&po("E&xit"), Format::Po, None, &|_| true);
    let document = document.with_known_translations(&|source, _| {
        let text = (source == "E&xit").then(|| "B&eenden".to_owned())?;
        Some(burnformer_documents::Remembered {
            text,
            is_sure: true,
        })
    });
    assert_eq!(document.finish(), "msgid \"E&xit\"\nmsgstr \"B&eenden\"\n");
}

/// Writes a file with one text.
type WriteFile = fn(&str) -> String;

#[test]
fn values_that_only_programs_read_stay_in_every_catalogue() {
    for text in [
        "dd/MM/yyyy",
        "btn btn-primary",
        "text/html; charset=utf-8",
        "^[a-z]+$",
        "rgb(0, 0, 0)",
        "/usr/My Files/a.txt",
    ] {
        let json = format!("{{\"a\": \"{text}\", \"b\": \"the house\"}}");
        let expected = json.replace("the house", "THE HOUSE");
        assert_eq!(translate(&json, Format::Json, &upper), expected);
        let po = format!("msgid \"{text}\"\nmsgstr \"\"\n");
        assert_eq!(translate(&po, Format::Po, &upper), po);
    }
}

/// A protected part of XLIFF stays, and a line break divides words.
#[test]
fn parts_of_xliff_stay() {
    let unit = |source: &str, target: &str| {
        format!(
            "<xliff version=\"1.2\"><file><body><trans-unit id=\"a\"><source>{source}</source>{target}</trans-unit></body></file></xliff>"
        )
    };
    for (source, expected) in [
        (
            "The <mrk mtype=\"protected\">big dog</mrk> sleeps",
            "THE <mrk mtype=\"protected\">big dog</mrk> SLEEPS",
        ),
        (
            "The <mrk translate=\"no\">big <g id=\"1\">dog</g></mrk> sleeps",
            "THE <mrk translate=\"no\">big <g id=\"1\">dog</g></mrk> SLEEPS",
        ),
        (
            "The <mrk mtype=\"x-its-translate-no\">big dog</mrk> sleeps",
            "THE <mrk mtype=\"x-its-translate-no\">big dog</mrk> SLEEPS",
        ),
        (
            "<mrk mtype=\"x-its-translate-no\">big <mrk mtype=\"x-its-translate-yes\">dog</mrk></mrk> sleeps",
            "<mrk mtype=\"x-its-translate-no\">big <mrk mtype=\"x-its-translate-yes\">DOG</mrk></mrk> SLEEPS",
        ),
        (
            "&amp;Close <g id=\"1\">the dog</g>",
            "&amp;CLOSE <g id=\"1\">THE DOG</g>",
        ),
        (
            "<g id=\"1\">Close</g> the &amp;dog",
            "<g id=\"1\">CLOSE</g> THE &amp;DOG",
        ),
        (
            "The dog sleeps.<x id=\"1\" ctype=\"lb\"/>The cat too.",
            "THE DOG SLEEPS.<x id=\"1\" ctype=\"lb\"/>THE CAT TOO.",
        ),
        (
            "The dog<ph id=\"1\" ctype=\"lb\">&lt;br/></ph>sleeps",
            "THE DOG<ph id=\"1\" ctype=\"lb\">&lt;br/></ph>SLEEPS",
        ),
        (
            "The dog<ph id=\"1\" subType=\"xlf:lb\"/>sleeps",
            "THE DOG<ph id=\"1\" subType=\"xlf:lb\"/>SLEEPS",
        ),
    ] {
        let mut sentences = Vec::new();
        let seen = std::cell::RefCell::new(&mut sentences);
        let found = translate(&unit(source, ""), Format::Xliff, &|it| {
            seen.borrow_mut().push(it.text.clone());
            upper(it)
        });
        let target = format!("<target state=\"needs-review-translation\">{expected}</target>");
        assert_eq!(found, unit(source, &target));
        let is_glued = |it: &String| it.contains(".The") || it.contains("dogsleeps");
        assert!(!sentences.iter().any(is_glued), "{sentences:?}");
    }
    let spaced = unit("the  dog ", "").replace("<source>", "<source xml:space=\"preserve\">");
    let found = translate(&spaced, Format::Xliff, &upper);
    assert!(
        found.contains(
            "<target xml:space=\"preserve\" state=\"needs-review-translation\">THE  DOG <"
        ),
        "{found}"
    );
}

/// A final ellipsis or colon is not lost, and a full stop in its place is replaced.
#[test]
fn marks_at_the_ends_stay() {
    for (source, answer, expected) in [
        ("Name:", "name", "name:"),
        ("Name:", "name.", "name:"),
        ("Name:", "名前", "名前："),
        ("And then…", "Und dann", "Und dann…"),
        ("And then...", "Und dann.", "Und dann..."),
        ("…and then", "und dann", "…und dann"),
        ("And then…", "Und dann!", "Und dann!"),
        ("And then…", "Und dann ...", "Und dann ..."),
        ("And then", "Und dann.", "Und dann"),
        ("And then…", "そして。", "そして……"),
    ] {
        let found = translate(source, Format::Text, &|_| said(answer));
        assert_eq!(found, expected);
    }
}
