//! The languages of a file.

use super::*;

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
