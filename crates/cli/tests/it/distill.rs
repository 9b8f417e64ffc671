//! `distill`, and a student that learns from what it writes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Trained, refused, run, stderr, stdout, train_arguments};
use serde_json::Value;

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The command line for the teacher of all tests, with further arguments.
fn distill(out: &Path, more: &[&str]) -> Vec<String> {
    let trained = Trained::get();
    let model = trained.model();
    let source = path(&trained.corpus.train[0]);
    let arguments = [
        "distill",
        "--model",
        &model,
        "--source",
        source,
        "--out",
        path(out),
    ];
    arguments
        .iter()
        .chain(more)
        .map(ToString::to_string)
        .collect()
}

fn file(name: &str) -> PathBuf {
    Trained::get().folder.path().join(name)
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(ToString::to_string)
        .collect()
}

/// The BLEU of the model in `folder` on the toy's test text.
fn bleu(folder: &Path) -> f64 {
    let [source, reference] = &Trained::get().corpus.test;
    let model = path(folder);
    let arguments = [
        "eval-bleu",
        "--model",
        model,
        "--source",
        path(source),
        "--reference",
        path(reference),
        "--json",
    ];
    serde_json::from_str::<Value>(&stdout(&run(&arguments))).unwrap()["score"]
        .as_f64()
        .unwrap()
}

/// The two commands of the guide's "a small, fast student".
#[test]
fn a_student_with_half_the_width_learns_from_the_teachers_translations() {
    let trained = Trained::get();
    let out = file("student.tsv");
    let output = run(&distill(&out, &["--beam", "2"]));
    assert_eq!(stdout(&output), "");
    assert!(
        stderr(&output).contains("student.tsv: 2000 of 2000 pairs"),
        "{}",
        stderr(&output)
    );
    // The lines of the source in order, each with the output of `translate`.
    let pairs = lines(&out);
    let (sources, translations): (Vec<_>, Vec<_>) = pairs
        .iter()
        .map(|pair| pair.split_once('\t').unwrap())
        .unzip();
    assert_eq!(sources, lines(&trained.corpus.train[0]));
    let model = trained.model();
    let input = path(&trained.corpus.train[0]);
    let same = run(&[
        "translate",
        "--model",
        &model,
        "--input",
        input,
        "--beam",
        "2",
    ]);
    assert_eq!(translations, stdout(&same).lines().collect::<Vec<_>>());
    assert!(!file("student.tsv.work").exists());

    let mut arguments = train_arguments(trained.folder.path(), &trained.corpus, "student", &[]);
    let train = arguments
        .iter()
        .position(|argument| argument == "--train")
        .unwrap();
    arguments.splice(train + 1..train + 3, [path(&out).to_string()]);
    let smaller = ["model.d_model=32", "model.d_ff=64", "schedule.factor=0.7"];
    arguments.extend(
        smaller
            .iter()
            .flat_map(|it| ["--set".to_string(), it.to_string()]),
    );
    stdout(&run(&arguments));
    let [teacher, student] = ["run", "student"].map(|run| bleu(&file(run).join("best")));
    assert!(student > 60.0 && teacher > 80.0, "{student} {teacher}");
}

#[test]
fn the_candidate_closest_to_the_reference_is_taken() {
    let trained = Trained::get();
    // The references are translations of other sentences: the best candidate is seldom the first.
    let [source, reference] = ["swapped.de", "swapped.en"].map(file);
    let sources = &lines(&trained.corpus.train[0])[..40];
    let references = &lines(&trained.corpus.train[1])[1..41];
    fs::write(&source, sources.join("\n") + "\n").unwrap();
    fs::write(&reference, references.join("\n") + "\n").unwrap();
    let model = trained.model();
    let out = file("chosen.tsv");
    let search = ["--model", &model, "--beam", "6", "--nbest", "6"];
    let mut arguments = vec![
        "distill",
        "--source",
        path(&source),
        "--reference",
        path(&reference),
    ];
    arguments.extend(["--out", path(&out)].iter().chain(&search));
    stdout(&run(&arguments));
    let translate = ["translate", "--input", path(&source), "--json"];
    let candidates = stdout(&run(&[&translate[..], &search[..]].concat()));
    let bleu = burnformer_metrics::Bleu {
        effective_order: true,
        ..Default::default()
    };
    let mut others = 0;
    for (i, (pair, candidates)) in lines(&out).iter().zip(candidates.lines()).enumerate() {
        let candidates: Value = serde_json::from_str(candidates).unwrap();
        let ended = candidates["n_best"].as_array().unwrap().iter();
        let ended = ended.filter(|it| it["finish"] == "end-of-sentence");
        let texts: Vec<&str> = ended
            .map(|it| it["translation"].as_str().unwrap())
            .collect();
        let score = |text: &str| {
            bleu.corpus_score(&[text], &[vec![&references[i]]])
                .unwrap()
                .score
        };
        let most = texts.iter().map(|text| score(text)).fold(0.0, f64::max);
        let (sentence, chosen) = pair.split_once('\t').unwrap();
        assert_eq!(sentence, sources[i]);
        assert!(
            texts.contains(&chosen) && score(chosen) == most,
            "{pair}: {texts:?}"
        );
        others += usize::from(chosen != texts[0]);
    }
    assert!(others > 5, "{others} of 40 are not the first");
}

#[test]
fn interrupted_work_resumes_where_it_stopped_with_the_same_options_only() {
    let whole = file("whole.tsv");
    let again = file("again.tsv");
    // An unreadable line ends the work in the middle of the third chunk.
    let source = file("few.de");
    let first = lines(&Trained::get().corpus.train[0])[..9].join("\n");
    fs::write(&source, first.clone() + "\n\nnull\tneun\n").unwrap();
    let arguments = |out: &Path, more: &[&str]| {
        let mut arguments = distill(out, more);
        let at = arguments.iter().position(|it| it == "--source").unwrap();
        arguments[at + 1] = path(&source).to_string();
        arguments
    };
    let said = run(&arguments(&whole, &["--chunk", "4"]));
    stdout(&said);
    assert!(
        stderr(&said).contains("10 of 11 pairs; 1 left out"),
        "{}",
        stderr(&said)
    );
    assert!(
        lines(&whole)[9].starts_with("null neun\t"),
        "{:?}",
        lines(&whole)
    );

    let bytes = [first.as_bytes(), b"\n\nbad \xff\n"].concat();
    let good = fs::read(&source).unwrap();
    fs::write(&source, bytes).unwrap();
    let failed = run(&arguments(&again, &["--chunk", "4"]));
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("few.de:11"), "{}", stderr(&failed));
    assert!(!again.exists());
    let work = file("again.tsv.work");
    assert_eq!(lines(&work).len(), 11);
    // The file ends as if the power failed while its last lines were written.
    let mut half = fs::read(&work).unwrap();
    half.truncate(half.len() - 20);
    half.extend(b"\0\0\0\n");
    fs::write(&work, half).unwrap();
    fs::write(&source, good).unwrap();
    let all: Vec<String> = arguments(&again, &["--beam", "1"]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    refused(
        &all,
        1,
        &["again.tsv.work: holds the work of another teacher or other options"],
    );
    let said = run(&arguments(&again, &[]));
    stdout(&said);
    let whole_already: Vec<String> = arguments(&again, &[]);
    let whole_already: Vec<&str> = whole_already.iter().map(String::as_str).collect();
    refused(
        &whole_already,
        1,
        &["again.tsv: exists already; choose another --out"],
    );
    assert!(
        stderr(&said).contains("going on after the first"),
        "{}",
        stderr(&said)
    );
    assert_eq!(lines(&again), lines(&whole));
    assert!(!work.exists());
}

#[test]
fn work_with_a_reference_resumes_only_with_that_reference() {
    let [source, reference, other, out] = ["of.de", "of.en", "other.en", "of.tsv"].map(file);
    let corpus = &Trained::get().corpus.train;
    let ([sources, mut references], bad) = (
        corpus.each_ref().map(|it| lines(it)[..9].to_vec()),
        b"bad \xff\n",
    );
    let all = |lines: &[String]| lines.join("\n") + "\n";
    // A line that cannot be read ends the work after the first chunks.
    fs::write(&source, [all(&sources).as_bytes(), bad].concat()).unwrap();
    fs::write(&reference, all(&references) + "ten\n").unwrap();
    references[2] = "another".into();
    fs::write(&other, all(&references) + "ten\n").unwrap();
    let model = Trained::get().model();
    let with = |reference| {
        [
            "distill",
            "--model",
            &model,
            "--source",
            path(&source),
            "--out",
            path(&out),
            "--nbest",
            "3",
            "--chunk",
            "4",
            "--reference",
            path(reference),
        ]
        .map(String::from)
    };
    assert_eq!(run(&with(&reference)).status.code(), Some(1));
    fs::write(&source, all(&sources) + "null neun\n").unwrap();
    refused(
        &with(&other).each_ref().map(String::as_str),
        1,
        &["of.tsv.work: holds the work of other text: line 3 differs"],
    );
    let said = run(&with(&reference));
    stdout(&said);
    assert!(
        stderr(&said).contains("going on after the first 9 lines"),
        "{}",
        stderr(&said)
    );
    let pairs = lines(&out);
    assert_eq!(pairs.len(), 10);
    assert!(
        pairs.iter().all(|pair| pair.matches('\t').count() == 1),
        "{pairs:?}"
    );
}

#[test]
fn wrong_options_and_text_without_a_translation_are_refused() {
    let model = Trained::get().model();
    let out = file("none.tsv");
    let empty = file("empty.de");
    fs::write(&empty, "\n\n").unwrap();
    let base = [
        "distill",
        "--model",
        &model,
        "--source",
        path(&empty),
        "--out",
        path(&out),
    ];
    let with = |more: &[&'static str]| [&base[..], more].concat();
    refused(
        &with(&[]),
        1,
        &["none.tsv", "no sentence has a translation of use"],
    );
    refused(&with(&["--nbest", "4"]), 2, &["--reference"]);
    refused(&with(&["--reference", "x"]), 2, &["--nbest"]);
    let unknown = [
        "distill",
        "--model",
        &model,
        "--source",
        "embedded:x",
        "--out",
        "y",
    ];
    refused(&unknown, 2, &["embedded:tatoeba-de-en/train.de"]);
}
