//! Shards of other commands than `translate`.

use std::fs;
use std::path::Path;

use super::Fixture;
use crate::common::{Trained, assert_refused, burnformer, pairs, run, stderr, stdout};

#[test]
fn scores_come_in_shards_too() {
    let (Trained { corpus, .. }, folder) = (Trained::get(), tempfile::tempdir().unwrap());
    // Three chunks.
    let [source, target] = corpus.test.each_ref().map(|path| {
        let repeated = folder.path().join(path.file_name().unwrap());
        fs::write(&repeated, fs::read_to_string(path).unwrap().repeat(100)).unwrap();
        repeated.display().to_string()
    });
    let model = Trained::get().model();
    let out = folder.path().join("scores");
    let score = |target: &Path, more: &[&str]| {
        let mut command = burnformer(&["score", "--model", &model, "--source", &source]);
        command
            .arg("--target")
            .arg(target)
            .args(more)
            .output()
            .unwrap()
    };
    let to_file = ["--output", out.to_str().unwrap()];
    let expected = stdout(&score(target.as_ref(), &[]));
    let mut joined = String::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let sharded = [&to_file[..], &["--shard", shard]].concat();
        assert_eq!(stdout(&score(target.as_ref(), &sharded)), "");
        let path = folder
            .path()
            .join(format!("scores.{}", shard.replace('/', "-of-")));
        joined += &fs::read_to_string(path).unwrap();
        let again = stderr(&score(target.as_ref(), &sharded));
        assert!(again.contains("is done already"), "{again}");
    }
    assert_eq!(joined, expected);
    assert_eq!(stdout(&score(target.as_ref(), &to_file)), "");
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    let longer = folder.path().join("longer.en");
    fs::write(&longer, fs::read_to_string(&target).unwrap() + "one\n").unwrap();
    let output = score(&longer, &[&to_file[..], &["--shard", "1/3"]].concat());
    assert_refused(
        &output,
        1,
        &["ends after line 5000", "longer.en has 5001 lines"],
    );
}

#[test]
fn distillation_has_shards_and_a_killed_shard_resumes() {
    let fixture = Fixture::with("text.de", b"");
    let mut lines: Vec<String> = pairs(9, 40).into_iter().map(|(source, _)| source).collect();
    lines.splice(3..9, std::iter::repeat_n(String::new(), 6));
    fs::write(&fixture.text, lines.join("\n")).unwrap();
    let references = fixture.path("references.en");
    fs::write(&references, "one\n".repeat(lines.len())).unwrap();
    let [text, references] = [&fixture.text, &references].map(|path| path.to_str().unwrap());
    let out = fixture.path("out");
    let model = Trained::get().model();
    let distill = |more: &[&str]| {
        let arguments = [
            "distill",
            "--model",
            &model,
            "--source",
            text,
            "--out",
            out.to_str().unwrap(),
        ];
        run(&[&arguments[..], &["--chunk", "3"], more].concat())
    };
    for more in [&[][..], &["--reference", references, "--nbest", "3"]] {
        stdout(&distill(more));
        let expected = fs::read(&out).unwrap();
        fs::remove_file(&out).unwrap();
        for count in [3, 20] {
            for number in 1..=count {
                let number = format!("{number}/{count}");
                let shard = [&["--shard", &number][..], more].concat();
                stdout(&distill(&shard));
                assert!(stderr(&distill(&shard)).contains("is done already"));
            }
            assert!(fixture.joined(count) == expected, "{count}: {more:?}");
        }
    }
    // The second of three shards, killed after its first chunk, and at its end before its journal
    // was removed.
    let done = fs::read_to_string(fixture.path("out.2-of-3")).unwrap();
    let more = ["--shard", "2/3"];
    stdout(&distill(&more));
    let journal = fixture.path("out.2-of-3.work");
    fs::write(&journal, "").unwrap();
    assert!(stderr(&distill(&more)).contains("is done already"));
    fs::remove_file(fixture.path(".out.2-of-3.stamp")).unwrap();
    let lock = fs::File::open(&journal).unwrap();
    lock.lock().unwrap();
    assert_refused(
        &distill(&more),
        1,
        &["out.2-of-3.work: another process is at work on it"],
    );
    drop(lock);
    stdout(&distill(&more));
    assert!(!journal.exists() && done.lines().count() > 9);
}
