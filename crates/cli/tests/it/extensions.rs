//! The extension of an input names its format, or it is refused with a remedy.

use std::fs;

use burnformer_documents::WholeFile;
use tempfile::TempDir;

use crate::common::{refused, run, stderr, stdout};

/// Extensions that translators and developers have, and that are not read.
const UNREAD: &str = "idml indd doc xls ppt rtf pages pdf mo qm ttml dfxp csv toml ini php js mjs jsx tsx \
    vue py tex adoc rst org svg plist resources rc xib storyboard desktop tbx ttx jsonc jsonl json5 xlsb \
    numbers key vsdx fods sxw djvu mobi azw3 zip 7z png jpg mp4 mp3 geojson typ docbook dita j2 erb mqxlz sdltm";

fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn a_file_that_is_not_read_is_refused_by_its_extension() {
    let folder = tempfile::tempdir().unwrap();
    for extension in UNREAD.split_whitespace() {
        for name in [
            format!("a.{extension}"),
            format!("a.{}", extension.to_uppercase()),
            format!("a.b.{extension}.gz"),
        ] {
            let remedy = WholeFile::unread(extension).unwrap();
            let input = file(&folder, &name, b"eins zwei\n");
            refused(
                &["translate", "--input", &input],
                2,
                &[&name, remedy, "--format text"],
            );
        }
    }
    let input = file(&folder, "a.toml", b"Guten Morgen!\n");
    let output = run(&["translate", "--format", "text", "--input", &input]);
    assert_eq!(stdout(&output), "Good morning!\n");
}

#[test]
fn the_extension_of_an_input_names_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let page = "<p class=a>Guten Morgen!</p>\n";
    for name in ["a.html", "a.HTM"] {
        let input = file(&folder, name, page.as_bytes());
        let output = run(&["translate", "--input", &input]);
        assert_eq!(stdout(&output), "<p class=a>Good morning!</p>\n");
    }
    // Other names, among them codes of languages, are lines.
    for name in ["a", "a.de", "a.txt", "a.pl", "a.cs"] {
        let input = file(&folder, name, page.as_bytes());
        let lines = stdout(&run(&["translate", "--input", &input]));
        assert_eq!(lines.lines().count(), 1, "{lines}");
    }
    let plain = file(&folder, "b.de", b"Guten Morgen!\n");
    let html = file(&folder, "b.html", page.as_bytes());
    let translated = folder.path().join("translated");
    fs::create_dir(&translated).unwrap();
    let output = translated.to_str().unwrap();
    let several = run(&["translate", "--input", &plain, &html, "--output", output]);
    assert!(several.status.success(), "{}", stderr(&several));
    let read = |name: &str| fs::read_to_string(translated.join(name)).unwrap();
    assert_eq!(read("b.de"), "Good morning!\n");
    assert_eq!(read("b.html"), "<p class=a>Good morning!</p>\n");
}

#[test]
fn an_option_of_lines_and_a_document_exclude_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let page = file(&folder, "a.html", b"<p>Guten Morgen!</p>\n");
    for option in [&["--nbest", "2"][..], &["--json"]] {
        let arguments = [&["translate", "--input", &page][..], option].concat();
        refused(&arguments, 2, &["a.html", option[0], "cat "]);
    }
    let plain = file(&folder, "a.de", b"Guten Morgen!\n");
    for option in [&["--language", "de"][..], &["--retranslate"]] {
        let arguments = [&["translate", "--input", &plain][..], option].concat();
        refused(&arguments, 2, &[option[0], "--format"]);
    }
    let output = run(&["translate", "--input", &page, "--language", "de"]);
    assert_eq!(stdout(&output), "<p>Good morning!</p>\n");
}

#[test]
fn an_office_document_has_no_other_format() {
    let folder = tempfile::tempdir().unwrap();
    for extension in ["docx", "XLSX", "odt", "epub"] {
        let name = format!("a.{extension}");
        let input = file(&folder, &name, b"PK\x03\x04");
        for format in ["html", "text"] {
            let arguments = ["translate", "--format", format, "--input", &input];
            refused(&arguments, 2, &[&name, format, "leave --format out"]);
        }
    }
}

#[test]
fn a_file_that_is_no_text_is_refused_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    for (bytes, needle) in [
        (&b"PK\x03\x04\x14\0"[..], "archive"),
        (&b"%PDF-1.7\n"[..], "PDF"),
        (&b"\x89PNG\r\n\x1a\n"[..], "picture"),
        (&b"\xde\x12\x04\x95\0\0\0\0"[..], "gettext"),
    ] {
        let input = file(&folder, "a.de", bytes);
        refused(&["translate", "--input", &input], 2, &["a.de", needle]);
    }
}
