//! Units and segments of XLIFF.

use super::*;

/// The texts of react-i18next, with numbers as tag names.
#[test]
fn numbered_tags_are_tags() {
    let tags = |text: &str| {
        let numbers = regex::Regex::new(r"</?\d+ ?/?>").unwrap();
        let mut all: Vec<String> = numbers
            .find_iter(text)
            .map(|it| it.as_str().into())
            .collect();
        all.sort();
        (all, text.matches("&lt;").count())
    };
    for number in [0, 1, 9, 10, 27, 123] {
        let next = number + 1;
        for text in [
            format!("<{number}>Hello there</{number}> my friend"),
            format!(
                "Say <{number}>hello <{next}>to me</{next}></{number}> now, <{number}/> please"
            ),
            format!("One <strong>two</strong> <{number}>{{{{count}}}} new things</{number}>."),
            format!("I <{number} you, 5 > 3"),
        ] {
            let json = format!("{{\"a\": \"{text}\"}}");
            assert_eq!(translate(&json, Format::Json, &identity), json);
            for engine in [upper, reverse] {
                let found = translate(&json, Format::Json, &engine);
                assert_eq!(tags(&found), tags(&json), "{found}");
                assert!(found.contains("HELLO") || found != json, "{found}");
            }
        }
    }
}

/// Okapi writes characters that XML cannot contain as U+FFF0 and an escape.
#[test]
fn escapes_of_xliff_stay_whole() {
    let unit = |text: &str, target: &str| {
        format!(
            "<xliff version=\"1.2\"><file><body><trans-unit id=\"a\"><source>{text}</source>{target}</trans-unit></body></file></xliff>"
        )
    };
    for escape in ["\u{fff0}\\n", "\u{fff0}\\0", "\u{fff0}\\b", "\u{fff0}\\t"] {
        for [left, right] in [["", ""], [" ", ""], ["", " "], [" ", " "]] {
            let text = format!("the house{left}{escape}{right}stands there{escape}");
            let source = unit(&text, "");
            let target = text
                .replace("the house", "THE HOUSE")
                .replace("stands there", "STANDS THERE");
            let target = format!("<target state=\"needs-review-translation\">{target}</target>");
            assert_eq!(
                translate(&source, Format::Xliff, &upper),
                unit(&text, &target)
            );
        }
    }
}

/// A unit as SDL Trados and memoQ write it: `source` and `target` of its segments.
fn segmented(segments: &[(&str, Option<&str>)], target: &str) -> String {
    let mark = |number: usize, text: &str| match text {
        "" => format!("<mrk mtype=\"seg\" mid=\"{number}\"/>"),
        text => format!("<mrk mtype=\"seg\" mid=\"{number}\">{text}</mrk>"),
    };
    let all = |side: fn(&(&str, Option<&str>)) -> Option<String>| {
        let all = segments.iter().map(side).enumerate();
        all.filter_map(|(number, text)| Some(mark(number, &text?)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let target = match target {
        "marks" => format!("<target>{}</target>", all(|it| it.1.map(String::from))),
        other => other.into(),
    };
    format!(
        "<xliff version=\"1.2\"><file source-language=\"de\" target-language=\"en-US\"><body><trans-unit id=\"a\">\
         <source>x</source><seg-source>{}</seg-source>{target}</trans-unit></body></file></xliff>",
        all(|it| Some(it.0.into()))
    )
}

/// Files in the shape of SDL Trados 2021 and memoQ 9, by their public descriptions: segments,
/// comments, locations, units that are locked. The targets are those that translate-toolkit 3.20.4
/// reads from the result.
#[test]
fn files_in_the_shape_of_trados_and_memoq_lose_no_unit() {
    let files = [
        (
            include_str!("../../fixtures/segments.sdlxliff"),
            vec![
                "",
                "DER HUND SCHLÄFT. DIE ALTE KATZE AUCH.",
                "One sentence is done. DER ZWEITE FEHLT NOCH.",
                "NUR EIN  SATZ HIER",
                "EIN KOMMENTAR STEHT HIER",
            ],
        ),
        (
            include_str!("../../fixtures/units.mqxliff"),
            vec![
                "DER HUND SCHLÄFT IM GARTEN.",
                "EIN {}ROTES{} HAUS <br/> AM MEER.",
                "That is done.",
                "",
                "ZWEI SÄTZE. HIER DER ANDERE.",
            ],
        ),
    ];
    let without_tags = |xml: &str| {
        let pieces = xml
            .split('<')
            .map(|it| it.split_once('>').map_or(it, |(_, text)| text));
        let text: String = pieces.collect();
        text.replace("&lt;", "<").replace("&gt;", ">")
    };
    for (text, expected) in files {
        let found = translate(text, Format::Xliff, &|sentence: &PendingSentence| {
            Translated {
                text: sentence.text.to_uppercase(),
                links: Vec::new(),
            }
        });
        let units = |text: &str| -> Vec<[String; 2]> {
            let units = text.split("<trans-unit").skip(1).map(|unit| {
                let unit = unit.split("</trans-unit>").next().unwrap();
                let start = unit.find("<target");
                let end = unit.find("</target>").map(|at| at + "</target>".len());
                let end = end.or_else(|| Some(start? + unit[start?..].find("/>")? + 2));
                let target = start.zip(end).map_or("", |(start, end)| &unit[start..end]);
                [unit.replacen(target, "", 1), without_tags(target)]
            });
            units.collect()
        };
        let (before, after) = (units(text), units(&found));
        let rest = |units: &[[String; 2]]| units.iter().map(|it| it[0].clone()).collect::<Vec<_>>();
        assert_eq!(rest(&before), rest(&after));
        let targets: Vec<&str> = after.iter().map(|it| &*it[1]).collect();
        assert_eq!(targets, expected);
    }
}

/// Each segment is a message, whatever the others have.
#[test]
fn segments_of_a_unit_are_filled_where_they_are_empty() {
    let sources = ["one <x id=\"1\"/>dog.", "two &amp; dogs.", "three dogs."];
    let upper_case = ["ONE <x id=\"1\"/>DOG.", "TWO & DOGS.", "THREE DOGS."];
    let filled = |number: usize, empty: bool| {
        if empty {
            upper_case[number].to_string()
        } else {
            "Hund.".into()
        }
    };
    for empties in 0..8 {
        let is_empty = |number: usize| empties >> number & 1 == 1;
        for missing in [false, true] {
            let target = |number: usize| match (is_empty(number), missing) {
                (false, _) => Some("Hund."),
                (true, false) => Some(""),
                (true, true) => None,
            };
            let text = segmented(&[0, 1, 2].map(|it| (sources[it], target(it))), "marks");
            if missing && empties == 7 {
                continue;
            }
            let found = translate(&text, Format::Xliff, &upper);
            let messages = read(&found, Format::Xliff);
            let targets: Vec<_> = messages.iter().map(|it| it.target.clone()).collect();
            assert_eq!(
                targets,
                [0, 1, 2].map(|it| filled(it, is_empty(it))),
                "{found}"
            );
            assert_eq!(found.contains("needs-review"), empties > 0);
            assert_eq!(messages[1].context.to_string(), "a.1");
            assert!(empties > 0 || found == text);
        }
    }
    for target in [
        "",
        "<target/>",
        "<target></target>",
        "<target xml:lang=\"en\"> </target>",
    ] {
        let text = segmented(&sources.map(|it| (it, None)), target);
        let found = translate(&text, Format::Xliff, &upper);
        let targets: Vec<_> = read(&found, Format::Xliff)
            .into_iter()
            .map(|it| it.target)
            .collect();
        assert_eq!(targets, [0, 1, 2].map(|it| filled(it, true)), "{found}");
        assert_eq!(found.matches("<target").count(), 1, "{found}");
        assert!(
            found.contains("</mrk> <mrk mtype=\"seg\" mid=\"2\">THREE"),
            "{found}"
        );
    }
    let old = segmented(&[("one dog.", Some(""))], "marks");
    for state in ["state=\"new\"", "state='new' a=\"b\""] {
        let text = old.replace("<target>", &format!("<target {state}>"));
        let found = translate(&text, Format::Xliff, &upper);
        assert!(
            found.contains(&state.replace("new", "needs-review-translation")),
            "{found}"
        );
    }
    // A translation without segments stays.
    let text = segmented(&[("one dog.", None)], "<target>Ein Hund.</target>");
    assert_eq!(translate(&text, Format::Xliff, &upper), text);
}
