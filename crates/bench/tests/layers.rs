//! The layers of Table 1, measured by the program.

use std::process::Command;

#[test]
fn layers_are_measured_at_the_sizes_given() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("layers.csv").display().to_string();
    let sizes = ["--n", "16", "32", "--d", "64", "-r", "4", "--fit-from", "16", "--patience", "0"];
    let arguments = [&["layers", "--csv", &csv], &sizes[..]].concat();
    let output =
        Command::new(env!("CARGO_BIN_EXE_burnformer-bench")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.lines().any(|l| l.starts_with("| recurrent (GRU) | n·d² |")), "{table}");
    let csv = std::fs::read_to_string(csv).unwrap();
    let columns = |name: &str, n: &str| -> Vec<String> {
        let line = csv.lines().find(|l| l.starts_with(&format!("{name},{n},64,")));
        line.unwrap().split(',').map(str::to_string).collect()
    };
    assert_eq!(columns("self-attention", "32")[5..], ["1", "1"]);
    assert_eq!(columns("restricted self-attention", "32")[5..], ["1", "8"]);
    assert_eq!(columns("recurrent (LSTM)", "32")[5..], ["32", "32"]);
    assert_eq!(columns("convolution", "32")[5..], ["1", "31"]);
    assert!(columns("self-attention", "32")[4].parse::<usize>().unwrap() > 32 * 64 * 4);
}
