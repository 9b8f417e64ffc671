//! Damaged catalogues and other formats get an error with the line and a remedy.

use super::*;

#[test]
fn a_broken_catalogue_is_refused_with_line_and_remedy() {
    let po = |text: &str| ("msgid \"a\"\nmsgstr \"\"\n".to_string() + text, Format::Po);
    let xliff = |text: &str| (format!("<xliff version='1.2'>\n{text}"), Format::Xliff);
    for ((text, format), line, needle) in [
        (po("msgid \"a\"\nmsgstr \"b\"\n"), 3, "line 1; `msguniq`"),
        (po("\nmsgid \"b\nmsgstr \"\"\n"), 4, "closing quote"),
        (po("\nmsgid \"b\"\n\n"), 4, "no `msgstr`"),
        (po("\nmessage \"b\"\n"), 4, "`message`"),
        (po("\nmsgid b\n"), 4, "msgfmt -c"),
        (
            po("\nmsgid \"b\"\nmsgstr \"\"\nmsgstr \"\"\n"),
            6,
            "one too many",
        ),
        (xliff("<file>\n</body>"), 3, "xmllint"),
        (xliff("<file>\n"), 2, "not closed"),
        (("\n<html></html>".into(), Format::Xliff), 1, "--format"),
        (("<tmx>&nosuch;<".into(), Format::Tmx), 1, "xmllint"),
        (xliff(&"<g>".repeat(300)), 2, "deeper"),
    ] {
        let broken = Catalogue::read(&text, format, [None; 2]).unwrap_err();
        assert!(
            broken.line == line && broken.to_string().contains(needle),
            "{text}: {broken}"
        );
        // Whoever does not ask gets it back as it is.
        assert_eq!(translate(&text, format, &upper), text);
    }
    let broken = Catalogue::read(TMX[0], Format::Tmx, [Some("en"), Some("ko")]).unwrap_err();
    assert!(
        broken.fault.contains("en-US") && broken.fault.contains("fr"),
        "{broken}"
    );
    let broken = Catalogue::read(XLIFF[0], Format::Xliff, [Some("de"), Some("en")]).unwrap_err();
    assert!(
        broken.fault.contains("\"en\" and not in \"de\""),
        "{broken}"
    );
    assert!(Catalogue::read(PO[0], Format::Po, [Some("en"), Some("de-AT")]).is_ok());
}

/// A file of each format that is read as another is refused, with a remedy, unless it is one: all
/// are texts, pages and Markdown, each line is one of Java's properties, and JSON is YAML.
#[test]
fn a_file_of_another_format_is_refused() {
    let srt = "1\n00:00:01,000 --> 00:00:02,000\nOne dog\n";
    let others = [
        (Format::Srt, srt),
        (Format::Srt, "WEBVTT\n\n00:01.000 --> 00:02.000\nOne dog\n"),
        (Format::Html, "<p class=a>One dog</p>\n"),
        (Format::Markdown, "# One\n\nTwo *dogs*\n"),
        (Format::Text, "One dog.\nTwo\n"),
    ];
    let all = ALL
        .iter()
        .map(|(format, [source, _])| (*format, *source))
        .chain(others);
    let is_any = |format: Format| {
        matches!(
            format,
            Format::Text | Format::Html | Format::Markdown | Format::Properties
        )
    };
    let mut faults = Vec::new();
    for (origin, text) in all {
        for format in Format::all() {
            for text in [
                text.to_string(),
                format!("\u{feff}{text}"),
                text.replace('\n', "\r\n"),
            ] {
                let read = Document::try_parse(&text, format, [Some("en"), None], &[], &|_| true);
                let may_be = format == origin || is_any(format) || format == Format::Yaml;
                match read {
                    Ok(_) if may_be => {}
                    Err(error) if format != origin => {
                        let error = error.to_string();
                        let has_remedy = error.starts_with("line ") && error.contains([';', '`']);
                        faults.extend(
                            (!has_remedy).then_some(format!("{origin} as {format}: {error}")),
                        );
                    }
                    read => faults.push(format!("{origin} as {format}: {:?}", read.map(drop))),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for format in [Format::Srt, Format::Ass] {
        for text in ["", "\n \n", "\u{feff}"] {
            assert!(
                Document::try_parse(text, format, [None; 2], &[], &|_| true).is_ok(),
                "nothing is lost"
            );
        }
    }
    let old = srt.replace('\n', "\r");
    assert!(Document::try_parse(&old, Format::Srt, [None; 2], &[], &|_| true).is_ok());
}

/// A file with a fault is refused, or its translation is read again and has the same messages.
#[test]
fn a_damaged_file_is_refused_or_keeps_its_messages() {
    const SIGNS: &str = "\"'\\\\{}[]<>&#:=\n\r \t,|>*@-!~?%u";
    let mut seed = 7_u64;
    let signs = SIGNS.chars().collect::<Vec<_>>();
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for (format, [source, _]) in ALL {
        for case in 0..600 {
            let mut chars: Vec<char> = source.chars().collect();
            let at = random(chars.len());
            match case % 3 {
                0 => chars.truncate(at),
                1 => chars[at] = signs[random(signs.len())],
                _ => chars.insert(at, signs[random(signs.len())]),
            }
            let text: String = chars.into_iter().collect();
            if !format.has_translations() {
                assert_eq!(translate(&text, format, &identity), text);
            }
            let Ok(before) = Catalogue::read(&text, format, [None; 2]) else {
                continue;
            };
            let result = translate(&text, format, &upper);
            let after = Catalogue::read(&result, format, [None; 2]);
            let after =
                after.unwrap_or_else(|error| panic!("{format} {error}\n{text}\n=>\n{result}"));
            let keys = |all: &Catalogue| {
                all.messages
                    .iter()
                    .map(|it| it.context.clone())
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                keys(&before),
                keys(&after),
                "{format}\n{text}\n=>\n{result}"
            );
        }
    }
}

#[test]
fn a_broken_file_of_texts_is_refused_with_line_and_remedy() {
    use Format::{Android, Fluent, Json, Properties, Strings, Yaml};
    for (format, text, line, needle) in [
        (Json, "{\"a\":\n\"b c\"", 2, "json.tool"),
        (Json, "{\"a\": \"b c\",\n}", 2, "json.tool"),
        (Json, "{\"a\": \"b\n c\"}", 1, "json.tool"),
        (Json, &"[".repeat(50_000), 1, "json.tool"),
        (Json, "", 1, "json.tool"),
        (Yaml, "a:\n  b: \"c d", 2, "quote the text"),
        (Yaml, "a: b\n c: d\n", 2, "indentation"),
        (
            Yaml,
            &"[".repeat(5000),
            1,
            "the YAML is broken: recursion limit",
        ),
        (Properties, "a=b c\nb=\\u12\n", 2, "four hexadecimal digits"),
        (
            Android,
            "<resources>\n<string name='a'>b c\n</resources>",
            3,
            "xmllint",
        ),
        (Android, "\n<html/>", 1, "not `resources`"),
        (Strings, "\"a\" = \"b c\";\n\"b\" = \"c d\"\n", 2, "plutil"),
        (Strings, "\"a\" = \"b c;\n", 1, "plutil"),
        (Fluent, "a = B c\nb c\n", 2, "indent"),
        (Fluent, "a = B {c\nb = D\n", 1, "brace"),
        (Fluent, "a = { $n ->\n *[b] C\nb = D\n", 3, "selection"),
        (Fluent, "a = { $n ->\n *[b] C\n", 3, "selection"),
    ] {
        let broken = Catalogue::read(text, format, [None; 2]).unwrap_err();
        let text = text.get(..80).unwrap_or(text);
        assert!(
            broken.line == line && broken.to_string().contains(needle),
            "{text}: {broken}"
        );
        assert_eq!(translate(text, format, &upper), text);
    }
}
