//! `adapt`: a model that learned short sentences, and a memory of long ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Trained, burnformer, refused, run, stderr, stdout};
use serde_json::Value;

/// A catalogue of sentences twice as long as the model knows. The translations are `shift` lines
/// further on.
fn catalogue(folder: &Path, count: usize, shift: usize) -> PathBuf {
    let [source, target] = &Trained::get().corpus.train;
    let [source, target] = [source, target].map(|path| fs::read_to_string(path).unwrap());
    let pairs: Vec<(&str, &str)> = source.lines().zip(target.lines().skip(shift)).collect();
    let path = folder.join("mine.po");
    fs::write(
        &path,
        pairs
            .chunks(2)
            .take(count)
            .map(|two: &[(&str, &str)]| {
                let [(a, b), (c, d)] = two else {
                    panic!("two pairs")
                };
                format!("msgid \"{a} {c} {a}\"\nmsgstr \"{b} {d} {b}\"\n\n")
            })
            .collect::<String>(),
    )
    .unwrap();
    path
}

fn adapt(memory: &Path, out: &Path, more: &[&str]) -> Vec<String> {
    let trained = Trained::get();
    let [source, target] = &trained.corpus.test;
    let paths = [memory, source, target, out].map(|path| path.to_str().unwrap().to_string());
    let [memory, source, target, out] = paths;
    let arguments = [
        "adapt",
        "--model",
        &trained.model(),
        "--memory",
        &memory,
        "--general",
    ];
    let rest = [&source, &target, "--out", &out];
    arguments
        .iter()
        .chain(&rest)
        .chain(more)
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_model_that_became_better_is_written_with_its_card() {
    let folder = tempfile::tempdir().unwrap();
    let memory = catalogue(folder.path(), 300, 0);
    let out = folder.path().join("new");
    let arguments = adapt(&memory, &out, &["--updates", "150", "--mix", "1"]);
    let output = run(&arguments);
    let scores = stdout(&output);
    assert!(
        scores.starts_with("memory     BLEU ") && scores.contains("\ngeneral    BLEU "),
        "{scores}"
    );
    assert!(
        stderr(&output).contains("300 messages read"),
        "{}",
        stderr(&output)
    );
    let card: Value =
        serde_json::from_str(&fs::read_to_string(out.join("adaptation.json")).unwrap()).unwrap();
    let score = |time: &str| card["scores"][0]["scores"][0][time].as_f64().unwrap();
    assert!(score("after") > score("before") + 5.0, "{card}");
    assert!(
        (40..80).contains(&card["pairs"]["held_out"].as_u64().unwrap()),
        "{card}"
    );
    assert_eq!(card["memory"][0]["sha256"].as_str().unwrap().len(), 64);
    assert!(!folder.path().join("new.work").exists());
    let model = out.to_str().unwrap();
    stdout(&run(&[
        "translate",
        "--model",
        model,
        "--input",
        memory.to_str().unwrap(),
    ]));
    let again: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(&again, 1, &["exists already, and learned from this memory"]);
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let other = adapt(&memory, &other, &[]);
    refused(
        &other.iter().map(String::as_str).collect::<Vec<_>>(),
        1,
        &["other: exists already"],
    );
    // A longer memory adapts it further, and a useless one leaves it.
    let useless = catalogue(folder.path(), 310, 1);
    let bytes = || fs::read(out.join("model.safetensors")).unwrap();
    let first = bytes();
    let arguments = adapt(&useless, &out, &["--updates", "1"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(&arguments, 1, &["new: stays as it was", "not better"]);
    assert_eq!(bytes(), first);
    let longer = catalogue(folder.path(), 900, 0);
    let output = run(&adapt(&longer, &out, &["--updates", "150", "--mix", "1"]));
    assert!(stdout(&output).starts_with("memory     BLEU "));
    let text = fs::read_to_string(out.join("adaptation.json")).unwrap();
    let next: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&next["before"]["scores"], &next["base"]),
        (&card["scores"], &card["base"])
    );
    assert_ne!((&next["model"], bytes()), (&card["model"], first));
    assert!(!folder.path().join("new.work").exists());
}

#[test]
fn a_killed_adaptation_resumes_to_the_same_weights() {
    let folder = tempfile::tempdir().unwrap();
    let memory = catalogue(folder.path(), 300, 0);
    let out = |name: &str| folder.path().join(name);
    let arguments = |name| adapt(&memory, &out(name), &["--updates", "150", "--mix", "1"]);
    stdout(&run(&arguments("whole")));
    for (signal, step) in [("-INT", 30), ("-KILL", 90)] {
        let mut child = burnformer(&arguments("killed"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let checkpoint = out(&format!("killed.work/run/checkpoints/step-{step:06}"));
        let start = Instant::now();
        while !checkpoint.exists() && start.elapsed() < Duration::from_secs(300) {
            sleep(Duration::from_millis(5));
        }
        Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap();
        assert!(!child.wait().unwrap().success() && checkpoint.exists());
        assert!(!out("killed").exists());
    }
    let output = run(&arguments("killed"));
    assert!(
        stderr(&output).contains("after update "),
        "{}",
        stderr(&output)
    );
    let weights = |name| fs::read(out(name).join("model.safetensors")).unwrap();
    assert!(output.status.success() && weights("killed") == weights("whole"));
}

#[test]
fn without_a_general_text_the_model_translates_the_sources_of_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let memory = catalogue(folder.path(), 300, 0);
    let out = folder.path().join("new");
    let mut arguments = adapt(&memory, &out, &["--updates", "150", "--mix", "1"]);
    let general = arguments.iter().position(|it| it == "--general").unwrap();
    arguments.drain(general..general + 3);
    let output = run(&arguments);
    let scores = stdout(&output);
    let notes = stderr(&output);
    assert!(scores.contains("agreement  BLEU 100.0"), "{scores}");
    assert!(notes.contains("sentences by the model itself"), "{notes}");
}

#[test]
fn impossible_values_are_refused_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let memory = catalogue(folder.path(), 100, 0);
    let out = folder.path().join("new");
    for (option, value, code, needle) in [
        ("--minutes", "nan", 2, "above 0"),
        ("--minutes", "-1", 2, "above 0"),
        ("--minutes", "0", 2, "above 0"),
        ("--minutes", "inf", 2, "above 0"),
        ("--mix", "nan", 2, "above 0"),
        ("--mix", "1e999", 2, "above 0"),
        ("--mix", "x", 2, "above 0"),
        ("--updates", "0", 2, "0"),
        ("--general", "missing.de", 1, "missing.de"),
    ] {
        let arguments = adapt(&memory, &out, &[]);
        let general = arguments.iter().position(|it| it == "--general").unwrap();
        let arguments = [&arguments[..general], &arguments[general + 3..]].concat();
        let value = format!("{option}={value}");
        let arguments: Vec<&str> = arguments
            .iter()
            .map(String::as_str)
            .chain([&*value])
            .collect();
        refused(&arguments, code, &[needle]);
        assert!(!out.exists(), "{value}");
    }
    // The other direction, of words that tell no language.
    let text = fs::read_to_string(&memory).unwrap();
    let turned = text
        .replace("msgid", "x")
        .replace("msgstr", "msgid")
        .replace("x \"", "msgstr \"");
    let turned: String = turned
        .split_inclusive("\n\n")
        .map(|message| {
            let lines: Vec<&str> = message.lines().collect();
            format!("{}\n{}\n\n", lines[1], lines[0])
        })
        .collect();
    fs::write(&memory, turned).unwrap();
    let arguments = adapt(&memory, &out, &[]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(
        &arguments,
        1,
        &["from the model's target language", "other direction"],
    );
    // The other direction of words that do, to translate by and to learn from, in every format.
    let pairs = [
        [
            "Good morning, how are you today?",
            "Guten Morgen, wie geht es dir heute?",
        ],
        [
            "The house is old and very big.",
            "Das Haus ist alt und sehr groß.",
        ],
    ];
    let of = |[before, between, after]: [&str; 3]| -> String {
        let line =
            |[english, german]: &[&str; 2]| [before, english, between, german, after].concat();
        pairs.iter().map(line).collect()
    };
    for (name, form) in [
        ("turned.tsv", ["", "\t", "\n"]),
        ("turned.csv", ["", ";", "\n"]),
        ("turned.po", ["msgid \"", "\"\nmsgstr \"", "\"\n\n"]),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, of(form)).unwrap();
        let [file, out] = [&file, &out].map(|path| path.to_str().unwrap());
        let by = |model| ["translate", "-m", model, "--memory", file];
        stdout(&run(&by("embedded:en-de")));
        let needles = [name, "into its source language (de)", "other direction"];
        refused(&by("embedded:de-en"), 1, &needles);
        refused(
            &["adapt", "-m", "embedded:de-en", "--memory", file, "-o", out],
            1,
            &needles,
        );
        fs::remove_file(file).unwrap();
    }
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(left, ["mine.po"]);
}

#[test]
fn a_memory_reuses_exact_matches_and_shows_similar_ones() {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let tmx = "<tmx version='1.4'><header srclang='de'/><body><tu><tuv xml:lang='de'><seg>eins <bpt>&lt;b></bpt>zwei \
               drei</seg></tuv><tuv xml:lang='en'><seg>From the memory</seg></tuv></tu></body></tmx>";
    fs::write(path("mine.tmx"), tmx).unwrap();
    fs::write(path("mine.tsv"), "eins zwei drei\tFrom the memory\n").unwrap();
    fs::write(path("mine.csv"), "\"eins zwei drei\";From the memory\n").unwrap();
    fs::write(
        path("in.de"),
        "eins  zwei drei\neins zwei drei vier\nneun\n",
    )
    .unwrap();
    let input = path("in.de");
    let translate = |more: &[&str]| {
        let arguments = ["translate", "--model", &model, "--input", &input];
        stdout(&run(&[&arguments, more].concat()))
    };
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let plain = translate(&[]);
    let xliff = "<xliff version='2.0' srcLang='de' trgLang='en'><file><unit><segment><source>eins <pc id='1'>zwei</pc> \
                 drei</source><target>From the memory</target></segment></unit></file></xliff>";
    fs::write(path("mine.xlf"), xliff).unwrap();
    for name in ["mine.tmx", "mine.xlf", "mine.tsv", "mine.csv"] {
        let answered = lines(&translate(&["--memory", &path(name)]));
        assert_eq!(answered[0], "From the memory", "{name}");
        assert_eq!(answered[1..], lines(&plain)[1..]);
    }
    let json = translate(&["--memory", &path("mine.tsv"), "--json", "--nbest", "2"]);
    let all: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let scores: Vec<Option<f64>> = all
        .iter()
        .map(|it| it["memory"]["score"].as_f64())
        .collect();
    assert_eq!(scores, [Some(1.0), Some(0.75), None]);
    assert_eq!(
        (&all[0]["finish"], &all[1]["finish"] == "memory"),
        (&"memory".into(), false)
    );
    let bad = path("bad.tmx");
    for text in ["eins\n", "<tmx version='1.4'></tmx>"] {
        fs::write(&bad, text).unwrap();
        let arguments = [
            "translate",
            "--model",
            &model,
            "--input",
            &input,
            "--memory",
            &bad,
        ];
        refused(
            &arguments,
            1,
            &["bad.tmx", "no ", "export the memory as TMX 1.4"],
        );
    }
    // In a document too, with its markup.
    fs::write(path("in.html"), "<p><b>eins zwei drei</b></p>").unwrap();
    let html = path("in.html");
    let arguments = [
        "translate",
        "--model",
        &model,
        "--format",
        "html",
        "--input",
        &html,
    ];
    let found = stdout(&run(
        &[&arguments[..], &["--memory", &path("mine.tsv")]].concat()
    ));
    assert!(
        found
            .replace("<b>", "")
            .replace("</b>", "")
            .contains("<p>From the memory</p>"),
        "{found}"
    );
}

#[test]
fn a_catalogue_asks_the_memory_first_and_needs_no_review_of_its_answers() {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    fs::write(
        path("old.po"),
        "msgid \"eins <b>zwei</b>. Drei!\\n\"\nmsgstr \"<i>My</i> text\"\n",
    )
    .unwrap();
    let new = "msgid \"eins <b>zwei</b>. Drei!\\n\"\nmsgstr \"\"\n\nmsgid \"vier\"\nmsgstr \"\"\n";
    fs::write(path("new.po"), new).unwrap();
    let input = path("new.po");
    let memory = path("old.po");
    let arguments = [
        "translate",
        "--model",
        &model,
        "--format",
        "po",
        "--input",
        &input,
    ];
    let found = stdout(&run(&[&arguments[..], &["--memory", &memory]].concat()));
    let expected = "msgid \"eins <b>zwei</b>. Drei!\\n\"\nmsgstr \"<i>My</i> text\\n\"\n\n#, fuzzy\nmsgid \"vier\"\n";
    assert!(found.starts_with(expected), "{found}");
}

#[test]
fn a_model_that_did_not_become_better_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let memory = catalogue(folder.path(), 100, 1);
    let out = folder.path().join("new");
    let arguments = adapt(&memory, &out, &["--updates", "1"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(
        &arguments,
        1,
        &["is not written", "not better on the pairs of the memory"],
    );
    assert!(!out.exists() && !folder.path().join("new.work").exists());
}
