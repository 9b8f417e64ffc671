//! Catalogues: what is translated goes into its slot, everything else stays byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{identity, translate, upper};
use burnformer_documents::Translated;
use burnformer_documents::{Catalogue, Document, Format, Message, MessageState, PendingSentence};

/// A catalogue with each kind of entry, and its translation into capitals by the rules of gettext's
/// manual.
const PO: [&str; 2] = [
    r##"# Header
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. For the button
#: a.c:1
#, c-format
msgid "Save %s"
msgstr ""

msgctxt "menu"
msgid "Open"
msgstr ""
msgctxt "door"
msgid "Open"
msgstr "Öffnen"

#, fuzzy
msgid "Close"
msgstr "Zu"

#| msgid "One"
msgid "One file"
msgid_plural "%d \"good\" files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"First line\n"
"<b>second</b> line\n"
msgstr ""

msgid "100"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
"##,
    r##"# Header
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. For the button
#: a.c:1
#, fuzzy, c-format
msgid "Save %s"
msgstr "SAVE %s"

#, fuzzy
msgctxt "menu"
msgid "Open"
msgstr "OPEN"
msgctxt "door"
msgid "Open"
msgstr "Öffnen"

#, fuzzy
msgid "Close"
msgstr "Zu"

#| msgid "One"
#, fuzzy
msgid "One file"
msgid_plural "%d \"good\" files"
msgstr[0] "ONE FILE"
msgstr[1] "%d \"GOOD\" FILES"

#, fuzzy
msgid ""
"First line\n"
"<b>second</b> line\n"
msgstr "FIRST LINE <b>SECOND</b> LINE\n"

msgid "100"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
"##,
];

const ALL: [(Format, [&str; 2]); 1] = [(Format::Po, PO)];

#[test]
fn what_is_untranslated_goes_into_its_slot() {
    for (format, [source, expected]) in ALL {
        assert_eq!(translate(source, format, &upper), expected);
        let windows = source.replace('\n', "\r\n");
        assert_eq!(translate(&windows, format, &upper), expected.replace('\n', "\r\n"));
    }
}

#[test]
fn an_engine_that_returns_its_input_changes_no_byte() {
    for (format, all) in ALL {
        for text in all {
            for text in [text.to_string(), format!("\u{feff}{text}"), text.replace('\n', "\r\n")] {
                assert_eq!(translate(&text, format, &identity), text);
            }
        }
    }
}

fn read(text: &str, format: Format) -> Vec<Message> {
    Catalogue::read(text, format, [None; 2]).unwrap().messages
}

#[test]
fn messages_have_their_texts_contexts_and_states() {
    let pairs = |messages: &[Message], state: MessageState| {
        let of_state = messages.iter().filter(|message| message.state == state);
        let pair =
            |it: &Message| (it.line, it.context.clone(), it.source.clone(), it.target.clone());
        of_state.map(pair).collect::<Vec<_>>()
    };
    let po = read(PO[0], Format::Po);
    let expected = (17, "door".into(), "Open".into(), "Öffnen".into());
    assert_eq!(pairs(&po, MessageState::Translated), [expected]);
    assert_eq!(pairs(&po, MessageState::Fuzzy), [(22, "".into(), "Close".into(), "Zu".into())]);
}

#[test]
fn a_plural_form_is_translated_from_the_number_that_it_counts() {
    let russian = "nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2;";
    for (rule, one, found) in [
        ("nplurals=2; plural=n!=1;", "A file", vec!["A FILE", "%d FILES"]),
        ("nplurals=2; plural=n>1;", "%d file", vec!["%d FILE", "%d FILES"]),
        // The form is that of 0 as well, or of 21, and must show the number.
        ("nplurals=2; plural=n>1;", "A file", vec!["%d FILES", "%d FILES"]),
        ("nplurals=2; plural=n>1;", "1 file", vec!["%d FILES", "%d FILES"]),
        (russian, "A file", vec!["%d FILES", "%d FILES", "%d FILES"]),
        (russian, "%d file", vec!["%d FILE", "%d FILES", "%d FILES"]),
        ("nplurals=1; plural=0;", "A file", vec!["%d FILES"]),
    ] {
        let header = format!("msgid \"\"\nmsgstr \"Plural-Forms: {rule}\\n\"\n\n");
        let po = format!("{header}msgid \"{one}\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\n");
        let translated = translate(&po, Format::Po, &upper);
        let forms: Vec<String> =
            read(&translated, Format::Po).into_iter().map(|it| it.target).collect();
        assert_eq!(forms, found, "{rule} {one}");
    }
}

#[test]
fn a_broken_catalogue_is_refused_with_line_and_remedy() {
    let po = |text: &str| ("msgid \"a\"\nmsgstr \"\"\n".to_string() + text, Format::Po);
    for ((text, format), line, needle) in [
        (po("msgid \"a\"\nmsgstr \"b\"\n"), 3, "line 1; `msguniq`"),
        (po("\nmsgid \"b\nmsgstr \"\"\n"), 4, "closing quote"),
        (po("\nmsgid \"b\"\n\n"), 4, "no `msgstr`"),
        (po("\nmessage \"b\"\n"), 4, "`message`"),
        (po("\nmsgid b\n"), 4, "msgfmt -c"),
        (po("\nmsgid \"b\"\nmsgstr \"\"\nmsgstr \"\"\n"), 6, "one too many"),
        (
            po("\nmsgid \"\"\nmsgstr \"Content-Type: text/plain; charset=latin1\\n\"\n"),
            5,
            "msgconv",
        ),
    ] {
        let broken = Catalogue::read(&text, format, [None; 2]).unwrap_err();
        assert!(broken.line == line && broken.to_string().contains(needle), "{text}: {broken}");
        // Whoever does not ask gets it back as it is.
        assert_eq!(translate(&text, format, &upper), text);
    }
    let broken = Catalogue::read(PO[0], Format::Po, [Some("de"), Some("en")]).unwrap_err();
    assert!(broken.fault.contains("\"de\" and not in \"en\""), "{broken}");
    assert!(Catalogue::read(PO[0], Format::Po, [Some("en"), Some("de-AT")]).is_ok());
}

/// The catalogues under `folder`.
fn under(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let extension = path.extension().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            under(&path, found);
        } else if Format::from_extension(extension).is_some_and(Format::is_catalogue) {
            found.push(path);
        }
    }
}

/// Each word with its number behind it.
fn numbered(sentence: &PendingSentence) -> Translated {
    let words = sentence.text.split(' ').enumerate();
    let all: Vec<String> = words.map(|(number, word)| format!("{word} w{number}")).collect();
    Translated { text: all.join(" "), links: vec![] }
}

/// Catalogues of other people, from the folder that `CATALOGUES` names. Those with numbered words
/// are written beside them, for `msgfmt` and others to judge.
#[test]
fn other_peoples_catalogues_stay_as_they_are() {
    let Some(folder) = std::env::var_os("CATALOGUES") else { return };
    let mut all = Vec::new();
    under(Path::new(&folder), &mut all);
    let (mut count, mut messages) = (0, 0);
    for path in all {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let format = Format::from_extension(path.extension().unwrap().to_str().unwrap()).unwrap();
        match Catalogue::read(&text, format, [None; 2]) {
            Ok(catalogue) => messages += catalogue.messages.len(),
            Err(error) => println!("{}: {error}", path.display()),
        }
        assert_eq!(translate(&text, format, &identity), text, "{}", path.display());
        let mut document = Document::parse(&text, format, Some("en"), &|_| true);
        while !document.pending().is_empty() {
            document.accept(document.pending().iter().map(numbered).collect());
        }
        fs::write(path.with_added_extension("numbered"), document.finish()).unwrap();
        count += 1;
    }
    println!("{count} catalogues, {messages} messages");
}

#[test]
fn a_memory_answers_whole_messages_without_the_flag_but_no_plurals() {
    let known = |source: &str| match source.trim() {
        "Save %s" => Some("%s sichern".to_string()),
        "Open" => Some("Auf".into()),
        "One file" | "%d \"good\" files" => Some("Datei".into()),
        text if text.starts_with("First line") => Some("Erste <b>Zeile</b>".into()),
        _ => None,
    };
    let document = Document::parse(PO[0], Format::Po, Some("en"), &|_| true).with_memory(&known);
    let pending: Vec<String> = document.pending().into_iter().map(|it| it.text).collect();
    assert_eq!(pending, ["One file", "%d \"good\" files"]);
    let text = document.finish();
    for part in [
        "#, c-format\nmsgid \"Save %s\"\nmsgstr \"%s sichern\"\n",
        "msgctxt \"menu\"\nmsgid \"Open\"\nmsgstr \"Auf\"\nmsgctxt",
        "msgid \"Open\"\nmsgstr \"Öffnen\"\n",
        "msgstr[0] \"\"\nmsgstr[1] \"\"\n",
        // A line break at the end of the source is one of the translation.
        "\nmsgstr \"Erste <b>Zeile</b>\\n\"\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_sentences_of_a_plain_text_are_those_of_its_document() {
    for text in [
        "One sentence.",
        " One sentence?! ",
        "no end",
        "One. Two.",
        "Über uns…",
        "猫が好きです。",
        "3 cats",
        "123",
        "%s",
        "{name}",
        "a\tb",
        "Mr. Smith",
        "x\u{ad}y",
        "",
        "<b>One</b> two",
        "One\nTwo",
        "See http://a.example",
        "a@b.example",
    ] {
        let document = Document::message(text, Some("en"), &|_| true);
        let pending: Vec<String> = document.pending().into_iter().map(|it| it.text).collect();
        assert_eq!(Document::sentences(text, Some("en")), pending, "{text:?}");
    }
}
