//! The placeholders of the flags of gettext.

use std::process::Command;

use super::*;

/// Flags with messages that `msgfmt -c` of gettext 0.21 accepts.
const MESSAGES: [(&str, &[&str]); 29] = [
    (
        "c-format",
        &[
            "%s has %d dogs of %s.",
            "%'d dogs of %s",
            "%<PRIu64> dogs of %5.2f",
            "done: 100%% of %s, %d",
            "a % o and %s",
            "%*d dogs of %s",
            "%s has %m of %d",
            "now %-10s: %+ld",
        ],
    ),
    ("objc-format", &["%@ has %d dogs", "%ld of %@"]),
    (
        "python-format",
        &["%s has %d dogs", "%(name)s has %(count)d", "%5.1f%% of %s"],
    ),
    (
        "python-brace-format",
        &[
            "{} has {:d} dogs",
            "{name} has {count:5d}",
            "{{x}} of {} and {!r}",
        ],
    ),
    (
        "java-format",
        &[
            "{0} has {1} dogs",
            "{1,number} of {0}",
            "it''s {0} of '{'x'}'",
            "it's {0} now",
            "'{0}' is {0,date,d 'of' MMMM}",
        ],
    ),
    (
        "java-printf-format",
        &["%s has %d dogs", "%,d of %tY%n", "%s and %<s of %d"],
    ),
    ("csharp-format", &["{0} has {1:N} dogs"]),
    ("javascript-format", &["%s has %d dogs", "%j of %s"]),
    ("scheme-format", &["~a has ~d dogs~%", "~s of ~5d"]),
    (
        "lisp-format",
        &["~a has ~d dogs~%", "~,2f of ~s", "~a has ~d dog~:p"],
    ),
    ("elisp-format", &["%s has %d dogs"]),
    ("librep-format", &["%s has %d dogs"]),
    (
        "ruby-format",
        &["%s has %d dogs", "%<name>s has %{count} dogs", "%-5d of %s"],
    ),
    ("sh-format", &["$name has ${count} dogs"]),
    ("awk-format", &["%s has %d dogs"]),
    ("lua-format", &["%s has %d dogs", "100%% of %q, %s"]),
    ("object-pascal-format", &["%s has %d dogs", "%5.2f of %s"]),
    ("smalltalk-format", &["%1 has %2 dogs"]),
    ("qt-format", &["%1 has %L2 dogs"]),
    ("qt-plural-format", &["%n dogs of %1"]),
    ("kde-format", &["%1 has %2 dogs"]),
    (
        "boost-format",
        &["%s has %d dogs", "%1% has %2% dogs", "%|5d| dogs of %s"],
    ),
    ("tcl-format", &["%s has %d dogs"]),
    ("perl-format", &["%s has %d dogs", "%5d of %s"]),
    ("perl-brace-format", &["{name} has {count} dogs"]),
    ("php-format", &["%s has %d dogs", "%'*5d of %s"]),
    (
        "gcc-internal-format",
        &[
            "%<foo%> of %s has %d",
            "%qs has %wd dogs",
            "%q+D is %s, don%'t",
        ],
    ),
    ("gfc-internal-format", &["%s at %L has %d"]),
    ("ycp-format", &["%1 has %2 dogs"]),
];

/// A file with all messages. The context is the flag.
fn file() -> String {
    let mut text =
        String::from("msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n");
    for (flag, messages) in MESSAGES {
        for message in messages {
            text += &format!("\n#, {flag}\nmsgctxt \"{flag}\"\nmsgid \"{message}\"\nmsgstr \"\"\n");
        }
    }
    text
}

/// Reverses the words, and adds signs of the grammars.
fn signs(sentence: &PendingSentence) -> Translated {
    let text = unlinked(reverse(sentence)).text;
    said(&format!("50 % u {text} 100% ~ {{x}} l'x"))
}

/// Loses the placeholders.
fn silent(sentence: &PendingSentence) -> Translated {
    said(&"Nur Wörter ".repeat(1 + sentence.text.len() / 40))
}

type Engine = fn(&PendingSentence) -> Translated;

const ENGINES: [(&str, Engine); 5] = [
    ("identity", identity),
    ("upper", upper),
    ("reverse", reverse),
    ("signs", signs),
    ("silent", silent),
];

/// The numbers are those that gettext's manual gives for each grammar.
#[test]
fn arguments_in_another_order_get_numbers_or_keep_their_order() {
    let reversed = |sentence: &PendingSentence| {
        let is_sign = |c: char| "%~{".contains(c);
        let words = sentence.text.split(' ').rev();
        let words = words.map(|word| match word.contains(is_sign) {
            true => word.to_owned(),
            false => word.to_uppercase(),
        });
        said(&words.collect::<Vec<_>>().join(" "))
    };
    for (flag, message, expected) in [
        ("c-format", "%s has %d dogs", "DOGS %2$d HAS %1$s"),
        (
            "object-pascal-format",
            "%s has %d dogs",
            "DOGS %1:d HAS %0:s",
        ),
        (
            "python-brace-format",
            "{:s} has {:d} dogs",
            "DOGS {1:d} HAS {0:s}",
        ),
        ("lisp-format", "~a has ~d dogs", "DOGS ~1@*~d HAS ~0@*~a"),
        ("boost-format", "%s has %|d| dogs", "DOGS %|2$d| HAS %1$s"),
        ("python-format", "%s has %d dogs", "%s HAS %d DOGS"),
        ("lua-format", "%s has %d dogs", "%s HAS %d DOGS"),
        ("c-format", "%*d dogs of %s", "%*d OF DOGS %s"),
        ("", "%s has %d dogs", "%s HAS %d DOGS"),
        ("", "%d.%m.%Y of %H", "%H OF %d.%m.%Y"),
    ] {
        let flags = if flag.is_empty() {
            String::new()
        } else {
            format!("#, {flag}\n")
        };
        let po = format!("{flags}msgid \"{message}\"\nmsgstr \"\"\n");
        let [[_, _, found]] = &targets(&translate(&po, Format::Po, &reversed))[..] else {
            panic!("{po}")
        };
        assert_eq!(found, expected, "{flag}");
    }
    // Android's and Apple's own tools want numbers.
    let android = "<resources><string name=\"a\">%s has %d dogs</string></resources>";
    let found = translate(android, Format::Android, &reversed);
    assert!(found.contains(">DOGS %2$d HAS %1$s<"), "{found}");
    let apple = "\"a\" = \"%@ has %d dogs\";\n";
    let found = translate(apple, Format::Strings, &reversed);
    assert_eq!(found, "\"a\" = \"DOGS %2$d HAS %1$@\";\n");
}

/// Returns `text` with each argument replaced by a value, as its program would show it.
fn shown(text: &str, values: &[&str]) -> String {
    let argument = regex::Regex::new(r"%(?:(\d)\$)?s|\{(\d)?\}").unwrap();
    let mut next = values.iter();
    let value = |found: &regex::Captures<'_>| {
        let index = |group: usize| found.get(group)?.as_str().parse::<usize>().ok();
        let one = index(1).map(|number| values[number - 1]);
        let zero = index(2).map(|number| values[number]);
        one.or(zero)
            .unwrap_or_else(|| next.next().unwrap())
            .to_owned()
    };
    argument.replace_all(text, value).into_owned()
}

/// The words of `text` in an order that `seed` chooses, each linked to itself.
fn shuffled(text: &str, seed: usize) -> Translated {
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for word in text.split(' ') {
        words.push((at, word));
        at += word.len() + 1;
    }
    let mut order: Vec<usize> = (0..words.len()).collect();
    order.sort_by_key(|index| (index + 1) * (2 * seed + 1) * 7919 % 1009);
    let mut translated = Translated::default();
    for index in order {
        let (at, word) = words[index];
        let start = translated.text.len();
        translated.text += &match word.contains(['%', '{']) {
            true => word.to_owned(),
            false => word.to_uppercase(),
        };
        translated.links.push(burnformer_documents::Link {
            source: at..at + word.len(),
            target: start..translated.text.len(),
        });
        translated.text.push(' ');
    }
    translated.text.pop();
    translated
}

/// An argument that moves takes its value along, or all arguments keep their order.
#[test]
fn equal_arguments_show_their_own_values() {
    let values = ["ONE", "TWO", "THREE"];
    let mut moved = 0;
    for (flag, argument) in [
        ("c-format", "%s"),
        ("python-brace-format", "{}"),
        ("python-format", "%s"),
        ("", "%s"),
        ("", "{}"),
    ] {
        for (message, seed) in ["@ has @ dogs", "@ of @", "the dog of @ and @ saw @ here"]
            .into_iter()
            .flat_map(|message| (0..20).map(move |seed| (message, seed)))
        {
            let source = message.replace('@', argument);
            let flags = format!("#, {flag}\n").repeat(usize::from(!flag.is_empty()));
            let po = format!("{flags}msgid \"{source}\"\nmsgstr \"\"\n");
            let engine = |sentence: &PendingSentence| shuffled(&sentence.text, seed);
            let [[_, _, found]] = &targets(&translate(&po, Format::Po, &engine))[..] else {
                panic!("{po}")
            };
            if flag.contains("c-format") || flag.contains("brace") {
                let expected = shuffled(&shown(&source, &values), seed).text;
                // A message that does not change has no translation.
                let found = if found.is_empty() { &source } else { found };
                assert_eq!(shown(found, &values), expected, "{source} -> {found}");
                moved += usize::from(found.contains(['1', '2']));
            } else {
                assert!(!found.contains(|c: char| c.is_ascii_digit()), "{found}");
                let words = |text: &str| {
                    let text = text.replace(argument, " @ ").to_uppercase();
                    let mut words: Vec<String> =
                        text.split_whitespace().map(String::from).collect();
                    words.sort();
                    words
                };
                assert!(
                    found.is_empty() || words(found) == words(&source),
                    "{found}"
                );
            }
        }
    }
    assert!(moved > 0);
}

/// Each sign of the grammars in the source is in the translation.
#[test]
fn no_engine_loses_a_placeholder_of_a_flag() {
    for (name, engine) in ENGINES {
        for [flag, source, target] in targets(&translate(&file(), Format::Po, &engine)) {
            let count = |text: &str| text.chars().filter(|c| "%~{}<>".contains(*c)).count();
            // A message that does not change has no translation.
            let is_kept = target.is_empty() || count(&target) >= count(&source);
            assert!(is_kept, "{name} {flag}: {source} -> {target}");
        }
    }
}

/// `msgfmt -c` of gettext reads what each engine makes of the messages:
/// `cargo test --release -p burnformer-documents --test it msgfmt_accepts -- --ignored`
#[test]
#[ignore = "needs msgfmt"]
fn msgfmt_accepts_the_messages_of_every_flag() {
    let mut faults = String::new();
    for (name, engine) in ENGINES {
        // msgfmt does not check fuzzy messages.
        let found = translate(&file(), Format::Po, &engine).replace("fuzzy, ", "");
        let path = std::env::temp_dir().join(format!("{}-{name}.po", std::process::id()));
        std::fs::write(&path, &found).unwrap();
        let mut msgfmt = Command::new("msgfmt");
        let output = msgfmt.args(["-c", "-o", "/dev/null"]).arg(&path).output();
        let output = output.unwrap();
        if !output.status.success() {
            faults += &String::from_utf8_lossy(&output.stderr);
            faults += &found;
        }
        std::fs::remove_file(&path).unwrap();
    }
    assert!(faults.is_empty(), "{faults}");
}
