//! A text in shards, each by a separate process. Together they equal the output of one process, and
//! a shard that was interrupted, repeated or made from other inputs is never mistaken for a
//! finished one.

mod commands;
mod refusals;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Trained, Untrained, assert_refused, burnformer, pairs, run, stderr, stdout};

/// A folder with a text to translate.
struct Fixture {
    folder: tempfile::TempDir,
    text: PathBuf,
}

impl Fixture {
    fn with(name: &str, text: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        Self { folder, text: path }
    }

    /// `count` lines of the toy language.
    fn of(count: usize) -> Self {
        let lines: Vec<String> = pairs(9, count)
            .into_iter()
            .map(|(source, _)| source)
            .collect();
        Self::with("text.de", (lines.join("\n") + "\n").as_bytes())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The arguments that translate the text to `out`, greedily unless `more` says otherwise.
    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let text = self.text.display().to_string();
        let out = self.path("out").display().to_string();
        let model = Trained::get().model();
        let arguments = [
            "translate",
            "--model",
            &model,
            "--input",
            &text,
            "--output",
            &out,
            "--chunk",
            "3",
        ];
        arguments
            .iter()
            .chain(more)
            .map(|argument| argument.to_string())
            .collect()
    }

    fn translate(&self, more: &[&str]) -> Output {
        run(&self.arguments(more))
    }

    /// The output of `shard`, which must succeed.
    fn shard(&self, shard: &str, more: &[&str]) -> String {
        let output = self.translate(&[&["--shard", shard], more].concat());
        assert_eq!(stdout(&output), "", "results go to the file");
        stderr(&output)
    }

    /// The outputs of `count` shards, concatenated in the order of their names. `gather` must give
    /// the same.
    fn joined(&self, count: usize) -> Vec<u8> {
        let ending = format!("-of-{count}");
        let outputs: Vec<String> = self
            .names()
            .into_iter()
            .filter(|name| name.ends_with(&ending))
            .collect();
        assert_eq!(outputs.len(), count, "{outputs:?}");
        let joined = outputs
            .iter()
            .flat_map(|name| fs::read(self.path(name)).unwrap())
            .collect();
        let whole = fs::read(self.path("out")).ok();
        stdout(&self.gather(count));
        assert!(fs::read(self.path("out")).unwrap() == joined, "gathered");
        match whole {
            Some(whole) => fs::write(self.path("out"), whole).unwrap(),
            None => fs::remove_file(self.path("out")).unwrap(),
        }
        joined
    }

    /// Joins the outputs of `count` shards.
    fn gather(&self, count: usize) -> Output {
        run(&[
            "gather",
            self.path("out").to_str().unwrap(),
            "--shards",
            &count.to_string(),
        ])
    }

    /// The names of the files, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn partials(&self) -> usize {
        self.names()
            .iter()
            .filter(|name| name.ends_with(".partial"))
            .count()
    }

    /// Starts a shard and waits until it has begun to write.
    fn start(&self, shard: &str) -> Child {
        let before = self.partials();
        let mut command = burnformer(&self.arguments(&["--shard", shard, "--beam", "4"]));
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while self.partials() == before {
            assert!(
                child.try_wait().unwrap().is_none() && Instant::now() < end,
                "never began"
            );
        }
        child
    }
}

#[test]
fn the_outputs_of_all_shards_in_order_are_the_output_of_one_process() {
    let lines: Vec<String> = pairs(5, 23).into_iter().map(|(source, _)| source).collect();
    let odd = [
        "",
        "eins zwei\r",
        "",
        "",
        "vier",
        "neun\tacht",
        "caf\u{e9}",
        "null",
    ]
    .join("\n");
    let mut latin1 = odd.clone().into_bytes();
    latin1.extend_from_slice(b"\nca\xe9f\r\nzwei");
    let table: Vec<String> = lines.iter().map(|line| format!("{line}\tright")).collect();
    let mut archive = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    archive.write_all(lines.join("\n").as_bytes()).unwrap();
    for (name, text, more) in [
        ("text.de", lines.join("\r\n").into_bytes(), &[][..]),
        (
            "mark.de",
            [b"\xef\xbb\xbf", odd.as_bytes(), b"\n"].concat(),
            &["--nbest", "2"],
        ),
        ("latin1.de", latin1, &["--json"]),
        (
            "text.tsv",
            (table.join("\n") + "\n").into_bytes(),
            &["--batch", "2"],
        ),
        ("text.de.gz", archive.finish().unwrap(), &[]),
        ("two.de", b"eins\n\n".to_vec(), &[]),
        ("none.de", Vec::new(), &[]),
    ] {
        let fixture = Fixture::with(name, &text);
        let whole = fixture.translate(more);
        assert!(whole.status.success(), "{}", stderr(&whole));
        let expected = fs::read(fixture.path("out")).unwrap();
        for count in [1, 2, 3, 7] {
            for number in (1..=count).rev() {
                fixture.shard(&format!("{number}/{count}"), more);
            }
            let joined = fixture.joined(count);
            assert!(
                joined == expected,
                "{name} in {count}: {}",
                String::from_utf8_lossy(&joined)
            );
        }
    }
}

#[test]
fn twelve_shards_sort_and_keep_prefixes_with_their_lines() {
    let fixture = Fixture::of(30);
    let prefixes: Vec<&str> = (0..30)
        .map(|line| ["", "one", "two two"][line % 3])
        .collect();
    let file = fixture.path("prefixes.en");
    fs::write(&file, prefixes.join("\n")).unwrap();
    let more = ["--prefix", file.to_str().unwrap()];
    assert!(fixture.translate(&more).status.success());
    for number in 1..=12 {
        fixture.shard(&format!("{number}/12"), &more);
    }
    assert_eq!(fixture.joined(12), fs::read(fixture.path("out")).unwrap());
    fs::write(&file, "one\n").unwrap();
    let output = fixture.translate(&[&["--shard", "1/12"][..], &more].concat());
    assert_refused(&output, 1, &["prefixes.en ends after line 1", "30 lines"]);
}

#[cfg(unix)]
#[test]
fn a_killed_shard_leaves_no_output_and_is_done_by_the_next_process() {
    let fixture = Fixture::of(3000);
    let mut child = fixture.start("1/2");
    child.kill().unwrap();
    assert_eq!(
        child.wait().unwrap().code(),
        None,
        "it was killed before its end"
    );
    assert_eq!(fixture.partials(), 1, "SIGKILL leaves what was written");
    assert!(!fixture.path("out.1-of-2").exists());
    let mut child = fixture.start("2/2");
    let terminate = format!("kill -TERM {}", child.id());
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &terminate])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(
        fixture
            .names()
            .iter()
            .filter(|name| name.starts_with(".out.2"))
            .count(),
        0
    );
    for shard in ["1/2", "2/2"] {
        fixture.shard(shard, &["--beam", "4"]);
    }
    let left = [
        ".out.1-of-2.stamp",
        ".out.2-of-2.stamp",
        "out.1-of-2",
        "out.2-of-2",
        "text.de",
    ];
    assert_eq!(fixture.names(), left);
    let joined = fixture.joined(2);
    assert!(fixture.translate(&["--beam", "4"]).status.success());
    assert!(joined == fs::read(fixture.path("out")).unwrap());
}

#[test]
fn two_processes_with_the_same_shard_do_not_interfere() {
    let fixture = Fixture::of(900);
    let children = [fixture.start("1/1"), fixture.start("1/1")];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(
        fixture.names(),
        [".out.1-of-1.stamp", "out.1-of-1", "text.de"]
    );
    let joined = fixture.joined(1);
    assert!(fixture.translate(&["--beam", "4"]).status.success());
    assert!(joined == fs::read(fixture.path("out")).unwrap());
}

#[test]
fn a_finished_shard_is_skipped_and_one_of_other_text_model_or_options_is_not() {
    let fixture = Fixture::of(20);
    let read = |shard: &str| fs::read(fixture.path(&format!("out.{shard}-of-2"))).unwrap();
    let skipped =
        |shard: &str, more: &[&str]| fixture.shard(shard, more).contains("is done already");
    for shard in ["1/2", "2/2"] {
        assert!(!skipped(shard, &[]), "there is none yet");
        assert!(skipped(shard, &[]));
    }
    assert_eq!(fixture.shard("1/2", &["--quiet"]), "");
    let first = read("1");
    let second = read("2");
    let text = fs::read_to_string(&fixture.text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[15] = "null null null";
    fs::write(&fixture.text, lines.join("\n")).unwrap();
    assert!(skipped("1/2", &[]), "its lines are the same");
    assert!(
        fixture
            .shard("2/2", &[])
            .contains("out.2-of-2: is done again: made from another text")
    );
    assert!(read("1") == first && read("2") != second);

    let again = |more: &[&str], why: &str| {
        let said = fixture.shard("1/2", more);
        assert!(
            said.contains(&format!("is done again: {why}")),
            "{why}: {said}"
        );
        assert!(skipped("1/2", more));
    };
    again(&["--beam", "1"], "made from another model or option");
    again(
        &["--beam", "1", "--json"],
        "made from another model or option",
    );
    again(
        &[
            "--beam",
            "1",
            "--model",
            &Untrained::get().model().display().to_string(),
        ],
        "made from",
    );
    again(&["--batch", "1"], "made from another model or option");
    again(&[], "made from another model or option");
    assert_eq!(read("1"), first);
    fs::write(fixture.path("out.1-of-2"), "cut").unwrap();
    again(&[], "the file itself has changed");
    fs::remove_file(fixture.path(".out.1-of-2.stamp")).unwrap();
    again(
        &[],
        "the file that says what it was made from is missing or damaged",
    );
    fs::write(fixture.path(".out.1-of-2.stamp"), "{\"made from\":").unwrap();
    again(
        &[],
        "the file that says what it was made from is missing or damaged",
    );
    assert_eq!(read("1"), first);

    // A failure in the middle leaves nothing behind.
    let prefixes = fixture.path("prefixes");
    fs::write(&prefixes, "one\none\n").unwrap();
    let more = [
        "--shard",
        "1/1",
        "--prefix",
        &prefixes.display().to_string(),
    ];
    assert_refused(&fixture.translate(&more), 1, &["line"]);
    assert!(
        fixture
            .names()
            .iter()
            .all(|name| !name.ends_with(".partial")),
        "{:?}",
        fixture.names()
    );
}
