//! Several inputs of one `translate`, and what its lines of JSON carry.

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
    let inputs = [("in/a.de", "eins\nzwei drei\n"), ("in/b.de", ""), ("in/c.tsv", "vier\tx\n")];
    for (name, text) in inputs {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let translate = |more: &[&str]| {
        let arguments = [&["translate", "--model", &model], more].concat();
        burnformer(&arguments).current_dir(&folder).output().unwrap()
    };
    stdout(&translate(&["--input", "in/a.de", "in/b.de", "in/c.tsv", "--output", "out"]));
    for ((input, text), output) in inputs.into_iter().zip(["out/a.de", "out/b.de", "out/c"]) {
        let found = fs::read_to_string(folder.path().join(output)).unwrap();
        assert_eq!(found, stdout(&translate(&["--input", input])));
        assert_eq!(found.lines().count(), text.lines().count());
    }
    stdout(&translate(&["--input", "in/a.de", "--output", "out", "--json"]));
    let lines = fs::read_to_string(folder.path().join("out/a.de")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (number, source) in [(1, "eins"), (2, "zwei drei")] {
        let line = &lines[number - 1];
        assert_eq!((&line["line"], &line["source"]), (&number.into(), &source.into()));
    }
    let cases: [(&[&str], &str); 6] = [
        (&["--input", "in/a.de", "in/b.de"], "--output FOLDER"),
        (&["--input", "in/a.de", "in/b.de", "--output", "new"], "`mkdir new`"),
        (&["--input", "in/a.de", "in/../in/a.de", "--output", "out"], "two folders"),
        (&["--input", "in/a.de", "--output", "in"], "is both input and output"),
        (&["--input", "in/a.de", "-", "--output", "out"], "has no name"),
        (&["--input", "in/a.de", "in/b.de", "--output", "out", "--prefix", "x"], "--prefix"),
    ];
    for (more, needle) in cases {
        assert_refused(&translate(more), 2, &[needle]);
    }
    assert_eq!(fs::read_to_string(folder.path().join("in/a.de")).unwrap(), inputs[0].1);
}

#[test]
fn lines_of_scores_carry_their_line_and_texts() {
    let untrained = Untrained::get();
    let model = untrained.model().display().to_string();
    let [source, target] = untrained.corpus.test.each_ref().map(|path| path.to_str().unwrap());
    let arguments = ["score", "--model", &model, "--input", source, "--target", target, "--json"];
    let found = stdout(&burnformer(&arguments).output().unwrap());
    let texts = [source, target].map(|path| fs::read_to_string(path).unwrap());
    let pairs = texts[0].lines().zip(texts[1].lines());
    assert_eq!(found.lines().count(), texts[0].lines().count());
    for (number, (line, (source, target))) in (1..).zip(found.lines().zip(pairs)) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["line"], number);
        assert_eq!((&line["source"], &line["target"]), (&source.into(), &target.into()));
    }
}
