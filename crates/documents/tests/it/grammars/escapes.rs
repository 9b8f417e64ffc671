//! Characters that a grammar writes by their numbers or in apostrophes.

use super::*;

/// msgfmt 0.21 reads bytes by their numbers in the encoding of the file.
#[test]
fn escapes_of_c_are_characters_and_codes() {
    for (charset, text, expected) in [
        ("UTF-8", r"the caf\303\251 house", "THE CAFé HOUSE"),
        ("ISO-8859-1", r"the caf\351 house", "THE CAFé HOUSE"),
        ("UTF-8", r"the \x63af\xc3\xa9 house", "THE CAFé HOUSE"),
        (
            "UTF-8",
            r"\033[1mthe house\033[0m",
            r"\033[1mTHE HOUSE\033[0m",
        ),
        ("UTF-8", r"the\thouse\\ \042x\042", r#"THE\tHOUSE\\ \"X\""#),
    ] {
        let source = format!(
            "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset={charset}\\n\"\n\nmsgid \"{text}\"\nmsgstr \"\"\n"
        );
        let found = translate(&source, Format::Po, &upper);
        let expected = format!("msgstr \"{expected}\"\n");
        assert!(found.ends_with(&expected), "{found}");
    }
}

/// The characters from `\200` on as openstep_plist 0.5.2 reads them, by their numbers in Unicode.
const NEXT_STEP: &str = include_str!("../../fixtures/next_step.txt");

#[test]
fn octal_numbers_of_apple_are_characters() {
    let numbers = NEXT_STEP.split_whitespace();
    let numbers = numbers.map(|number| u32::from_str_radix(number, 16).unwrap());
    let signs = numbers.map(|number| char::from_u32(number).unwrap());
    let all = (0x80..)
        .zip(signs)
        .map(|(code, sign)| (format!("\\{code:03o}"), sign));
    let others = [
        ("\\U00e9", 'é'),
        ("\\74", '<'),
        ("\\100", '@'),
        ("\\\"", '"'),
    ];
    let others = others.map(|(escape, sign)| (escape.to_owned(), sign));
    for (escape, sign) in all.chain(others) {
        let source = format!("\"a\" = \"the dog {escape} sleeps\";\n");
        let text = format!("the dog {sign} sleeps");
        let messages = Catalogue::read(&source, Format::Strings, [None; 2]).unwrap();
        assert_eq!(messages.messages[0].source, text, "{escape}");
        let document = Document::parse(&source, Format::Strings, None, &|_| true);
        let answer = |_: &str, _: &str| {
            let text = format!("{text} now");
            let is_sure = true;
            Some(Remembered { text, is_sure })
        };
        let written = text.replace('"', "\\\"");
        let expected = format!("\"a\" = \"{written} now\";\n");
        assert_eq!(document.with_known_translations(&answer).finish(), expected);
    }
    let escapes = r#""a" = "the dog\nthe cat\101";"#;
    let found = translate(escapes, Format::Strings, &upper);
    assert_eq!(found, r#""a" = "THE DOG\nTHE CATA";"#);
}

/// ICU reads a tag in apostrophes as text.
#[test]
fn tags_in_apostrophes_stay() {
    for (text, expected) in [
        ("Use '<b>' for the house", "USE '<b>' FOR THE HOUSE"),
        (
            "Use '<b>' for <i>the</i> house",
            "USE '<b>' FOR <i>THE</i> HOUSE",
        ),
        (
            "{n, plural, one {Use '<b>' for it} other {It is '<i>' now}}",
            "{n, plural, one {USE '<b>' FOR IT} other {IT IS '<i>' NOW}}",
        ),
    ] {
        let json = |text: &str| format!("{{\"a\": \"{text}\"}}");
        assert_eq!(translate(&json(text), Format::Json, &upper), json(expected));
        assert_eq!(translate(&json(text), Format::Json, &identity), json(text));
    }
}
