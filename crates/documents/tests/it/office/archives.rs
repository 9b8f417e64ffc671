//! Archives that no program writes are refused in a sentence.

use super::*;

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
