//! Office documents: untranslated bytes stay unchanged, and words keep their runs.

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

/// Word on the web gives the document a number. Text outside of runs is not shown, but stays.
#[test]
fn a_document_names_the_language_of_its_translation() {
    use OfficeKind::{Docx, Epub, OpenDocument, Pptx};
    let word =
        "<w:p><w:r><w:rPr><w:lang w:val=\"en-GB\"/></w:rPr><w:t>xml:lang=\"en\"</w:t></w:r></w:p>";
    let styles = "<w:styles><w:lang w:val=\"en-US\" w:eastAsia=\"zh-CN\"/><w:style w:val=\"en\"/></w:styles>";
    let slide = "<a:p><a:r><a:rPr lang=\"en-US\" altLang='en-US'/><a:t>A</a:t></a:r></a:p>";
    let open = "<x><s:t fo:language=\"en\" fo:country=\"US\" c:language-asian=\"zh\"/><text:p>A</text:p></x>";
    let book =
        "<html xml:lang=\"EN\" lang='en_GB'><p lang=\"eng\">A <i lang=\"fr\">B</i></p></html>";
    let list = "<package xml:lang=\"en\"><dc:title>A</dc:title><dc:language id=\"l\">en-GB</dc:language></package>";
    for (kind, files, into, changes) in [
        (
            Docx,
            vec![("word/document.xml", word), ("word/styles.xml", styles)],
            "pt-BR",
            vec![
                ("w:lang w:val=\"en-GB", "w:lang w:val=\"pt-BR"),
                ("w:lang w:val=\"en-US", "w:lang w:val=\"pt-BR"),
            ],
        ),
        (
            Pptx,
            vec![
                ("ppt/presentation.xml", "<a/>"),
                ("ppt/slides/slide1.xml", slide),
            ],
            "de",
            vec![(" lang=\"en-US", " lang=\"de")],
        ),
        (
            OpenDocument,
            vec![("content.xml", open)],
            "de",
            vec![(
                "fo:language=\"en\" fo:country=\"US\"",
                "fo:language=\"de\" fo:country=\"none\"",
            )],
        ),
        (
            OpenDocument,
            vec![("content.xml", open)],
            "pt-BR",
            vec![("\"en\"", "\"pt\""), ("\"US\"", "\"BR\"")],
        ),
        (
            Epub,
            vec![
                ("META-INF/container.xml", "<a/>"),
                ("a.xhtml", book),
                ("a.opf", list),
            ],
            "zh-Hans",
            vec![
                ("\"EN\"", "\"zh-Hans\""),
                ("'en_GB'", "'zh_Hans'"),
                ("\"eng\"", "\"zh-Hans\""),
                ("xml:lang=\"en\">", "xml:lang=\"zh-Hans\">"),
                (">en-GB<", ">zh-Hans<"),
            ],
        ),
    ] {
        let bytes = archive(&files);
        let office = Office::read(bytes.clone(), kind).unwrap();
        let html = office.html();
        for languages in [[None; 2], [Some("en"), None], [Some("fr"), Some(into)]] {
            assert_eq!(office.write(&html, languages), bytes);
        }
        assert_eq!(
            office.write(&html, [Some("en"), Some(into)]),
            bytes,
            "no word changed"
        );
        let written = office.write(
            &html.replace('A', "Ä").replace("xml:", "XML:"),
            [Some("en-US"), Some(into)],
        );
        for (name, xml) in files {
            let expected = changes
                .iter()
                .fold(xml.to_string(), |xml, (from, to)| xml.replace(from, to));
            let expected = expected.replace(">A", ">Ä").replace(">xml:", ">XML:");
            let written = file(&written, name).replace(" xml:space=\"preserve\"", "");
            assert_eq!(written, expected, "{name}");
        }
    }
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

/// The code and the result of each field in the order of their ends, and whether all fields are
/// whole.
fn fields_of(xml: &str) -> (Vec<[String; 2]>, bool) {
    let mut all = Vec::new();
    let mut open: Vec<([String; 2], usize)> = Vec::new();
    let mut is_whole = true;
    for piece in xml.split('<') {
        let (tag, text) = piece.split_once('>').unwrap_or_default();
        if tag.contains("\"begin\"") {
            open.push(Default::default());
        } else if tag.contains("\"separate\"") {
            is_whole &= open.last().is_some_and(|(_, side)| *side == 0);
            open.last_mut().unwrap().1 = 1;
        } else if tag.contains("\"end\"") {
            all.push(open.pop().unwrap().0);
        } else if let Some((sides, side)) = open.last_mut() {
            let is_code = tag == "w:instrText";
            is_whole &= !(is_code && *side == 1);
            sides[*side] += text;
        }
    }
    (all, is_whole && open.is_empty())
}

/// LibreOffice 7.4 loses all text behind a field that has no end.
#[test]
fn a_field_of_word_is_never_torn_from_its_result() {
    let text = |text: &str| format!("<w:t xml:space=\"preserve\">{text}</w:t>");
    let mark = |kind: &str| format!("<w:fldChar w:fldCharType=\"{kind}\"/>");
    let run = |inside: &str| format!("<w:r>{inside}</w:r>");
    let codes = [
        "PAGE",
        "NUMPAGES",
        "PAGEREF _Toc1 \\h",
        "MERGEFIELD Name",
        "REF x",
        "DATE",
        "SEQ Figure",
        "FORMTEXT",
        "HYPERLINK \"a\"",
        "TOC \\o",
        "XE \"dog\"",
    ];
    let parts = |code: &str, result: &str| {
        let code = format!("<w:instrText>{code}</w:instrText>");
        [
            mark("begin"),
            code,
            mark("separate"),
            text(result),
            mark("end"),
        ]
    };
    for (code, result, shape) in codes.iter().flat_map(|code| {
        ["7", "two words", ""]
            .into_iter()
            .flat_map(move |result| (0..5).map(move |shape| (code, result, shape)))
    }) {
        let field = match shape {
            // A run for each part, and one run for all.
            0 => parts(code, result).map(|part| run(&part)).concat(),
            1 => run(&parts(code, result).concat()),
            // A field in the code, and a field in the result.
            2 | 3 => {
                let inner = parts("MERGEFIELD Inner", "m")
                    .map(|part| run(&part))
                    .concat();
                let mut parts = parts(code, result).map(|part| run(&part));
                parts[shape - 1].push_str(&inner);
                parts.concat()
            }
            // The field ends in the next paragraph.
            _ => parts(code, result)[..4]
                .iter()
                .map(|part| run(part))
                .collect(),
        };
        let field = |number: usize| {
            if number == 2 && shape == 4 {
                run(&mark("end"))
            } else {
                field.clone()
            }
        };
        let paragraph = |number: usize| {
            let [before, after] = ["the dog on ", " of many small houses"].map(|it| run(&text(it)));
            format!("<w:p>{before}{}{after}</w:p>", field(number))
        };
        let xml = format!("<w:document>{}{}</w:document>", paragraph(1), paragraph(2));
        let found = reversed_part(OfficeKind::Docx, "word/document.xml", &xml);
        let (before, after) = (fields_of(&xml), fields_of(&found));
        assert!(before.1 && after.1, "{code} {shape}: {found}");
        if shape < 4 && !code.starts_with(['H', 'T']) {
            assert_eq!(after.0, before.0, "{code} {shape}: {found}");
        }
        let codes = |fields: &[[String; 2]]| {
            fields
                .iter()
                .map(|field| field[0].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(codes(&after.0), codes(&before.0), "{code} {shape}: {found}");
        assert!(found.contains("HOUSES") && found.contains("DOG"), "{found}");
    }
}

#[test]
fn fields_notes_and_readings_stay_whole_in_every_program() {
    use OfficeKind::{Docx, Epub, OpenDocument, Pptx, Xlsx};
    let open = "<d><style:style style:name=\"T1\"><style:text-properties style:text-position=\"super 58%\"/></style:style><text:p>";
    for (kind, name, before, unit, after) in [
        (
            Docx,
            "word/document.xml",
            "<d><w:p><w:r><w:t>the dog sees </w:t></w:r>",
            "<w:fldSimple w:instr=\" PAGE \"><w:r><w:t>two words</w:t></w:r></w:fldSimple>",
            "<w:r><w:t> here</w:t></w:r></w:p></d>",
        ),
        (
            Docx,
            "word/document.xml",
            "<d><w:p><w:r><w:t>the dog sleeps.</w:t></w:r>",
            "<w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr><w:t xml:space=\"preserve\">1</w:t></w:r>",
            "<w:r><w:t> the cat too.</w:t></w:r></w:p></d>",
        ),
        (
            Pptx,
            "ppt/slides/slide1.xml",
            "<d><a:p><a:r><a:t>the dog sees </a:t></a:r>",
            "<a:fld id=\"x\"><a:rPr/><a:t>two words</a:t></a:fld>",
            "<a:r><a:t> here</a:t></a:r></a:p></d>",
        ),
        (
            Pptx,
            "ppt/slides/slide1.xml",
            "<d><a:p><a:r><a:t>the dog sleeps.</a:t></a:r>",
            "<a:r><a:rPr baseline=\"30000\"/><a:t>1</a:t></a:r>",
            "<a:r><a:t> the cat too.</a:t></a:r></a:p></d>",
        ),
        (
            Xlsx,
            "xl/sharedStrings.xml",
            "<sst><si><r><t>the dog sleeps.</t></r>",
            "<r><rPr><vertAlign val=\"superscript\"/></rPr><t xml:space=\"preserve\">1</t></r>",
            "<r><t> the cat too.</t></r></si></sst>",
        ),
        (
            OpenDocument,
            "content.xml",
            open,
            "<text:bookmark-ref text:ref-name=\"x\">two words</text:bookmark-ref>",
            " seen by the dog here</text:p></d>",
        ),
        (
            OpenDocument,
            "content.xml",
            open,
            "<field:fieldmark-start field:type=\"x\"/><text:span>two</text:span><field:fieldmark-separator/>words<field:fieldmark-end/>",
            "<text:s/>seen by the dog here</text:p></d>",
        ),
        (
            OpenDocument,
            "content.xml",
            open,
            "<text:span text:style-name=\"T1\">1</text:span>",
            " the cat too sleeps</text:p></d>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog sleeps.",
            "<sup><a href=\"#n\">1</a></sup>",
            " the cat too.</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog sleeps.",
            "<a href=\"#n\">[1]</a>",
            " the cat too.</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><section>the dog reads ",
            "<span translate=\"no\">two words</span>",
            " here</section></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog reads ",
            "<svg><title>a b</title><text>c d</text></svg>",
            " here</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><body><p>the dog reads <ruby>so",
            "<rp>(</rp><rt>kan ji</rt><rp>)</rp>",
            "</ruby> here</p></body></html>",
        ),
        (
            Epub,
            "a.xhtml",
            "<html><head><title>a b</title>",
            "<script>var a = 'b c';</script>",
            "</head><body><p translate=\"no\">d e</p></body></html>",
        ),
    ] {
        let found = reversed_part(kind, name, &format!("{before}{unit}{after}"));
        assert!(found.contains(unit), "{unit}\n{found}");
        assert!(!found.contains("the "), "{found}");
        let letters = |xml: &str| {
            let text = xml
                .split('<')
                .filter_map(|piece| Some(piece.split_once('>')?.1));
            let mut all: Vec<char> = text
                .flat_map(|text| text.to_uppercase().chars().collect::<Vec<_>>())
                .filter(|c| !c.is_whitespace())
                .collect();
            all.sort_unstable();
            all
        };
        assert_eq!(
            letters(&found),
            letters(&format!("{before}{unit}{after}")),
            "{found}"
        );
    }
}

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

/// openpyxl 3.1 writes the comments of a sheet as `xl/comments/comment1.xml`.
#[test]
fn files_are_found_by_their_types_and_not_by_their_names() {
    use OfficeKind::{Docx, Epub, OpenDocument, Xlsx};
    let types = |program: &str, parts: &[(&str, &str)]| {
        let parts = parts.iter().map(|(name, kind)| {
            format!("<Override PartName=\"/{name}\" ContentType=\"application/vnd.openxmlformats-officedocument.{program}.{kind}+xml\"/>")
        });
        format!("<Types>{}</Types>", parts.collect::<String>())
    };
    let excel = types(
        "spreadsheetml",
        &[("b.xml", "sheet.main"), ("c/d.xml", "comments")],
    );
    let word = types(
        "wordprocessingml",
        &[("b.xml", "template.main"), ("c/d.xml", "footer")],
    );
    let core = "<Types><Override PartName=\"/c/d.xml\" ContentType=\"application/vnd.openxmlformats-package.core-properties+xml\"/>\
                <Override PartName=\"/b.xml\" ContentType=\"application/vnd.ms-word.document.macroEnabled.main+xml\"/></Types>";
    let list = "<package><manifest><item href=\"d.xml\" media-type=\"application/xhtml+xml\"/></manifest></package>";
    let contents = "<ncx><navMap><navPoint><navLabel><text>one dog</text></navLabel></navPoint></navMap></ncx>";
    for (kind, list, name, xml) in [
        (
            Xlsx,
            ("[Content_Types].xml", excel.as_str()),
            "c/d.xml",
            "<comments><comment><text><t>one dog</t></text></comment></comments>",
        ),
        (
            Docx,
            ("[Content_Types].xml", &word),
            "c/d.xml",
            "<w:ftr><w:p><w:r><w:t>one dog</w:t></w:r></w:p></w:ftr>",
        ),
        (
            Docx,
            ("[Content_Types].xml", core),
            "c/d.xml",
            "<c><dc:title>one dog</dc:title><dc:creator>a man</dc:creator></c>",
        ),
        (
            Epub,
            ("c/x.opf", list),
            "c/d.xml",
            "<html><body><p>one dog</p></body></html>",
        ),
        (Epub, ("c/x.opf", list), "toc.ncx", contents),
        (
            OpenDocument,
            ("content.xml", "<a/>"),
            "meta.xml",
            "<m><dc:title>one dog</dc:title></m>",
        ),
        (
            OpenDocument,
            ("content.xml", "<a/>"),
            "Object 1/content.xml",
            "<m><text:p>one dog</text:p></m>",
        ),
        // OpenOffice 3.1 names the grammar of a formula.
        (
            OpenDocument,
            ("content.xml", "<a/>"),
            "Object 1/content.xml",
            "<!DOCTYPE m PUBLIC \"-//OpenOffice.org//DTD Modified W3C MathML 1.01//EN\" \"math.dtd\">\n<m><text:p>one dog</text:p></m>",
        ),
    ] {
        let container = ("META-INF/container.xml", "<a/>");
        let whole = archive(&[container, list, ("b.xml", "<a/>"), (name, xml)]);
        let changed = translate(whole, kind, str::to_uppercase);
        let found = file(&changed, name).replace(" xml:space=\"preserve\"", "");
        assert_eq!(found, xml.replace("one dog", "ONE DOG"));
    }
}

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

/// The places in `archive` of the entries of its central directory.
fn entries(archive: &[u8]) -> Vec<usize> {
    let starts = archive.windows(4).enumerate();
    let entries = starts.filter(|(_, it)| *it == b"PK\x01\x02");
    entries.map(|(at, _)| at).collect()
}

/// `archive` with a directory that declares 10 bytes for its first file.
fn lying(mut archive: Vec<u8>) -> Vec<u8> {
    let entry = entries(&archive)[0];
    archive[entry + 24..entry + 28].copy_from_slice(&10u32.to_le_bytes());
    archive
}

/// An archive with two names for the same bytes.
fn sharing() -> Vec<u8> {
    let files = [
        ("word/document.xml", "<w:p/>"),
        ("word/header1.xml", "<w:p/>"),
    ];
    let mut archive = archive(&files);
    let second = entries(&archive)[1];
    archive[second + 42..second + 46].fill(0);
    archive
}

#[test]
fn hostile_archives_are_refused_in_a_sentence() {
    let refused = |bytes: Vec<u8>| {
        Office::read(bytes, OfficeKind::Docx)
            .unwrap_err()
            .to_string()
    };
    let document = |xml: &str| archive(&[("word/document.xml", xml)]);
    let bomb = " ".repeat(65 << 20);
    let whole = document("<w:p/>");
    let deep = "<w:p>".repeat(100_000);
    for (bytes, sentence) in [
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1".to_vec(),
            "the document is encrypted",
        ),
        (b"PK\x03\x04".to_vec(), "the document is no whole archive"),
        (
            whole[..whole.len() - 9].to_vec(),
            "the document is no whole archive",
        ),
        (lying(document(&bomb)), "the document is no whole archive"),
        (sharing(), "the document is no whole archive"),
        (
            document(&bomb),
            "the document unpacks to more than the 64 MiB",
        ),
        (
            document("<w:p><w:r></w:p>"),
            "word/document.xml: line 1: the XML is broken",
        ),
        (
            document(&deep),
            "word/document.xml: line 1: elements lie deeper",
        ),
        (
            document("<!DOCTYPE a [<!ENTITY b 'c'>]><w:p/>"),
            "word/document.xml: the file defines",
        ),
        (
            archive(&[("xl/sharedStrings.xml", "<sst/>")]),
            "the archive is no Word document",
        ),
    ] {
        let message = refused(bytes);
        assert!(message.starts_with(sentence), "{message}");
    }
}

proptest! {
    #[test]
    fn damaged_archives_are_refused_or_written(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let text = "<w:document><w:p><w:r><w:t>one <w:b/>two</w:t></w:r></w:p></w:document>";
        let files = [("a", "b"), ("word/document.xml", text), ("c", "d"), ("word/header1.xml", text)];
        let mut bytes = archive(&files);
        for (index, byte) in damage {
            let length = bytes.len();
            bytes[index.index(length)] = byte;
        }
        if let Ok(office) = Office::read(bytes, OfficeKind::Docx) {
            let html = office.html();
            office.write(&html.replace("one", "eins"), [None; 2]);
        }
    }
}

/// The words of each paragraph of a document.
fn words(office: &Office) -> Vec<Vec<String>> {
    office
        .html()
        .split_terminator("</p>\n")
        .map(|line: &str| {
            let pieces = line.replace("<br", " <br");
            let outside = pieces
                .split('<')
                .map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
            let text: String = outside.collect();
            text.split_whitespace().map(str::to_owned).collect()
        })
        .collect()
}

/// `OFFICE_FILES=FOLDER cargo test --release -p burnformer-documents --test it office -- --ignored
/// --nocapture` tries every document in a folder.
#[test]
#[ignore = "needs a folder of documents"]
fn documents_of_others_lose_nothing() {
    let folder = std::env::var("OFFICE_FILES").expect("OFFICE_FILES names a folder");
    let mut folders = vec![std::path::PathBuf::from(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path())
            } else {
                files.push(entry.path())
            }
        }
    }
    files.sort();
    let mut counts = std::collections::BTreeMap::<String, [usize; 4]>::new();
    for path in files {
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(kind) = OfficeKind::from_extension(&extension) else {
            continue;
        };
        let bytes = std::fs::read(&path).unwrap();
        let [all, refused, other, lost] = counts.entry(extension).or_default();
        *all += 1;
        let office = match Office::read(bytes.clone(), kind) {
            Ok(office) => office,
            Err(refusal) => {
                println!("{}: {refusal}", path.display());
                *refused += 1;
                continue;
            }
        };
        if translate(bytes.clone(), kind, str::to_owned).len()
            != office.write(&office.html(), [None; 2]).len()
        {
            println!("{}: changes without a translation", path.display());
            *other += 1;
        }
        let upper = |text: &str| {
            text.chars()
                .map(|c| {
                    if c.is_ascii() {
                        c.to_ascii_uppercase()
                    } else {
                        c
                    }
                })
                .collect::<String>()
        };
        let result = translate(bytes, kind, upper);
        let after = Office::read(result.clone(), kind);
        let before = words(&office);
        let expected: Vec<Vec<String>> = before
            .iter()
            .map(|words| words.iter().map(|word| upper(word)).collect())
            .collect();
        match after {
            Ok(after) => {
                let found: Vec<Vec<String>> = words(&after)
                    .iter()
                    .map(|words| words.iter().map(|word| upper(word)).collect())
                    .collect();
                if found != expected {
                    let at = found.iter().zip(&expected).position(|(a, b)| a != b);
                    println!(
                        "{}: {:?}",
                        path.display(),
                        at.map(|at| (&found[at], &expected[at]))
                    );
                    *lost += 1;
                }
            }
            Err(refusal) => {
                println!("{}: the result is broken: {refusal}", path.display());
                *lost += 1;
            }
        }
        if let Ok(out) = std::env::var("OFFICE_OUT") {
            let name = path.file_name().unwrap();
            std::fs::write(std::path::Path::new(&out).join(name), result).unwrap();
        }
    }
    for (extension, [all, refused, other, lost]) in counts {
        println!(
            "{extension}: {all} files, {refused} refused, {other} changed by identity, {lost} lost words"
        );
    }
}
