//! Text that is not UTF-8.

use std::path::Path;

use burnformer_data::TextError;

use super::{file, folder, lines_error, says};

#[test]
fn invalid_utf8_names_file_line_byte_and_value() {
    let folder = folder();
    let latin = file(&folder, "latin.txt", b"fine\ncaf\xe9 au lait\n");
    let error = lines_error(&latin);
    assert!(
        matches!(
            error,
            TextError::InvalidUtf8 {
                line: 2,
                column: 4,
                byte: 0xe9,
                ..
            }
        ),
        "{error:?}"
    );
    says(&error, &["latin.txt:2", "0xe9", "iconv"]);
}

/// `text` in each wide encoding, without a byte-order mark.
fn wide(text: &str) -> [(&'static str, Vec<u8>); 4] {
    let [units, points] = [
        text.encode_utf16().map(u32::from).collect(),
        text.chars().map(u32::from).collect(),
    ];
    let bytes = |units: &Vec<u32>, width: usize, little: bool| -> Vec<u8> {
        let unit = |unit: &u32| match little {
            true => unit.to_le_bytes()[..width].to_vec(),
            false => unit.to_be_bytes()[4 - width..].to_vec(),
        };
        units.iter().flat_map(unit).collect()
    };
    [
        ("utf-16le", bytes(&units, 2, true)),
        ("utf-16be", bytes(&units, 2, false)),
        ("utf-32le", bytes(&points, 4, true)),
        ("utf-32be", bytes(&points, 4, false)),
    ]
}

#[test]
fn wide_encodings_are_named_with_and_without_a_mark() {
    let folder = folder();
    for text in [&b"\xff\xfeh\0i\0\n\0"[..], b"\xfe\xff\0h\0i\0\n"] {
        says(
            &lines_error(&file(&folder, "wide.txt", text)),
            &["wide.txt", "iconv -f utf-16 -t"],
        );
    }
    for text in [
        "Hallo, Welt!\nGuten Tag.\n",
        "Привет, мир.\nДа.\n",
        "नमस्ते दुनिया।\n",
        "สวัสดี ชาวโลก\n",
        "مرحبا بالعالم.\n",
        "你好，世界。\n今天天气很好。\n",
        "你好\n一二三\n",
        "これはペンです。\n東京へ行く。\n",
        "안녕하세요, 세계.\n오늘 나는 TV를 본다.\n",
        "使用Django管理网站",
    ] {
        for (encoding, bytes) in wide(text) {
            let error = lines_error(&file(&folder, "wide.txt", &bytes));
            let TextError::Wide(_, found) = error else {
                panic!("{text}: {error}")
            };
            assert_eq!(found, encoding, "{text}");
        }
    }
}

/// Messages of Django in Chinese, Japanese and Korean, if they are there: a line, some lines and a
/// file of each.
#[test]
fn utf16_of_ideographs_is_told_from_8_bit_encodings() {
    let folder = folder();
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/django-messages");
    let mut cases = 0;
    for language in ["zh_Hans", "ja", "ko"] {
        let path = shared.join(language).join("auth-django.po");
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: no {}", path.display());
            return;
        };
        let is_asked =
            |line: &&str| line.starts_with("msgstr") && line.chars().any(|c| c > '\u{2e80}');
        let lines: Vec<&str> = text
            .lines()
            .filter(is_asked)
            .map(|line| &line[8..line.len() - 1])
            .collect();
        let groups = lines.chunks(1).chain(lines.chunks(7)).chain([&lines[..]]);
        for group in groups.filter(|group| group[0].chars().count() > 3) {
            let text = group.join("\n") + "\n";
            // A short line can be text in UTF-8, too: 上次登录.
            let is_wide = |bytes: &[u8]| std::str::from_utf8(bytes).is_err() || bytes.len() > 12;
            for (encoding, bytes) in wide(&text).into_iter().filter(|(_, bytes)| is_wide(bytes)) {
                let error = lines_error(&file(&folder, "wide.txt", &bytes));
                let TextError::Wide(_, found) = error else {
                    panic!("{text}: {error}")
                };
                assert_eq!(found, encoding, "{text}");
                cases += 1;
            }
        }
    }
    assert!(cases > 300, "{cases}");
}

#[test]
fn other_encodings_of_ideographs_are_not_told_as_utf16() {
    let folder = folder();
    // 你好, 世界 in GB 18030; こんにちは in Shift JIS and EUC; 안녕 in EUC.
    for bytes in [
        &b"\xc4\xe3\xba\xc3, \xca\xc0\xbd\xe7\n"[..],
        b"\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd\n",
        b"\xa4\xb3\xa4\xf3\xa4\xcb\xa4\xc1\xa4\xcf\n",
        b"\xbe\xc8\xb3\xe7, \xbe\xc8\xb3\xe7.\n",
        b"\xe4\x01\x02\x03\x04\xff\xff\x10\n",
    ] {
        let error = lines_error(&file(&folder, "narrow.txt", bytes));
        assert!(matches!(error, TextError::InvalidUtf8 { .. }), "{error}");
    }
}
