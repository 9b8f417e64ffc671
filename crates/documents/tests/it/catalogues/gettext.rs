//! Entries of gettext.

use super::*;

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
