//! Catalogues of messages through a model.

use std::fs;

use crate::common::{Trained, refused, run, stderr};

#[test]
fn a_catalogue_is_translated_in_its_slots_and_a_broken_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let input = path("a.po");
    let out = path("b.po");
    let message =
        "#, c-format\nmsgid \"eins %s zwei\"\nmsgstr \"\"\n\nmsgid \"drei\"\nmsgstr \"3\"\n";
    fs::write(&input, message).unwrap();
    let arguments = [
        "translate",
        "--model",
        &model,
        "--format",
        "po",
        "--input",
        &input,
        "--output",
        &out,
    ];
    let output = run(&arguments);
    assert!(
        stderr(&output).contains("1 of 2 messages have no translation"),
        "{}",
        stderr(&output)
    );
    let text = fs::read_to_string(&out).unwrap();
    let begin = "#, fuzzy, c-format\nmsgid \"eins %s zwei\"\nmsgstr \"one %s two";
    assert!(text.starts_with(begin), "{text}");
    assert!(
        text.ends_with("\n\nmsgid \"drei\"\nmsgstr \"3\"\n"),
        "{text}"
    );
    fs::write(&input, "msgid \"eins\"\nmsgid \"zwei\"\n").unwrap();
    refused(&arguments, 1, &["a.po: line 2: ", "`msgid`"]);
    fs::write(&input, b"msgid \"a\"\nmsgstr \"\xe4\"\n").unwrap();
    refused(&arguments, 1, &["a.po: line 2: ", "not UTF-8", "msgconv"]);
    assert_eq!(
        fs::read_to_string(&out).unwrap(),
        text,
        "the old file is untouched"
    );
}

#[test]
fn a_file_is_written_in_the_encoding_in_which_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
    let latin1 = b"# Gr\xfc\xdfe\nkey = eins zwei\n".to_vec();
    let head = "\u{feff}/* 駅 */\n\"key\" = \"";
    let strings = utf16(&format!("{head}eins zwei\";\n"));
    for (format, bytes, begin, note) in [
        (
            "properties",
            latin1,
            b"# Gr\xfc\xdfe\nkey = one two".to_vec(),
            "ISO-8859-1",
        ),
        (
            "strings",
            strings,
            utf16(&format!("{head}one two")),
            "UTF-16BE",
        ),
    ] {
        let input = path("a");
        let out = path("b");
        fs::write(&input, &bytes).unwrap();
        let arguments = ["translate", "--model", &model, "--format", format];
        let output = run(&[&arguments[..], &["--input", &input, "--output", &out]].concat());
        assert!(
            stderr(&output).contains(&format!("not UTF-8 but {note}")),
            "{}",
            stderr(&output)
        );
        let written = fs::read(&out).unwrap();
        assert!(
            written.starts_with(&begin),
            "{}",
            String::from_utf8_lossy(&written)
        );
    }
}

#[test]
fn a_memory_answers_in_every_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let utf16 = |text: &str| -> Vec<u8> {
        "\u{feff}"
            .encode_utf16()
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    let po = |name: &str| {
        format!(
            "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset={name}\\n\"\n\nmsgid \"vier\"\nmsgstr \""
        )
    };
    let tmx = "<?xml version='1.0' encoding='utf-16'?>\n<tmx version='1.4'><header srclang='de'/><body><tu><tuv xml:lang='de'><seg>vier</seg></tuv><tuv xml:lang='en'><seg>fóür</seg></tuv></tu></body></tmx>";
    for (name, bytes) in [
        (
            "a.po",
            [po("ISO-8859-1").as_bytes(), b"f\xf3\xfcr\"\n"].concat(),
        ),
        ("b.tsv", utf16("vier\tfóür\n")),
        ("c.csv", utf16("\"vier\";\"fóür\"\n")),
        ("d.tmx", utf16(tmx)),
    ] {
        let memory = path(name);
        let input = path("input.txt");
        fs::write(&memory, bytes).unwrap();
        fs::write(&input, "vier\n").unwrap();
        let arguments = [
            "translate",
            "--model",
            &model,
            "--memory",
            &memory,
            "--input",
            &input,
        ];
        let output = run(&arguments);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, "fóür\n", "{name}: {}", stderr(&output));
    }
}
