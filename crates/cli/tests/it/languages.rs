//! Runs into languages with and without spaces between words. A score that fits selects the best
//! model, and every score of a run equals the score of `eval-bleu`.
//!
//! The messages are Django's (`messages.LICENSE`), in English, Chinese, Japanese, Korean, Thai,
//! Arabic and Hindi.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{run, run_with, stderr, stdout, tiny_settings};

const MESSAGES: &str = include_str!("messages.tsv");

/// A language, the options of `eval-bleu` to score it as training does, and whether it warns
/// without them.
const LANGUAGES: [(&str, &[&str], bool); 6] = [
    ("zh", &["--tokenize", "zh"], true),
    ("ja", &["--metric", "chrf"], true),
    ("ko", &["--metric", "chrf"], false),
    ("th", &["--metric", "chrf"], true),
    ("ar", &[], false),
    ("hi", &[], false),
];

/// A run on the messages of a language that is measured on the same messages: it memorises them.
struct Run {
    folder: tempfile::TempDir,
    log: String,
    text: String,
}

impl Run {
    fn into(language: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let out = path("run");
        let text = path("text.tsv");
        let column = MESSAGES
            .lines()
            .next()
            .unwrap()
            .split('\t')
            .position(|it| it == language);
        fs::write(
            &text,
            MESSAGES
                .lines()
                .skip(1)
                .map(|line: &str| {
                    let columns: Vec<_> = line.split('\t').collect();
                    format!("{}\t{}\n", columns[0], columns[column.unwrap()])
                })
                .collect::<String>(),
        )
        .unwrap();
        let mut arguments = vec!["train", "--out", &out, "--train", &text];
        arguments.extend(["--valid", &text, "--test", &text]);
        let settings = tiny_settings(&folder.path().join("cache"));
        arguments.extend(settings.iter().map(String::as_str));
        for setting in [
            "tokenizer.train.vocab_size=1500",
            "training.max_updates=240",
            "schedule.factor=2.0",
            "schedule.warmup=60",
            "validation.every=40",
            "validation.metric=auto",
            "validation.patience=3",
            "validation.test_alphas=[0.6, 0.8]",
            "checkpoints.average=0",
        ] {
            arguments.extend(["--set", setting]);
        }
        let output = run(&arguments);
        let log = stdout(&output) + &stderr(&output);
        drop(arguments);
        Self { folder, log, text }
    }

    fn path(&self, name: &str) -> String {
        self.folder
            .path()
            .join("run")
            .join(name)
            .display()
            .to_string()
    }

    fn json(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        serde_json::Deserializer::from_str(&text)
            .into_iter()
            .map(Result::unwrap)
            .collect()
    }

    /// The score of the model `name` on the text, with its signature.
    fn score(&self, name: &str, more: &[&str]) -> String {
        let model = self.path(name);
        let arguments = [
            "eval-bleu",
            "--model",
            &model,
            "--source",
            &self.text,
            "-w",
            "2",
        ];
        stdout(&run(&[&arguments[..], more].concat()))
            .trim_end()
            .to_string()
    }
}

/// The number in a line of `eval-bleu`.
fn number(line: &str) -> f64 {
    let (_, score) = line.split_once(" = ").unwrap();
    score.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn the_best_model_is_kept_and_every_score_of_a_run_is_that_of_eval_bleu() {
    for (language, options, warns) in LANGUAGES {
        let run_of = Run::into(language);
        let key = if options.contains(&"chrf") {
            "chrf"
        } else {
            "bleu"
        };
        let valid: Vec<Value> = run_of
            .json("metrics.jsonl")
            .into_iter()
            .filter(|row| row["kind"] == "valid")
            .collect();
        let last = valid.last().unwrap();
        let of = |row: &Value| (row[key].as_f64().unwrap(), -row["nll"].as_f64().unwrap());
        let best = valid
            .iter()
            .max_by(|a, b| of(a).partial_cmp(&of(b)).unwrap())
            .unwrap();
        let kept = &run_of.json("best/validation.json")[0];
        assert_eq!(
            (&kept["step"], kept["metric"].as_str()),
            (&best["step"], Some(key)),
            "{language}"
        );
        assert!(of(best).0 > 60.0, "{language}: {best}");

        let of_last = |more: &[&str]| {
            number(&run_of.score("last", &[&["--beam", "1", "--alpha", "0"], more].concat()))
        };
        let near = |found: f64, row: &str| (found - last[row].as_f64().unwrap()).abs() < 0.006;
        assert!(near(of_last(options), key), "{language}: {last}");
        assert!(
            near(of_last(&["--metric", "chrf"]), "chrf"),
            "{language}: {last}"
        );

        let tested = fs::read_to_string(run_of.path("test-score.txt")).unwrap();
        assert_eq!(
            run_of.score("best", options),
            tested.trim_end(),
            "{language}"
        );
        assert!(
            run_of.log.contains(tested.trim_end()),
            "{language}: {}",
            run_of.log
        );
        // The log has the signature of scores, and the score of each length penalty tried.
        let (signature, _) = tested.split_once(" = ").unwrap();
        assert!(run_of.log.contains(signature), "{language}: {}", run_of.log);
        let tried = run_of
            .log
            .lines()
            .filter_map(|line| line.strip_prefix("length penalty 0."));
        assert!(tried.clone().count() >= 2, "{language}: {}", run_of.log);
        for line in tried {
            let (alpha, score) = line.split_once(": ").unwrap();
            let found = run_of.score(
                "best",
                &[options, &["--alpha", &format!("0.{alpha}")]].concat(),
            );
            let score: f64 = score.split(' ').nth(1).unwrap().parse().unwrap();
            assert!(
                (number(&found) - score).abs() < 0.006,
                "{language} {alpha}: {score} {found}"
            );
        }
        assert!(
            run_of.log.contains("100 % of the pairs of data.valid"),
            "{}",
            run_of.log
        );

        let model = run_of.path("best");
        let plain = run(&["eval-bleu", "--model", &model, "--source", &run_of.text]);
        let said = stderr(&plain).contains("takes whole sentences for words");
        assert_eq!(said, warns, "{language}: {}", stderr(&plain));
        assert!(
            !stderr(&plain).contains("nearly nothing is right"),
            "{language}"
        );
        compare_with_sacrebleu(&run_of, options, number(&tested));
    }
}

/// Compares with sacreBLEU on the output of `translate`, if `BURNFORMER_SACREBLEU` names a Python
/// interpreter that has it.
fn compare_with_sacrebleu(run: &Run, options: &[&str], expected: f64) {
    let Ok(python) = std::env::var("BURNFORMER_SACREBLEU") else {
        return;
    };
    let text = fs::read_to_string(&run.text).unwrap();
    let sides = text.lines().map(|line| line.split_once('\t').unwrap());
    let (source, target): (Vec<_>, Vec<_>) = sides.unzip();
    let reference = run.path("reference.txt");
    fs::write(&reference, target.join("\n") + "\n").unwrap();
    let model = run.path("best");
    let input = source.join("\n") + "\n";
    let hypotheses = stdout(&run_with(
        &["translate", "--model", &model],
        input.as_bytes(),
    ));
    let path = run.path("hypotheses.txt");
    fs::write(&path, hypotheses).unwrap();
    let mut command = Command::new(python);
    command
        .args(["-m", "sacrebleu", &reference, "-i", &path, "-b", "-w", "2"])
        .args(options);
    let score: f64 = stdout(&command.output().unwrap()).trim().parse().unwrap();
    assert!(
        (score - expected).abs() < 0.006,
        "{options:?}: sacreBLEU {score}, the run {expected}"
    );
}
