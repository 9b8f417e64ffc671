//! `train` with models that translate its training text before it begins.

mod common;

use std::fs;
use std::path::Path;

use common::{Corpus, assert_refused, run, stderr, stdout, train_arguments};

/// A run of a few updates, whose models for diversification make more.
fn arguments(folder: &Path, corpus: &Corpus, out: &str, more: &[&str]) -> Vec<String> {
    let own = [
        "diversification.models=1",
        "diversification.settings=[\"training.max_updates=60\", \"model.d_ff=64\"]",
        "training.max_updates=20",
        "validation.every=20",
    ];
    let own: Vec<&str> = own.iter().flat_map(|setting| ["--set", setting]).collect();
    train_arguments(folder, corpus, out, &[&own[..], more].concat())
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(ToString::to_string).collect()
}

#[test]
fn a_run_learns_from_its_text_translated_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::write(folder.path());
    let output = run(&arguments(folder.path(), &corpus, "run", &[]));
    stdout(&output);
    let said = stderr(&output);
    for part in ["training forward-1", "backward-1 translates", "forward-1.tsv: "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let own = folder.path().join("run/diversification");
    // Each pair holds a line of the corpus on the side that was translated.
    let [sources, targets] = &corpus.train;
    let (sources, targets) = (lines(sources), lines(targets));
    let columns = |name: &str| -> (Vec<String>, Vec<String>) {
        let pairs = lines(&own.join(name)).into_iter();
        pairs.map(|pair| pair.split_once('\t').map(|(a, b)| (a.into(), b.into())).unwrap()).unzip()
    };
    let (forward, backward) = (columns("forward-1.tsv"), columns("backward-1.tsv"));
    assert!(forward.0.len() > 100 && backward.0.len() > 100, "{said}");
    assert!(forward.0.iter().all(|source| sources.contains(source)));
    assert!(backward.1.iter().all(|target| targets.contains(target)));
    // The models have the sizes of their own settings, and the run learns from the three texts.
    let config = |path: &str| fs::read_to_string(own.join(path)).unwrap();
    assert!(config("forward-1/config.toml").contains("d_ff = 64"));
    assert!(config("config.toml").contains("d_ff = 128"));
    let whole = config("../config.toml");
    for name in ["run:diversification/forward-1.tsv", "run:diversification/backward-1.tsv"] {
        assert!(whole.contains(name), "{whole}");
    }
    // A run repeated from its configuration takes the texts as they are.
    let repeated = folder.path().join("repeated").display().to_string();
    let config = folder.path().join("run/config.toml").display().to_string();
    let output = run(&["train", "--config", &config, "--out", &repeated]);
    stdout(&output);
    assert!(!stderr(&output).contains("diversification:"), "{}", stderr(&output));
    let weights =
        |run: &str| fs::read(folder.path().join(run).join("last/model.safetensors")).unwrap();
    assert_eq!(weights("run"), weights("repeated"));
}

#[test]
fn a_run_stopped_while_its_models_were_at_work_goes_on_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::write(folder.path());
    stdout(&run(&arguments(folder.path(), &corpus, "whole", &[])));
    stdout(&run(&arguments(folder.path(), &corpus, "parts", &[])));
    // As if it had been killed while the second model was trained: nothing of the run itself is there.
    let parts = folder.path().join("parts");
    for entry in fs::read_dir(&parts).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            _ if path.ends_with("diversification") => {}
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }
    let second = parts.join("diversification/backward-1");
    fs::remove_file(second.join("finished.json")).unwrap();
    fs::remove_file(parts.join("diversification/backward-1.tsv")).unwrap();
    fs::remove_dir_all(second.join("checkpoints/step-000060")).unwrap();
    let resume = ["train", "--resume", "--out", &parts.display().to_string()];
    // Not with another text in the place of its own, and not with other settings.
    let text = fs::read(&corpus.train[0]).unwrap();
    fs::write(&corpus.train[0], [&b"null\n"[..], &text].concat()).unwrap();
    fs::write(&corpus.train[1], [&b"zero\n"[..], &fs::read(&corpus.train[1]).unwrap()].concat())
        .unwrap();
    assert_refused(&run(&resume), 1, &["train.source", "data.train"]);
    fs::write(&corpus.train[0], &text).unwrap();
    let target = fs::read(&corpus.train[1]).unwrap();
    fs::write(&corpus.train[1], &target[5..]).unwrap();
    let other = arguments(folder.path(), &corpus, "parts", &["--set", "training.seed=5"]);
    assert_refused(&run(&other), 1, &["diversification", "another configuration"]);
    let output = run(&resume);
    stdout(&output);
    let said = stderr(&output);
    assert!(!said.contains("training forward-1") && said.contains("training backward-1"), "{said}");
    assert!(said.contains("resumed after update 40"), "{said}");
    let weights =
        |run: &str| fs::read(folder.path().join(run).join("last/model.safetensors")).unwrap();
    assert_eq!(weights("parts"), weights("whole"));
}
