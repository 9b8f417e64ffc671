//! Texts that come through pipes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Home, settings};
use crate::common;
use crate::common::{assert_refused, pairs, run_with, stderr, stdout, write_pairs};

#[test]
fn text_that_came_through_pipes_belongs_to_the_run() {
    let home = Home::new();
    let train = write_pairs(home.folder.path(), "train", &pairs(1, 300));
    let valid = write_pairs(home.folder.path(), "valid", &pairs(2, 20));
    let line = "exec \"$0\" train --train <(cat train.de) <(gzip -c train.en) \
                --valid <(cat valid.de) valid.fifo --out run \"$@\"";
    assert!(
        Command::new("mkfifo")
            .arg(home.path("valid.fifo"))
            .status()
            .unwrap()
            .success()
    );
    let writer = Command::new("sh")
        .args(["-c", "cat valid.en > valid.fifo"])
        .current_dir(home.folder.path())
        .spawn();
    let output = home.shell(line, &settings(&[]));
    writer.unwrap().wait().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("300 pairs read"),
        "{}",
        stderr(&output)
    );
    let corpus = home.path("run/corpus");
    for (name, file) in [
        ("train.source", &train[0]),
        ("valid.source", &valid[0]),
        ("valid.target", &valid[1]),
    ] {
        assert_eq!(
            fs::read(corpus.join(name)).unwrap(),
            fs::read(file).unwrap(),
            "{name}"
        );
    }
    assert_eq!(fs::read_dir(&corpus).unwrap().count(), 4);
    let left = fs::read_dir(home.cache().join("burnformer")).unwrap();
    let names: Vec<_> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().all(|name| !name.starts_with("piped")),
        "{names:?}"
    );
    for file in train.iter().chain(&valid) {
        fs::remove_file(file).unwrap();
    }
    home.assert_it_can_move("run");
}

#[test]
fn a_bad_pipe_is_named_as_the_user_named_it_and_leaves_nothing() {
    let home = Home::new();
    let out = home.path("run");
    let [out, cache] = [&out, &home.cache()].map(|path| path.display().to_string());
    let mut arguments = vec!["train".to_string(), "--out".into(), out.clone()];
    arguments.extend(
        ["--train", "-", "--set"]
            .map(String::from)
            .into_iter()
            .chain([format!("data.cache={cache}")]),
    );
    for (text, needle) in [
        (&b""[..], "standard input: the file is empty"),
        (b"eins\tone\nzwei\n", "standard input:2: 1 column where"),
        (
            b"eins\tone\ncaf\xe9\tcoffee\n",
            "standard input:2: byte 0xe9",
        ),
    ] {
        assert_refused(&run_with(&arguments, text), 1, &[needle]);
        assert!(!Path::new(&out).exists(), "a run that never began");
        let left = fs::read_dir(&cache)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(
            left.collect::<Vec<_>>(),
            [".burnformer.lock"],
            "no text is left in the cache"
        );
    }
}

#[test]
fn a_text_of_the_users_is_not_overwritten_by_one_from_a_pipe() {
    let home = Home::new();
    fs::create_dir_all(home.path("run/corpus")).unwrap();
    fs::write(home.path("run/corpus/train.tsv"), "precious").unwrap();
    let mut command = home.train(&settings(&["--train", "-", "--out", "run"]));
    let output = common::feed(&mut command, b"eins\tone\n");
    assert_refused(
        &output,
        1,
        &["corpus/train.tsv, which training would overwrite", "--out"],
    );
    assert_eq!(
        fs::read_to_string(home.path("run/corpus/train.tsv")).unwrap(),
        "precious"
    );
}

#[test]
fn a_dry_run_names_what_a_pipe_will_become_and_reads_nothing() {
    let home = Home::new();
    // Whoever opened this to read it would wait for a writer.
    assert!(
        Command::new("mkfifo")
            .arg(home.path("silent"))
            .status()
            .unwrap()
            .success()
    );
    let line = "exec timeout 100 \"$0\" train --dry-run --train silent - \"$@\"";
    let output = home.shell(line, &[]);
    let text = stdout(&output);
    assert!(
        text.contains("run:corpus/train.source") && text.contains("run:corpus/train.target"),
        "{text}"
    );
    let text = stdout(
        &home
            .train(&["--dry-run", "--preset", "tiny"])
            .output()
            .unwrap(),
    );
    assert!(text.contains("embedded:tatoeba-de-en/train.de"), "{text}");
}

/// The temporary files in the cache.
fn temporaries(home: &Home) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home.cache().join("burnformer")) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|kind| kind == "temporary"))
        .collect()
}

#[test]
fn leftovers_of_a_kill_while_a_pipe_is_read_are_removed_by_the_next_run() {
    use std::io::Write;
    let home = Home::new();
    fs::write(home.path("train.tsv"), "eins zwei\tone two\n".repeat(100)).unwrap();
    let reading = || {
        let before = temporaries(&home);
        let mut command = home.train(&settings(&["--train", "-", "--out", "piped"]));
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"secret\tsecret\n")
            .unwrap();
        let start = std::time::Instant::now();
        while !temporaries(&home)
            .iter()
            .any(|path: &PathBuf| !before.contains(path) && path.metadata().unwrap().len() > 0)
        {
            assert!(start.elapsed().as_secs() < 60, "the pipe is not read");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child
    };
    let [mut killed, mut alive] = [reading(), reading()];
    killed.kill().unwrap();
    killed.wait().unwrap();
    let train = || {
        stdout(
            &home
                .train(&settings(&["--train", "train.tsv"]))
                .output()
                .unwrap(),
        )
    };
    train();
    assert_eq!(
        temporaries(&home).len(),
        2,
        "another process still reads into the same folder"
    );
    drop(alive.stdin.take());
    alive.wait().unwrap();
    fs::remove_dir_all(home.path("runs")).unwrap();
    train();
    assert_eq!(temporaries(&home), Vec::<PathBuf>::new());
}
