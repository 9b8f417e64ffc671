//! Each placeholder grammar in sentences, and the same signs in prose.

use super::found;
use crate::{added_placeholders, apply_edits, arms, missing_placeables};

/// Placeholders from the documentation of each grammar, one grammar a line.
const GRAMMARS: [&str; 45] = [
    "%s %d %5d %-5.2f %05.1f %lld %lu %zu %x %c %@ %i %+d %.3e", // C, Objective-C
    "%1$s %2$d %1$@ %3$.2f",                                     // POSIX
    "%(name)s %(count)d %(x).2f %(a-b)s",                        // Python, Babel
    "%{count} %{user_name}",                                     // Ruby, Elixir
    "%<name>s %<cost>.2f",                                       // Ruby
    "#{count} #{user.name}",                                     // Ruby, Pug
    "${x} ${user.name}",                                         // JavaScript, Kotlin, shells
    "$x $HOME $user_name",                                       // PHP, shells
    "$1 $2",                                                     // MediaWiki
    "{} {0} {name} {user name} {0:%H:%M} {:?} {0!r:>10} {x:.2f}", // Python, Rust
    "{name|upper} {0,number,#.##} {date, date, long}",           // ICU, Java
    "{{ x }} {{name}} {{ name|upper }} {{count, number}}",       // Jinja, i18next, Vue
    "{% if a %} {%- endif -%} {# note #} <%= name %>",           // Jinja, ERB
    "%name% %PATH% %user.name%",                                 // Symfony, Windows
    "%%",
    "__name__ __count__",     // Python, i18next 1
    "[[name]] [[page|text]]", // wikis
    ":name :user_id",         // Laravel, SQL
    ":smile: :+1: :de-at:",
    "@anna @user_name",                         // Drupal, mentions
    "%user_name !url",                          // Drupal
    "#tag #ÜberUns",                            // tags
    "@:link.key @.lower:link.key @:(link.key)", // Vue I18n
    "%1 %2 %n %L1 %Ln %99",                     // Qt
    "\\(x) \\(user.name)",                      // Swift
    "$t(key) $t(a:b.c)",                        // i18next
    "%Y %m %d %H %M",                           // strftime
    "{0} {1}",                                  // .NET
    "{name}",                                   // Fluent and others
    "{$name} { $user }",                        // Fluent
    "%s%s %d%%",
    "{a}{b}",
    "{0,choice,0#none|1#one}",
    "<name>",
    "</b>",
    "<user_name/>",
    "[user_name] [/end_of]",
    "*|USER|* *|IF:A|*",
    "%%user%% %[name]",
    "~user~ ^user_name^",
    "|version|",            // reStructuredText
    "10^6 10^-3 x^2 2.5^n", // powers
    "user_signed_in check_in",
    "user_name max_files $HOME/.config ${HOME}/a/b %APPDATA%\\app\\x",
    "\\n \\t \\u00e9 \\x41 \\\"",
];

#[test]
fn placeholders_of_every_grammar_are_found() {
    let sentences = [
        ("Das ist ", " und mehr."),
        ("", " is here."),
        ("(", ")"),
        ("«", "»"),
        ("Привет, ", "!"),
        ("مرحبا ", "،"),
        ("नमस्ते ", "।"),
        ("你好 ", "。"),
        ("こんにちは ", "。"),
        ("안녕 ", "."),
        ("สวัสดี ", " "),
    ];
    for placeholder in GRAMMARS.iter().flat_map(|line| split(line)) {
        let alone = placeholder != "$2" && placeholder != "-%}";
        for (before, after) in sentences.iter().filter(|_| alone) {
            let text = format!("{before}{placeholder}{after}");
            assert_eq!(found(&text).concat(), placeholder, "{text}");
        }
    }
    assert_eq!(found("$1 hat $2 gesehen."), ["$1", "$2"]);
}

/// Splits a line at spaces outside of brackets.
fn split(line: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut start = 0;
    let mut depth = 0;
    for (at, c) in line.char_indices() {
        match c {
            '{' | '(' | '[' | '<' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            '>' if depth > 0 && (line[..at].ends_with('%') || line[start..].starts_with("%<")) => {
                depth -= 1;
            }
            ' ' if depth == 0 => {
                all.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(&line[start..]);
    all
}

#[test]
fn prose_has_no_placeholders() {
    for text in [
        "100 % der Leute, 5%ige Lösung, 5 %ige Lösung, 50%des Werts",
        "It costs $5, $10.50 or $3 a day.",
        "Er sagte: gut; um 14:45 Uhr, a:b, 3:2, C# und F#, Nr. #1",
        "Oh :) :-) :D :p ;) nein!doch!",
        "me@ or a@b, 5 @ 3, wow!! [sic] (ja) __ a__b",
        "10 %iger Anstieg; 3 % davon",
        "Lehrer_innen, Schüler_innen, ein Kolleg_in; |a|b| und | c |, a | b ^, a^ b ^c",
        "a < b und c > d, <3, [sic] <- [x] a<b",
    ] {
        assert!(found(text).is_empty(), "{text}: {:?}", found(text));
    }
}

#[test]
fn messages_of_icu_are_kept_whole_and_their_arms_are_known() {
    let message =
        "{count, plural, =0 {keine Nachricht} one {# Nachricht von {name}} other {# Nachrichten}}";
    assert_eq!(found(&format!("Du hast {message} heute.")), [message]);
    let texts = |message: &'static str| {
        arms(message)
            .into_iter()
            .map(|[_, arm]| &message[arm])
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts(message),
        ["keine Nachricht", "# Nachricht von {name}", "# Nachrichten"]
    );
    assert_eq!(
        texts("{n,select,a{'}' it''s '{''}'}other{}}"),
        ["'}' it''s '{''}'", ""]
    );
    assert_eq!(
        texts("{n, plural, offset:1=1{a}other{{m, select, other {b}}}}")[1],
        "{m, select, other {b}}"
    );
    // Both are incomplete: the arm `other` is missing, and a brace.
    assert_eq!(found("{count, plural, one {a}}"), ["{a}"]);
    assert_eq!(found("{count, plural, one {a} other"), ["{a}"]);
}

#[test]
fn caseless_letters_and_letters_before_a_sign_do_not_hide_a_placeholder() {
    for (text, placeholders) in [
        ("%d週%02d日", vec!["%d", "%02d"]),
        ("コマンドで%d件の%sドメイン", vec!["%d", "%s"]),
        ("제목이 %s에서 %r를", vec!["%s", "%r"]),
        ("v%s r%d:%s --filters%s=X", vec!["%s", "%d", "%s", "%s"]),
        ("%dd%02dt", vec!["%dd", "%02d"]),
        ("见https://a.org和/usr/bin", vec!["https://a.org和/usr/bin"]),
        (
            "``a b`` or ``c``, :hg:`d e`",
            vec!["``a b``", "``c``", ":hg:", "`d e`"],
        ),
        ("`files0' or `x' y", vec![]),
        ("%s:een, [:ss], (a:b)", vec!["%s", ":ss"]),
        (
            "a&amp;b &amp; b&#39;c&#x2013;",
            vec!["&amp;", "&#39;", "&#x2013;"],
        ),
        ("5%p, 5 %ige", vec![]),
        ("\\nnew\\tand \\rund", vec!["\\n", "\\t", "\\r"]),
        ("\\nu, \\tau, \\textbf, \\right and \\to", vec![]),
        ("in $HOME/.config.", vec!["$HOME/.config"]),
        // A number may continue after its sign.
        ("ich_3,5 und es_2024-04, I_2024-04mal und I/3,5m", vec![]),
    ] {
        assert_eq!(found(text), placeholders, "{text}");
    }
}

/// Models that have seen many placeholders begin one inside another.
#[test]
fn a_placeholder_within_itself_is_noticed() {
    let forms = "%(name)s %(name)d %{name} %<name>s %[name] {name} {0} {{name}} ${name} #{name} {%x%} \
        <%=name%> [[name]] *|NAME|* $t(name) \\(name) %1$s %2$d";
    let mut missed = Vec::new();
    for part in forms.split(' ') {
        let source = format!("Delete {part} now");
        assert_eq!(
            missing_placeables(&source, &[], &format!("Jetzt {part} löschen")),
            None,
            "{part}"
        );
        for at in (1..part.len()).filter(|&at| part.is_char_boundary(at)) {
            let (begin, end) = part.split_at(at);
            for damaged in [format!("{begin}{part}{end}"), format!("{begin}{part}")] {
                let translation = format!("Jetzt {damaged} löschen");
                if missing_placeables(&source, &[], &translation).is_none() {
                    missed.push(damaged);
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
    for (source, translation) in [
        ("50 %(approx.) of {it", "50 %(ca.) von {it"),
        ("(%(count)s) file(s) \\(x", "(%(count)s) Datei(en) \\(x"),
        ("{'a': {1}} and }", "{'a': {1}} und }"),
    ] {
        assert_eq!(
            missing_placeables(source, &[], translation),
            None,
            "{translation}"
        );
    }
}

/// Edits of random signs are in order and disjoint, even if signs share a character.
#[test]
fn edits_of_random_signs_do_not_overlap() {
    let pieces = [
        "{", "}", "%", "(", "[", "<", ">", "]", "*", "|", "$", "t", "\\", "s", " ", "ä", "<b>",
        "%s",
    ];
    let mut state = 11u64;
    let mut draw = |most: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    for _ in 0..100_000 {
        let [source, translation] = [0, 0].map(|_| {
            (0..draw(9))
                .map(|_| pieces[draw(pieces.len())])
                .collect::<String>()
        });
        let edits = added_placeholders(&source, &translation, &[]);
        let are_apart = edits.windows(2).all(|two| two[0].0.end <= two[1].0.start);
        assert!(are_apart, "{source:?} {translation:?}: {edits:?}");
        apply_edits(&translation, &edits);
    }
}
