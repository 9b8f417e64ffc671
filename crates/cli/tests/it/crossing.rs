//! Every protection of a text with every option, for lines and for a document: what a sentence must
//! keep, it keeps.
//!
//! The expected value of each cell is read off the output by a rule that knows no option: a
//! placeholder occurs as often as in the source, a number has the value of the target language's
//! spelling, and so on.

use std::fs;
use std::path::Path;

use crate::common::{run_with, stdout};

/// A line to translate and what its translation must satisfy.
pub struct Cell {
    pub name: &'static str,
    pub line: &'static str,
    pub holds: fn(&str) -> bool,
}

/// Returns whether each of `texts` occurs exactly once in `line`.
fn once(line: &str, texts: &[&str]) -> bool {
    texts.iter().all(|text| line.matches(text).count() == 1)
}

pub const CELLS: [Cell; 12] = [
    Cell {
        name: "placeholders",
        line: "Hallo {name}, du hast %d Nachrichten.",
        holds: |line| once(line, &["{name}", "%d"]),
    },
    Cell {
        name: "tags",
        line: "Das ist ein <b>kleines</b> Haus.",
        holds: |line| once(line, &["<b>", "</b>"]),
    },
    Cell {
        name: "numbers",
        line: "Ich habe 1.234,5 Euro und 17 Hunde.",
        holds: |line| once(line, &["1,234.5", "17"]),
    },
    Cell {
        name: "addresses",
        line: "Schreib an tom@example.org oder sieh auf https://example.org/a?b=1 nach.",
        holds: |line| once(line, &["tom@example.org", "https://example.org/a?b=1"]),
    },
    Cell {
        name: "invisible characters",
        line: "Das ist ein gro\u{AD}ßes\u{200B} Haus mit {x}.",
        holds: |line| once(line, &["{x}"]) && !line.contains(['\u{AD}', '\u{200B}']),
    },
    Cell {
        name: "capitals",
        line: "DER MANN IST GUT.",
        holds: |line| !without_prefix(line).contains(char::is_lowercase),
    },
    Cell {
        name: "capitals and a placeholder",
        line: "HALLO {name}, DU HAST %d NACHRICHTEN.",
        holds: |line| once(line, &["{name}", "%d"]),
    },
    Cell {
        name: "quotation marks",
        line: "Er sagte: „Komm her!“",
        holds: |line| line.matches(['"', '“', '”', '\'']).count() >= 2,
    },
    Cell {
        name: "brackets",
        line: "Das Haus (das alte) ist klein.",
        holds: |line| once(line, &["(", ")"]),
    },
    Cell {
        name: "a speech",
        line: "– Komm her!",
        holds: |line| line.starts_with(['–', '—', '-']) || line.starts_with(PREFIX),
    },
    Cell {
        name: "nothing to translate",
        line: "2026 - 2025 = 1",
        holds: |line| once(line, &["2026", "2025", "= 1"]),
    },
    Cell {
        name: "signs alone",
        line: "!!!!!!!!",
        holds: |line| line.contains("!!!!!!!!") || line.starts_with(PREFIX),
    },
];

pub const PREFIX: &str = "Well,";

fn without_prefix(line: &str) -> &str {
    line.strip_prefix(PREFIX).unwrap_or(line)
}

/// Returns the lines of all cells, translated with `options`.
fn translated(options: &[&str], lines: &[&str]) -> Vec<String> {
    let arguments = [&["translate", "--quiet"][..], options].concat();
    let text = lines.join("\n") + "\n";
    let output = run_with(&arguments, text.as_bytes());
    assert!(output.status.success(), "{options:?}: {output:?}");
    stdout(&output).lines().map(String::from).collect()
}

/// Writes `content` to `folder/name` and returns the path.
fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn every_protection_holds_with_every_option() {
    let folder = tempfile::tempdir().unwrap();
    let lines = CELLS.map(|cell| cell.line);
    let prefixes = file(
        folder.path(),
        "prefixes",
        &format!("{PREFIX}\n").repeat(lines.len()),
    );
    let glossary = file(
        folder.path(),
        "g.tsv",
        "Haus\tbuilding\nNachrichten\tletters\n",
    );
    let memory = file(
        folder.path(),
        "m.tsv",
        "Ein anderer Satz.\tAnother sentence.\n",
    );
    let options: [(&str, Vec<&str>); 12] = [
        ("none", vec![]),
        ("prefix", vec!["--prefix", &prefixes]),
        ("glossary", vec!["--glossary", &glossary]),
        ("memory", vec!["--memory", &memory]),
        ("nbest", vec!["--nbest", "3"]),
        ("sample", vec!["--sample", "--seed", "7"]),
        ("samples", vec!["--sample", "--nbest", "2", "--seed", "3"]),
        (
            "ensemble",
            vec!["--model", "embedded:de-en", "--model", "embedded:de-en"],
        ),
        ("int8", vec!["--compute", "int8"]),
        ("greedy", vec!["--beam", "1"]),
        ("max-length", vec!["--max-length", "40"]),
        ("document", vec!["--format", "text"]),
    ];
    let mut cells = 0;
    let mut wrong = Vec::new();
    for (option, arguments) in &options {
        let found = translated(arguments, &lines);
        let ranks = found.len() / lines.len();
        assert_eq!(found.len() % lines.len(), 0, "{option}");
        for (line, found) in CELLS.iter().zip(found.chunks(ranks)) {
            for text in found {
                let text = text.split(" ||| ").nth(1).unwrap_or(text);
                cells += 1;
                if !(line.holds)(text) {
                    wrong.push(format!("{option} × {}: {text}", line.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cells}: {wrong:#?}", wrong.len());
}

#[test]
fn a_term_is_in_its_place_each_time_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let glossary = file(folder.path(), "g.tsv", "hund\tpooch\nHund\tpooch\n");
    let lines = [
        "Der Hund sieht den anderen Hund.",
        "Hallo {Hund}!",
        "Sieh auf https://example.org/Hund nach.",
        "DER HUND IST GUT.",
        "Der Hund {name} ist gut.",
    ];
    let found = translated(&["--glossary", &glossary], &lines);
    let count = |line: &str| line.to_lowercase().matches("pooch").count();
    let counts: Vec<usize> = found.iter().map(|line| count(line)).collect();
    assert_eq!(counts, [2, 0, 0, 1, 1], "{found:#?}");
    assert!(
        found[1].contains("{Hund}") && found[4].contains("{name}"),
        "{found:#?}"
    );
    assert!(!found[3].contains(char::is_lowercase), "{found:#?}");
}
