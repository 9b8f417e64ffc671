//! Catalogues: translations go into their slots; everything else stays byte for byte.

mod applications;
mod contradictions;
mod damage;
mod gettext;
mod languages;
mod others;
mod qt;
mod samples;
mod xcstrings;
mod xliff;

use std::fs;
use std::path::{Path, PathBuf};

use self::samples::{ALL, PO, TMX, XLIFF};
use crate::common::{identity, reverse, translate, upper};
use burnformer_documents::Translated;
use burnformer_documents::{
    Catalogue, Document, Format, Message, MessageState, PendingSentence, Remembered, Splitting,
    WholeFile,
};

#[test]
fn untranslated_messages_are_translated_into_their_slots() {
    for (format, [source, expected]) in ALL {
        assert_eq!(translate(source, format, &upper), expected);
        let windows = source.replace('\n', "\r\n");
        assert_eq!(
            translate(&windows, format, &upper),
            expected.replace('\n', "\r\n")
        );
    }
}

#[test]
fn all_messages_but_those_to_keep_are_translated_again_if_asked() {
    let more = [MessageState::Fuzzy, MessageState::Translated];
    let has_words = |text: &str| text.contains(char::is_alphabetic);
    let mut replaced = 0;
    for (format, [source, _]) in ALL {
        let before = read(source, format);
        let parsed = Document::try_parse(source, format, [Some("en"), None], &more, &|_| true);
        let mut document = parsed.unwrap();
        let pending = document.pending();
        document.accept(pending.iter().map(upper).collect());
        let after = read(&document.finish(), format);
        assert_eq!(before.len(), after.len());
        let is_two_sided = format.has_translations();
        for (old, new) in before.iter().zip(&after).filter(|_| is_two_sided) {
            assert_eq!((&old.source, &old.context), (&new.source, &new.context));
            if old.state == MessageState::Kept {
                assert_eq!(old.target, new.target);
            } else if has_words(&old.source) && !old.source.contains(['<', '%', '{']) {
                assert_eq!(new.target, old.source.to_ascii_uppercase(), "{format}");
            }
        }
        let translated = before
            .iter()
            .filter(|it| it.state == MessageState::Translated);
        replaced += translated.count();
    }
    assert!(replaced >= 3, "{replaced}");
}

#[test]
fn an_engine_that_returns_its_input_changes_no_byte() {
    for (format, all) in ALL {
        // An untranslated message gets a translation, even an equal one.
        let all = all.into_iter().filter(|_| !format.has_translations());
        for text in all {
            for text in [
                text.to_string(),
                format!("\u{feff}{text}"),
                text.replace('\n', "\r\n"),
            ] {
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
        let messages_in_state = messages.iter().filter(|message| message.state == state);
        messages_in_state
            .map(|it: &Message| {
                (
                    it.line,
                    it.context.to_string(),
                    it.source.clone(),
                    it.target.clone(),
                )
            })
            .collect::<Vec<_>>()
    };
    let po = read(PO[0], Format::Po);
    let expected = (17, "door".into(), "Open".into(), "Öffnen".into());
    assert_eq!(pairs(&po, MessageState::Translated), [expected]);
    assert_eq!(
        pairs(&po, MessageState::Fuzzy),
        [(22, "".into(), "Close".into(), "Zu".into())]
    );
    let xliff = read(XLIFF[0], Format::Xliff);
    assert_eq!(
        pairs(&xliff, MessageState::Translated),
        [(9, "4".into(), "Four".into(), "Vier".into())]
    );
    assert_eq!(xliff[4].source, "<i>Five</i> & more");
    let catalogue = Catalogue::read(TMX[0], Format::Tmx, [Some("de"), Some("en")]).unwrap();
    let Message {
        source,
        target,
        time,
        ..
    } = &catalogue.messages[0];
    assert_eq!(
        [source, target, time],
        ["Haus & Hof", "House and home", "20240102T000000Z"]
    );
}

/// Empty lines of a subtitle and breaks at its ends stay, whatever the translation is. A single
/// break may stand between other words.
#[test]
fn breaks_of_ass_stay() {
    for (text, upper_text) in [
        ("One dog\\N\\N\\Ntwo cats", "ONE DOG\\N\\N\\NTWO CATS"),
        (
            "{\\i1}One dog, \\N\\N{\\i0}two\\Ncats\\N",
            "{\\i1}ONE DOG, \\N\\N{\\i0}TWO\\NCATS\\N",
        ),
        (
            "\\NOne dog\\nand\\n\\ntwo\\N",
            "\\NONE DOG\\nAND\\n\\nTWO\\N",
        ),
        ("A\\Nb\\N\\Nc", "A\\NB\\N\\NC"),
    ] {
        let file =
            |text: &str| format!("[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,{text}\n");
        assert_eq!(
            translate(&file(text), Format::Ass, &upper),
            file(upper_text)
        );
        assert_eq!(translate(&file(text), Format::Ass, &identity), file(text));
        let short = translate(&file(text), Format::Ass, &|sentence| Translated {
            text: if sentence.text.is_empty() {
                String::new()
            } else {
                "X".into()
            },
            links: Vec::new(),
        });
        let runs = |text: &str| text.matches("\\N\\N").count() + text.matches("\\n\\n").count();
        assert_eq!(runs(&short), runs(text), "{text}: {short}");
    }
}

#[test]
fn a_memory_answers_whole_messages_without_the_flag_but_no_plurals() {
    let known = |source: &str, context: &str| {
        let text = match source.trim() {
            "Save %s" => "%s sichern",
            "Open" if context == "menu" => "Auf",
            "One file" | "%d \"good\" files" => "Datei",
            text if text.starts_with("First line") => "Erste <b>Zeile</b>",
            _ => return None,
        };
        Some(Remembered {
            text: text.into(),
            is_sure: source != "Open",
        })
    };
    let document =
        Document::parse(PO[0], Format::Po, Some("en"), &|_| true).with_known_translations(&known);
    let pending: Vec<String> = document.pending().into_iter().map(|it| it.text).collect();
    assert_eq!(pending, ["One file", "%d \"good\" files"]);
    let text = document.finish();
    for part in [
        "#, c-format\nmsgid \"Save %s\"\nmsgstr \"%s sichern\"\n",
        // The answer belongs to another context.
        "#, fuzzy\nmsgctxt \"menu\"\nmsgid \"Open\"\nmsgstr \"Auf\"\nmsgctxt",
        "msgid \"Open\"\nmsgstr \"Öffnen\"\n",
        "msgstr[0] \"\"\nmsgstr[1] \"\"\n",
        // A line break at the end of the source needs one in the translation.
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

/// Other texts refer to an anchor, and a tag says that `12` is a text.
#[test]
fn anchors_and_tags_of_yaml_stay() {
    let source = "\
a: &a one two\nb: *a\nc: !!str one two\nd: &b \"one two\"\ne: &c 'one two'\nf: &d |\n  one two\n  three\n\
g: !!str >-\n    one two\nh: !!str &e one two\ni: &f\n  one two\nj: &g\n  k: one two\nl:\n  - &h one two\n  - *h\n\
m: !mine one two\nn: |\n  &amp; one two\no: &i # why\n  one two\np: &j |+ # why\n  one two\n\nq: |\n\n  one two\nr: &k |\n\n  one two\ns: one two\n";
    let expected = source
        .replace("one two", "ONE TWO")
        .replace("three", "THREE");
    let expected = expected.replace("!mine ONE TWO", "!mine one two");
    for end in ["\n", "\r\n"] {
        let [source, expected] = [source, &expected].map(|text| text.replace('\n', end));
        assert_eq!(translate(&source, Format::Yaml, &upper), expected);
        assert_eq!(translate(&source, Format::Yaml, &identity), source);
    }
}

/// Android shows no white space at the ends of a string, unless it is quoted or written by its
/// number: <https://developer.android.com/guide/topics/resources/string-resource#escaping_quotes>.
#[test]
fn spaces_at_the_ends_of_a_string_of_android_stay() {
    let file = |text: &str| format!("<resources><string name=\"a\">{text}</string></resources>");
    for before in ["", "\\u0020", "\\u0020\\u0020", "\n    ", " ", "\""] {
        for inner in ["one", "one two", "one <b>two</b>", "<i>one</i> two"] {
            for after in ["", "\\u0020", "\n  ", "  "] {
                let after = if before == "\"" { "\"" } else { after };
                let text = file(&format!("{before}{inner}{after}"));
                let expected = inner.replace("one", "ONE").replace("two", "TWO");
                let expected = file(&format!("{before}{expected}{after}"));
                assert_eq!(translate(&text, Format::Android, &upper), expected);
            }
        }
    }
    // An escaped backslash makes no number of what follows it.
    let text = file("\\u0020one \\\\u0020");
    assert_eq!(
        translate(&text, Format::Android, &upper),
        text.replace("one", "ONE")
    );
    let text = file("one \\\\\\u0020");
    assert_eq!(
        translate(&text, Format::Android, &upper),
        text.replace("one", "ONE")
    );
}

/// msgfmt 0.21 counts a message with an empty translation as untranslated.
#[test]
fn a_translation_that_equals_its_source_is_written() {
    for (format, [source, _]) in ALL
        .into_iter()
        .filter(|(format, _)| format.has_translations())
    {
        let before = read(source, format);
        let after = read(&translate(source, format, &identity), format);
        let mut count = 0;
        for (before, after) in before.iter().zip(&after) {
            let is_new = before.state == MessageState::Untranslated;
            let has_words = before.plain()[0].contains(char::is_alphabetic);
            if is_new && has_words && !before.source.contains("%d") {
                assert_eq!(after.plain()[1], after.plain()[0], "{format}");
                count += 1;
            } else if !is_new {
                assert_eq!(after.target, before.target);
            }
        }
        assert!(count > 0, "{format}");
    }
}

/// A message with tags has the lines that it would have without them.
#[test]
fn line_breaks_stay_in_messages_with_tags() {
    let texts = [
        ["One <b>dog</b>.|Two cats.", "ONE <b>DOG</b>.|TWO CATS."],
        ["<b>One|two</b>||three", "<b>ONE|TWO</b>||THREE"],
        [
            "<i>One</i>|  two <b></b> three|",
            "<i>ONE</i>|  TWO <b></b> THREE|",
        ],
        ["One <0>dog</0>|{name} here", "ONE <0>DOG</0>|{name} HERE"],
        ["<p>One|dog.</p>|<p>Two</p>", "<p>ONE|DOG.</p>|<p>TWO</p>"],
        [
            "One<br>|two|three <b>four</b>",
            "ONE<br>|TWO|THREE <b>FOUR</b>",
        ],
    ];
    let files: [(Format, &str, &str, &str); 7] = [
        (Format::Po, "msgid \"¤\"\nmsgstr \"\"\n", "\\n", ""),
        (Format::Json, "{\"a\": \"¤\"}", "\\n", ""),
        (
            Format::Android,
            "<resources><string name=\"a\">¤</string></resources>",
            "\\n",
            "",
        ),
        (Format::Strings, "\"a\" = \"¤\";\n", "\\n", ""),
        (Format::Properties, "a=¤\n", "\\n", ""),
        (Format::Yaml, "a: \"¤\"\n", "\\n", ""),
        (Format::Yaml, "a: |\n  ¤\n", "\n", "  "),
    ];
    for ([text, expected], (format, file, newline, indent)) in texts
        .iter()
        .flat_map(|texts| files.iter().map(move |file| (texts, file)))
    {
        let is_xml = *format == Format::Android;
        if is_xml && (text.contains("<br>") || text.contains("<0>")) {
            continue;
        }
        let line_end = format!("{newline}{indent}");
        let write = |text: &str| file.replace('¤', &text.replace('|', &line_end));
        let found = translate(&write(text), *format, &upper);
        let texts = |file: &str| -> Vec<[String; 2]> {
            let messages = read(file, *format).into_iter();
            messages.map(|it| [it.source, it.target]).collect()
        };
        let expected = match format {
            Format::Po => [text.replace('|', "\n"), expected.replace('|', "\n")],
            _ => [texts(&write(expected))[0][0].clone(), String::new()],
        };
        assert_eq!(texts(&found), [expected], "{format}: {found}");
    }
}

/// DeepL's `split_sentences`: `1`, `nonewlines` and `0`.
#[test]
fn a_text_is_divided_where_the_request_says() {
    let says = |text: &str, format, splitting| {
        let mut document = Document::read_text(text, format, splitting);
        document.divide([Some("en"), None], &|_| true);
        let pending = document.pending();
        document.accept(pending.iter().map(upper).collect());
        let sentences: Vec<String> = pending.into_iter().map(|it| it.text).collect();
        (sentences.join("|"), document.finish())
    };
    use Splitting::{Lines, Nothing, Sentences};
    for (format, text) in [
        (Format::Text, "One dog\nsleeps. Two\ncats.\n\nEnd\n"),
        (Format::Html, "One <b>dog</b>\nsleeps. Two\ncats."),
    ] {
        let end = if format == Format::Text { "|End" } else { "" };
        for (splitting, expected) in [
            (Lines, "One dog|sleeps.|Two|cats."),
            (Sentences, "One dog sleeps.|Two cats."),
            (Nothing, "One dog sleeps. Two cats."),
        ] {
            let (sentences, written) = says(text, format, splitting);
            assert_eq!(sentences, format!("{expected}{end}"));
            let spaces = |text: &str| match format {
                Format::Html if splitting != Lines => text.replace('\n', " "),
                _ => text.to_owned(),
            };
            assert_eq!(
                written.replace("B>", "b>"),
                spaces(&text.to_uppercase().replace("B>", "b>"))
            );
        }
    }
}

/// nbformat 5 joins the lines of version 2 with line ends when it converts them; as they are,
/// they would become one line.
#[test]
fn a_notebook_whose_lines_have_no_ends_is_refused() {
    for (version, is_read) in [(1, false), (2, false), (3, true), (4, true)] {
        let text = format!(
            "{{\"nbformat\": {version}, \"cells\": [{{\"cell_type\": \"markdown\", \"source\": [\"# A dog\", \"It sleeps.\"]}}]}}"
        );
        let found = Catalogue::read(&text, Format::Notebook, [None; 2]);
        assert_eq!(found.is_ok(), is_read);
        if let Err(refusal) = found {
            assert!(refusal.fault.contains("version 1 or 2"), "{refusal}");
        }
    }
}
