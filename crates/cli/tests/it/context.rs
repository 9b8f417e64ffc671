//! Models that read the previous sentences of a document, at every door. In the toy language, the
//! translation of "it" depends on a noun in a sentence before, and nothing else tells it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::{refused, run, run_with, stderr, stdout, tiny_settings};

/// Nouns with their articles, translations and pronouns.
const NOUNS: [(&str, &str, &str, &str); 9] = [
    ("cat", "die", "Katze", "sie"),
    ("lamp", "die", "Lampe", "sie"),
    ("clock", "die", "Uhr", "sie"),
    ("dog", "der", "Hund", "er"),
    ("table", "der", "Tisch", "er"),
    ("tree", "der", "Baum", "er"),
    ("house", "das", "Haus", "es"),
    ("book", "das", "Buch", "es"),
    ("horse", "das", "Pferd", "es"),
];
const WORDS: [(&str, &str); 6] = [
    ("small", "klein"),
    ("old", "alt"),
    ("red", "rot"),
    ("here", "hier"),
    ("new", "neu"),
    ("good", "gut"),
];

type Pair = (String, String);

/// A document of `sentences` sentences: a noun, and what it is.
fn document(number: usize, sentences: usize) -> Vec<Pair> {
    let (noun, article, translation, pronoun) = NOUNS[number * 5 % NOUNS.len()];
    let word = |at: usize| WORDS[(number * 7 + number / 11 + at * (1 + number % 5)) % WORDS.len()];
    let (source, target) = word(0);
    let mut pairs = vec![(
        format!("the {noun} is {source}"),
        format!("{article} {translation} ist {target}"),
    )];
    for at in 1..sentences {
        let (source, target) = word(at);
        pairs.push((format!("it is {source}"), format!("{pronoun} ist {target}")));
    }
    pairs
}

/// The documents `numbers` as a text of one column, with empty lines between them.
fn column(numbers: std::ops::Range<usize>, sentences: usize, of: fn(&Pair) -> &String) -> String {
    let documents = numbers.map(|number| document(number, sentences));
    let lines = documents.map(|pairs| pairs.iter().map(of).cloned().collect::<Vec<_>>());
    let texts: Vec<String> = lines.map(|lines| lines.join("\n") + "\n").collect();
    texts.join("\n")
}

/// A run with context.
struct Run {
    folder: tempfile::TempDir,
    sentences: usize,
}

impl Run {
    /// A run on documents of two sentences with the previous source.
    fn of_sources() -> &'static Self {
        static RUN: OnceLock<Run> = OnceLock::new();
        RUN.get_or_init(|| Run::new(2, &["data.context.source=1"]))
    }

    /// A run on documents of three sentences with the previous source and its target. The noun
    /// stands in no source before the third sentence; the pronoun stands in the target before it.
    fn of_targets() -> &'static Self {
        static RUN: OnceLock<Run> = OnceLock::new();
        RUN.get_or_init(|| Run::new(3, &["data.context.source=1", "data.context.target=1"]))
    }

    fn new(sentences: usize, settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run_of = Self { folder, sentences };
        for (name, numbers) in [("train", 0..900), ("valid", 900..950), ("test", 950..1000)] {
            let source = column(numbers.clone(), sentences, |pair| &pair.0);
            fs::write(run_of.path(&format!("{name}.en")), source).unwrap();
            let target = column(numbers, sentences, |pair| &pair.1);
            fs::write(run_of.path(&format!("{name}.de")), target).unwrap();
        }
        stdout(&run_of.train("run", "500", settings));
        run_of
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn train(&self, out: &str, updates: &str, settings: &[&str]) -> std::process::Output {
        let text = |name: &str| self.path(name).display().to_string();
        let mut arguments = vec!["train".to_owned(), "--out".into(), text(out)];
        for name in ["train", "valid", "test"] {
            let sides = [format!("{name}.en"), format!("{name}.de")];
            arguments.push(format!("--{name}"));
            arguments.extend(sides.iter().map(|side| text(side)));
        }
        arguments.extend(tiny_settings(&self.path("cache")));
        let updates = format!("training.max_updates={updates}");
        for setting in [&[&*updates, "model.dropout=0.1"], settings].concat() {
            if setting == "--resume" {
                arguments.push(setting.into());
            } else {
                arguments.extend(["--set".into(), setting.into()]);
            }
        }
        run(&arguments)
    }

    fn model(&self) -> String {
        self.path("run/best").display().to_string()
    }

    /// The share of right lines in the translation of the test text.
    fn right(&self, options: &[&str]) -> f64 {
        let input = self.path("test.en").display().to_string();
        let model = self.model();
        let arguments = ["translate", "--model", &model, "--input", &input];
        let found = stdout(&run(&[&arguments[..], options].concat()));
        let expected = fs::read_to_string(self.path("test.de")).unwrap();
        assert_eq!(found.lines().count(), expected.lines().count());
        let pairs = found.lines().zip(expected.lines());
        let pairs =
            pairs.filter(|(_, expected)| expected.contains("ist") && !expected.contains("d"));
        let count = pairs.clone().count();
        assert_eq!(
            count,
            50 * (self.sentences - 1),
            "the sentences with a pronoun"
        );
        pairs.filter(|(found, expected)| found == expected).count() as f64 / count as f64
    }

    fn bleu(&self, options: &[&str]) -> f64 {
        let [source, target] = ["test.en", "test.de"].map(|it| self.path(it).display().to_string());
        let model = self.model();
        let arguments = ["eval-bleu", "--model", &model, "--input", &source];
        let all = [&arguments[..], &["--reference", &target], options].concat();
        value_of(&stdout(&run(&all)))
    }
}

/// The number in the line of a score: `BLEU|… = 27.3 …`.
fn value_of(score: &str) -> f64 {
    let (_, value) = score.split_once(" = ").unwrap();
    value.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn previous_sources_decide_about_pronouns() {
    let run_of = Run::of_sources();
    assert!(run_of.right(&[]) > 0.95, "{}", run_of.right(&[]));
    let alone = run_of.right(&["--no-context"]);
    assert!(
        alone < 0.6,
        "without the noun, a third is right by chance: {alone}"
    );
    assert!(run_of.bleu(&[]) > run_of.bleu(&["--no-context"]));
    for options in [["--batch", "1"], ["--chunk", "1"], ["--beam", "1"]] {
        assert!(run_of.right(&options) > 0.95, "{options:?}");
    }
    let score = fs::read_to_string(run_of.path("run/test-score.txt")).unwrap();
    assert!(
        (value_of(&score) - run_of.bleu(&[])).abs() < 0.06,
        "{score}"
    );
}

#[test]
fn previous_translations_decide_about_pronouns() {
    let run_of = Run::of_targets();
    assert!(run_of.right(&[]) > 0.95, "{}", run_of.right(&[]));
    assert!(run_of.right(&["--no-context"]) < 0.6);
    for options in [["--batch", "1"], ["--chunk", "1"], ["--chunk", "3"]] {
        assert!(run_of.right(&options) > 0.95, "{options:?}");
    }
}

#[test]
fn the_model_directory_says_how_many_sentences_it_reads() {
    for (run_of, counts) in [(Run::of_sources(), [1, 0]), (Run::of_targets(), [1, 1])] {
        let settings = fs::read(run_of.path("run/best/generation.json")).unwrap();
        let settings: Value = serde_json::from_slice(&settings).unwrap();
        let context = &settings["context"];
        assert_eq!([&context["source"], &context["target"]], counts);
        let tokenizer = fs::read_to_string(run_of.path("run/best/tokenizer.json")).unwrap();
        assert!(tokenizer.contains("\"<sep>\""));
    }
}

#[test]
fn a_resumed_run_with_context_equals_the_whole() {
    let run_of = Run::of_targets();
    let context = ["data.context.source=1", "data.context.target=1"];
    stdout(&run_of.train("whole", "80", &context));
    stdout(&run_of.train("parts", "40", &context));
    let resumed = run_of.train("parts", "80", &[&context[..], &["--resume"]].concat());
    assert!(stderr(&resumed).contains("resumed after update 40"));
    let weights = |out: &str| {
        let path = format!("{out}/checkpoints/step-000080/model.safetensors");
        fs::read(run_of.path(&path)).unwrap()
    };
    assert!(weights("whole") == weights("parts"));
    let other = run_of.train("parts", "90", &["--resume", "data.context.target=0"]);
    let message = stderr(&other);
    assert!(
        message.contains("data.context.target was 1 and is 0"),
        "{message}"
    );
}

/// The German of "it" behind each noun, by a door that is given the noun's sentence.
fn check(door: impl Fn(&str) -> String) {
    let mut right = 0;
    for (noun, _, _, pronoun) in NOUNS {
        let text = door(&format!("the {noun} is old"));
        right += usize::from(text == format!("{pronoun} ist klein"));
    }
    assert!(right >= NOUNS.len() - 1, "{right} of {}", NOUNS.len());
}

#[test]
fn a_sentence_on_the_command_line_stands_before_the_first_line() {
    let model = Run::of_sources().model();
    check(|before| {
        let arguments = ["translate", "--model", &model, "--context", before];
        stdout(&run_with(&arguments, b"it is small\n"))
            .trim()
            .into()
    });
}

#[test]
fn the_previous_cue_of_subtitles_is_context() {
    for run_of in [Run::of_sources(), Run::of_targets()] {
        let model = run_of.model();
        check(|before| {
            let cues = format!(
                "1\n00:00:01,000 --> 00:00:02,000\n{before}\n\n2\n00:00:03,000 --> 00:00:04,000\nit is small\n"
            );
            let arguments = ["translate", "--model", &model, "--format", "srt"];
            let found = stdout(&run_with(&arguments, cues.as_bytes()));
            found.trim().lines().last().unwrap().into()
        });
    }
}

#[test]
fn a_message_context_of_several_words_is_context() {
    let model = Run::of_sources().model();
    check(|before| {
        let catalogue = format!(
            "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\n\
             msgctxt \"{before}\"\nmsgid \"it is small\"\nmsgstr \"\"\n"
        );
        let arguments = ["translate", "--model", &model, "--format", "po"];
        let found = stdout(&run_with(&arguments, catalogue.as_bytes()));
        let (_, text) = found.trim().rsplit_once("msgstr \"").unwrap();
        text.trim_end_matches('"').into()
    });
}

#[cfg(feature = "serve")]
#[test]
fn requests_have_context() {
    use serde_json::json;

    use crate::serve::Server;

    let run_of = Run::of_sources();
    let server = Server::start(&["--model", &format!("en-de={}", run_of.model())]);
    check(|before| {
        let body = json!({"text": ["it is small"], "target_lang": "DE", "source_lang": "EN", "context": before});
        let (status, answer) = server.post("/v2/translate", &body);
        assert_eq!(status, 200, "{answer}");
        answer["translations"][0]["text"].as_str().unwrap().into()
    });
    check(|before| {
        let body =
            json!({"texts": ["it is small"], "target": "de", "source": "en", "context": before});
        let (status, answer) = server.post("/v1/translate", &body);
        assert_eq!(status, 200, "{answer}");
        answer["translations"][0].as_str().unwrap().into()
    });
    check(|before| {
        let body = json!({"q": format!("{before}\nit is small"), "target": "de", "source": "en"});
        let (_, answer) = server.post("/translate", &body);
        let text = answer["translatedText"].as_str().unwrap();
        text.lines().last().unwrap().into()
    });
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let run_of = Run::of_sources();
    let model = run_of.model();
    refused(
        &["translate", "--model", "embedded:de-en", "--context", "x"],
        2,
        &[
            "--context: the model was trained on sentences alone",
            "leave the option out",
        ],
    );
    let input = run_of.path("test.en").display().to_string();
    let output = run_of.path("out.de").display().to_string();
    let shard = ["--shard", "1/2", "--input", &input, "--output", &output];
    refused(
        &[&["translate", "--model", &model], &shard[..]].concat(),
        2,
        &["--shard: this model reads the lines before", "--no-context"],
    );
    let [text, valid] =
        ["train.en", "train.de"].map(|name| run_of.path(name).display().to_string());
    let out = run_of.path("from").display().to_string();
    let from = [
        "train",
        "--out",
        &out,
        "--from",
        "embedded:en-de",
        "--train",
        &text,
        &valid,
    ];
    refused(
        &[&from[..], &["--set", "data.context.source=1"]].concat(),
        1,
        &[
            "data.context needs a token <sep> in the source vocabulary",
            "train a new one",
        ],
    );
    let wrong = run_of.train("wrong", "1", &["data.context.target=1"]);
    let message = stderr(&wrong);
    assert!(
        message.contains("data.context.target") && message.contains("data.context.source = 0"),
        "{message}"
    );
}

#[test]
fn a_line_that_is_empty_on_one_side_is_named() {
    let run_of = Run::of_sources();
    let path = |name: &str| run_of.path(name);
    let lines = |path: &Path| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let mut target = lines(&path("train.de"));
    target[4] = String::new();
    fs::write(path("bad.de"), target.join("\n") + "\n").unwrap();
    let [source, bad, out] =
        ["train.en", "bad.de", "bad"].map(|name| path(name).display().to_string());
    let arguments = ["train", "--out", &out, "--train", &source, &bad];
    let settings = tiny_settings(&path("cache"));
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let context = ["--set", "data.context.source=1"];
    let all = [&arguments[..], &settings, &context].concat();
    refused(&all, 1, &["bad.de:5: the target is empty", "documents"]);
}
