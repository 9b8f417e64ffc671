//! Catalogues of messages through a model.

use std::fs;

use crate::common::{Trained, refused, run, stderr};

#[test]
fn a_catalogue_is_translated_in_its_slots_and_a_broken_one_refused() {
    let (folder, model) = (tempfile::tempdir().unwrap(), Trained::get().model());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (input, out) = (path("a.po"), path("b.po"));
    let message =
        "#, c-format\nmsgid \"eins %s zwei\"\nmsgstr \"\"\n\nmsgid \"drei\"\nmsgstr \"3\"\n";
    fs::write(&input, message).unwrap();
    let arguments =
        ["translate", "--model", &model, "--format", "po", "--input", &input, "--output", &out];
    let output = run(&arguments);
    assert!(stderr(&output).contains("1 of 2 messages have no translation"), "{}", stderr(&output));
    let text = fs::read_to_string(&out).unwrap();
    let begin = "#, fuzzy, c-format\nmsgid \"eins %s zwei\"\nmsgstr \"one %s two";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.ends_with("\n\nmsgid \"drei\"\nmsgstr \"3\"\n"), "{text}");
    fs::write(&input, "msgid \"eins\"\nmsgid \"zwei\"\n").unwrap();
    refused(&arguments, 1, &["a.po: line 2: ", "`msgid`"]);
    fs::write(&input, b"msgid \"a\"\nmsgstr \"\xe4\"\n").unwrap();
    refused(&arguments, 1, &["a.po: has bytes that are not UTF-8", "msgconv"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), text, "the old file is untouched");
}
