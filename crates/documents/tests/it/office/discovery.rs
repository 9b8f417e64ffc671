//! How the files of an archive are found.

use super::parts::file_in_capitals;
use super::*;

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

pub const RELATIONS: [&str; 2] = [
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships/",
    "http://purl.oclc.org/ooxml/officeDocument/relationships/",
];

/// The relationships of a file to others: a type and a target each.
pub fn relations(namespace: &str, all: &[(&str, &str)]) -> String {
    let one = |(number, (kind, target)): (usize, &(&str, &str))| {
        format!("<Relationship Id=\"r{number}\" Type=\"{namespace}{kind}\" Target=\"{target}\"/>")
    };
    let all: String = all.iter().enumerate().map(one).collect();
    format!("<Relationships>{all}</Relationships>")
}

/// openpyxl 3.1 writes `/xl/comments/comment1.xml`, Excel `../comments1.xml`, and a file in the
/// strict form has other types. The names below say nothing about the files.
#[test]
fn files_are_found_by_their_relationships_whatever_they_are_called() {
    use OfficeKind::{Docx, Pptx, Xlsx};
    let drawing = "<x><a:p><a:r><a:t>one dog</a:t></a:r></a:p></x>";
    let word = "<x><w:p><w:r><w:t>one dog</w:t></w:r></w:p></x>";
    let comment = "<comments><text><t>one dog</t></text></comments>";
    let cases = [
        (Docx, "header", word),
        (Docx, "footnotes", word),
        (Docx, "endnotes", word),
        (Docx, "comments", word),
        (Docx, "glossaryDocument", word),
        (Docx, "chart", drawing),
        (Pptx, "slide", drawing),
        (Pptx, "notesSlide", drawing),
        (Pptx, "slideLayout", drawing),
        (Pptx, "diagramData", drawing),
        (Pptx, "comments", "<x><p:text>one dog</p:text></x>"),
        (Xlsx, "comments", comment),
        (Xlsx, "sharedStrings", "<sst><si><t>one dog</t></si></sst>"),
        (Xlsx, "drawing", drawing),
        (
            Xlsx,
            "worksheet",
            "<worksheet><is><t>one dog</t></is></worksheet>",
        ),
        (
            Xlsx,
            "chart",
            "<x><c:strCache><c:pt><c:v>one dog</c:v></c:pt></c:strCache></x>",
        ),
    ];
    for ((kind, role, xml), namespace) in
        cases.iter().flat_map(|case| RELATIONS.map(|it| (case, it)))
    {
        for target in [
            "../q/part 1.xml",
            "/Q/part%201.xml",
            "./..//q/./part%201.XML#x",
        ] {
            let root = relations(namespace, &[("officeDocument", "/a/b/main.xml")]);
            let main = relations(namespace, &[("theme", "c.xml"), (role, "../d/e.xml")]);
            let deep = relations(namespace, &[(role, target)]);
            let files = [
                ("_rels/.rels", root.as_str()),
                ("a/b/main.xml", "<a/>"),
                ("a/b/_rels/main.xml.rels", &main),
                ("a/d/e.xml", xml),
                ("a/d/_rels/e.xml.rels", &deep.replace("../q", "../../q")),
                ("q/part 1.xml", xml),
                ("word/header1.xml", word),
            ];
            for name in ["a/d/e.xml", "q/part 1.xml"] {
                let types = match kind {
                    Docx => "wordprocessingml.document",
                    Pptx => "presentationml.presentation",
                    _ => "spreadsheetml.sheet",
                };
                let types = format!(
                    "<Types><Default Extension=\"xml\" ContentType=\"application/vnd.openxmlformats-officedocument.{types}.main+xml\"/></Types>"
                );
                let mut files = files.to_vec();
                files.push(("[Content_Types].xml", &types));
                let found = file_in_capitals(*kind, &files, name);
                assert_eq!(found, xml.replace("one dog", "ONE DOG"), "{role} {target}");
            }
        }
    }
}

#[test]
fn files_of_a_book_are_found_by_its_lists() {
    let container = "<container><rootfiles><rootfile full-path=\"My%20book/list.xml\"/></rootfiles></container>";
    for (href, name) in [
        ("one.xml", "My book/one.xml"),
        ("../two/a%20b.xml", "two/a b.xml"),
        ("/two/%C3%A4.x", "two/ä.x"),
    ] {
        let list = format!(
            "<package xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>one dog</dc:title>\
             <manifest><item href=\"{href}\" media-type=\"application/xhtml+xml\"/></manifest></package>"
        );
        let page = "<html><body><p title=\"one dog\">one dog</p></body></html>";
        let files = [
            ("META-INF/container.xml", container),
            ("My book/list.xml", &list),
            (name, page),
        ];
        for (name, xml) in &files[1..] {
            let found = file_in_capitals(OfficeKind::Epub, &files, name);
            assert_eq!(&found, &xml.replace("one dog", "ONE DOG"), "{href}");
        }
    }
}
