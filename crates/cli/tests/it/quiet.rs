//! The option `--quiet`.

use crate::common::{Untrained, refused, run_with, stderr, stdout};

fn model() -> String {
    Untrained::get().model().display().to_string()
}

#[test]
fn quiet_leaves_results_warnings_and_errors_alone() {
    let untrained = Untrained::get();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let model = model();
    let [source, target] = untrained
        .corpus
        .test
        .each_ref()
        .map(|path| path.to_str().unwrap());
    let picture = path("a.svg");
    let page = path("a.html");
    let [quantized, average, shortlist, out, pairs] = ["q", "m", "s", "ct2", "p.tsv"].map(path);
    let init = path("burnformer.toml");
    let run_folder = untrained.folder.path().join("run").display().to_string();
    let commands: [&[&str]; 11] = [
        &["translate", "--beam", "1"],
        &[
            "score", "--model", &model, "--source", source, "--target", target,
        ],
        &["quantize", "--model", &model, "--out", &quantized],
        &["average", &model, "--out", &average],
        &[
            "shortlist",
            "--model",
            &model,
            "--train",
            source,
            target,
            "--out",
            &shortlist,
        ],
        &["export", "ctranslate2", "--model", &model, "--out", &out],
        &[
            "attention",
            "--model",
            &model,
            "eins",
            "--target",
            "one",
            "--html",
            &page,
        ],
        &["plot", &run_folder, "-o", &picture],
        &[
            "distill",
            "--model",
            "embedded:de-en",
            "--source",
            source,
            "--out",
            &pairs,
        ],
        &["config", "init", &init],
        &["train", "--dry-run"],
    ];
    for command in commands {
        let quiet = run_with(&[command, &["--quiet"]].concat(), b"eins\n");
        stdout(&quiet);
        assert_eq!(stderr(&quiet), "", "{command:?}");
    }
    let said = stderr(&run_with(
        &["-q", "translate", "--model", &model],
        b"caf\xe9\n",
    ));
    assert!(
        !said.is_empty() && said.lines().all(|line| line.starts_with("warning: ")),
        "{said}"
    );
    assert!(stderr(&run_with(&["translate"], b"eins\n")).contains("model: embedded:de-en"));
    refused(
        &["translate", "-q", "--model", "/no/such"],
        1,
        &["no such folder"],
    );
    refused(
        &["train", "--out", "/no/such", "--resume"],
        1,
        &["/no/such: no such folder"],
    );
    refused(
        &["translate", "--output", "out.gz"],
        2,
        &["out.gz: the output is plain text"],
    );
    refused(
        &["quantize", "--model", "embedded:de-en", "--out", "/no/such"],
        1,
        &["quantised already"],
    );
}
