//! The curves of runs.

use std::fs;

use crate::common::{Untrained, refused, run, stdout};

#[test]
fn curves_are_numbers_too() {
    let folder = tempfile::tempdir().unwrap();
    let [table, picture] = ["a.csv", "a.svg"].map(|name| folder.path().join(name));
    let run_folder = Untrained::get().folder.path().join("run");
    let files = [&table, &picture].map(|path| path.to_str().unwrap());
    let metric = ["--metric", "loss,speed"];
    let plot = [
        "plot",
        run_folder.to_str().unwrap(),
        "-o",
        files[0],
        "-o",
        files[1],
    ];
    stdout(&run(&[&plot[..], &metric].concat()));
    let found = fs::read_to_string(&table).unwrap();
    assert!(found.starts_with("chart,series,x,y\nLoss,run,"), "{found}");
    assert!(
        found.lines().all(|line| line.split(',').count() == 4),
        "{found}"
    );
    assert!(picture.exists());
    fs::remove_file(&picture).unwrap();
    for name in ["a.gif", "a", ".csv"] {
        let plot = [
            "plot",
            run_folder.to_str().unwrap(),
            "-o",
            files[1],
            "-o",
            name,
        ];
        refused(&plot, 2, &[".svg", ".csv"]);
        assert!(
            !picture.exists(),
            "nothing is written before all names are known to be right"
        );
    }
}
