//! Several inputs of one `translate`, and the fields of its JSON lines.

use std::fs;

use serde_json::Value;

use crate::common::{Untrained, assert_refused, burnformer, stdout};

#[test]
fn each_of_several_inputs_has_an_output_of_its_name_as_if_it_were_alone() {
    let folder = tempfile::tempdir().unwrap();
    let model = Untrained::get().model().display().to_string();
    for inner in ["in", "out"] {
        fs::create_dir(folder.path().join(inner)).unwrap();
    }
    let inputs = [
        ("in/a.de", "eins\nzwei drei\n"),
        ("in/b.de", ""),
        ("in/c.tsv", "vier\tx\n"),
    ];
    for (name, text) in inputs {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let translate = |more: &[&str]| {
        let arguments = [&["translate", "--model", &model], more].concat();
        burnformer(&arguments)
            .current_dir(&folder)
            .output()
            .unwrap()
    };
    stdout(&translate(&[
        "--input", "in/a.de", "in/b.de", "in/c.tsv", "--output", "out",
    ]));
    for ((input, text), output) in inputs.into_iter().zip(["out/a.de", "out/b.de", "out/c"]) {
        let found = fs::read_to_string(folder.path().join(output)).unwrap();
        assert_eq!(found, stdout(&translate(&["--input", input])));
        assert_eq!(found.lines().count(), text.lines().count());
    }
    stdout(&translate(&[
        "--input", "in/a.de", "--output", "out", "--json",
    ]));
    let lines = fs::read_to_string(folder.path().join("out/a.de")).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (number, source) in [(1, "eins"), (2, "zwei drei")] {
        let line = &lines[number - 1];
        assert_eq!(
            (&line["line"], &line["source"]),
            (&number.into(), &source.into())
        );
    }
    let cases: [(&[&str], &str); 6] = [
        (&["--input", "in/a.de", "in/b.de"], "--output FOLDER"),
        (
            &["--input", "in/a.de", "in/b.de", "--output", "new"],
            "`mkdir new`",
        ),
        (
            &["--input", "in/a.de", "in/../in/a.de", "--output", "out"],
            "two folders",
        ),
        (
            &["--input", "in/a.de", "--output", "in"],
            "is both input and output",
        ),
        (
            &["--input", "in/a.de", "-", "--output", "out"],
            "has no name",
        ),
        (
            &[
                "--input", "in/a.de", "in/b.de", "--output", "out", "--prefix", "x",
            ],
            "--prefix",
        ),
    ];
    for (more, needle) in cases {
        assert_refused(&translate(more), 2, &[needle]);
    }
    assert_eq!(
        fs::read_to_string(folder.path().join("in/a.de")).unwrap(),
        inputs[0].1
    );
}

#[test]
fn an_interrupted_document_leaves_only_the_old_output() {
    let folder = tempfile::tempdir().unwrap();
    let model = Untrained::get().model().display().to_string();
    let of_folder = |name: &str| folder.path().join(name);
    fs::write(
        of_folder("in.html"),
        "<p>eins zwei drei</p>\n".repeat(50_000),
    )
    .unwrap();
    fs::write(of_folder("old.html"), "old").unwrap();
    let translate = |input: &str, output: &str| {
        let output = ["--format", "html", "--output", output];
        let mut command = burnformer(
            &[
                &["translate", "--model", &model, "--input", input],
                &output[..],
            ]
            .concat(),
        );
        command.current_dir(&folder);
        command
    };
    for output in ["old.html", "new.html"] {
        let mut child = translate("in.html", output).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert!(
            child.try_wait().unwrap().is_none(),
            "the document is too short for the test"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["in.html", "old.html"]);
    assert_eq!(fs::read_to_string(of_folder("old.html")).unwrap(), "old");
    // An output that cannot be written is refused before the work.
    let begin = std::time::Instant::now();
    let refused = translate("in.html", "no/such.html").output().unwrap();
    assert_refused(&refused, 1, &["no/such.html", "cannot be written"]);
    assert!(begin.elapsed().as_secs() < 2);
    fs::write(of_folder("in.html"), "<p>eins</p>\n").unwrap();
    stdout(&translate("in.html", "old.html").output().unwrap());
    assert!(
        fs::read_to_string(of_folder("old.html"))
            .unwrap()
            .starts_with("<p>")
    );
}

#[test]
fn lines_of_scores_carry_their_line_and_texts() {
    let untrained = Untrained::get();
    let model = untrained.model().display().to_string();
    let [source, target] = untrained
        .corpus
        .test
        .each_ref()
        .map(|path| path.to_str().unwrap());
    let arguments = [
        "score", "--model", &model, "--input", source, "--target", target, "--json",
    ];
    let found = stdout(&burnformer(&arguments).output().unwrap());
    let texts = [source, target].map(|path| fs::read_to_string(path).unwrap());
    let pairs = texts[0].lines().zip(texts[1].lines());
    assert_eq!(found.lines().count(), texts[0].lines().count());
    for (number, (line, (source, target))) in (1..).zip(found.lines().zip(pairs)) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["line"], number);
        assert_eq!(
            (&line["source"], &line["target"]),
            (&source.into(), &target.into())
        );
    }
}
