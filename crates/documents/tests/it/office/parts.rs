//! Texts of office documents outside of their main files.

use burnformer_documents::{Office, OfficeKind, WholeFile};

use super::discovery::{RELATIONS, relations};
use super::{archive, file, translate};

/// The file `name` of a document of `files`, translated into capitals.
pub fn file_in_capitals(kind: OfficeKind, files: &[(&str, &str)], name: &str) -> String {
    let changed = translate(archive(files), kind, str::to_uppercase);
    file(&changed, name).replace(" xml:space=\"preserve\"", "")
}

/// A document with one file.
fn whole(kind: OfficeKind, xml: &str) -> Vec<(&str, &str)> {
    let (main, name) = match kind {
        OfficeKind::Docx => ("word/document.xml", "word/header1.xml"),
        OfficeKind::Pptx => ("ppt/presentation.xml", "ppt/slides/slide1.xml"),
        OfficeKind::Xlsx => ("xl/workbook.xml", "xl/drawings/drawing1.xml"),
        OfficeKind::OpenDocument => ("content.xml", "styles.xml"),
        _ => ("META-INF/container.xml", "a.xhtml"),
    };
    vec![(main, "<a/>"), (name, xml)]
}

/// A namespace of Office in one of the two forms of its formats.
fn office_namespace(form: usize, name: &str) -> String {
    match form {
        0 => format!(
            "http://schemas.openxmlformats.org/{}",
            name.replacen('/', "/2006/", 1)
        ),
        _ => format!("http://purl.oclc.org/ooxml/{name}"),
    }
}

fn open_namespace(_: usize, name: &str) -> String {
    format!("urn:oasis:names:tc:opendocument:xmlns:{name}:1.0")
}

#[test]
fn values_that_are_not_well_formed_stay_and_the_file_is_read_again() {
    for value in [
        "one &quot;dog&a)::;",
        "one &unknown; dog",
        "one &; dog",
        "one &#xZZ; dog",
    ] {
        let xml = format!(
            "<w:hdr><w:p><w:hyperlink w:tooltip='{value}'><w:r><w:t>one dog</w:t></w:r></w:hyperlink></w:p></w:hdr>"
        );
        let files = whole(OfficeKind::Docx, &xml);
        let once = translate(archive(&files), OfficeKind::Docx, str::to_uppercase);
        let header = file(&once, files[1].0);
        assert!(header.contains(&format!("w:tooltip='{value}'")), "{header}");
        assert!(header.contains("ONE DOG"), "{header}");
        translate(once, OfficeKind::Docx, str::to_uppercase);
    }
}

/// Programs that write XML with libraries give namespaces prefixes of their own.
#[test]
fn names_are_those_of_namespaces_and_not_their_prefixes() {
    use OfficeKind::{Docx, OpenDocument, Pptx, Xlsx};
    let mark = |kind: &str| format!("<@r><@fldChar @fldCharType=\"{kind}\"/></@r>");
    let field = format!(
        "<@p><@r><@t>one </@t></@r>{}<@r><@instrText>PAGE</@instrText></@r>{}<@r><@t>two</@t></@r>{}<@r><@t> dog</@t></@r></@p>",
        mark("begin"),
        mark("separate"),
        mark("end")
    );
    let shape = "<@p><@r><@rPr/><@t>one </@t></@r><@fld><@t>two</@t></@fld><@r><@rPr/><@t> dog</@t></@r></@p>";
    let cell = "<@is><@r><@t>one </@t></@r><@rPh><@t>two</@t></@rPh><@r><@t> dog</@t></@r></@is>";
    let open = "<@p>one <@date>two</@date> dog</@p>";
    type Namespace = fn(usize, &str) -> String;
    let cases: [(OfficeKind, &str, Namespace, &str); 4] = [
        (Docx, "wordprocessingml/main", office_namespace, &field),
        (Pptx, "drawingml/main", office_namespace, shape),
        (Xlsx, "spreadsheetml/main", office_namespace, cell),
        (OpenDocument, "text", open_namespace, open),
    ];
    for (kind, name, namespace, body) in cases {
        for (form, prefix) in [0, 1]
            .into_iter()
            .flat_map(|form| ["", "ns0:", "w:"].map(|it| (form, it)))
        {
            let colon = if prefix.is_empty() { "" } else { ":" };
            let name_of = prefix.trim_end_matches(':');
            let declared = format!("xmlns{colon}{name_of}=\"{}\"", namespace(form, name));
            let body = body.replace('@', prefix);
            let xml = format!("<x {declared}><y>{body}</y></x>");
            let files = whole(kind, &xml);
            let found = file_in_capitals(kind, &files, files[1].0);
            assert_eq!(
                found,
                xml.replace(">one ", ">ONE ").replace(" dog<", " DOG<")
            );
        }
    }
}

#[test]
fn texts_outside_of_paragraphs_are_translated() {
    use OfficeKind::{Docx, Epub, OpenDocument, Pptx, Xlsx};
    for (kind, xml) in [
        (
            Docx,
            "<w:hdr><w:p><w:drawing><wp:docPr id=\"1\" name=\"Picture 1\" descr=\"one dog\" title=\"one dog\"/></w:drawing></w:p></w:hdr>",
        ),
        (
            Docx,
            "<w:hdr><w:p><w:hyperlink w:tooltip='one &quot;dog&quot;'><w:r><w:t>one dog</w:t></w:r></w:hyperlink></w:p></w:hdr>",
        ),
        (
            Docx,
            "<w:hdr><w:tblPr><w:tblCaption w:val=\"one dog\"/><w:tblDescription w:val=\"one dog\"/></w:tblPr></w:hdr>",
        ),
        (
            Docx,
            "<w:hdr><w:sdtPr><w:alias w:val=\"one dog\"/><w:tag w:val=\"one cat\"/><w:listItem w:displayText=\"one dog\" w:value=\"a b\"/></w:sdtPr></w:hdr>",
        ),
        (
            Docx,
            "<w:hdr><v:shape id=\"a b\" alt=\"one dog\"><v:textpath string=\"one dog\"/></v:shape></w:hdr>",
        ),
        (
            Docx,
            "<w:hdr><w:p><w:r><w:pict><v:shape id=\"a b\" alt=\"one dog\"><v:textbox style=\"a b\"><w:txbxContent><w:p><w:r><w:t>one dog</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r><w:r><w:t>one dog</w:t></w:r></w:p></w:hdr>",
        ),
        (
            Docx,
            "<c:chart><c:tx><c:strRef><c:f>A!B</c:f><c:strCache><c:pt idx=\"0\"><c:v>one dog</c:v></c:pt></c:strCache></c:strRef></c:tx>\
            <c:numCache><c:formatCode>General</c:formatCode><c:pt><c:v>1e5</c:v></c:pt></c:numCache></c:chart>",
        ),
        (
            Docx,
            "<cx:chart><cx:strDim><cx:lvl><cx:pt>one dog</cx:pt></cx:lvl></cx:strDim><cx:tx><cx:v>one dog</cx:v></cx:tx></cx:chart>",
        ),
        (
            Docx,
            "<c><dc:title>one dog</dc:title><dc:subject>one dog</dc:subject><cp:keywords>one dog</cp:keywords><dc:creator>a man</dc:creator></c>",
        ),
        (
            Pptx,
            "<p:sld><p:cNvPr id=\"2\" name=\"a b\" descr=\"one dog\"/><a:p><a:r><a:rPr><a:hlinkClick r:id=\"a b\" tooltip=\"one dog\"/></a:rPr><a:t>one dog</a:t></a:r></a:p></p:sld>",
        ),
        (
            Pptx,
            "<p:sldMaster><p:sp><p:nvPr><p:ph type=\"title\"/></p:nvPr><a:p><a:r><a:t>click here</a:t></a:r></a:p></p:sp>\
            <p:sp><p:nvPr><p:ph hasCustomPrompt=\"1\"/></p:nvPr><a:p><a:r><a:t>one dog</a:t></a:r></a:p></p:sp><p:sp><a:p><a:r><a:t>one dog</a:t></a:r></a:p></p:sp></p:sldMaster>",
        ),
        (
            Xlsx,
            "<worksheet><hyperlinks><hyperlink ref=\"A1\" tooltip=\"one dog\" display=\"a b\"/></hyperlinks></worksheet>",
        ),
        (
            Xlsx,
            "<worksheet><dataValidation type=\"list\" promptTitle=\"one dog\" prompt=\"one&#10;dog\" errorTitle=\"one dog\" error=\"one dog\"><formula1>A1</formula1></dataValidation></worksheet>",
        ),
        (
            Xlsx,
            "<ThreadedComments xmlns=\"http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments\"><text>one dog</text></ThreadedComments>",
        ),
        (
            OpenDocument,
            "<x><text:p>one <draw:frame><svg:title>one dog</svg:title><svg:desc>one dog</svg:desc></draw:frame> dog</text:p></x>",
        ),
        (
            OpenDocument,
            "<x><presentation:footer-decl>one dog</presentation:footer-decl><table:help-message table:title=\"one dog\" table:display=\"true\"/></x>",
        ),
        (
            OpenDocument,
            "<x><form:button form:name=\"a b\" form:label=\"one dog\" form:title=\"one dog\"/><text:p><text:a office:title=\"one dog\">one dog</text:a></text:p></x>",
        ),
        (
            Epub,
            "<html><body><p title='one dog'>one <img src=\"a b\" alt=\"one dog\"/> dog</p><img alt=\"one dog\"/><input placeholder=\"one dog\" name=\"a b\"/></body></html>",
        ),
        (
            Epub,
            "<html><body><noscript>one dog</noscript><template><p>one dog</p></template><video><p>one dog</p></video></body></html>",
        ),
        (
            Epub,
            "<ncx><docTitle><text>one dog</text></docTitle><navMap><navPoint><navLabel><text>one dog</text></navLabel><content src=\"a\"/></navPoint></navMap></ncx>",
        ),
        (
            Epub,
            "<package><dc:title>one dog</dc:title><dc:description>one dog</dc:description><guide><reference type=\"toc\" title=\"one dog\" href=\"a\"/></guide></package>",
        ),
    ] {
        let files = whole(kind, xml);
        let found = file_in_capitals(kind, &files, files[1].0);
        let expected = [
            "one dog",
            "one &quot;dog&quot;",
            "one&#10;dog",
            ">one <",
            "> dog<",
        ];
        let expected = expected.iter().fold(xml.to_owned(), |xml, text| {
            let upper = text.replace("one", "ONE").replace("dog", "DOG");
            xml.replace(text, &upper)
        });
        assert_eq!(found, expected);
    }
}

/// Excel's codes, as openpyxl 3.1 and LibreOffice 7.4 read them.
#[test]
fn headers_of_sheets_keep_their_codes() {
    for (before, after) in [
        ("one dog", "ONE DOG"),
        (
            "&amp;Lone &amp;P of &amp;N&amp;Cdog&amp;R&amp;D",
            "&amp;LONE &amp;P OF &amp;N&amp;CDOG&amp;R&amp;D",
        ),
        (
            "&amp;L&amp;\"Arial,Bold Italic\"&amp;12one&amp;B dog",
            "&amp;L&amp;\"Arial,Bold Italic\"&amp;12ONE&amp;B DOG",
        ),
        (
            "&amp;C&amp;&quot;-,Regular&quot;&amp;KFF0000salt &amp;&amp; dog",
            "&amp;C&amp;&quot;-,Regular&quot;&amp;KFF0000SALT &amp;&amp; DOG",
        ),
        (
            "&amp;R&amp;K01+049one &amp;P+1 dog&amp;Z&amp;F",
            "&amp;R&amp;K01+049ONE &amp;P+1 DOG&amp;Z&amp;F",
        ),
        ("&amp;C&amp;A", "&amp;C&amp;A"),
        ("&amp;Lone\ndog&amp;Gx", "&amp;LONE\nDOG&amp;GX"),
    ] {
        let sheet = |text: &str| {
            format!(
                "<worksheet><headerFooter><oddHeader>{text}</oddHeader></headerFooter></worksheet>"
            )
        };
        let xml = sheet(before);
        let files = [
            ("xl/workbook.xml", "<a/>"),
            ("xl/worksheets/sheet1.xml", xml.as_str()),
        ];
        let found = file_in_capitals(OfficeKind::Xlsx, &files, files[1].0);
        assert_eq!(found, sheet(after));
    }
}

/// A program shows one of the alternatives, and which one depends on its age.
#[test]
fn alternatives_have_the_same_translation() {
    use OfficeKind::{Docx, Pptx};
    let run = |kind: OfficeKind, text: &str, properties: &str| {
        let prefix = if kind == Docx { "w" } else { "a" };
        format!(
            "<{prefix}:r><{prefix}:rPr>{properties}</{prefix}:rPr><{prefix}:t>{text}</{prefix}:t></{prefix}:r>"
        )
    };
    let alternatives = |one: &str, two: &str| {
        format!(
            "<mc:AlternateContent><mc:Choice Requires=\"x\">{one}</mc:Choice><mc:Fallback>{two}</mc:Fallback></mc:AlternateContent>"
        )
    };
    for kind in [Docx, Pptx] {
        let prefix = if kind == Docx { "w" } else { "a" };
        let text = |text: &str| format!("<{prefix}:t>{text}</{prefix}:t>");
        let in_run = |one: &str, two: &str| {
            let before = format!(
                "<{prefix}:r><{prefix}:rPr><x/></{prefix}:rPr>{}",
                text("we see ")
            );
            before + &alternatives(one, two) + &text(" here") + &format!("</{prefix}:r>")
        };
        let around =
            |inside: &str| [&run(kind, "we see ", ""), inside, &run(kind, " here", "")].concat();
        for inside in [
            around(&alternatives(
                &run(kind, "one dog", "<b/>"),
                &run(kind, "one dog", "<b/>"),
            )),
            around(&alternatives(
                &run(kind, "one dog", ""),
                &run(kind, "one dog", ""),
            )),
            around(&alternatives(
                &(run(kind, "one ", "<b/>") + &run(kind, "dog", "")),
                &run(kind, "one dog", "<i/>"),
            )),
            in_run(&text("one dog"), &text("one dog")),
            in_run(&(text("one ") + &text("dog")), &text("one dog")),
            in_run("<new:sign/>", &text("one dog")),
        ] {
            let xml = format!("<x><{prefix}:p>{inside}</{prefix}:p></x>");
            let files = whole(kind, &xml);
            let found = file_in_capitals(kind, &files, files[1].0);
            assert_eq!(found.matches("mc:Choice").count(), 2, "{found}");
            let branches: Vec<String> = found
                .split("mc:Fallback")
                .take(2)
                .map(|branch| {
                    let branch = branch.split("mc:Choice").nth(1).unwrap_or(branch);
                    let texts = branch.split('<').filter_map(|piece| piece.split_once('>'));
                    texts.map(|(_, text)| text).collect()
                })
                .collect();
            if !xml.contains("new:sign") {
                assert_eq!(branches, ["ONE DOG", "ONE DOG"], "{found}");
            }
            assert!(
                !found.contains("dog") && found.contains("WE SEE"),
                "{found}"
            );
            assert_eq!(
                found.matches(&format!("<{prefix}:r>")).count(),
                found.matches(&format!("</{prefix}:r>")).count(),
                "{found}"
            );
        }
    }
}

/// Excel and XlsxWriter escape a carriage return, and openpyxl 3.1 reads the escape as letters.
#[test]
fn the_escape_of_a_line_end_is_no_word() {
    for end in [
        "\n",
        "\r\n",
        "_x000D_\n",
        "_x000D_",
        "_x000a_",
        "&#13;&#10;",
        "&#xA;",
        "&#13;",
    ] {
        let strings =
            |one: &str, end: &str| format!("<sst><si><t>{one}{end}two dogs</t></si></sst>");
        let before = strings("one dog", end);
        let files = [
            ("xl/workbook.xml", "<a/>"),
            ("xl/sharedStrings.xml", before.as_str()),
        ];
        let found = file_in_capitals(OfficeKind::Xlsx, &files, files[1].0);
        assert_eq!(
            found,
            strings("ONE DOG", "\n").replace("two dogs", "TWO DOGS"),
            "{end:?}"
        );
    }
}

/// Excel refuses a table with other names than its first cells have, and a formula compares texts.
#[test]
fn cells_that_a_workbook_names_stay_and_are_named() {
    for (sheet, kept) in [
        ("<f>IF(A1=\"one dog\",1,2)</f>", "one dog"),
        ("<formula1>\"one cat,one dog\"</formula1>", "one dog"),
        (
            "<x:formula>A1=\"say \"\"dog\"\"\"</x:formula>",
            "say \"dog\"",
        ),
        ("<filter val=\"one dog\"/>", "one dog"),
        ("<tableColumn id=\"1\" name=\"one_x000a_dog\"/>", "one\ndog"),
        ("<tableColumn id=\"1\" name=\"a &amp; b\"/>", "a &amp; b"),
    ] {
        let sheet = format!("<worksheet>{sheet}</worksheet>");
        let strings = format!("<sst><si><t>{kept}</t></si><si><t>two dogs</t></si></sst>");
        let files = [
            (
                "xl/workbook.xml",
                "<workbook><sheet name=\"Sheet1\"/></workbook>",
            ),
            ("xl/worksheets/sheet1.xml", &sheet),
            ("xl/sharedStrings.xml", &strings),
        ];
        let found = file_in_capitals(OfficeKind::Xlsx, &files, "xl/sharedStrings.xml");
        assert_eq!(found, strings.replace("two dogs", "TWO DOGS"), "{sheet}");
    }
}

#[test]
fn what_stays_in_the_source_language_is_said() {
    let said = |bytes: Vec<u8>, kind: &str| WholeFile::read(bytes, kind).unwrap().untranslated();
    let book = |sheet: &str, names: &str| {
        archive(&[
            (
                "xl/workbook.xml",
                &format!("<workbook><sheets><sheet name=\"{names}\"/></sheets></workbook>"),
            ),
            (
                "xl/worksheets/sheet1.xml",
                &format!("<worksheet>{sheet}</worksheet>"),
            ),
        ])
    };
    for (bytes, kind, expected) in [
        (book("<f>A1</f>", "Tabelle1"), "xlsx", ""),
        (book("<f>IF(A1=1,\"Ja\",TEXT(A2,\"dd.mm.yyyy\"))</f>", "Sheet 2"), "xlsx", "texts in formulas"),
        (book("<f>TEXT(A2,\"dd.mm.yyyy hh\")</f>", "My prices"), "xlsx", "names of sheets"),
        (book("<filter val=\"Ja\"/>", "1"), "xlsx", "names of columns and filters"),
        (b"<p>a</p><svg><text>one</text></svg><textarea>two</textarea><svg><path/></svg>".to_vec(), "html", "texts in <svg>, texts in <textarea>"),
        (b"<p>a</p><svg><style>a</style></svg><script>one</script><iframe srcdoc='<p>one'></iframe>".to_vec(), "html", "pages in <iframe>"),
        (b"<noscript>one</noscript>".to_vec(), "html", ""),
        (archive(&[("META-INF/container.xml", "<a/>"), ("a.xhtml", "<html><svg><title>one</title></svg></html>")]), "epub", "texts in <svg>"),
    ] {
        assert_eq!(said(bytes, kind), expected);
    }
    for (picture, expected) in [
        ("<svg><title>one</title></svg>", "texts in <svg>"),
        ("<svg><path d=\"M\"/></svg>", ""),
        ("<svg><broken", ""),
    ] {
        let list = "<package><item href=\"a\" media-type=\"image/svg+xml\"/></package>";
        let files = [
            ("META-INF/container.xml", "<a/>"),
            ("a.opf", list),
            ("a", picture),
        ];
        assert_eq!(said(archive(&files), "epub"), expected);
    }
    let root = relations(RELATIONS[0], &[("officeDocument", "word/document.xml")]);
    let main = relations(
        RELATIONS[0],
        &[("package", "embeddings/a.xlsx"), ("aFChunk", "b.html")],
    );
    let files = [
        ("_rels/.rels", root.as_str()),
        ("word/document.xml", "<w:p/>"),
        ("word/_rels/document.xml.rels", &main),
        ("word/embeddings/a.xlsx", "x"),
        ("word/b.html", "x"),
    ];
    let office = Office::read(archive(&files), OfficeKind::Docx).unwrap();
    let left: Vec<&str> = office.untranslated().collect();
    assert_eq!(left, ["embedded documents", "imported documents"]);
}
