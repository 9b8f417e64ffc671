//! The language that a document names.

use super::*;

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
