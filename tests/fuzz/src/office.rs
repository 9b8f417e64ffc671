//! Office documents and books: the archive, and the XML of their main files.

use std::io::{Cursor, Write};

use burnformer_documents::{Document, Format, PendingSentence, WholeFile};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::Door;
use crate::documents::{hostile, identity, reverse};

/// Extensions, with the files that the input becomes and one that the kind must have besides.
const KINDS: [(&str, &[&str], &str); 5] = [
    ("docx", &["word/document.xml"], ""),
    ("pptx", &["ppt/slides/slide1.xml"], "ppt/presentation.xml"),
    (
        "xlsx",
        &["xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"],
        "xl/workbook.xml",
    ),
    ("odt", &["content.xml", "styles.xml"], ""),
    ("epub", &["text.xhtml"], "META-INF/container.xml"),
];

/// The container of a book, and its only other file, whose type the name does not tell.
const CONTAINER: &str =
    "<container><rootfiles><rootfile full-path=\"content.opf\"/></rootfiles></container>";
const PACKAGE: &str = "<package><manifest><item href=\"text.xhtml\" media-type=\"application/xhtml+xml\"/></manifest></package>";

pub fn doors() -> Vec<Door> {
    let mut doors = vec![Door::new("office_archive", enter_archive)];
    doors.extend(KINDS.map(|(kind, names, main)| {
        Door::new(format!("office_{kind}"), move |bytes| {
            let mut files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, bytes)).collect();
            match kind {
                "epub" => files.extend([
                    (main, CONTAINER.as_bytes()),
                    ("content.opf", PACKAGE.as_bytes()),
                ]),
                _ if !main.is_empty() => files.push((main, b"<a/>")),
                _ => (),
            }
            enter(archive(&files), kind);
        })
    }));
    doors
}

/// An archive of these files, which are not compressed.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in files {
        zip.start_file(*name, options).expect("memory takes it");
        zip.write_all(content).expect("memory takes it");
    }
    zip.finish().expect("memory takes it").into_inner()
}

fn enter_archive(bytes: &[u8]) {
    for kind in ["docx", "odt", "epub"] {
        enter(bytes.to_vec(), kind);
    }
}

fn enter(archive: Vec<u8>, kind: &str) {
    let _ = WholeFile::cost(&archive, kind);
    let Ok(file) = WholeFile::read(archive.clone(), kind) else {
        return;
    };
    file.untranslated();
    file.size();
    let same = file.write(file.text.clone(), [None; 2]);
    assert!(same == archive, "an unchanged document is the same archive");
    for model in [identity, reverse, hostile] {
        let written = file.write(translate(&file.text, model), [Some("en"), Some("de")]);
        let again = WholeFile::read(written, kind);
        assert!(again.is_ok(), "the translation cannot be read: {again:?}");
    }
}

fn translate(
    page: &str,
    model: fn(&PendingSentence) -> burnformer_documents::Translated,
) -> String {
    let mut document = Document::parse(page, Format::Html, Some("en"), &|_| true);
    loop {
        let pending = document.pending();
        if pending.is_empty() {
            return document.finish();
        }
        document.accept(pending.iter().map(model).collect());
    }
}
