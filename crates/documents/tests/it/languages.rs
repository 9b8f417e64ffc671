//! The languages that files declare, before and after a translation.

use std::io::Write;
use std::process::{Command, Stdio};

use burnformer_documents::{Document, Format, Office, OfficeKind};

use crate::common::upper;
use crate::office::{archive, file};

/// The languages with a plural rule in gettext or translate-toolkit, one rule a line.
const PLURAL_FORMS: &str = include_str!("../../src/catalogue/plural_forms.tsv");

/// `text` in capitals, translated from the first of `languages` into the second.
fn translated(text: &str, format: Format, [from, into]: [&str; 2]) -> String {
    let languages = [Some(from), Some(into)];
    let document = Document::try_parse(text, format, languages, &[], &|_| true);
    let mut document = document.unwrap();
    loop {
        let pending = document.pending();
        if pending.is_empty() {
            return document.finish();
        }
        document.accept(pending.iter().map(upper).collect());
    }
}

/// CLDR gives the direction of each language.
#[test]
fn web_manifests_name_the_language_of_the_result() {
    let languages = [("ar", "rtl"), ("he", "rtl"), ("fa", "rtl"), ("ur", "rtl")];
    for (into, direction) in languages.into_iter().chain([("fr", "ltr"), ("uz", "ltr")]) {
        for fields in [
            "\"lang\": \"en-GB\", \"dir\": \"ltr\"",
            "\"dir\": \"ltr\", \"lang\": \"en\"",
            "\"lang\": \"en\"",
            "\"lang\": \"en\", \"dir\": \"auto\"",
            "\"lang\": \"de\", \"dir\": \"ltr\"",
            "\"dir\": \"ltr\"",
        ] {
            let manifest = format!(
                "{{\"name\": \"The house\", {fields}, \"start_url\": \"/\", \"a\": {{\"lang\": \"en\"}}}}"
            );
            let own = fields
                .replace("en-GB", into)
                .replace("\"en\"", &format!("\"{into}\""));
            let own = match fields.contains("\"en") {
                true => own.replace("\"ltr\"", &format!("\"{direction}\"")),
                false => own,
            };
            let expected = manifest
                .replacen(fields, &own, 1)
                .replace("The house", "THE HOUSE");
            assert_eq!(translated(&manifest, Format::Json, ["en", into]), expected);
        }
    }
    let other = r#"{"lang": "en-GB", "a": "The house"}"#;
    let found = translated(other, Format::Json, ["en", "ar"]);
    assert_eq!(found, other.replace("The house", "THE HOUSE"));
}

/// The messages behind the header of every template.
const MESSAGES: &str = "#: a.c:1\nmsgid \"one dog\"\nmsgstr \"\"\n\n#, c-format\nmsgid \"%d dog\"\nmsgid_plural \"%d dogs\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n\n#~ msgid \"old\"\n#~ msgid_plural \"olds\"\n#~ msgstr[0] \"\"\n#~ msgstr[1] \"\"\n";

/// Templates with the headers that xgettext and people write.
fn templates() -> Vec<String> {
    let usual = [
        r"Project-Id-Version: a 1\n",
        r"PO-Revision-Date: 2024-01-31 12:00+0000\n",
        r"Last-Translator: A <a@example.org>\n",
        r"Language-Team: none\n",
        r"Language: \n",
        r"MIME-Version: 1.0\n",
        r"Content-Type: text/plain; charset=CHARSET\n",
        r"Content-Transfer-Encoding: 8bit\n",
        r"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n",
    ];
    let lines = |fields: &[&str]| {
        let lines = fields.iter().map(|field| format!("\"{field}\"\n"));
        format!("msgid \"\"\nmsgstr \"\"\n{}\n", lines.collect::<String>())
    };
    let without = |left: &str| {
        let kept: Vec<&str> = usual
            .into_iter()
            .filter(|it| !it.starts_with(left))
            .collect();
        lines(&kept)
    };
    let wrapped = lines(&usual).replace("INTEGER; ", "INTEGER; \"\n\"");
    let one = format!("msgid \"\"\nmsgstr \"{}\"\n\n", usual.concat());
    let heads = [
        lines(&usual),
        format!("# A title.\n#\n#, fuzzy\n{}", lines(&usual)),
        without("Language: "),
        without("Plural-Forms"),
        without("Content-Type"),
        lines(&[]),
        lines(&[r"X-Language: de\n", r"X-Plural-Forms: none"]),
        wrapped,
        one,
        String::new(),
    ];
    let all = heads.map(|head| head + MESSAGES);
    let wide = all.clone().map(|text| text.replace('\n', "\r\n"));
    all.into_iter().chain(wide).collect()
}

/// The fields of a catalogue's header.
fn fields(text: &str) -> Vec<(String, String)> {
    let start = text.find("msgid \"\"").unwrap();
    let head: Vec<&str> = text[start..]
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    let strings = head
        .iter()
        .filter_map(|line| line.split_once('"')?.1.strip_suffix('"'));
    let whole = strings.collect::<String>();
    let fields = whole
        .split("\\n")
        .filter_map(|field| field.split_once(": "));
    fields
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn field<'f>(fields: &'f [(String, String)], name: &str) -> &'f str {
    let mut values = fields.iter().filter(|(known, _)| known == name);
    let value = values.next().map(|(_, value)| value.as_str());
    assert_eq!(values.next(), None, "{name} stands once");
    value.unwrap_or_else(|| panic!("{name} is missing: {fields:?}"))
}

/// The rules with a language each.
fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = PLURAL_FORMS.lines().filter_map(|row| row.split_once('\t'));
    rows.flat_map(|(rule, codes)| codes.split(' ').map(move |code| (rule, code)))
}

#[test]
fn a_template_gets_the_fields_and_the_forms_of_its_language() {
    for (rule, code) in rules() {
        let forms: usize = rule[9..10].parse().unwrap();
        for template in templates() {
            let found = translated(&template, Format::Po, ["xx", code]);
            let fields = fields(&found);
            assert_eq!(field(&fields, "Language"), code, "{found}");
            assert_eq!(field(&fields, "Plural-Forms"), rule, "{found}");
            let encoding = field(&fields, "Content-Type");
            assert_eq!(encoding, "text/plain; charset=UTF-8", "{found}");
            assert_eq!(found.matches("\nmsgstr[").count(), forms, "{code} {found}");
            assert!(found.matches("#~ msgstr[").count() <= 2, "{found}");
            assert!(!found.contains("#, fuzzy\nmsgid \"\""), "{found}");
            let again = translated(&found, Format::Po, ["xx", code]);
            assert_eq!(again, found, "a catalogue with a language stays");
        }
    }
}

/// What `program` writes for `input`, and whether it succeeds.
fn run(program: &str, arguments: &[&str], input: &str) -> (String, bool) {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .expect("gettext is installed");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&text).into_owned(),
        output.status.success(),
    )
}

/// `cargo test --release -p burnformer-documents --test it languages -- --ignored`. With gettext
/// 0.21, msginit knows the rules of 41 of these languages.
#[test]
#[ignore = "needs gettext"]
fn msginit_writes_the_same_header_and_msgfmt_takes_it() {
    let template = templates().swap_remove(0);
    let mut known = 0;
    for (rule, code) in rules() {
        let arguments = [
            "--no-translator",
            "--no-wrap",
            "-l",
            code,
            "-i",
            "-",
            "-o",
            "-",
        ];
        let (theirs, _) = run("msginit", &arguments, &template);
        let theirs = fields(&theirs);
        let their_rule = field(&theirs, "Plural-Forms");
        if !their_rule.contains("INTEGER") {
            known += 1;
            assert_eq!(their_rule, rule, "{code}");
        }
        for template in templates() {
            let ours = translated(&template, Format::Po, ["xx", code]);
            let (messages, is_taken) = run("msgfmt", &["-c", "-o", "/dev/null", "-"], &ours);
            assert!(is_taken, "{code}: {messages}\n{ours}");
        }
    }
    println!("msginit knows the rules of {known} languages");
    assert!(known >= 40, "{known}");
}

/// Codes of a source language, as files write them, and of a target language as models do.
const PAIRS: [([&str; 2], &str, [&str; 2]); 8] = [
    (["de", "de-AT"], "en", ["en", "en"]),
    (["de", "de_AT"], "eng_Latn", ["en", "en"]),
    (["en", "en-GB"], "pt_BR", ["pt-BR", "pt-BR"]),
    (["fr", "fr_CA"], "zh-Hans", ["zh-Hans", "zh_Hans"]),
    (["ja", "JA"], "ar", ["ar", "ar"]),
    (["zh", "zh-Hant-TW"], "de-CH", ["de-CH", "de-CH"]),
    (["pt", "pt-BR"], "ru", ["ru", "ru"]),
    (["he", "iw"], "fr_XX", ["fr", "fr"]),
];

#[test]
fn the_language_of_the_source_becomes_the_language_of_the_translation() {
    use Format::{Android, Html, Json, Xliff, Yaml};
    for (sources, into, targets) in PAIRS {
        for (source, target) in sources.into_iter().zip(targets) {
            let under = target.replace('-', "_");
            let tag = targets[0];
            for (format, before, after) in [
                (
                    Html,
                    "<html lang=\"@\"><p xml:lang='@'>one</p>",
                    "<html lang=\"#\"><p xml:lang='#'>ONE</p>",
                ),
                (
                    Html,
                    "<html lang=@ class=a><meta property=og:locale content=@><p>one",
                    "<html lang=# class=a><meta property=og:locale content=#><p>ONE",
                ),
                (
                    Html,
                    "<html lang=sv><p lang=\"@\" translate=no>one</p><p>one",
                    "<html lang=sv><p lang=\"@\" translate=no>one</p><p>ONE",
                ),
                (
                    Android,
                    "<resources a=\"x>y\" tools:locale=\"@\"><string name=\"a\">one</string></resources>",
                    "<resources a=\"x>y\" tools:locale=\"#\"><string name=\"a\">ONE</string></resources>",
                ),
                (Yaml, "# one\n@:\n  a: one\n", "# one\n#:\n  a: ONE\n"),
                (Yaml, "'@':\n  a: one\n", "'#':\n  a: ONE\n"),
                (
                    Json,
                    "{\"@@locale\": \"@\", \"a\": \"one\"}",
                    "{\"@@locale\": \"_\", \"a\": \"ONE\"}",
                ),
                (
                    Xliff,
                    "<xliff version=\"1.2\"><file original=\"a>b\" source-language='@'><trans-unit><source>one</source></trans-unit></file><file source-language=\"@\" target-language=\"\"/></xliff>",
                    "<file original=\"a>b\" source-language='@' target-language=\"T\">…<file source-language=\"@\" target-language=\"T\"/>",
                ),
                (
                    Xliff,
                    "<x:xliff xmlns:x=\"a\" version=\"2.1\" srcLang=\"@\"><x:file><x:unit><x:segment><x:source>one</x:source></x:segment></x:unit></x:file></x:xliff>",
                    "version=\"2.1\" srcLang=\"@\" trgLang=\"T\">",
                ),
            ] {
                let write = |text: &str| {
                    let text = text.replace("@@locale", "\u{1}").replace('@', source);
                    text.replace('\u{1}', "@@locale")
                };
                let expected = if format == Json {
                    write(&after.replace("\"_\"", &format!("\"{under}\"")))
                } else if format == Xliff {
                    write(after).replace("\"T\"", &format!("\"{tag}\""))
                } else {
                    let mut expected = after.to_owned();
                    for mark in ["\"#\"", "'#'", "=#", "\n#:"] {
                        expected = expected.replace(mark, &mark.replace('#', target));
                    }
                    if format == Html && target == "ar" {
                        let root = ["<html lang=\"ar\"", "<html lang=ar"];
                        let root = root.into_iter().find(|it| expected.contains(it));
                        let root = root.unwrap_or("<none");
                        expected = expected.replace(root, &format!("{root} dir=\"rtl\""));
                    }
                    write(&expected)
                };
                let found = translated(&write(before), format, [sources[0], into]);
                if format == Xliff {
                    for part in expected.split('…') {
                        assert!(found.contains(part), "{part}\n{found}");
                    }
                } else {
                    assert_eq!(found, expected);
                }
            }
        }
    }
}

/// Word and OpenDocument name the languages of Western, East Asian and complex text.
#[test]
fn an_office_document_names_its_language_where_its_program_looks() {
    use OfficeKind::{Docx, Epub, OpenDocument, Pptx};
    let word = |[val, asian, complex]: [&str; 3]| {
        format!("<w:x><w:lang w:val=\"{val}\" w:eastAsia=\"{asian}\" w:bidi=\"{complex}\"/></w:x>")
    };
    let open = |codes: [&str; 3]| {
        let [western, asian, complex] =
            codes.map(|code| code.split_once('-').unwrap_or((code, "none")));
        format!(
            "<x><s:t fo:country=\"{}\" fo:language=\"{}\" style:language-asian=\"{}\" style:country-asian=\"{}\" \
             style:country-complex=\"{}\" style:language-complex=\"{}\"/><n:date number:language=\"{}\" number:country=\"{}\"/></x>",
            western.1, western.0, asian.0, asian.1, complex.1, complex.0, western.0, western.1
        )
    };
    let none = "sv-SE";
    for (from, into, before, after) in [
        ("de", "en", ["de-DE", none, none], ["en", none, none]),
        ("de", "pt-BR", ["de", "de", none], ["pt-BR", "pt-BR", none]),
        ("en", "ja", ["en-US", "zh-CN", none], ["ja", "ja", none]),
        (
            "en",
            "ar",
            ["en-US", "zh-CN", "ar-SA"],
            ["ar", "zh-CN", "ar"],
        ),
        ("ja", "de", ["en-US", "ja-JP", none], ["de", "de", none]),
        ("fr", "de", ["en-US", none, none], ["en-US", none, none]),
    ] {
        let languages = [Some(from), Some(into)];
        let written = |kind: OfficeKind, files: &[(&str, &str)], name: &str| {
            let office = Office::read(archive(files), kind).unwrap();
            let html = office.html().replace("dog", "DOG");
            file(&office.write(&html, languages), name)
        };
        let text = "<w:p><w:r><w:t>dog</w:t></w:r></w:p>";
        let parts = [
            ("word/document.xml", text),
            ("word/styles.xml", &word(before)),
        ];
        assert_eq!(written(Docx, &parts, "word/styles.xml"), word(after));
        let parts = [
            ("content.xml", "<x><text:p>dog</text:p></x>"),
            ("styles.xml", &open(before)),
        ];
        let found = written(OpenDocument, &parts, "styles.xml");
        assert!(
            found.starts_with(&open(after)[..open(after).find("<n:").unwrap()]),
            "{found}"
        );
        let slide = |code: &str| {
            format!("<p:x><a:p><a:r><a:rPr lang=\"{code}\"/><a:t>dog</a:t></a:r></a:p></p:x>")
        };
        let parts = [
            ("ppt/presentation.xml", "<a/>"),
            ("ppt/slides/slide1.xml", &slide(before[0])),
        ];
        let expected = slide(if before[0] == after[0] || !before[0].starts_with(from) {
            before[0]
        } else {
            into
        });
        assert_eq!(
            written(Pptx, &parts, "ppt/slides/slide1.xml"),
            expected.replace("dog", "DOG")
        );
        let list = |code: &str| {
            format!(
                "<package xml:lang=\"{code}\"><dc:title>dog</dc:title><dc:language id=\"l\">\n {code}\n</dc:language></package>"
            )
        };
        let parts = [("META-INF/container.xml", "<a/>"), ("a.opf", &list(from))];
        assert_eq!(
            written(Epub, &parts, "a.opf"),
            list(into).replace("dog", "DOG")
        );
    }
}

#[test]
fn texts_of_android_are_read_wherever_they_stand() {
    let strings = "<resources><item type=\"string\" name=\"a\">one dog</item><item type=\"dimen\" name=\"b\">one dp</item>\
        <array name=\"c\"><item>one dog</item><item>@drawable/one</item><item>#ff00aa</item></array>\
        <item type=\"string\" name=\"d\" translatable=\"false\">one cat</item></resources>";
    let found = translated(strings, Format::Android, ["de", "en"]);
    assert_eq!(found, strings.replace("one dog", "ONE DOG"));
}
