//! Catalogues: translations go into their slots; everything else stays byte for byte.

mod applications;
mod contradictions;
mod damage;
mod samples;
mod xcstrings;

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
        let of_state = messages.iter().filter(|message| message.state == state);
        of_state
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

#[test]
fn a_flag_stands_before_the_previous_texts() {
    for previous in [
        "",
        "#| msgid \"Old\"\n",
        "#| msgctxt \"b\"\n#| msgid \"\"\n#| \"Old\"\n",
    ] {
        let source = format!("#. note\n{previous}msgid \"New one\"\nmsgstr \"\"\n");
        let expected =
            format!("#. note\n#, fuzzy\n{previous}msgid \"New one\"\nmsgstr \"NEW ONE\"\n");
        assert_eq!(translate(&source, Format::Po, &upper), expected);
        let windows = source.replace('\n', "\r\n");
        assert_eq!(
            translate(&windows, Format::Po, &upper),
            expected.replace('\n', "\r\n")
        );
    }
}

/// msgfmt counts a message with one empty form as untranslated.
/// What msgfmt of gettext 0.21 reads as the message `ab` with the translation `xy`.
#[test]
fn strings_on_one_line_are_one_string_as_gettext_reads_them() {
    let source = [
        "\"a\" \"b\"",
        "\"ab\" \"\"",
        "\"\" \"a\"\"b\"",
        "\"a\"\n\"b\" \"\"",
    ];
    let target = source.map(|it| it.replace('a', "x").replace('b', "y"));
    for source in source {
        for target in &target {
            let po = format!("msgid {source}\nmsgstr {target}\n");
            let message = &read(&po, Format::Po)[0];
            assert_eq!([&*message.source, &*message.target], ["ab", "xy"], "{po}");
            assert_eq!(translate(&po, Format::Po, &upper), po);
        }
        let po = format!("msgid {source}\nmsgstr \"\" \"\"\n");
        let filled = format!("#, fuzzy\nmsgid {source}\nmsgstr \"AB\"\n");
        assert_eq!(translate(&po, Format::Po, &upper), filled);
    }
}

#[test]
fn an_empty_plural_form_is_filled_and_the_others_stay() {
    let header = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=3; plural=n%3;\\n\"\n\n";
    for is_fuzzy in [false, true] {
        for empty in 0..8 {
            let form = |number: usize, filled: &str| {
                let is_empty = empty >> number & 1 == 1;
                let text = if is_empty { filled } else { "Hunde" };
                format!("msgstr[{number}] \"{text}\"\n")
            };
            let file = |flag: &str, filled: [&str; 3]| {
                let forms = [0, 1, 2]
                    .map(|number| form(number, filled[number]))
                    .concat();
                format!("{header}{flag}msgid \"a dog\"\nmsgid_plural \"%d dogs\"\n{forms}")
            };
            let flag = if is_fuzzy { "#, fuzzy\n" } else { "" };
            let source = file(flag, ["", "", ""]);
            let expected = match empty {
                0 => source.clone(),
                _ => file("#, fuzzy\n", ["%d DOGS", "%d DOGS", "%d DOGS"]),
            };
            assert_eq!(translate(&source, Format::Po, &upper), expected);
        }
    }
}

#[test]
fn a_plural_form_is_translated_from_the_number_that_it_counts() {
    let russian = "nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2;";
    for (rule, one, found) in [
        (
            "nplurals=2; plural=n!=1;",
            "A file",
            vec!["A FILE", "%d FILES"],
        ),
        (
            "nplurals=2; plural=n>1;",
            "%d file",
            vec!["%d FILE", "%d FILES"],
        ),
        // The form also applies to 0 or 21, so it must show the number.
        (
            "nplurals=2; plural=n>1;",
            "A file",
            vec!["%d FILES", "%d FILES"],
        ),
        (
            "nplurals=2; plural=n>1;",
            "1 file",
            vec!["%d FILES", "%d FILES"],
        ),
        (russian, "A file", vec!["%d FILES", "%d FILES", "%d FILES"]),
        (russian, "%d file", vec!["%d FILE", "%d FILES", "%d FILES"]),
        ("nplurals=1; plural=0;", "A file", vec!["%d FILES"]),
    ] {
        let header = format!("msgid \"\"\nmsgstr \"Plural-Forms: {rule}\\n\"\n\n");
        let po = format!("{header}msgid \"{one}\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\n");
        let translated = translate(&po, Format::Po, &upper);
        let forms: Vec<String> = read(&translated, Format::Po)
            .into_iter()
            .map(|it| it.target)
            .collect();
        assert_eq!(forms, found, "{rule} {one}");
    }
}

#[test]
fn notes_of_an_entry_stay_wherever_they_stand() {
    let fields = [
        ("\"message\": \"Sent {x}\"", "\"message\": \"SENT {x}\""),
        ("\"description\": \"A note\"", "\"description\": \"A note\""),
        (
            "\"placeholders\": {\"x\": {\"example\": \"Ann\"}}",
            "\"placeholders\": {\"x\": {\"example\": \"Ann\"}}",
        ),
        (
            "\"context\": [\"A\", \"B c\"]",
            "\"context\": [\"A\", \"B c\"]",
        ),
    ];
    for first in 0..fields.len() {
        let mut source = fields;
        let mut expected = fields;
        source.rotate_left(first);
        expected.rotate_left(first);
        let json = |side: fn(&(&'static str, &'static str)) -> &'static str, all: &[_]| {
            let all: Vec<&str> = all.iter().map(side).collect();
            let entry = all.join(", ");
            format!("{{\"a\": {{{entry}}}, \"b\": {{{entry}}}}}")
        };
        let source = json(|it| it.0, &source);
        let expected = json(|it| it.1, &expected);
        assert_eq!(translate(&source, Format::Json, &upper), expected);
    }
    // Without a message, and below the file's entries, these are ordinary keys.
    for text in [
        "{\"a\": {\"description\": \"One text\", \"title\": \"Two texts\"}}",
        "{\"a\": {\"b\": {\"description\": \"One text\", \"message\": \"Two texts\"}}}",
        "{\"description\": \"One text\", \"message\": \"Two texts\"}",
    ] {
        let expected = text
            .replace("One text", "ONE TEXT")
            .replace("Two texts", "TWO TEXTS");
        assert_eq!(translate(text, Format::Json, &upper), expected);
    }
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

/// The files under `folder` with their formats.
fn under(folder: &Path, found: &mut Vec<(PathBuf, Format)>) {
    for path in fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        let extension = path
            .extension()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        match Format::from_extension(extension) {
            _ if path.is_dir() => under(&path, found),
            Some(format)
                if format.is_catalogue() || [Format::Ass, Format::Srt].contains(&format) =>
            {
                found.push((path, format));
            }
            _ => {}
        }
    }
}

/// Each word with its number behind it.
fn numbered(sentence: &PendingSentence) -> Translated {
    let words = sentence.text.split(' ').enumerate();
    let all: Vec<String> = words
        .map(|(number, word)| format!("{word} w{number}"))
        .collect();
    Translated {
        text: all.join(" "),
        links: vec![],
    }
}

/// The visible characters of a text without the numbers behind its words, sorted: a placeholder may
/// have moved.
fn visible(text: &str) -> Vec<char> {
    let mut all = String::new();
    for (number, part) in text.replace('>', "> ").split(" w").enumerate() {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = number > 0 && rest.len() < part.len();
        all += if is_number || number == 0 { "" } else { "w" };
        all += if is_number { rest } else { part };
    }
    let mut all: Vec<char> = all
        .chars()
        .filter(|c| c.is_alphanumeric() || c.is_ascii_punctuation())
        .collect();
    all.sort_unstable();
    all
}

/// Real files from the folder `CATALOGUES`: `CATALOGUES=FOLDER cargo test --release -p
/// burnformer-documents --test it other_peoples -- --ignored --nocapture`. Files with numbered
/// words are written beside them, for `msgfmt`, translate-toolkit and others to check.
#[test]
#[ignore = "needs a folder of files"]
fn other_peoples_catalogues_stay_as_they_are() {
    let folder = std::env::var_os("CATALOGUES").expect("CATALOGUES names a folder");
    let mut all = Vec::new();
    under(Path::new(&folder), &mut all);
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut counts = std::collections::BTreeMap::<&str, [usize; 5]>::new();
    for (path, format) in all {
        let [files, refused, messages, changed, lost] = counts.entry(format.name()).or_default();
        let bytes = fs::read(&path).unwrap();
        *files += 1;
        let file = match WholeFile::read(bytes.clone(), format.name()) {
            Ok(file) => file,
            Err(error) => {
                println!("{}: {error}", path.display());
                *refused += 1;
                continue;
            }
        };
        let text = file.text.clone();
        let before = match Catalogue::read(text.trim_start_matches('\u{feff}'), format, [None; 2]) {
            Ok(catalogue) => catalogue.messages,
            Err(error) => {
                println!("{}: {error}", path.display());
                *refused += 1;
                continue;
            }
        };
        *messages += before.len();
        if file.write(translate(&text, format, &identity), [None; 2]) != bytes {
            println!("{}: changes without a translation", path.display());
            *changed += 1;
        }
        let mut document = Document::parse(&text, format, Some("en"), &|_| true);
        while !document.pending().is_empty() {
            document.accept(document.pending().iter().map(numbered).collect());
        }
        let result = document.finish();
        let written = file.write(result.clone(), [None; 2]);
        fs::write(path.with_added_extension("numbered"), written).unwrap();
        let after = Catalogue::read(result.trim_start_matches('\u{feff}'), format, [None; 2]);
        let after = after
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .messages;
        let is_empty = |found: &str, expected: &str| {
            found.is_empty()
                && Document::message(expected, None, &|_| true)
                    .pending()
                    .is_empty()
        };
        let is_new = |message: &Message| message.state == MessageState::Untranslated;
        let same = |(before, after): (&Message, &Message)| {
            let text = |message: &Message| {
                if format.has_translations() {
                    message.target.clone()
                } else {
                    message.source.clone()
                }
            };
            let expected = if is_new(before) {
                before.source.clone()
            } else {
                text(before)
            };
            let found = text(after);
            let is_same = before.context == after.context
                && (visible(&expected) == visible(&found) || is_empty(&found, &expected));
            if !is_same {
                println!("{}:{}: {expected:?} {found:?}", path.display(), before.line);
            }
            is_same
        };
        let kept = before.iter().zip(&after).filter(|pair| same(*pair)).count();
        *lost += before.len().max(after.len()) - kept;
    }
    for (name, [files, refused, messages, changed, lost]) in counts {
        println!(
            "{name}: {files} files, {refused} refused, {messages} messages, {changed} changed without a translation, {lost} messages with other words"
        );
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
    let document = Document::parse(PO[0], Format::Po, Some("en"), &|_| true).with_memory(&known);
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

/// The texts of react-i18next, with numbers as tag names.
#[test]
fn numbered_tags_are_tags() {
    let tags = |text: &str| {
        let numbers = regex::Regex::new(r"</?\d+ ?/?>").unwrap();
        let mut all: Vec<String> = numbers
            .find_iter(text)
            .map(|it| it.as_str().into())
            .collect();
        all.sort();
        (all, text.matches("&lt;").count())
    };
    for number in [0, 1, 9, 10, 27, 123] {
        let next = number + 1;
        for text in [
            format!("<{number}>Hello there</{number}> my friend"),
            format!(
                "Say <{number}>hello <{next}>to me</{next}></{number}> now, <{number}/> please"
            ),
            format!("One <strong>two</strong> <{number}>{{{{count}}}} new things</{number}>."),
            format!("I <{number} you, 5 > 3"),
        ] {
            let json = format!("{{\"a\": \"{text}\"}}");
            assert_eq!(translate(&json, Format::Json, &identity), json);
            for engine in [upper, reverse] {
                let found = translate(&json, Format::Json, &engine);
                assert_eq!(tags(&found), tags(&json), "{found}");
                assert!(found.contains("HELLO") || found != json, "{found}");
            }
        }
    }
}

/// Okapi writes characters that XML cannot contain as U+FFF0 and an escape.
#[test]
fn escapes_of_xliff_stay_whole() {
    let unit = |text: &str, target: &str| {
        format!(
            "<xliff version=\"1.2\"><file><body><trans-unit id=\"a\"><source>{text}</source>{target}</trans-unit></body></file></xliff>"
        )
    };
    for escape in ["\u{fff0}\\n", "\u{fff0}\\0", "\u{fff0}\\b", "\u{fff0}\\t"] {
        for [left, right] in [["", ""], [" ", ""], ["", " "], [" ", " "]] {
            let text = format!("the house{left}{escape}{right}stands there{escape}");
            let source = unit(&text, "");
            let target = text
                .replace("the house", "THE HOUSE")
                .replace("stands there", "STANDS THERE");
            let target = format!("<target state=\"needs-review-translation\">{target}</target>");
            assert_eq!(
                translate(&source, Format::Xliff, &upper),
                unit(&text, &target)
            );
        }
    }
}

/// A unit as SDL Trados and memoQ write it: `source` and `target` of its segments.
fn segmented(segments: &[(&str, Option<&str>)], target: &str) -> String {
    let mark = |number: usize, text: &str| match text {
        "" => format!("<mrk mtype=\"seg\" mid=\"{number}\"/>"),
        text => format!("<mrk mtype=\"seg\" mid=\"{number}\">{text}</mrk>"),
    };
    let all = |side: fn(&(&str, Option<&str>)) -> Option<String>| {
        let all = segments.iter().map(side).enumerate();
        all.filter_map(|(number, text)| Some(mark(number, &text?)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let target = match target {
        "marks" => format!("<target>{}</target>", all(|it| it.1.map(String::from))),
        other => other.into(),
    };
    format!(
        "<xliff version=\"1.2\"><file source-language=\"de\" target-language=\"en-US\"><body><trans-unit id=\"a\">\
         <source>x</source><seg-source>{}</seg-source>{target}</trans-unit></body></file></xliff>",
        all(|it| Some(it.0.into()))
    )
}

/// Files in the shape of SDL Trados 2021 and memoQ 9, by their public descriptions: segments,
/// comments, locations, units that are locked. The targets are those that translate-toolkit 3.20.4
/// reads from the result.
#[test]
fn files_in_the_shape_of_trados_and_memoq_lose_no_unit() {
    let files = [
        (
            include_str!("../fixtures/segments.sdlxliff"),
            vec![
                "",
                "DER HUND SCHLÄFT. DIE ALTE KATZE AUCH.",
                "One sentence is done. DER ZWEITE FEHLT NOCH.",
                "NUR EIN  SATZ HIER",
                "EIN KOMMENTAR STEHT HIER",
            ],
        ),
        (
            include_str!("../fixtures/units.mqxliff"),
            vec![
                "DER HUND SCHLÄFT IM GARTEN.",
                "EIN {}ROTES{} HAUS <br/> AM MEER.",
                "That is done.",
                "",
                "ZWEI SÄTZE. HIER DER ANDERE.",
            ],
        ),
    ];
    let without_tags = |xml: &str| {
        let pieces = xml
            .split('<')
            .map(|it| it.split_once('>').map_or(it, |(_, text)| text));
        let text: String = pieces.collect();
        text.replace("&lt;", "<").replace("&gt;", ">")
    };
    for (text, expected) in files {
        let found = translate(text, Format::Xliff, &|sentence: &PendingSentence| {
            Translated {
                text: sentence.text.to_uppercase(),
                links: Vec::new(),
            }
        });
        let units = |text: &str| -> Vec<[String; 2]> {
            let units = text.split("<trans-unit").skip(1).map(|unit| {
                let unit = unit.split("</trans-unit>").next().unwrap();
                let start = unit.find("<target");
                let end = unit.find("</target>").map(|at| at + "</target>".len());
                let end = end.or_else(|| Some(start? + unit[start?..].find("/>")? + 2));
                let target = start.zip(end).map_or("", |(start, end)| &unit[start..end]);
                [unit.replacen(target, "", 1), without_tags(target)]
            });
            units.collect()
        };
        let (before, after) = (units(text), units(&found));
        let rest = |units: &[[String; 2]]| units.iter().map(|it| it[0].clone()).collect::<Vec<_>>();
        assert_eq!(rest(&before), rest(&after));
        let targets: Vec<&str> = after.iter().map(|it| &*it[1]).collect();
        assert_eq!(targets, expected);
    }
}

/// Each segment is a message, whatever the others have.
#[test]
fn segments_of_a_unit_are_filled_where_they_are_empty() {
    let sources = ["one <x id=\"1\"/>dog.", "two &amp; dogs.", "three dogs."];
    let upper_case = ["ONE <x id=\"1\"/>DOG.", "TWO & DOGS.", "THREE DOGS."];
    let filled = |number: usize, empty: bool| {
        if empty {
            upper_case[number].to_string()
        } else {
            "Hund.".into()
        }
    };
    for empties in 0..8 {
        let is_empty = |number: usize| empties >> number & 1 == 1;
        for missing in [false, true] {
            let target = |number: usize| match (is_empty(number), missing) {
                (false, _) => Some("Hund."),
                (true, false) => Some(""),
                (true, true) => None,
            };
            let text = segmented(&[0, 1, 2].map(|it| (sources[it], target(it))), "marks");
            if missing && empties == 7 {
                continue;
            }
            let found = translate(&text, Format::Xliff, &upper);
            let messages = read(&found, Format::Xliff);
            let targets: Vec<_> = messages.iter().map(|it| it.target.clone()).collect();
            assert_eq!(
                targets,
                [0, 1, 2].map(|it| filled(it, is_empty(it))),
                "{found}"
            );
            assert_eq!(found.contains("needs-review"), empties > 0);
            assert_eq!(messages[1].context.to_string(), "a.1");
            assert!(empties > 0 || found == text);
        }
    }
    for target in [
        "",
        "<target/>",
        "<target></target>",
        "<target xml:lang=\"en\"> </target>",
    ] {
        let text = segmented(&sources.map(|it| (it, None)), target);
        let found = translate(&text, Format::Xliff, &upper);
        let targets: Vec<_> = read(&found, Format::Xliff)
            .into_iter()
            .map(|it| it.target)
            .collect();
        assert_eq!(targets, [0, 1, 2].map(|it| filled(it, true)), "{found}");
        assert_eq!(found.matches("<target").count(), 1, "{found}");
        assert!(
            found.contains("</mrk> <mrk mtype=\"seg\" mid=\"2\">THREE"),
            "{found}"
        );
    }
    let old = segmented(&[("one dog.", Some(""))], "marks");
    for state in ["state=\"new\"", "state='new' a=\"b\""] {
        let text = old.replace("<target>", &format!("<target {state}>"));
        let found = translate(&text, Format::Xliff, &upper);
        assert!(
            found.contains(&state.replace("new", "needs-review-translation")),
            "{found}"
        );
    }
    // A translation without segments stays.
    let text = segmented(&[("one dog.", None)], "<target>Ein Hund.</target>");
    assert_eq!(translate(&text, Format::Xliff, &upper), text);
}

#[test]
fn a_file_with_translations_is_filled_in_its_own_language_alone() {
    let tmx = "<tmx version=\"1.4\"><header srclang=\"de\"/><body><tu><tuv xml:lang=\"de\"><seg>Hund</seg></tuv>\
               <tuv xml:lang=\"fr-FR\"><seg></seg></tuv><tuv xml:lang=\"EN-us\"><seg></seg></tuv></tu></body></tmx>";
    let po = "msgid \"\"\nmsgstr \"Language: fr_CA\\n\"\n\nmsgid \"dog\"\nmsgstr \"\"\n";
    let xliff = "<xliff version=\"1.2\"><file source-language=\"de\" target-language=\"fr\"><trans-unit id=\"a\"><source>dog</source></trans-unit></file></xliff>";
    let second = "<xliff version=\"2.0\" srcLang=\"de\" trgLang=\"fr\"><file><unit id=\"a\"><segment><source>dog</source></segment></unit></file></xliff>";
    let qt =
        "<TS language=\"fr_FR\"><context><message><source>dog</source></message></context></TS>";
    let parse = |text: &str, format, target| {
        Document::try_parse(text, format, [Some("de"), Some(target)], &[], &|_| true)
    };
    for (target, variant) in [
        ("en", "EN-us"),
        ("en-GB", "EN-us"),
        ("fr", "fr-FR"),
        ("fra_Latn", "fr-FR"),
    ] {
        let mut document = parse(tmx, Format::Tmx, target).unwrap();
        let pending = document.pending();
        document.accept(pending.iter().map(upper).collect());
        let empty = format!("\"{variant}\"><seg></seg>");
        assert_eq!(
            document.finish(),
            tmx.replace(&empty, &empty.replace("><seg>", "><seg>HUND"))
        );
    }
    for (text, format) in [
        (po, Format::Po),
        (xliff, Format::Xliff),
        (second, Format::Xliff),
        (tmx, Format::Tmx),
        (qt, Format::Qt),
    ] {
        for target in ["fr", "fr-FR", "fra", "fra_Latn", "FR"] {
            assert!(parse(text, format, target).is_ok(), "{format} {target}");
        }
        for target in ["es", "spa_Latn"] {
            let refusal = parse(text, format, target).unwrap_err().to_string();
            assert!(
                refusal.contains("fr") && refusal.contains(target),
                "{refusal}"
            );
        }
    }
    // Codes of no language are not compared.
    assert!(parse(po, Format::Po, "simple-thing").is_ok());
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

/// msginit of gettext 0.21 writes these fields; msgfmt refuses `nplurals=INTEGER`.
#[test]
fn a_file_names_the_language_of_its_translation() {
    let template = "msgid \"\"\nmsgstr \"\"\n\"Language: \\n\"\n\"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n\"\n\n\
                    msgid \"Language: \"\nmsgid_plural \"dogs\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n";
    let one = |text: &str, format, target| {
        let languages = [Some("de"), Some(target)];
        let document = Document::try_parse(text, format, languages, &[], &|_| true);
        document.unwrap().finish()
    };
    for (target, language, rule, forms) in [
        ("en", "en", "nplurals=2; plural=(n != 1);", 2),
        ("deu_Latn", "de", "nplurals=2; plural=(n != 1);", 2),
        ("pt-BR", "pt_BR", "nplurals=2; plural=(n > 1);", 2),
        ("zh", "zh", "nplurals=1; plural=0;", 1),
        (
            "cs",
            "cs",
            "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;",
            3,
        ),
    ] {
        let encoding = "Content-Type: text/plain; charset=UTF-8";
        let header = format!(
            "\"Language: {language}\\n\"\n\"Plural-Forms: {rule}\\n\"\n\"{encoding}\\n\"\n\nmsgid \"Language: \""
        );
        let found = one(template, Format::Po, target);
        assert!(found.contains(&header), "{found}");
        let document = Document::try_parse(
            template,
            Format::Po,
            [Some("de"), Some(target)],
            &[],
            &|_| true,
        );
        let mut document = document.unwrap();
        let pending = document.pending();
        document.accept(pending.iter().map(upper).collect());
        assert_eq!(
            document.finish().matches("msgstr[").count(),
            forms,
            "{target}"
        );
    }
    for (format, before, after) in [
        (
            Format::Xliff,
            "<xliff version=\"1.2\"><file source-language=\"de\"/></xliff>",
            "<xliff version=\"1.2\"><file source-language=\"de\" target-language=\"en-GB\"/></xliff>",
        ),
        (
            Format::Xliff,
            "<xliff version=\"2.0\" srcLang=\"de\"><file/></xliff>",
            "<xliff version=\"2.0\" srcLang=\"de\" trgLang=\"en-GB\"><file/></xliff>",
        ),
        (Format::Qt, "<TS></TS>", "<TS language=\"en_GB\"></TS>"),
        (
            Format::Qt,
            "<TS sourcelanguage=\"de\" language=\"\"></TS>",
            "<TS sourcelanguage=\"de\" language=\"en_GB\"></TS>",
        ),
        (
            Format::Qt,
            "<TS language='en_US'></TS>",
            "<TS language='en_US'></TS>",
        ),
        (
            Format::Json,
            "{\"@@locale\": \"de_AT\", \"a\": \"b\"}",
            "{\"@@locale\": \"en_GB\", \"a\": \"b\"}",
        ),
        (
            Format::Json,
            "{\"@@locale\": \"fr\"}",
            "{\"@@locale\": \"fr\"}",
        ),
        (
            Format::Android,
            "<resources x='y' tools:locale=\"de\"></resources>",
            "<resources x='y' tools:locale=\"en-GB\"></resources>",
        ),
        (
            Format::Yaml,
            "# a: b\nde:\n  de: x\n",
            "# a: b\nen-GB:\n  de: x\n",
        ),
        (Format::Yaml, "\"de\":\n  a: x\n", "\"en-GB\":\n  a: x\n"),
        (Format::Yaml, "de: x\nen: y\n", "de: x\nen: y\n"),
    ] {
        assert_eq!(one(before, format, "en-GB"), after);
    }
}

/// The numbers of forms are those that lrelease of Qt 5.15.8 keeps. It writes forms that a file
/// lacks as empty texts, which the program shows.
#[test]
fn a_message_of_qt_has_the_plural_forms_of_its_language() {
    let forms = [
        "",
        "<numerusform></numerusform>",
        "<numerusform>ein Hund</numerusform>",
    ];
    for (target, count) in [
        ("ja", 1),
        ("zh-TW", 1),
        ("en", 2),
        ("pt_BR", 2),
        ("pol_Latn", 3),
        ("ru", 3),
        ("sl", 4),
        ("cy", 5),
        ("ar", 6),
    ] {
        for (form, written) in forms.into_iter().zip([count, count, count - 1]) {
            let text = format!(
                "<TS><context><message numerus=\"yes\"><source>one dog</source><translation>{form}</translation></message></context></TS>"
            );
            let document =
                Document::try_parse(&text, Format::Qt, [Some("de"), Some(target)], &[], &|_| {
                    true
                });
            let mut document = document.unwrap();
            let pending = document.pending();
            document.accept(pending.iter().map(upper).collect());
            let found = document.finish();
            assert_eq!(
                found.matches("<numerusform>ONE DOG</numerusform>").count(),
                written,
                "{target}: {found}"
            );
            assert_eq!(
                found.matches("</numerusform>").count(),
                count,
                "{target}: {found}"
            );
            assert_eq!(found.contains("type=\"unfinished\""), written > 0);
        }
    }
}

/// Programs in TypeScript and videos have the same extension.
#[test]
fn a_file_that_is_no_catalogue_of_qt_is_refused() {
    for text in ["import a from 'b';\n", "<xliff/>", ""] {
        let refusal = Catalogue::read(text, Format::Qt, [None; 2]).unwrap_err();
        assert!(refusal.fault.contains("not `TS`"), "{refusal}");
    }
    let video = [&[0x47, 0x40, 0, 0x10, 0][..], &[0; 183]].concat();
    let is_refused = match WholeFile::read(video, "ts") {
        Ok(file) => Catalogue::read(&file.text, file.format, [None; 2]).is_err(),
        Err(_) => true,
    };
    assert!(is_refused);
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
