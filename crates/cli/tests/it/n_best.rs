//! Lists of the best translations.

use std::collections::HashSet;
use std::fs;

use crate::common::{Untrained, run_with, stdout};
use serde_json::Value;

fn model() -> String {
    Untrained::get().model().display().to_string()
}

/// Splits an n-best list into its numbers, texts and scores.
fn n_best_lines(text: &str) -> Vec<(usize, String, f64)> {
    text.lines()
        .map(|line: &str| {
            let fields: Vec<&str> = line.split(" ||| ").collect();
            let [number, text, score] = fields[..] else {
                panic!("{line:?}")
            };
            (
                number.parse().unwrap(),
                text.to_owned(),
                score.parse().unwrap(),
            )
        })
        .collect()
}

#[test]
fn an_n_best_list_has_exactly_n_lines_for_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("prefix");
    fs::write(
        &prefix,
        "\none two\none two three four five six seven eight\n\n",
    )
    .unwrap();
    let model = model();
    let input = b"eins zwei drei\n\nvier\n   \n";
    let cases: [&[&str]; 7] = [
        &["--nbest", "10", "--max-length", "5"],
        &["--nbest", "10", "--max-length", "1"],
        &[
            "--nbest",
            "4",
            "--beam",
            "4",
            "--max-length",
            "3",
            "--min-length",
            "3",
        ],
        &["--nbest", "3", "--sample", "--max-length", "4"],
        &["--nbest", "1000", "--max-length", "1"],
        &["--nbest", "5", "--max-length", "4", "--model", &model],
        &[
            "--nbest",
            "6",
            "--max-length",
            "7",
            "--prefix",
            prefix.to_str().unwrap(),
        ],
    ];
    for more in cases {
        let n: usize = more[1].parse().unwrap();
        let arguments = [&["translate", "--model", &model][..], more].concat();
        let lines = n_best_lines(&stdout(&run_with(&arguments, input)));
        let numbers = lines.iter().map(|line| line.0);
        assert!(numbers.eq((0..4 * n).map(|i| i / n)), "{more:?}");
        let json = stdout(&run_with(&[&arguments[..], &["--json"]].concat(), input));
        let json: Vec<Value> = json
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        for (record, lines) in json.iter().zip(lines.chunks(n)) {
            let all = record["n_best"].as_array().unwrap();
            let texts = all.iter().map(|one| one["translation"].as_str().unwrap());
            assert!(texts.eq(lines.iter().map(|line| &line.1)), "{more:?}");
            for key in ["translation", "score", "tokens", "finish"] {
                assert_eq!(record[key], all[0][key], "{more:?}: the first is the best");
            }
        }
        assert_eq!(json.len(), 4, "{more:?}");
    }
}

#[test]
fn an_n_best_list_beyond_all_translations_repeats_the_last() {
    let model = model();
    let arguments = [
        "translate",
        "--model",
        &model,
        "--nbest",
        "600",
        "--max-length",
        "1",
        "--json",
    ];
    let text = stdout(&run_with(&arguments, b"eins\n\n"));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let all = lines[0]["n_best"].as_array().unwrap();
    let texts = all.iter().map(|one| one["translation"].as_str().unwrap());
    let different: HashSet<&str> = texts.collect();
    // The tokens of single bytes among the 320 have no text of their own.
    assert!((100..320).contains(&different.len()), "{}", different.len());
    assert!(
        all.len() == 600
            && all[different.len()..]
                .iter()
                .all(|one| one == &all[different.len() - 1])
    );
    assert_eq!(
        (&all[0]["finish"], &all[1]["finish"]),
        (&"end-of-sentence".into(), &"limit".into())
    );
    let score = |one: &Value| one["score"].as_f64().unwrap();
    assert!(
        all[1..].is_sorted_by(|a, b| score(a) >= score(b)),
        "best first"
    );
    let empty = lines[1]["n_best"].as_array().unwrap();
    assert!(
        empty.len() == 600
            && empty
                .iter()
                .all(|one| one["translation"] == "" && score(one) == 0.0)
    );
}
