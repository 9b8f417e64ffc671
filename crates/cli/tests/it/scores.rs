//! Two systems compared as sacreBLEU compares them (`crates/metrics/tests/fixtures/sacrebleu.json`
//! has its numbers).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{assert_refused, burnformer, refused, run, stdout};

/// The columns of a corpus of the fixture as files: translations, and each stream of references.
fn write(folder: &Path, name: &str, corpus: &Value) -> (String, Vec<String>) {
    let column = |file: String, lines: &Value| {
        let path: PathBuf = folder.join(file);
        let lines = lines
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap());
        fs::write(
            &path,
            lines.map(|line| format!("{line}\n")).collect::<String>(),
        )
        .unwrap();
        path.display().to_string()
    };
    let streams = corpus["references"].as_array().unwrap().iter().enumerate();
    let references = streams.map(|(index, lines)| column(format!("{name}.ref{index}"), lines));
    (
        column(name.to_owned(), &corpus["hypotheses"]),
        references.collect(),
    )
}

#[test]
fn two_systems_are_compared_with_sacrebleus_numbers() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../metrics/tests/fixtures/sacrebleu.json");
    let fixture: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for case in fixture["paired"].as_array().unwrap() {
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let corpus = |index: usize| {
            let name = case["systems"][index].as_str().unwrap();
            write(folder.path(), name, &fixture["corpora"][name])
        };
        let ((baseline, references), (system, _)) = (corpus(0), corpus(1));
        let samples = case["samples"].to_string();
        let metric = text("metric");
        let test = text("test");
        let mut arguments = vec![
            "eval-bleu",
            "--hypothesis",
            &system,
            "--baseline",
            &baseline,
        ];
        arguments.extend(["--metric", &metric, "--paired", &test, "--trials", &samples]);
        arguments.push("--reference");
        arguments.extend(references.iter().map(String::as_str));
        let printed = stdout(&run(&arguments));
        let signature = text("signature").replace("version:2.6.0", "version:");
        assert!(printed.contains(&signature), "{printed}");
        assert!(printed.contains(&format!("(p = {:.4})", case["p_value"].as_f64().unwrap())));
        arguments.push("--json");
        let json: Value = serde_json::from_str(&stdout(&run(&arguments))).unwrap();
        let of = |index: usize| json[index].as_object().unwrap().values().nth(1).unwrap();
        let near = |found: &Value, expected: &Value| {
            let [found, expected] = [found, expected].map(|value| value.as_f64().unwrap());
            assert!((found - expected).abs() < 1e-4, "{case}: {found}");
        };
        near(&of(0)["score"], &case["baseline"]);
        near(&of(1)["score"], &case["system"]);
        near(&of(1)["p_value"], &case["p_value"]);
        assert!(of(0)["p_value"].is_null());
        for (index, expected) in case["confidence"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            near(&of(index)["mean"], &expected[0]);
            near(&of(index)["ci"], &expected[1]);
        }
    }
}

/// BLEU and p-values of three systems by either test, from sacreBLEU 2.6.0.
const PAIRED: [(&str, [[f64; 2]; 3]); 2] = [
    (
        "bs",
        [
            [59.4834803095649, f64::NAN],
            [59.4834803095649, 0.4385614385614386],
            [36.85897206223624, 0.000999000999000999],
        ],
    ),
    (
        "ar",
        [
            [59.4834803095649, f64::NAN],
            [59.4834803095649, 0.991000899910009],
            [36.85897206223624, 0.0013998600139986002],
        ],
    ),
];

#[test]
fn several_systems_are_compared_with_the_first_or_the_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let line = |seed: usize, [step, wrong]: [usize; 2]| -> String {
        let words = (0..6).map(|at| {
            if (seed * step + at * 5) % 13 < wrong {
                "no".to_owned()
            } else {
                format!("w{}", (seed + at) % 9)
            }
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    let file = |name: &str, wrong: [usize; 2]| {
        let path = folder.path().join(name).display().to_string();
        fs::write(
            &path,
            (0..40).map(|seed| line(seed, wrong)).collect::<String>(),
        )
        .unwrap();
        path
    };
    let [reference, a, b, c] = [("ref", [1, 0]), ("a", [7, 2]), ("b", [4, 2]), ("c", [6, 3])]
        .map(|(name, wrong)| file(name, wrong));
    let scored = |more: &[&str]| -> Value {
        let fixed = ["eval-bleu", "--reference", &reference, "--json"];
        serde_json::from_str(&stdout(&run(&[&fixed[..], more].concat()))).unwrap()
    };
    let all = scored(&["--hypothesis", &a, &b, &c]);
    assert_eq!(all, scored(&["--baseline", &a, "--hypothesis", &b, &c]));
    let named = |index: usize| all[index]["system"].as_str().unwrap();
    assert_eq!([named(0), named(2)], [&format!("Baseline: {a}"), &c]);
    for (test, expected) in PAIRED {
        let all = scored(&["--hypothesis", &a, &b, &c, "--paired", test]);
        for (index, [score, p_value]) in expected.into_iter().enumerate() {
            let found = &all[index]["BLEU"];
            assert!(
                (found["score"].as_f64().unwrap() - score).abs() < 1e-9,
                "{found}"
            );
            let p = found["p_value"].as_f64().unwrap_or(f64::NAN);
            assert!(
                p.is_nan() && p_value.is_nan() || (p - p_value).abs() < 1e-9,
                "{found}"
            );
        }
    }
    let text = stdout(&run(&[
        "eval-bleu",
        "--reference",
        &reference,
        "--hypothesis",
        &a,
        &b,
        &c,
    ]));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.lines().nth(3).unwrap().contains("(p = "), "{text}");
    refused(
        &[
            "eval-bleu",
            "--reference",
            &a,
            "--hypothesis",
            &a,
            &b,
            "--confidence",
        ],
        2,
        &["--paired bs"],
    );
}

/// The models of this repository stand in for the ones that sacreBLEU fetches. sacreBLEU 2.6.0
/// gives these scores with them.
#[test]
fn pieces_of_a_sentencepiece_model_are_words_as_in_sacrebleu() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    fs::create_dir(&models).unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sentencepiece/tests/fixtures");
    for (from, to) in [
        ("unigram.model", "sacrebleu_tokenizer_spm.model"),
        ("unigram-rules.model", "flores200sacrebleuspm"),
    ] {
        fs::copy(fixtures.join(from), models.join(to)).unwrap();
    }
    let texts = [
        "The quick brown fox jumps over a lazy dog.\n彼女は赤いリンゴが好きです。\n\
         Das  Haus　ist groß — und 25,000 Menschen wohnen dort!\nﬁne ½ café, naïve “quotes”…\n",
        "A quick brown fox jumped over the lazy dog.\n彼女は赤いリンゴが大好きです。\n\
         Das Haus ist sehr groß, und 25.000 Menschen wohnen darin!\nfine ½ cafe, naive \"quotes\"...\n",
    ];
    let [hypothesis, reference] = ["hyp", "ref"].map(|name| folder.path().join(name));
    fs::write(&hypothesis, texts[0]).unwrap();
    fs::write(&reference, texts[1]).unwrap();
    let [hypothesis, reference] = [hypothesis, reference].map(|path| path.display().to_string());
    for (options, tag, score) in [
        (&["spm"][..], "flores101", "69.2207151410"),
        (&["flores101", "--lowercase"], "flores101", "70.9988770821"),
        (&["flores200"], "flores200", "71.0645097348"),
        (&["flores200", "--lowercase"], "flores200", "72.3117103414"),
    ] {
        let fixed = [
            "eval-bleu",
            "--hypothesis",
            &hypothesis,
            "--reference",
            &reference,
            "-w",
            "10",
        ];
        let arguments = [&fixed[..], &["--tokenize"], options].concat();
        let output = burnformer(&arguments)
            .env("SACREBLEU", folder.path())
            .output()
            .unwrap();
        let found = stdout(&output);
        assert!(
            found.contains(&format!("tok:{tag}|")) && found.contains(score),
            "{found}"
        );
    }
}

#[test]
fn a_tokeniser_whose_file_is_missing_says_where_it_belongs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a").display().to_string();
    fs::write(&path, "a b\n").unwrap();
    for (name, file) in [
        ("spm", "sacrebleu_tokenizer_spm.model"),
        ("flores101", "sacrebleu_tokenizer_spm.model"),
        ("flores200", "flores200sacrebleuspm"),
    ] {
        let arguments = [
            "eval-bleu",
            "--hypothesis",
            &path,
            "--reference",
            &path,
            "--tokenize",
            name,
        ];
        let output = burnformer(&arguments)
            .env("SACREBLEU", folder.path())
            .output()
            .unwrap();
        let path = format!("{}/models/{file}", folder.path().display());
        assert_refused(&output, 1, &[&path, "sacrebleu --tokenize"]);
    }
}

#[test]
fn a_baseline_of_another_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let two = file("two", "a\nb\n");
    let three = file("three", "a\nb\nc\n");
    let arguments = ["eval-bleu", "--hypothesis", &three, "--reference", &three];
    let cases: [(&[&str], i32, &[&str]); 3] = [
        (
            &["--baseline", &two],
            1,
            &["two ends after line 2", "three has 3 lines"],
        ),
        (&["--trials", "5"], 2, &["--baseline"]),
        (&["--baseline", &three, "--trials", "0"], 2, &["--trials"]),
    ];
    for (more, code, needles) in cases {
        refused(&[&arguments[..], more].concat(), code, needles);
    }
}
