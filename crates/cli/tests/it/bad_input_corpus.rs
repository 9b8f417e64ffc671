//! Unusable training text. The error names the file, line, value and remedy.

use crate::common;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::{assert_refused, pairs, run, run_with, stderr, tiny_settings};

struct Text {
    folder: tempfile::TempDir,
}

impl Text {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn arguments(&self, files: &[&Path], more: &[&str]) -> Vec<String> {
        let out = self.folder.path().join("run").display().to_string();
        let mut arguments = vec!["train".to_string(), "--quiet".into(), "--out".into(), out];
        arguments.push("--train".into());
        arguments.extend(files.iter().map(|path| path.display().to_string()));
        arguments.extend(tiny_settings(&self.folder.path().join("cache")));
        arguments.extend(["--set", "training.max_updates=2"].map(String::from));
        arguments.extend(more.iter().map(|s| s.to_string()));
        arguments
    }

    fn train(&self, files: &[&Path]) -> Output {
        run(&self.arguments(files, &[]))
    }

    /// Training on `source` and `target` fails, naming `needles`, and leaves no run behind.
    fn refused(&self, files: &[&Path], needles: &[&str]) {
        assert_refused(&self.train(files), 1, needles);
        assert!(
            !self.folder.path().join("run").exists(),
            "a run that never began"
        );
    }
}

/// `count` lines of the toy pair, both sides.
fn sides(count: usize) -> (String, String) {
    let join = |lines: Vec<String>| lines.join("\n") + "\n";
    let (source, target) = pairs(1, count).into_iter().unzip();
    (join(source), join(target))
}

fn tsv(count: usize) -> String {
    pairs(1, count)
        .into_iter()
        .map(|(de, en)| format!("{de}\t{en}\n"))
        .collect()
}

#[test]
fn files_that_are_missing_no_files_or_empty_are_named() {
    let text = Text::new();
    let (de, en) = sides(50);
    let de = text.write("a.de", de);
    let en = text.write("a.en", en);
    let empty = text.write("e.en", "");
    let nowhere = text.folder.path().join("nowhere.en");
    text.refused(
        &[&de, &nowhere],
        &["nowhere.en: no such file", "check the path"],
    );
    text.refused(&[&de, text.folder.path()], &["cannot be read", "directory"]);
    text.refused(
        &[&empty, &en],
        &["e.en: the file is empty", "one sentence per line"],
    );
    text.refused(&[&de, &empty], &["e.en: the file is empty"]);
    text.refused(&[&empty], &["e.en: the file is empty"]);
    let blank = text.write("blank", "\n \n\t\n");
    text.refused(&[&blank, &blank], &["holds no text", "blank"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let text = Text::new();
    let secret = text.write("secret.tsv", tsv(50));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&secret).is_ok() {
        eprintln!("permissions do not bind this user: nothing to test");
        return;
    }
    text.refused(&[&secret], &["secret.tsv: cannot be read", "you may read"]);
}

#[test]
fn unequal_sides_name_the_line_without_a_partner() {
    let text = Text::new();
    let ((de, _), (_, en)) = (sides(40), sides(50));
    let de = text.write("a.de", de);
    let en = text.write("a.en", en);
    let needles = [
        "a.de ends after line 40",
        "a.en has 50 lines",
        "line 41 has no partner",
    ];
    text.refused(&[&de, &en], &needles);
}

#[test]
fn bytes_that_are_not_utf8_are_named_and_can_be_skipped() {
    let text = Text::new();
    let mut bytes = tsv(50).into_bytes();
    bytes.extend(b"caf\xe9\tcoffee\n");
    let path = text.write("latin1.tsv", bytes);
    text.refused(&[&path], &["latin1.tsv:51", "0xe9 at byte 4", "iconv"]);
    let skipping = run(&text.arguments(&[&path], &["--set", "data.utf8=skip"]));
    assert!(skipping.status.success(), "{}", stderr(&skipping));
}

#[test]
fn control_characters_and_overlong_sentences_do_not_stop_training() {
    let text = Text::new();
    let mut bytes = tsv(50).into_bytes();
    bytes.extend(b"eins\0 zwei\x01\x7f\tone two\n\0\0\t\x01\n");
    bytes.extend(format!("{}\tone\n", "eins ".repeat(100_000)).into_bytes());
    let path = text.write("control.tsv", bytes);
    let arguments = text.arguments(&[&path], &[]);
    let loud: Vec<&String> = arguments.iter().filter(|a| *a != "--quiet").collect();
    let output = run(&loud);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("1 empty side, 1 source too long"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_line_beyond_any_sentence_is_named() {
    let text = Text::new();
    let path = text.write("long.tsv", tsv(50) + &"x".repeat(1 << 21) + "\ty\n");
    text.refused(
        &[&path],
        &["long.tsv:51", "longer than 1048576 bytes", "line ends?"],
    );
}

#[test]
fn a_tsv_with_another_number_of_columns_is_named() {
    let text = Text::new();
    let three = text.write("three.tsv", tsv(7) + "eins\tone\t0.93\n");
    text.refused(
        &[&three],
        &["three.tsv:8", "3 columns", "eins", "cut -f1,2"],
    );
    let one = text.write("one.tsv", tsv(7) + "eins\n");
    text.refused(&[&one], &["one.tsv:8", "1 column where", "name both files"]);
}

#[test]
fn truncated_and_mislabelled_compression_is_named() {
    let text = Text::new();
    let rows = tsv(5000);
    let whole = gzip(rows.as_bytes());
    let half = text.write("half.tsv.gz", &whole[..whole.len() / 2]);
    text.refused(
        &[&half],
        &["half.tsv.gz", "truncated or damaged", "gzip -t"],
    );
    let mut flipped = whole.clone();
    // In the checksum: the text itself is whole until its end.
    flipped[whole.len() - 6] ^= 0x55;
    let flipped = text.write("flipped.tsv.gz", flipped);
    text.refused(&[&flipped], &["flipped.tsv.gz", "truncated or damaged"]);
    let zstd = include_bytes!("../../../../assets/corpus/tatoeba-de-en/test.de.zst");
    let half = text.write("half.de.zst", &zstd[..zstd.len() / 2]);
    text.refused(
        &[&half, &half],
        &["half.de.zst", "truncated or damaged", "zstd -t"],
    );
    let plain = text.write("plain.gz", rows);
    text.refused(&[&plain], &["plain.gz", "the name says gzip"]);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_gzip_bomb_meets_the_limit_of_a_line() {
    let text = Text::new();
    let bomb = text.write("bomb.gz", gzip(&vec![b'x'; 300 << 20]));
    assert!(fs::metadata(&bomb).unwrap().len() < 1 << 20);
    #[cfg(unix)]
    {
        let arguments = text.arguments(&[&bomb], &[]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        assert_refused(
            &common::run_bounded(&arguments),
            1,
            &["bomb.gz:1", "longer than"],
        );
    }
}

#[test]
fn text_too_small_for_its_vocabulary_says_how_many_pieces_there_are() {
    let text = Text::new();
    let path = text.write("small.tsv", tsv(20));
    let more = [
        "--set",
        "tokenizer.train.vocab_size=8000",
        "--set",
        "tokenizer.train.allow_smaller=false",
    ];
    let output = run(&text.arguments(&[&path], &more));
    assert_refused(
        &output,
        1,
        &["vocab_size = 8000", "ask for at most", "allow_smaller"],
    );
}

#[test]
fn a_foreign_tokeniser_file_is_named() {
    let text = Text::new();
    let path = text.write("small.tsv", tsv(20));
    let cases = [
        ("{", "not a usable tokenizer.json"),
        (
            "{\"model\": {\"type\": \"BPE\", \"vocab\": {}, \"merges\": []}}",
            "<pad> must have id 0",
        ),
    ];
    for (content, needle) in cases {
        let file = text.write("tokenizer.json", content);
        let setting = format!("tokenizer.files=[{file:?}]");
        let output = run(&text.arguments(&[&path], &["--set", &setting]));
        assert_refused(&output, 1, &["tokenizer.json", needle]);
    }
}

#[test]
fn standard_input_is_read_once() {
    let text = Text::new();
    let dash = Path::new("-");
    let output = run_with(&text.arguments(&[dash, dash], &[]), tsv(20).as_bytes());
    assert_refused(&output, 1, &["`-` was given twice", "one TSV"]);
    let (de, en) = sides(20);
    let de = text.write("a.de", de);
    let en = text.write("a.en", en);
    let twice = text.arguments(&[dash, &en], &["--valid", "-", de.to_str().unwrap()]);
    assert_refused(
        &run_with(&twice, tsv(20).as_bytes()),
        1,
        &["`-` was given twice"],
    );
    assert!(
        !text.folder.path().join("run").exists(),
        "a run that never began"
    );
}
