//! Shards that do not exist or do not belong together.

use std::fs;

use super::Fixture;
use crate::common::{Trained, assert_refused, burnformer, run, stderr, stdout};

#[test]
fn shards_of_different_texts_are_not_gathered() {
    let fixture = Fixture::of(20);
    assert_refused(
        &fixture.gather(4),
        1,
        &["out.1-of-4: is missing (4 of 4 shards)"],
    );
    assert_refused(&fixture.gather(0), 2, &["--shards"]);
    assert_refused(&fixture.gather(usize::MAX), 2, &["--shards"]);
    let shards = ["1/4", "2/4", "3/4", "4/4"];
    let said = shards.map(|shard| fixture.shard(shard, &[]));
    assert!(!said.concat().contains("again"), "{said:?}");
    stdout(&fixture.gather(4));
    let [whole, third] = ["out", "out.3-of-4"].map(|name| fs::read(fixture.path(name)).unwrap());
    let refused = |why: &str| {
        assert_refused(&fixture.gather(4), 1, &[why, "start"]);
        assert!(
            fs::read(fixture.path("out")).unwrap() == whole,
            "the old output is left as it was"
        );
    };
    fs::write(fixture.path("out.3-of-4"), &third[..third.len() - 2]).unwrap();
    refused("out.3-of-4: is not as its process left it");
    fs::write(fixture.path("out.3-of-4"), &third).unwrap();
    fixture.shard("2/4", &["--beam", "1"]);
    refused("out.2-of-4: was made by another model or option than the shards before it");
    fixture.shard("2/4", &[]);
    let text = fs::read_to_string(&fixture.text).unwrap();
    fs::write(&fixture.text, text + "eins\nzwei\ndrei\nvier\n").unwrap();
    fixture.shard("4/4", &[]);
    refused("out.4-of-4: was made of other lines than the shards before it");
    let said = shards.map(|shard| fixture.shard(shard, &[])).concat();
    assert!(said.contains("is done again: made from another"), "{said}");
    stdout(&fixture.gather(4));
    let text = fs::read_to_string(&fixture.text).unwrap();
    fs::write(&fixture.text, text.replacen("vier\n", "eins zwei\n", 1)).unwrap();
    fixture.shard("1/4", &[]);
    let refused = fixture.gather(4);
    assert_refused(
        &refused,
        1,
        &["out.2-of-4: was made of another text than", "start"],
    );
    let said = shards.map(|shard| fixture.shard(shard, &[])).concat();
    assert!(
        said.contains("is done already"),
        "what has the same lines is only stamped: {said}"
    );
    stdout(&fixture.gather(4));
    assert_eq!(
        fs::read_to_string(fixture.path("out"))
            .unwrap()
            .lines()
            .count(),
        24
    );
    for number in [1, 3] {
        fs::remove_file(fixture.path(&format!("out.{number}-of-4"))).unwrap();
    }
    assert_refused(
        &fixture.gather(4),
        1,
        &["out.1-of-4: is missing (2 of 4 shards)"],
    );
}

#[test]
fn a_wrong_shard_is_refused_with_a_remedy() {
    let fixture = Fixture::of(3);
    for (shard, remedy) in [
        ("0/4", "--array=1-4"),
        ("5/4", "from 1 to 4"),
        ("1/0", "N is at least 1"),
        ("a/b", "write I/N, such as 1/4"),
        ("/4", "write I/N, such as 1/4"),
        ("auto/4", "neither is set; write I itself"),
    ] {
        let mut command = burnformer(&fixture.arguments(&["--shard", shard]));
        command
            .env_remove("SLURM_ARRAY_TASK_ID")
            .env_remove("JOB_COMPLETION_INDEX");
        assert_refused(&command.output().unwrap(), 2, &["--shard", remedy]);
    }
    let model = Trained::get().model();
    let without_output = run(&["translate", "--model", &model, "--shard", "1/2"]);
    assert_refused(&without_output, 2, &["--output"]);
    let of_pipe = run(&[
        "translate",
        "--model",
        &model,
        "--shard",
        "1/2",
        "--output",
        "out",
    ]);
    assert_refused(
        &of_pipe,
        2,
        &["standard input: --shard reads", "only a file"],
    );
    assert_refused(
        &fixture.translate(&["--shard", "1/2", "--format", "text"]),
        2,
        &["--format"],
    );
    let text = fixture.text.to_str().unwrap();
    let arguments = [
        "translate",
        "--model",
        &model,
        "-i",
        text,
        "-o",
        text,
        "--shard",
        "1/2",
    ];
    assert_refused(&run(&arguments), 2, &["is both input and output"]);
    fs::create_dir(fixture.path("out.1-of-2")).unwrap();
    assert_refused(
        &fixture.translate(&["--shard", "1/2"]),
        1,
        &["out.1-of-2: is a folder"],
    );
    assert_eq!(fixture.names(), ["out.1-of-2", "text.de"]);
}

#[test]
fn a_scheduler_numbers_the_shards_where_it_is_asked_to_and_nowhere_else() {
    let fixture = Fixture::of(8);
    for (name, first) in [("SLURM_ARRAY_TASK_ID", 1), ("JOB_COMPLETION_INDEX", 0)] {
        for number in [first, first + 1] {
            let mut command = burnformer(&fixture.arguments(&["--shard", "auto/2"]));
            let output = command.env(name, number.to_string()).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
        }
        let joined = fixture.joined(2);
        let mut command = burnformer(&fixture.arguments(&[]));
        assert!(command.env(name, "1").output().unwrap().status.success());
        assert_eq!(
            joined,
            fs::read(fixture.path("out")).unwrap(),
            "the whole text"
        );
        for path in ["out.1-of-2", "out.2-of-2"].map(|name| fixture.path(name)) {
            fs::remove_file(path).unwrap();
        }
    }
}
