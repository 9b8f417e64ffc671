//! Scalars of YAML: readers of both versions see the translation as a string.

use std::process::Command;

use crate::common::translate;
use burnformer_documents::{Catalogue, Document, Format, PendingSentence, Translated};

/// Texts that some reader would take for another value, or refuse, if they were plain.
fn texts() -> Vec<String> {
    let all = "12:30|12:30:45|1_000|0x1F|0o17|0b11|017|1e3|1.5|.5|-1|+1|.inf|-.INF|.nan|NaN|inf|2024-01-31|2024-1-2|\
        2024-01-31T12:00:00Z|2001-12-14 21:59:43.10 -5|yes|No|ON|off|y|N|true|FALSE|null|Null|~|=|<<|---|...|--- a|-|- a|?|? a|:|: a|a: b|a:|a #b|#a|\
        &a|*a|!a|!!str a|%a|@a|`a|[a]|{a}|a, b|a]|'a'|\"a\"|'|\"|a'b|a\"b|a\\b|\\|>|>a|>-|a > b|a|  a  |\ta|a\tb|a\nb|a\n|\na|a\n\nb|\
        a\u{85}b|a\u{2028}b|a\u{2029}b|\u{feff}a|a\u{7f}b|a\u{1b}b|\u{a0}a|a\u{200b}|日本語|日: 本|٣|é|🙂|𝟙|e1|E1|x: |::|a::b|a:b|!|%|@|`|nan|.|..|\
        , a|1,000|1.2.3|1:2|190:20:30|0|00|09|0.|1.|_|_1|1_|0xg|a - b|TRUE|infinity|.Inf|1e|1e+3|6.02e23|0x_1|685.230_15e+03|!ruby/object:A|:sym|\
        a}b|null |12:30 pm|a? b|a ?b|a \\\\|a\\n|Ⅷ|½|a%|a@b|1 000|١٢:٣٠";
    let mut all: Vec<String> = all.split('|').map(String::from).collect();
    all.extend(["a|b", "|", "|-", "| a"].map(String::from));
    all
}

/// The ways in which a source is written.
const KINDS: [&str; 10] = [
    "a: the house\n",
    "a: 'the house'\n",
    "a: \"the house\"\n",
    "a: |\n  the house\n",
    "a: |-\n  the house\nb: 1\n",
    "a: >\n  the\n  house\n",
    "a: >-\n  the house\n",
    "a: {b: the house, c: [the house, \"the house\"]}\n",
    "- the house\n- the house # why\n",
    "a:\n  the house\n  goes on\n",
];

fn written(kind: &str, text: &str) -> String {
    translate(kind, Format::Yaml, &|_: &PendingSentence| Translated {
        text: text.into(),
        links: Vec::new(),
    })
}

#[test]
fn a_file_stays_readable_whatever_the_translation_is() {
    for text in texts() {
        for kind in KINDS {
            let found = written(kind, &text);
            let read = Catalogue::read(&found, Format::Yaml, [None; 2]);
            assert!(read.is_ok(), "{text:?}: {found}: {read:?}");
        }
    }
}

/// PyYAML 6.0.4, ruamel.yaml 0.19.1, psych of Ruby 3.1.2, and js-yaml 5.5.0 and yaml 2.9.1 of npm
/// read each value as the same string. `PYTHON=VENV/bin/python NODE_PATH=MODULES cargo test
/// --release -p burnformer-documents --test it readers_of_yaml -- --ignored`
#[test]
#[ignore = "needs the readers"]
fn readers_of_yaml_see_the_same_string() {
    let mut files = Vec::new();
    for text in texts() {
        for kind in KINDS {
            files.push(serde_json::json!({"text": text, "yaml": written(kind, &text)}));
        }
    }
    let path = std::env::temp_dir().join(format!("{}-yaml.json", std::process::id()));
    std::fs::write(&path, serde_json::to_string(&files).unwrap()).unwrap();
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    for (program, script) in [
        (&*python, "tests/fixtures/readers_of_yaml.py"),
        ("ruby", "tests/fixtures/readers_of_yaml.rb"),
        ("node", "tests/fixtures/readers_of_yaml.cjs"),
    ] {
        let output = Command::new(program).arg(script).arg(&path).output();
        let output = output.unwrap();
        let report = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{report}{errors}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// Norwegian's code is a boolean in YAML 1.1.
#[test]
fn the_root_of_a_norwegian_file_is_a_string() {
    let languages = [Some("de"), Some("no")];
    for (text, expected) in [
        ("de:\n  a: x\n", "\"no\":\n  a: x\n"),
        ("'de':\n  a: x\n", "'no':\n  a: x\n"),
    ] {
        let document = Document::try_parse(text, Format::Yaml, languages, &[], &|_| true);
        assert_eq!(document.unwrap().finish(), expected);
    }
}
