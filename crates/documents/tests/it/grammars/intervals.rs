//! Intervals of numbers: i18next, Symfony, Laravel.

use super::*;

/// The grammar is that of i18next-intervalplural-postprocessor 3.0.0, which divides at semicolons.
#[test]
fn intervals_of_i18next_keep_their_syntax() {
    let text = r#"{"a_interval": "(0)[the house];(1-7)[{{count}} houses \"x\"];(7-inf)[many houses];", "b": "(the) [house]"}"#;
    let expected = r#"{"a_interval": "(0)[THE HOUSE];(1-7)[{{count}} HOUSES \"X\"];(7-inf)[MANY HOUSES];", "b": "(THE) [HOUSE]"}"#;
    assert_eq!(translate(text, Format::Json, &upper), expected);
    let found = translate(text, Format::Json, &|it| said(&format!("{}; [x]", it.text)));
    let first = found.split("\", \"b\"").next().unwrap();
    assert_eq!(first.matches(';').count(), 3, "{found}");
    assert_eq!(first.matches('[').count(), 3, "{found}");
}

/// Texts of Symfony and Laravel in each format that their programs read.
#[test]
fn intervals_of_php_keep_their_syntax() {
    let formats: [(Format, WriteFile); 5] = [
        (Format::Json, |text| format!("{{\"a\": \"{text}\"}}")),
        (Format::Yaml, |text| format!("a: '{text}'\n")),
        (Format::Po, |text| {
            format!("msgid \"{text}\"\nmsgstr \"\"\n")
        }),
        (Format::Xliff, |text| {
            format!(
                "<xliff version=\"1.2\"><file><body><trans-unit id=\"a\"><source>{text}</source></trans-unit></body></file></xliff>"
            )
        }),
        (Format::Resx, |text| {
            format!(
                "<root><data name=\"a\" xml:space=\"preserve\"><value>{text}</value></data></root>"
            )
        }),
    ];
    for (format, file) in formats {
        for text in [
            "{0} no dogs|[1,19] some dogs|[20,*] many dogs",
            "{0} no dogs|{1} one dog|]1,Inf[ %count% dogs",
            "{1} :count dog|[2,*] :count dogs",
            "[0,1[ no <b>dogs</b>|[1,Inf] the <b>dogs</b>",
        ] {
            let text = match format {
                Format::Resx | Format::Xliff => text.replace('<', "&lt;"),
                _ => text.to_owned(),
            };
            let expected = text
                .replace("no ", "NO ")
                .replace("some", "SOME")
                .replace("many", "MANY")
                .replace("one", "ONE")
                .replace("the ", "THE ")
                .replace("dog", "DOG")
                .replace("DOGs", "DOGS");
            let seen = std::cell::RefCell::new(Vec::new());
            let found = translate(&file(&text), format, &|it| {
                seen.borrow_mut().push(it.text.clone());
                upper(it)
            });
            let found = found.replace("&gt;", ">");
            assert!(found.contains(&expected), "{format}: {found}");
            let is_syntax = |it: &String| it.contains(['|', '[', ']', '{']);
            assert!(!seen.borrow().iter().any(is_syntax), "{seen:?}");
            // A bar would begin another text.
            let broken = translate(&file(&text), format, &|it| {
                said(&format!("{} | x", it.text))
            });
            let bars = |text: &str| text.matches('|').count();
            let times = if format.has_translations() { 2 } else { 1 };
            assert_eq!(bars(&broken), times * bars(&text), "{broken}");
        }
    }
}
