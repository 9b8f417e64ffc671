//! What a file says about a message, beside the message itself.

use burnformer_documents::{Document, Format};

/// The notes of the pending sentences of `text`, one a sentence.
fn notes(text: &str, format: Format) -> Vec<Option<String>> {
    let languages = [Some("en"), Some("de")];
    let document = Document::try_parse(text, format, languages, &[], &|_| true).unwrap();
    let pending = document.pending().into_iter();
    pending
        .map(|sentence| sentence.note.map(|note| note.to_string()))
        .collect()
}

#[test]
fn only_texts_are_notes_and_names_are_none() {
    let note = Some("button of a form".to_string());
    let po = "msgctxt \"button of a form\"\nmsgid \"Open. Close.\"\nmsgstr \"\"\n";
    assert_eq!(notes(po, Format::Po), [note.clone(), None]);
    let po = "msgctxt \"menu.file\"\nmsgid \"Open\"\nmsgstr \"\"\n";
    assert_eq!(notes(po, Format::Po), [None]);
    let qt = "<TS language=\"de\"><context><name>Main Window</name>\
              <message><source>Open</source><comment>button of a form</comment><translation type=\"unfinished\"/></message>\
              <message><source>Close</source><translation type=\"unfinished\"/></message></context></TS>";
    assert_eq!(notes(qt, Format::Qt), [note, None]);
    let others = [
        (Format::Yaml, "en:\n  a long key: Open\n"),
        (Format::Json, "{\"a long key\": \"Open\"}"),
        (
            Format::XcStrings,
            "{\"sourceLanguage\": \"en\", \"strings\": {\"Open the file\": {}}, \"version\": \"1.0\"}",
        ),
        (
            Format::Android,
            "<resources><string name=\"a long key\">Open</string></resources>",
        ),
    ];
    for (format, text) in others {
        assert_eq!(notes(text, format), [None], "{text}");
    }
}
