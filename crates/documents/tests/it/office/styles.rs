//! Styles that raise text: references to notes end their sentence.

use super::*;

/// LibreOffice 7.4 and Word give note references the styles below. A raised number behind a
/// sentence is a unit, and a number that is not raised is a word of its sentence.
#[test]
fn a_named_style_raises_its_text_like_a_direct_one() {
    use OfficeKind::{Docx, OpenDocument};
    let word = |name: &str, inside: &str| {
        format!("<w:style w:type=\"character\" w:styleId=\"{name}\">{inside}</w:style>")
    };
    let align = |value: &str| format!("<w:rPr><w:vertAlign w:val=\"{value}\"/></w:rPr>");
    let based = |name: &str| format!("<w:basedOn w:val=\"{name}\"/>");
    let word = [
        word("Up", &align("superscript")),
        word("Child", &based("Up")),
        word("Level", &(based("Up") + &align("baseline"))),
        word("Down", &align("subscript")),
        word("Loop", &based("Loop")),
    ];
    let word = format!("<w:styles>{}</w:styles>", word.concat());
    let run = |name: &str, direct: &str, text: &str| {
        let style = format!("<w:rPr><w:rStyle w:val=\"{name}\"/>{direct}</w:rPr>");
        format!("<w:r>{style}<w:t xml:space=\"preserve\">{text}</w:t></w:r>")
    };
    let open = |name: &str, family: &str, parent: &str, position: &str| {
        format!(
            "<style:style style:name=\"{name}\" style:family=\"{family}\" style:parent-style-name=\"{parent}\">\
             <style:text-properties fo:color=\"#000000\"{position}/></style:style>"
        )
    };
    let position = |value: &str| format!(" style:text-position=\"{value}\"");
    let named = [
        open("Up", "text", "", &position("super 58%")),
        open("Up", "paragraph", "", &position("sub 58%")),
        open("T2", "text", "Up", ""),
        open("Level", "text", "Up", &position("0% 100%")),
        open("Down", "text", "", &position("sub 58%")),
        open("Loop", "text", "Loop", ""),
    ];
    let named = format!("<s><office:styles>{}</office:styles></s>", named.concat());
    // The automatic styles of a file hide styles of the same name in the other.
    let automatic = open("Child", "text", "Up", "") + &open("T2", "text", "Down", "");
    let span = |name: &str, _: &str, text: &str| {
        format!("<text:span text:style-name=\"{name}\">{text}</text:span>")
    };
    let raised = [
        ("Up", true),
        ("Child", true),
        ("T2", false),
        ("Level", false),
    ];
    let raised = raised
        .into_iter()
        .chain([("Down", false), ("Loop", false), ("None", false)]);
    for (name, is_raised) in raised {
        let direct = "<w:vertAlign w:val=\"baseline\"/>";
        for (kind, unit, is_raised) in [
            (Docx, run(name, "", "1"), is_raised),
            (Docx, run(name, direct, "1"), false),
            (OpenDocument, span(name, "", "1"), is_raised),
        ] {
            let files = if kind == Docx {
                let text = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
                let [before, after] = ["the dog sleeps.", " the cat too."].map(text);
                let main = format!("<w:document><w:p>{before}{unit}{after}</w:p></w:document>");
                [
                    ("word/document.xml", main),
                    ("word/styles.xml", word.clone()),
                ]
            } else {
                let main = format!(
                    "<d>{automatic}<text:p>the dog sleeps.{unit} the cat too.</text:p></d>"
                );
                [("content.xml", main), ("styles.xml", named.clone())]
            };
            let files: Vec<(&str, &str)> =
                files.iter().map(|(name, xml)| (*name, &**xml)).collect();
            let office = Office::read(archive(&files), kind).unwrap();
            let document = Document::parse(&office.html(), Format::Html, Some("en"), &|_| true);
            let pending = document.pending();
            let first = &pending[0].text;
            assert_eq!(
                first == "the dog sleeps.",
                is_raised,
                "{name} {kind:?}: {first}"
            );
        }
    }
}

/// Styles raise the references of EPUB 3's samples, which name them as below.
#[test]
fn a_reference_to_a_note_ends_the_sentence_of_a_book() {
    for (attribute, is_note) in [
        ("epub:type=\"noteref\"", true),
        ("epub:type=\"x noteref\"", true),
        ("role='doc-noteref'", true),
        ("role=\"doc-backlink\"", false),
        ("class=\"a\"", false),
    ] {
        let page = format!(
            "<html><body><p>the dog sleeps.<a {attribute} href=\"#n\">1</a> the cat too.</p></body></html>"
        );
        let files = [("META-INF/container.xml", "<a/>"), ("a.xhtml", &page)];
        let office = Office::read(archive(&files), OfficeKind::Epub).unwrap();
        let document = Document::parse(&office.html(), Format::Html, Some("en"), &|_| true);
        let first = &document.pending()[0].text;
        assert_eq!(first == "the dog sleeps.", is_note, "{attribute}: {first}");
    }
}
