use super::*;

mod codes;
mod files;
mod placeholders;
mod values;
mod writing;

/// Returns the parts of `text` that are kept byte for byte.
fn found(text: &str) -> Vec<&str> {
    let parts = parts(text)
        .into_iter()
        .filter(|part: &Part| part.kind == PartKind::Verbatim);
    parts.map(|part| &text[part.range]).collect()
}

#[test]
fn addresses_end_before_the_punctuation_of_the_sentence() {
    assert_eq!(
        found("See https://a.org/b_(c)?d=1, or (www.x.de)."),
        ["https://a.org/b_(c)?d=1", "www.x.de"]
    );
    assert_eq!(found("Write to a.b+c@d-e.org."), ["a.b+c@d-e.org"]);
    let quoted = "info{'@'}example.org";
    assert_eq!(found(&format!("Write to {quoted}.")), [quoted]);
}

#[test]
fn symbols_and_numerals_that_models_drop_are_found() {
    let text = "Bei 20 °C kosten ½ Liter H₂O 5 € oder £4, 20 m² und 5 µm nach § 5 • gut ♪";
    let symbols = parts(text)
        .into_iter()
        .filter(|part| part.kind == PartKind::Symbol);
    let symbols: Vec<&str> = symbols.map(|part| &text[part.range]).collect();
    assert_eq!(symbols, ["°C", "€", "£", "µm", "•", "♪"]);
    assert_eq!(found(text), ["H₂O", "m²", "§"]);
    assert!(found("Das Beispiel² hat ½").is_empty());
}

#[test]
fn numbers_of_telephones_and_accounts_are_kept_in_their_order() {
    let text = "Ruf +49 (30) 123-4567 an, IBAN DE89 3704 0044 0532 0130 00, +1 202 5550123.";
    assert_eq!(
        found(text),
        [
            "+49 (30) 123-4567",
            "DE89 3704 0044 0532 0130 00",
            "+1 202 5550123"
        ]
    );
    assert!(found("Es sind +5 heute und 3+4, WM2006 und 1990 2000 2010 2020.").is_empty());
}

#[test]
fn names_of_parts_and_standards_are_kept() {
    let text = "007-AB-99, XK-4470-B, ISO-8859-1, M6/W9, F-16-Kampfjet, LN_42 und 2024-W07.";
    let right = [
        "007-AB-99",
        "XK-4470-B",
        "ISO-8859-1",
        "M6/W9",
        "F-16",
        "LN_42",
        "2024-W07",
    ];
    assert_eq!(found(text), right);
    assert!(found("U-Bahn 2-3, Typ-2-Diabetes, A-B, X/Y, I/O, 12/24/1985, 2-mal").is_empty());
}

#[test]
fn paths_are_found_and_alternatives_are_not() {
    assert_eq!(
        found("In /usr/bin or ~/x/y or src/main.rs or C:\\a\\b."),
        ["/usr/bin", "~/x/y", "src/main.rs", "C:\\a\\b"]
    );
    assert!(found("He and/or she drives 90 km/h, 100% sure, at 10:30:45.").is_empty());
}

#[test]
fn lost_parts_are_prescribed() {
    let missing = |source, translation| {
        let terms = missing_placeables(source, &[], translation)?;
        Some(
            terms
                .into_iter()
                .map(|number| number.forms)
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(missing("Ein Haus.", "A house 7."), None);
    assert_eq!(
        missing("{name} hat 1,5 Euro.", "{name} has 1.5 euros."),
        None
    );
    let wanted = vec![vec!["1,5".to_owned(), "1.5".to_owned()]];
    assert_eq!(
        missing("{name} hat 1,5 Euro.", "{name} has 15 euros."),
        Some(wanted)
    );
    assert_eq!(
        missing("{name} hat 1,5 Euro.", "{Name} has 1.5 euros."),
        Some(Vec::new())
    );
    assert_eq!(
        missing("Lies www.beispiel.de.", "Read it."),
        Some(Vec::new())
    );
}

/// Random strings of pieces of parts: every part found contains a sign that announces it.
#[test]
fn texts_with_parts_contain_a_sign() {
    let pieces = "a Z ww w. www. 7 ٣ ½ n_1 ä 東 ' - + . ( ) : :: ! !x :x @ # $ % %s { } {% <% < > [ ] [[ \\\\ ` / ~ \
        __ http:// tel: C: Www. MAILTO: 16 °C € plural, * | ^ \u{fe0f}\u{20e3} , ? …";
    let pieces: Vec<&str> = pieces.split(' ').chain([" ", " "]).collect();
    let mut state = 7u32;
    let mut with_parts = 0;
    for _ in 0..20_000 {
        let text: String = (0..6)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                pieces[(state >> 16) as usize % pieces.len()]
            })
            .collect();
        if parts(&text)
            .iter()
            .any(|part: &Part| part.kind != PartKind::Symbol)
        {
            with_parts += 1;
            assert!(may_have_parts(&text), "{text:?}");
        }
        assert!(
            found(&text).is_empty() || may_have_verbatim(&text),
            "{text:?}: {:?}",
            found(&text)
        );
    }
    assert!(with_parts > 3_000, "{with_parts}");
    for prose in [
        "Wow! Das ist gut: sehr gut (wirklich); ja!",
        "É só isso…",
        "他说：你好！",
    ] {
        assert!(!may_have_verbatim(prose), "{prose}");
    }
}

#[test]
fn a_short_name_is_not_found_in_a_word() {
    let source = "`a` a cat `a`";
    let parts = [1..2, 4..5, 11..12];
    assert_eq!(
        positions(source, &parts, "a cat at a a"),
        Some(vec![0..1, 9..10, 11..12])
    );
    assert_eq!(positions(source, &parts, "a cat at a"), None);
    assert_eq!(positions(source, &parts, "a a cat a a"), None);
    assert_eq!(
        positions("猫`a` b", &[4..5, 7..8], "猫a猫 b"),
        Some(vec![3..4, 8..9])
    );
}

#[test]
fn parts_return_into_a_translation_of_the_rest() {
    let whole = "Hallo {name}, du hast %d Nachrichten (5 %) vom 3. Mai 1950, Nr. 2, 3, 4 da.";
    let known = parts(whole)
        .into_iter()
        .filter(|part| part.kind != PartKind::Symbol);
    let gapped = Cloze::without(whole, known.map(|part| part.range));
    assert_eq!(gapped.text, "Hallo, du hast Nachrichten vom, Nr. da.");
    let link = |(at, word): (usize, &str)| {
        let range = at..at + word.len();
        Link {
            source: range.clone(),
            target: range,
        }
    };
    let text = &gapped.text;
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let links: Vec<Link> = words.map(|word| link((start(word), word))).collect();
    assert_eq!(gapped.fill(text, &links).text, whole);
}
