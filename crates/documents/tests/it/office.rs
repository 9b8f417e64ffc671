//! Office documents: untranslated bytes stay unchanged, and words keep their runs.

mod archives;
mod fields;
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
