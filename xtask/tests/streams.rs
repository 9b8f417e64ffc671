//! Standard streams that fail do not make the program panic.
#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::io::pipe;
use std::process::{Command, Output, Stdio};

fn full() -> Stdio {
    OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

/// A pipe with a closed reader.
fn closed() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

fn xtask(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn ends(output: &Output, code: i32) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn the_help_reports_a_write_error_but_no_broken_pipe() {
    let output = xtask(&[]).stdout(full()).output().unwrap();
    ends(&output, 1);
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output: cannot be written"));
    let output = xtask(&["--help"]).stdout(closed()).output().unwrap();
    ends(&output, 0);
    assert!(output.stderr.is_empty());
}

#[test]
fn the_exit_code_of_a_refusal_does_not_depend_on_standard_error() {
    for stderr in [full(), closed()] {
        ends(&xtask(&["trian"]).stderr(stderr).output().unwrap(), 2);
    }
}
