//! Messages of Qt.

use super::*;

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
