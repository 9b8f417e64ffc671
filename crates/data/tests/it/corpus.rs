//! Reading corpora: what counts as a line, and every way it may be packed.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use burnformer_data::{CorpusPaths, LineReader, ParallelReader, Utf8Policy};
use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn lines(bytes: &[u8], policy: Utf8Policy) -> Vec<(u64, String, bool)> {
    let reader = LineReader::from_reader("test", Cursor::new(bytes.to_vec()), policy).unwrap();
    reader
        .map(|line| {
            line.map(|line| (line.number, line.text, line.valid))
                .unwrap()
        })
        .collect()
}

fn texts(bytes: &[u8]) -> Vec<String> {
    lines(bytes, Utf8Policy::Error)
        .into_iter()
        .map(|line| line.1)
        .collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

#[test]
fn line_ends_and_a_byte_order_mark_are_removed() {
    assert_eq!(
        texts("\u{feff}eins\r\nzwei\ndrei".as_bytes()),
        ["eins", "zwei", "drei"]
    );
}

#[test]
fn a_blank_line_is_a_line_and_a_final_line_end_adds_none() {
    assert_eq!(texts(b"a\n\nb\n"), ["a", "", "b"]);
    assert_eq!(texts(b"\n"), [""]);
    assert!(texts(b"").is_empty());
}

#[test]
fn a_carriage_return_ends_lines_only_without_line_feeds() {
    // U+2028, form feeds and lone carriage returns occur inside sentences of real corpora; wc -l
    // does not count them.
    assert_eq!(
        texts("a\u{2028}b\u{c}c\rd\ne".as_bytes()),
        ["a\u{2028}b\u{c}c\rd", "e"]
    );
    // Without any, carriage returns do, as in old Macintosh files and in spreadsheets' exports.
    for (text, expected) in [
        ("eins\rzwei\rdrei", vec!["eins", "zwei", "drei"]),
        ("\u{feff}eins\r\rdrei\r", vec!["eins", "", "drei"]),
        ("eins\r", vec!["eins"]),
        ("\r\r", vec!["", ""]),
        ("\r", vec![""]),
    ] {
        assert_eq!(texts(text.as_bytes()), expected, "{text:?}");
    }
    let many: Vec<String> = (0..300_000).map(|index| format!("Zeile {index}")).collect();
    assert_eq!(texts(many.join("\r").as_bytes()), many);
}

#[test]
fn control_characters_are_kept() {
    assert_eq!(
        texts(b"Ein Tag\0 und ein\x07 Jahr\n"),
        ["Ein Tag\0 und ein\u{7} Jahr"]
    );
}

#[test]
fn replacing_keeps_bad_lines_and_skipping_empties_them() {
    let bytes = b"good\nb\xffd\nlast\n";
    let replaced = lines(bytes, Utf8Policy::Replace);
    assert_eq!(replaced[1], (2, "b\u{fffd}d".to_owned(), true));
    let skipped = lines(bytes, Utf8Policy::Skip);
    assert_eq!(skipped[1], (2, String::new(), false));
    assert_eq!(skipped[2], (3, "last".to_owned(), true));
}

#[test]
fn compression_is_detected_by_content_and_may_have_several_members() {
    let joined =
        |pack: fn(&[u8]) -> Vec<u8>| [pack(b"one\ntwo\n"), pack(b""), pack(b"three\n")].concat();
    for bytes in [joined(gzip), joined(zstd), joined(<[u8]>::to_vec)] {
        assert_eq!(texts(&bytes), ["one", "two", "three"]);
    }
}

#[test]
fn zeros_after_a_gzip_member_are_skipped() {
    let zeros = |count| vec![0; count];
    for [between, behind] in [[0, 1], [0, 70_000], [512, 512], [65_536, 0]] {
        let parts = [
            gzip(b"one\ntwo\n"),
            zeros(between),
            gzip(b"three\n"),
            zeros(behind),
        ];
        assert_eq!(
            texts(&parts.concat()),
            ["one", "two", "three"],
            "{between} {behind}"
        );
    }
}

/// Text that comes piece by piece, from somebody who waits for an answer after the last piece.
struct Dialogue(Vec<Vec<u8>>);

impl std::io::Read for Dialogue {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        assert!(!self.0.is_empty(), "waits for text that nobody will write");
        let piece = self.0.remove(0);
        assert!(piece.len() <= buffer.len());
        buffer[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

#[test]
fn a_short_first_line_is_read_without_waiting_for_the_second() {
    // `(` and 0x1f begin the magic numbers of zstd and gzip.
    for line in ["Ja", "", "J", "(", "\u{1f}", "(\u{35}", "drei"] {
        let pieces = (line.to_owned() + "\n").into_bytes();
        for pieces in [
            vec![pieces.clone()],
            pieces.iter().map(|&byte| vec![byte]).collect(),
        ] {
            let mut pieces = pieces;
            // No reader has room for more than the four bytes that it looks at first.
            if pieces[0].len() > 4 {
                let rest = pieces[0].split_off(4);
                pieces.push(rest);
            }
            let mut reader =
                LineReader::from_reader("test", Dialogue(pieces), Utf8Policy::Error).unwrap();
            assert_eq!(reader.next_line().unwrap().unwrap().text, line);
        }
    }
}

#[test]
fn compression_is_detected_in_single_byte_reads() {
    for pack in [gzip, zstd] {
        let mut pieces: Vec<Vec<u8>> = pack(b"one\ntwo\n").into_iter().map(|b| vec![b]).collect();
        // The end of the input.
        pieces.extend(vec![Vec::new(); 8]);
        let reader = LineReader::from_reader("test", Dialogue(pieces), Utf8Policy::Error).unwrap();
        let texts: Vec<String> = reader.map(|line| line.unwrap().text).collect();
        assert_eq!(texts, ["one", "two"]);
    }
}

#[test]
fn skippable_zstd_frames_are_skipped() {
    // RFC 8878, 3.1.2: magic 0x184D2A50, length, content.
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'x', b'y', b'z'];
    assert_eq!(
        texts(&[zstd(b"a\n"), skippable.to_vec(), zstd(b"b\n")].concat()),
        ["a", "b"]
    );
}

#[test]
fn large_compressed_text_survives_unchanged() {
    let text: String = (0..50_000)
        .map(|i| format!("line {} {}\n", i, i * 31 % 977))
        .collect();
    for bytes in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        assert_eq!(texts(&bytes).join("\n") + "\n", text);
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn two_files_and_a_tsv_give_the_same_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let source = write(folder.path(), "s.gz", &gzip(b"eins\nzwei\n"));
    let target = write(folder.path(), "t.zst", &zstd(b"one\ntwo"));
    let tsv = write(folder.path(), "c.tsv", b"eins\tone\r\nzwei\ttwo\r\n");
    let read = |paths: &CorpusPaths| {
        let reader = ParallelReader::open(paths, Utf8Policy::Error).unwrap();
        reader.map(Result::unwrap).collect::<Vec<_>>()
    };
    let pairs = read(&CorpusPaths::pair(source, target));
    assert_eq!(pairs, read(&CorpusPaths::tsv(tsv)));
    assert_eq!(
        (pairs[1].line, &*pairs[1].source, &*pairs[1].target),
        (2, "zwei", "two")
    );
}

#[test]
fn a_bad_line_on_one_side_marks_the_pair() {
    let folder = tempfile::tempdir().unwrap();
    let source = write(folder.path(), "s", b"a\nb\xff\nc\n");
    let target = write(folder.path(), "t", b"A\nB\nC\n");
    let reader =
        ParallelReader::open(&CorpusPaths::pair(source, target), Utf8Policy::Skip).unwrap();
    let valid: Vec<bool> = reader.map(|pair| pair.unwrap().valid).collect();
    assert_eq!(valid, [true, false, true]);
}
