//! Office documents: untranslated bytes stay unchanged, and words keep their runs.

mod archives;
mod discovery;
mod fields;
mod language;
mod others;
mod parts;
mod styles;

use std::io::{Cursor, Read, Write};

use burnformer_documents::{Document, Format, Office, OfficeKind, PendingSentence, Translated};
use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::common::reverse;

/// An archive of these files.
pub fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (number, (name, text)) in files.iter().enumerate() {
        let method = [CompressionMethod::Deflated, CompressionMethod::Stored][number % 2];
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(*name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub fn file(archive: &[u8], name: &str) -> String {
    let mut text = String::new();
    let mut zip = ZipArchive::new(Cursor::new(archive)).unwrap();
    zip.by_name(name)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// `bytes` translated by an engine that gives a sentence for a sentence.
pub fn translate(bytes: Vec<u8>, kind: OfficeKind, engine: impl Fn(&str) -> String) -> Vec<u8> {
    let office = Office::read(bytes, kind).unwrap();
    let mut document = Document::parse(&office.html(), Format::Html, Some("en"), &|_| true);
    loop {
        let pending = document.pending();
        if pending.is_empty() {
            return office.write(&document.finish(), [None; 2]);
        }
        document.accept(
            pending
                .iter()
                .map(|sentence: &PendingSentence| Translated {
                    text: engine(&sentence.text),
                    ..Translated::default()
                })
                .collect(),
        );
    }
}

/// Translates `xml`, the file `name` of a document, into capitals.
fn capitals(kind: OfficeKind, name: &str, xml: &str) -> String {
    let whole = [
        ("mimetype", "m"),
        (name, xml),
        ("media/a.png", "\u{1}\u{2}"),
    ];
    // Every kind is known by a file of its own.
    let mains = [
        "word/document.xml",
        "ppt/presentation.xml",
        "xl/workbook.xml",
        "META-INF/container.xml",
    ];
    let mains = mains
        .into_iter()
        .filter(|main| *main != name)
        .map(|main| (main, "<a/>"));
    let whole = archive(&whole.into_iter().chain(mains).collect::<Vec<_>>());
    let same = translate(whole.clone(), kind, str::to_owned);
    assert_eq!(same, whole, "an unchanged document is the same archive");
    let changed = translate(whole, kind, str::to_uppercase);
    assert_eq!(file(&changed, "media/a.png"), "\u{1}\u{2}");
    file(&changed, name)
}

/// The words of each sentence in the opposite order, in capitals, with links.
fn reversed(sentence: &PendingSentence) -> Translated {
    let mut translated = reverse(sentence);
    translated.text = translated.text.to_uppercase();
    translated
}

/// `xml`, the file `name` of a document, translated by [`reversed`].
fn reversed_part(kind: OfficeKind, name: &str, xml: &str) -> String {
    let main = kind_main(kind);
    let whole: Vec<_> = [(name, xml)]
        .into_iter()
        .chain((main != name).then_some((main, "<a/>")))
        .collect();
    let office = Office::read(archive(&whole), kind).unwrap();
    let mut document = Document::parse(&office.html(), Format::Html, Some("en"), &|_| true);
    for _ in 0..2 {
        let pending = document.pending();
        document.accept(pending.iter().map(reversed).collect());
    }
    file(&office.write(&document.finish(), [None; 2]), name)
}

/// The file that every document of this kind has.
fn kind_main(kind: OfficeKind) -> &'static str {
    match kind {
        OfficeKind::Docx => "word/document.xml",
        OfficeKind::Pptx => "ppt/presentation.xml",
        OfficeKind::Xlsx => "xl/workbook.xml",
        OfficeKind::Epub => "META-INF/container.xml",
        _ => "content.xml",
    }
}

#[test]
fn runs_links_fields_and_notes_of_word_stay_with_their_words() {
    let bold = "<w:rPr><w:b/></w:rPr>";
    let xml = format!(
        "<w:document><w:body><w:p w:rsidR=\"1\"><w:pPr><w:jc/></w:pPr>\
         <w:r w:rsidR=\"2\"><w:t xml:space=\"preserve\">A </w:t></w:r><w:proofErr/><w:r>{bold}<w:t>red</w:t></w:r>\
         <w:r><w:t xml:space=\"preserve\"> house &amp; </w:t></w:r><w:hyperlink r:id=\"9\"><w:r><w:t>a link</w:t></w:r></w:hyperlink>\
         <w:r><w:footnoteReference w:id=\"3\"/></w:r><w:r><w:t>.</w:t></w:r></w:p>\
         <w:sectPr/></w:body></w:document>"
    );
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>");
    let expected = format!(
        "<w:document><w:body><w:p w:rsidR=\"1\"><w:pPr><w:jc/></w:pPr>{}<w:r>{bold}<w:t xml:space=\"preserve\">RED</w:t></w:r>{}\
         <w:hyperlink r:id=\"9\">{}</w:hyperlink><w:r><w:footnoteReference w:id=\"3\"/></w:r>{}</w:p>\
         <w:sectPr/></w:body></w:document>",
        run("A "),
        run(" HOUSE &amp; "),
        run("A LINK"),
        run(".")
    );
    assert_eq!(
        capitals(OfficeKind::Docx, "word/document.xml", &xml),
        expected
    );
}

#[test]
fn the_paragraphs_of_a_text_box_are_translated_within_that_around_it() {
    let inner = |text: &str| {
        format!("<w:txbxContent><w:p><w:r><w:t{text}</w:t></w:r></w:p></w:txbxContent>")
    };
    let xml = |[outer, inside]: [&str; 2], word: &str| {
        format!(
            "<w:document><w:p><w:r><w:t{outer}</w:t></w:r><w:r><mc:AlternateContent><mc:Choice>{0}</mc:Choice>\
             <mc:Fallback>{0}</mc:Fallback></mc:AlternateContent></w:r></w:p>{word}</w:document>",
            inner(inside)
        )
    };
    let preserved = |text: &str| format!(" xml:space=\"preserve\">{text}");
    let found = capitals(
        OfficeKind::Docx,
        "word/header2.xml",
        &xml([">out", ">in"], ""),
    );
    assert_eq!(found, xml([&preserved("OUT"), &preserved("IN")], ""));
    // A paragraph without words around it stays unchanged.
    let found = capitals(
        OfficeKind::Docx,
        "word/document.xml",
        &xml([">1", ">in"], ""),
    );
    assert_eq!(found, xml([">1", &preserved("IN")], ""));
}

#[test]
fn cells_have_their_lines_and_formulas_stay() {
    let xml = "<sst><si><t>one\ntwo</t></si><si><r><t>a </t></r><r><rPr><b/></rPr><t>fat</t></r></si><si><t>12</t></si></sst>";
    let found = capitals(OfficeKind::Xlsx, "xl/sharedStrings.xml", xml);
    // openpyxl 3.1 reads the last of several `t` of a cell alone.
    let cells = [
        "<t xml:space=\"preserve\">ONE\nTWO</t>",
        "<r><t xml:space=\"preserve\">A </t></r><r><rPr><b/></rPr><t xml:space=\"preserve\">FAT</t></r>",
        "<t>12</t>",
    ];
    let cells = cells.map(|cell| format!("<si>{cell}</si>")).concat();
    assert_eq!(found, format!("<sst>{cells}</sst>"));
    let sheet = "<worksheet><c t=\"str\"><f>A1&amp;\"x\"</f><v>word</v></c><c t=\"inlineStr\"><is><t>word</t></is></c></worksheet>";
    let found = capitals(OfficeKind::Xlsx, "xl/worksheets/sheet1.xml", sheet);
    assert_eq!(
        found,
        sheet.replace("<t>word", "<t xml:space=\"preserve\">WORD")
    );
}

#[test]
fn slides_open_documents_and_books_keep_what_is_not_text() {
    let cases = [
        (
            OfficeKind::Pptx,
            "ppt/slides/slide12.xml",
            "<p:sld><a:p><a:pPr/><a:r><a:rPr b=\"1\"/><a:t>word</a:t></a:r><a:fld><a:rPr/><a:t>7</a:t></a:fld><a:endParaRPr/></a:p></p:sld>",
        ),
        (
            OfficeKind::OpenDocument,
            "content.xml",
            "<office:text><text:h>word <text:span text:style-name=\"T1\">more</text:span><text:note><text:note-citation>1</text:note-citation>\
             <text:note-body><text:p>note</text:p></text:note-body></text:note></text:h></office:text>",
        ),
        (
            OfficeKind::Epub,
            "OEBPS/a.xhtml",
            "\u{feff}<html><head><style>p {}</style></head><body>\n<div>\n<p>word <em>more</em> <code>code()</code><br/></p>\n<hr/></div></body></html>",
        ),
    ];
    for (kind, name, xml) in cases {
        let expected = ["word", "more", "note"]
            .iter()
            .fold(xml.to_string(), |text, word| {
                text.replace(&format!(">{word}"), &format!(">{}", word.to_uppercase()))
            });
        assert_eq!(capitals(kind, name, xml), expected);
    }
}

/// python-pptx 1.0.2 reads one address a run.
#[test]
fn a_link_of_a_slide_stays_around_its_words() {
    let run = |properties: &str, text: &str| {
        format!("<a:r><a:rPr{properties}</a:rPr><a:t>{text}</a:t></a:r>")
    };
    let link = "><a:hlinkClick r:id=\"rId2\"/>";
    let bold = " b=\"1\"><a:hlinkClick r:id=\"rId2\"/>";
    let other = "><a:hlinkClick r:id=\"rId3\"/>";
    let linked = |xml: &str, id: &str| -> Vec<String> {
        let runs = xml.split("<a:r>").skip(1);
        let runs = runs.map(|run| (run.contains(id), run.split("<a:t>").nth(1).unwrap()));
        let texts = runs.map(|(is_linked, text)| {
            let text = text.split('<').next().unwrap().trim().to_uppercase();
            if is_linked { text } else { String::new() }
        });
        let texts: Vec<String> = texts.collect();
        texts
            .join("|")
            .split("||")
            .map(|it| it.replace('|', " ").trim().to_owned())
            .filter(|it| !it.is_empty())
            .collect()
    };
    for (runs, expected) in [
        (
            vec![
                run(">", "we see the "),
                run(link, "red"),
                run(bold, " house"),
                run(">", " every day"),
            ],
            [vec!["HOUSE RED"], vec![]],
        ),
        (
            vec![run(link, "red"), run(other, " house")],
            [vec!["RED"], vec!["HOUSE"]],
        ),
        (
            vec![
                run(link, "this whole long line is a link"),
                run(">", " here"),
            ],
            [vec!["LINK A IS LINE LONG WHOLE THIS"], vec![]],
        ),
        (vec![run(link, "red house")], [vec!["HOUSE RED"], vec![]]),
    ] {
        let xml = format!("<p:sld><a:p>{}</a:p></p:sld>", runs.concat());
        let found = reversed_part(OfficeKind::Pptx, "ppt/slides/slide1.xml", &xml);
        let ids = ["rId2", "rId3"].map(|id| linked(&found, id));
        assert_eq!(ids, expected, "{found}");
    }
}

/// Word on the web gives the document a number. Text outside of runs is not shown, but stays.
#[test]
fn a_word_document_may_have_a_number_and_text_outside_of_runs() {
    let xml = |words: &str| {
        format!("<w:document><w:p>stray {words}<w:bookmarkEnd/>text\n</w:p></w:document>")
    };
    let run = |text: &str| {
        xml(&format!(
            "<w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r>"
        ))
    };
    for name in [
        "word/document2.xml",
        "word/document11.xml",
        "word/document.xml",
    ] {
        let whole = archive(&[("a", "b"), (name, &run("two words"))]);
        let changed = translate(whole, OfficeKind::Docx, str::to_uppercase);
        assert_eq!(file(&changed, name), run("TWO WORDS"));
    }
}
