//! The layers of Table 1, measured by the program.

use std::process::Command;

use serde_json::Value;

/// The output of the program for these lengths.
fn layers(n: &[&str], json: bool) -> String {
    let sizes = [
        "--d",
        "64",
        "-r",
        "4",
        "--fit-from",
        "16",
        "--patience",
        "0",
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_burnformer-lab"));
    command
        .args(["bench", "layers", "--n"])
        .args(n)
        .args(sizes)
        .args(json.then_some("--json"));
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn layers_are_measured_at_the_sizes_given() {
    let lines = layers(&["16", "32"], true);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |kind: &str| {
        let line = lines
            .iter()
            .find(|line| line["kind"] == kind && line["n"] == 32)
            .expect(kind);
        (
            line["steps"].as_u64().unwrap(),
            line["path"].as_u64().unwrap(),
        )
    };
    assert_eq!(of("self-attention"), (1, 1));
    assert_eq!(of("restricted-self-attention"), (1, 8));
    assert_eq!(of("gru"), (32, 32));
    assert_eq!(of("convolution"), (1, 31));
    assert!(
        lines
            .iter()
            .all(|line| line["bytes"].as_u64().unwrap() >= 16 * 64 * 4),
        "{lines:?}"
    );
}

#[test]
fn lengths_may_be_separated_by_commas() {
    let table = layers(&["16,32"], false);
    assert!(
        table
            .lines()
            .any(|l| l.starts_with("| recurrent (GRU) | n·d² |")),
        "{table}"
    );
    assert!(table.contains("Figures at n 32, d 64"), "{table}");
}
