//! Faults of the disk, the machine and the user: each is named, and earlier work is whole.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Toy, burnformer, stderr, stdout};

fn toy() -> Toy {
    let short = [
        "--set",
        "training.max_updates=60",
        "--set",
        "checkpoints.every=10",
    ];
    Toy {
        settings: short.to_vec(),
        ..Toy::new()
    }
}

impl Toy {
    /// Runs in the background until the folder of the checkpoint `step` is there.
    fn started(&self, out: &str, more: &[&str], step: u32) -> std::process::Child {
        let mut command = burnformer(&self.arguments(out, more));
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let path = self.path(&format!("{out}/checkpoints/step-{step:06}"));
        let end = Instant::now() + Duration::from_secs(60);
        while !path.exists() {
            assert!(
                Instant::now() < end,
                "no {} within a minute",
                path.display()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        child
    }
}

fn refused(output: &Output, expected: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    expected
        .iter()
        .for_each(|text| assert!(said.contains(text), "no {text:?} in: {said}"));
}

#[test]
fn a_folder_takes_one_process_at_a_time() {
    let toy = toy();
    let long = ["--set", "training.max_updates=100000"];
    let mut first = toy.started("run", &long, 10);
    let second = toy.train("run", &["--resume"]);
    refused(
        &second,
        &["another process", &format!("({})", first.id()), "--out"],
    );
    first.kill().unwrap();
    first.wait().unwrap();
    stdout(&toy.train("run", &["--resume", "--set", "training.max_updates=100"]));
}

#[test]
fn a_run_resumes_only_with_its_corpus_tokeniser_and_settings() {
    let toy = toy();
    stdout(&toy.train("run", &[]));
    let resumed = |more: &[&str]| {
        let longer = ["--resume", "--set", "training.max_updates=70"];
        toy.train("run", &[&longer[..], more].concat())
    };
    refused(
        &resumed(&["--set", "model.d_ff=64"]),
        &["model.d_ff was 128 and is 64", "--out"],
    );
    refused(
        &resumed(&["--set", "training.seed=9"]),
        &["training.seed was 1 and is 9"],
    );
    let vocabulary = resumed(&["--set", "tokenizer.train.vocab_size=300"]);
    refused(
        &vocabulary,
        &[
            "the tokeniser",
            "tokenizer.train.vocab_size was 320 and is 300",
        ],
    );
    let text = fs::read_to_string(&toy.corpus.train[0]).unwrap();
    fs::write(&toy.corpus.train[0], text.replacen("eins", "zwei", 1)).unwrap();
    refused(
        &resumed(&[]),
        &["the training text (data.train)", "the files changed"],
    );
    fs::write(&toy.corpus.train[0], text).unwrap();
    let fine = resumed(&["--set", "schedule.factor=0.5"]);
    stdout(&fine);
    let said = stderr(&fine);
    for expected in [
        "changed since: schedule.factor was 1.0 and is 0.5",
        "resumed after update 60: parameters, 60 steps of the optimiser, seed 1, epoch ",
    ] {
        assert!(said.contains(expected), "no {expected:?} in: {said}");
    }
}

#[test]
fn a_removed_corpus_is_named_and_the_run_left_as_it_is() {
    let toy = toy();
    stdout(&toy.train("run", &[]));
    let before = toy.weights("run", 60);
    fs::rename(&toy.corpus.train[1], toy.path("elsewhere")).unwrap();
    let more = ["--resume", "--set", "training.max_updates=70"];
    refused(&toy.train("run", &more), &["train.en: no such file"]);
    assert!(toy.weights("run", 60) == before);
    fs::rename(toy.path("elsewhere"), &toy.corpus.train[1]).unwrap();
    stdout(&toy.train("run", &more));
}

#[test]
fn a_vanished_folder_ends_the_run_and_is_not_made_again() {
    let toy = toy();
    let child = toy.started("run", &["--set", "training.max_updates=100000"], 10);
    fs::rename(toy.path("run"), toy.path("moved")).unwrap();
    let output = child.wait_with_output().unwrap();
    refused(
        &output,
        &["run/", "No such file or directory", "put it back"],
    );
    assert!(!toy.path("run").exists());
    fs::rename(toy.path("moved"), toy.path("run")).unwrap();
    stdout(&toy.train("run", &["--resume", "--set", "training.max_updates=100"]));
}

#[test]
fn a_run_that_diverges_for_good_says_what_to_lower() {
    let toy = toy();
    let wild = [
        "--set",
        "schedule.factor=1e25",
        "--set",
        "recovery.rollbacks=2",
    ];
    let output = toy.train("run", &wild);
    let last = "diverged again after going back 2 times, with the learning rate lowered to 0.25";
    let resume = format!("continue with --out {} --resume", toy.path("run").display());
    refused(
        &output,
        &[
            last,
            "lower schedule.factor",
            "optimizer.clip_norm",
            &resume,
        ],
    );
    let metrics = fs::read_to_string(toy.path("run/metrics.jsonl")).unwrap();
    let count = |answer: &str| metrics.matches(&format!("\"answer\":\"{answer}\"")).count();
    assert_eq!(
        (count("skip"), count("roll-back"), count("stop")),
        (15, 2, 1),
        "{metrics}"
    );
    let log = fs::read_to_string(toy.path("run/train.log")).unwrap();
    assert!(
        log.contains("update skipped") && log.contains("back to update 0"),
        "{log}"
    );
}

#[test]
fn memory_is_checked_before_it_is_used_and_the_setting_to_lower_named() {
    let toy = toy();
    let wide = ["--set", "training.budget=4096"];
    let little = toy.train("run", &[&wide[..], &["--max-memory", "0.02"]].concat());
    refused(
        &little,
        &[
            "worst batch needs about",
            "0.02 GB",
            "lower training.budget, now 4096",
        ],
    );
    assert!(!toy.path("run/config.toml").exists(), "nothing began");
    let less = toy.train("run", &["--max-memory", "0.012"]);
    refused(&less, &["the process holds", "lower "]);
    let enough = toy.train(
        "run",
        &["--max-memory", "16", "--set", "training.max_updates=2"],
    );
    stdout(&enough);
    assert!(
        stderr(&enough).contains("GB after the worst batch"),
        "{}",
        stderr(&enough)
    );
}

/// A small file system in memory; `None` where this user may not mount one.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(path: &'a Path, options: &str) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", options, "tmpfs"], path);
        if !mounted {
            eprintln!("skipped: no right to mount a file system here");
        }
        mounted.then_some(Self(path))
    }

    fn remount(&self, options: &str) {
        assert!(mount(&["-o", &format!("remount,{options}")], self.0));
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn mount(arguments: &[&str], path: &Path) -> bool {
    let mut command = Command::new("mount");
    let status = command
        .args(arguments)
        .arg(path)
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_run_stopped_by_a_full_disk_resumes_without_a_trace() {
    let toy = toy();
    let small = toy.path("small");
    let Some(disk) = Disk::mount(&small, "size=4m") else {
        return;
    };
    let all = ["--set", "checkpoints.keep=0"];
    stdout(&toy.train("whole", &all));
    let full = toy.train("small/run", &all);
    refused(&full, &["No space left on device", "free", "small/run"]);
    let checkpoints = fs::read_dir(small.join("run/checkpoints")).unwrap();
    let names: Vec<_> = checkpoints
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.len() > 1 && names.iter().all(|name| !name.ends_with(".partial")),
        "{names:?}"
    );
    disk.remount("size=64m");
    let resumed = toy.train("small/run", &[&all[..], &["--resume"]].concat());
    stdout(&resumed);
    assert!(
        !stderr(&resumed).contains("damaged"),
        "{}",
        stderr(&resumed)
    );
    for step in [10, 20, 30, 40, 50, 60] {
        assert!(
            toy.weights("whole", step) == toy.weights("small/run", step),
            "{step}"
        );
    }
}

#[test]
fn a_read_only_folder_is_named() {
    let toy = toy();
    let mount_point = toy.path("place");
    let Some(disk) = Disk::mount(&mount_point, "size=64m") else {
        return;
    };
    stdout(&toy.train("place/run", &[]));
    disk.remount("ro");
    let more = ["--resume", "--set", "training.max_updates=70"];
    refused(
        &toy.train("place/run", &more),
        &["place/run", "Read-only file system", "writable"],
    );
    refused(
        &toy.train("place/other", &[]),
        &["place/other", "Read-only file system", "writable"],
    );
    disk.remount("rw");
    stdout(&toy.train("place/run", &more));
}
