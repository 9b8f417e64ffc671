//! Files in the encodings of their programs. `fixtures/encodings.py` generates the bytes with
//! Python's codecs.

use burnformer_documents::{Document, Format, PendingSentence, Translated, WholeFile, stream_tmx};

use crate::common::{Model, identity, translate};

/// Texts: the language, the encoding, the text, and its bytes in hexadecimal digits.
const TEXTS: &str = include_str!("../fixtures/encodings.tsv");

/// A format's files, before and behind a text that they have; `@` is the name of the encoding.
const FILES: [(Format, &str, &str); 12] = [
    (Format::Po, PO, "\"\nmsgstr \"\"\n"),
    (
        Format::Xliff,
        XLIFF,
        "</source></trans-unit></body></file></xliff>\n",
    ),
    (
        Format::Tmx,
        TMX,
        "</seg></tuv><tuv xml:lang='tlh'><seg/></tuv></tu></body></tmx>\n",
    ),
    (Format::Android, ANDROID, "</string></resources>\n"),
    (
        Format::Html,
        "<!DOCTYPE html>\r\n<meta charset=@><p>",
        "</p>\r\n",
    ),
    (Format::Strings, "/* A comment */\n\"key\" = \"", "\";\n"),
    (Format::Json, "{\"key\": \"", "\"}\n"),
    (Format::Properties, "# A comment\nkey = ", "\nother = 12\n"),
    (Format::Srt, "1\n00:00:01,000 --> 00:00:02,000\n", "\n\n"),
    (
        Format::Ass,
        "[Script Info]\nDialogue: 0,0:00:01.00,0:00:02.00,a,,0,0,0,,",
        "\n",
    ),
    (Format::Text, "1. ", "\n"),
    (Format::Markdown, "# ", "\n"),
];
const PO: &str = "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=@\\n\"\n\nmsgid \"";
const XLIFF: &str = "<?xml version=\"1.0\" encoding=\"@\"?>\n<xliff version=\"1.2\"><file><body><trans-unit><source>";
const TMX: &str = "<?xml version='1.0' encoding='@' ?>\n<tmx version=\"1.4\"><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>";
const ANDROID: &str = "<?xml version=\"1.0\" encoding=\"@\"?>\n<resources>\n<string name=\"a\">";

/// How a file declares its encoding.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Mark,
    Name,
    Not,
}

/// Encodes `text` in the encoding `name`, an extension of ASCII or UTF-16.
fn ascii(text: &str, name: &str) -> Vec<u8> {
    let units = text.encode_utf16();
    match name {
        "utf-16le" => units.flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => units.flat_map(u16::to_be_bytes).collect(),
        _ => text.as_bytes().to_vec(),
    }
}

/// Returns a file of each format with each text that it can contain, with the rows of [`TEXTS`].
fn all() -> impl Iterator<Item = (Format, Told, [&'static str; 3], Vec<u8>)> {
    let rows = TEXTS
        .lines()
        .map(|row| row.split('\t').collect::<Vec<_>>().try_into().unwrap());
    rows.flat_map(|[language, name, text, hex]: [&str; 4]| {
        FILES.into_iter().flat_map(move |(format, before, after)| {
            [Told::Mark, Told::Name, Told::Not]
                .into_iter()
                .filter_map(move |told| {
                    let is_wide = name.starts_with("utf-16");
                    let can = match told {
                        Told::Mark => name.starts_with("utf"),
                        Told::Name => before.contains('@') && !is_wide,
                        Told::Not if name == "utf-8" || is_wide => true,
                        Told::Not if format == Format::Properties => name == "iso8859-1",
                        // These cannot be told from Windows code pages.
                        Told::Not => !format.is_catalogue() && !name.starts_with("iso"),
                    };
                    if !can {
                        return None;
                    }
                    let label = name.replace("cp", "windows-");
                    let before = match told {
                        Told::Name => before.replace('@', &label),
                        _ => before.replace(" charset=@", "").replace('@', "utf-16"),
                    };
                    let mark = if told == Told::Mark { "\u{feff}" } else { "" };
                    let text_bytes = (0..hex.len() / 2)
                        .map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).unwrap())
                        .collect();
                    let bytes = [
                        ascii(&(mark.to_string() + &before), name),
                        text_bytes,
                        ascii(after, name),
                    ];
                    Some((format, told, [language, name, text], bytes.concat()))
                })
        })
    })
}

/// The bytes of a file, translated.
fn translated(bytes: &[u8], format: Format, model: Model<'_>) -> Vec<u8> {
    let file = WholeFile::read(bytes.to_vec(), format.name()).unwrap();
    file.write(translate(&file.text, format, model), [None; 2])
}

fn upper(sentence: &PendingSentence) -> Translated {
    Translated {
        text: sentence.text.to_uppercase(),
        links: Vec::new(),
    }
}

#[test]
fn a_file_has_the_text_that_it_has_in_utf_8_and_its_bytes() {
    let mut count = 0;
    let mut guesses = Vec::new();
    for (format, told, row, bytes) in all() {
        let file = WholeFile::read(bytes.clone(), format.name());
        let file = file.unwrap_or_else(|error| panic!("{format} {row:?}: {error}"));
        if !format.has_translations() {
            let same = translated(&bytes, format, &identity);
            assert_eq!(same, bytes, "{format} {row:?}");
        }
        let has_text = file.text.contains(row[2]);
        if told == Told::Not && !row[1].starts_with("utf") && format != Format::Properties {
            guesses.push((has_text, format, row, file.encoding()))
        } else {
            assert!(
                has_text,
                "{format} {row:?}: {} {:?}",
                file.text,
                file.encoding()
            )
        }
        let is_wide = row[1].starts_with("utf-16");
        assert_eq!(
            file.encoding().is_none(),
            row[1] == "utf-8",
            "{format} {row:?}"
        );
        let out = translated(&bytes, format, &upper);
        // An encoding of Windows may lack the capital, which another test has.
        if is_wide || row[1] == "utf-8" {
            let after = WholeFile::read(out, format.name()).unwrap();
            assert_eq!(
                after.text,
                translate(&file.text, format, &upper),
                "{format} {row:?}"
            );
            assert_eq!(after.encoding(), file.encoding());
            assert_eq!(after.text.starts_with('\u{feff}'), told == Told::Mark);
        }
        count += 1;
    }
    assert!(count > 1500, "{count}");
    // Short texts in the encodings of Central Europe are alike.
    let (right, wrong): (Vec<_>, Vec<_>) = guesses.into_iter().partition(|guess| guess.0);
    println!(
        "{count} files; {} guessed rightly, and these not: {wrong:?}",
        right.len()
    );
    assert!(
        right.len() >= 9 * wrong.len() && right.len() > 80,
        "{wrong:?}"
    );
}

#[test]
fn what_an_encoding_lacks_is_written_by_its_number_or_in_utf_8() {
    // ISO 8859-1 has the first; Windows has a byte for the dash, too.
    let model = |sentence: &PendingSentence| Translated {
        text: format!("{}é—Ж😀", sentence.text),
        links: Vec::new(),
    };
    let number = [
        (Format::Properties, "\\u2014\\u0416\\ud83d\\ude00"),
        (Format::Html, "&#8212;&#1046;&#128512;"),
        (Format::Xliff, "&#8212;&#1046;&#128512;"),
        (Format::Android, "&#8212;&#1046;&#128512;"),
        (Format::Tmx, "&#8212;&#1046;&#128512;"),
    ];
    for (format, before, after) in FILES {
        let before = before.replace('@', "iso-8859-1");
        let bytes = [
            before.as_bytes(),
            b"Sch\xf6ne Gr\xfc\xdfe",
            after.as_bytes(),
        ]
        .concat();
        let Ok(file) = WholeFile::read(bytes.clone(), format.name()) else {
            assert!(matches!(format, Format::Strings | Format::Json), "{format}");
            continue;
        };
        let out = translated(&bytes, format, &model);
        let expected = number.iter().find(|(known, _)| *known == format);
        if let Some((_, number)) = expected {
            let text: String = out.iter().map(|&byte| char::from(byte)).collect();
            assert!(
                text.contains(&format!("Grüßeé{number}")),
                "{format}: {text}"
            );
            continue;
        }
        let text = String::from_utf8(out).unwrap_or_else(|_| panic!("{format}"));
        let text_in_utf8 = translate(&file.text, format, &model);
        let expected = match format {
            Format::Po => text_in_utf8.replace("charset=iso-8859-1", "charset=UTF-8"),
            _ => format!("\u{feff}{text_in_utf8}"),
        };
        assert_eq!(text, expected, "{format}");
    }
}

#[test]
fn a_template_of_gettext_names_utf_8_once_it_needs_it() {
    for name in ["CHARSET", "ASCII", "us-ascii"] {
        let text = PO.replace('@', name) + "a house" + FILES[0].2;
        let plain = String::from_utf8(translated(text.as_bytes(), Format::Po, &upper)).unwrap();
        assert!(plain.contains(name) && plain.contains("A HOUSE"), "{plain}");
        let wide = |_: &PendingSentence| Translated {
            text: "Häuser".into(),
            links: Vec::new(),
        };
        let wide = String::from_utf8(translated(text.as_bytes(), Format::Po, &wide)).unwrap();
        assert!(
            wide.contains("charset=UTF-8\\n") && wide.contains("Häuser"),
            "{wide}"
        );
    }
}

#[test]
fn bytes_of_another_encoding_are_refused_with_their_line() {
    let po = |name: &str| PO.replace('@', name).into_bytes();
    let utf16 = |text: &str| ascii(&format!("\u{feff}{text}"), "utf-16le");
    let odd = [utf16("\"a\" = \"b\";\n\n"), vec![b'x']].concat();
    let lone = [
        utf16("a = \"b\";\n"),
        vec![0, 0xd8],
        ascii("\n", "utf-16le"),
    ]
    .concat();
    let mixed = "# Größe, Größe\nkey = Stra"
        .bytes()
        .chain(*b"\xdfe\n")
        .collect();
    let cases: [(Vec<u8>, Format, &[&str]); 9] = [
        (odd, Format::Strings, &["line 3", "UTF-16LE", "iconv"]),
        (lone, Format::Strings, &["line 2", "byte 21", "UTF-16LE"]),
        (mixed, Format::Properties, &["line 2", "UTF-8", "iconv"]),
        (
            [po("UTF-8"), b"Gr\xfc\xdfe".to_vec()].concat(),
            Format::Po,
            &["line 5", "UTF-8", "charset"],
        ),
        (
            [po("EUC-JP"), b"a\xff".to_vec()].concat(),
            Format::Po,
            &["line 5", "EUC-JP", "msgconv"],
        ),
        (po("KLINGON"), Format::Po, &["KLINGON", "msgconv"]),
        (
            b"<?xml version='1.0'?>\n<resources>\xe4".to_vec(),
            Format::Android,
            &["line 2", "encoding="],
        ),
        (
            b"\xff\xfe\0\0a\0\0\0".to_vec(),
            Format::Text,
            &["UTF-32", "iconv"],
        ),
        (
            b"%PNG\x89\x01\x02\x03 \xe4 abcdefgh".to_vec(),
            Format::Text,
            &["line 1", "UTF-8"],
        ),
    ];
    for (bytes, format, parts) in cases {
        let error = WholeFile::read(bytes, format.name())
            .unwrap_err()
            .to_string();
        assert!(
            parts.iter().all(|part| error.contains(part)),
            "{error} {parts:?}"
        );
    }
}

#[test]
fn a_file_of_two_halves_and_a_mark_within_stay_as_they_are() {
    for name in ["utf-8", "utf-16le", "utf-16be"] {
        let half = ascii("\u{feff}/* a */\n\"key\" = \"one\u{feff} two\";\n", name);
        let bytes = [&half[..], &half].concat();
        let read = WholeFile::read(bytes.clone(), "strings").unwrap();
        let document = Document::parse(&read.text, Format::Strings, None, &|_| true);
        assert_eq!(
            read.write({ document }.finish(), [None; 2]),
            bytes,
            "{name}"
        );
    }
}

#[test]
fn a_memory_is_read_in_its_encoding_as_a_stream() {
    for name in [
        "utf-8",
        "utf-16le",
        "utf-16be",
        "iso-8859-1",
        "windows-1251",
    ] {
        let (mark, text) = match name {
            "iso-8859-1" => ("", "Größe"),
            "windows-1251" => ("", "Вокзал"),
            _ => ("\u{feff}", "Größe 駅"),
        };
        let unit = format!(
            "<tu><tuv xml:lang='en'><seg>{text}</seg></tuv><tuv xml:lang='de'><seg>{text}</seg></tuv></tu>\n"
        );
        let text = format!(
            "{mark}<?xml version='1.0' encoding='{name}'?>\n<tmx version='1.4'><header/><body>{}</body></tmx>",
            unit.repeat(5000)
        );
        let bytes = match name {
            "iso-8859-1" => text.chars().map(|c| c as u8).collect(),
            "windows-1251" => text
                .chars()
                .map(|c| {
                    if c.is_ascii() {
                        c as u8
                    } else {
                        (c as u32 - 0x350) as u8
                    }
                })
                .collect(),
            _ => ascii(&text, name),
        };
        let mut messages = Vec::new();
        let found = stream_tmx(&bytes[..], [Some("en"), Some("de")], &mut |it| {
            messages.push(it)
        });
        assert!(found.is_ok(), "{name}: {found:?}");
        let first = &messages[0].source;
        assert!(
            messages.len() == 5000 && text.contains(&format!("<seg>{first}</seg>")),
            "{name}: {first}"
        );
        let middle = bytes.len() / 4 * 2;
        let halves = [
            &bytes[..middle],
            &[0xd8, 0xd8, 0xd8, 0xd8],
            &bytes[middle..],
        ]
        .concat();
        let broken = stream_tmx(&halves[..], [None; 2], &mut |_| {});
        if name.starts_with("utf") {
            let broken = broken.unwrap_err();
            assert!((2400..2600).contains(&broken.line), "{name}: {broken}");
            assert!(broken.to_string().contains("iconv"), "{broken}");
        }
        let cut = stream_tmx(&bytes[..bytes.len() - 1], [None; 2], &mut |_| {});
        assert!(cut.unwrap_err().line > 4999, "{name}");
    }
}

/// Files of other kinds are recognised and get a remedy, whatever format was given.
#[test]
fn binary_files_are_named_with_a_remedy() {
    let kinds: [(&[u8], &str, &str); 15] = [
        (
            b"bplist00\xd1\x01\x02QaQb",
            "property list",
            "plutil -convert json",
        ),
        (b"\xde\x12\x04\x95\0\0\0\0", ".mo", "msgunfmt"),
        (b"\x95\x04\x12\xde\0\0\0\0", ".mo", "msgunfmt"),
        (b"<\xb8d\x18\xca\xef\x9c\x95\xcd\x21", ".qm", "lconvert"),
        (b"\x1f\x8b\x08\x08\0\0", "compressed", "gzip -dc"),
        (b"BZh91AY&SY", "compressed", "bzip2 -dc"),
        (b"\xfd7zXZ\0", "compressed", "xz -dc"),
        (b"\x28\xb5\x2f\xfd\0", "compressed", "zstd -dc"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "before 2007",
            "save it",
        ),
        (b"SQLite format 3\0\x10\0", "SQLite", "write its texts"),
        (b"%PDF-1.7\n%\xe2\xe3", "PDF", "pdftotext"),
        (b"{\\rtf1\\ansi a}", "RTF", "soffice"),
        (b"\x89PNG\r\n\x1a\n", "picture", "tesseract"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "picture", "tesseract"),
        (b"PK\x03\x04\x14\0", "archive", "extension"),
    ];
    for (bytes, kind, remedy) in kinds {
        for extension in WholeFile::extensions() {
            let broken = WholeFile::read(bytes.to_vec(), extension)
                .unwrap_err()
                .to_string();
            let is_whole = broken.contains(kind) && broken.contains(remedy);
            assert!(
                is_whole || bytes.starts_with(b"PK") && broken.contains("no whole"),
                "{broken}"
            );
        }
    }
    let list =
        b"<?xml version=\"1.0\"?>\n<plist><dict><key>a</key><string>B</string></dict></plist>";
    let file = WholeFile::read(list.to_vec(), "strings").unwrap();
    let read = Document::try_parse(&file.text, file.format, [None; 2], &[], &|_| true);
    assert!(
        read.unwrap_err()
            .to_string()
            .contains("plutil -convert json")
    );
    // Texts that begin alike.
    for text in [
        "BZh is a name",
        "GIF87 and more",
        "PK stands for public key",
        "{\\rt f",
        "SQLite format",
    ] {
        assert!(WholeFile::read(text.into(), "txt").is_ok(), "{text}");
    }
}
