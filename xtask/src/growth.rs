//! `growth`: the work on twice the text, in counted steps (`tests/growth`).

use std::ffi::OsString;
use std::process::ExitCode;

use crate::shell::{cargo, exit_code, target_dir};

/// The crates through which text enters.
const CRATES: [&str; 6] = [
    "burnformer-text",
    "burnformer-terminology",
    "burnformer-sentencepiece",
    "burnformer-data",
    "burnformer-metrics",
    "burnformer-documents",
];

/// A function is called at each branch. The tests define it.
const COUNTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
                       -Cllvm-args=-sanitizer-coverage-trace-pc-guard";

/// With a target, build scripts and macros are built without the flags.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the tests in a folder of their own and runs those whose names contain one of `args`.
/// Several threads would count at the same time, and miss steps.
pub fn run(args: &[OsString]) -> ExitCode {
    let mut command = cargo("test");
    command.args([
        "--release",
        "--target",
        TARGET,
        "--no-fail-fast",
        "--target-dir",
    ]);
    command.arg(target_dir().join("growth"));
    command.args(CRATES.iter().flat_map(|name| ["--package", name]));
    command.args(["--test", "growth", "--", "--include-ignored", "--nocapture"]);
    command.args(["--test-threads", "1"]).args(args);
    command
        .env("RUSTFLAGS", COUNTED)
        .env("RAYON_NUM_THREADS", "1");
    exit_code(command.status())
}
