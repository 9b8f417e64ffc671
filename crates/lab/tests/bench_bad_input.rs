//! Comparisons with a missing peer. The error says what is missing and how to get it.

use std::process::Command;

/// Runs the program, which must fail with a message that contains `needles`.
fn refused(arguments: &[&str], needles: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_burnformer-lab"))
        .arg("bench")
        .args(arguments)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    needles
        .iter()
        .for_each(|needle| assert!(message.contains(needle), "{needle}: {message}"));
}

#[test]
fn a_python_that_does_not_start_is_named() {
    let arguments = ["translate", "--against", "/no/such/python"];
    refused(
        &arguments,
        &[
            "--against /no/such/python does not start",
            "--against python3",
        ],
    );
}

#[cfg(unix)]
#[test]
fn missing_packages_of_a_peer_are_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let python = stub(folder.path(), "python", "echo tokenizers");
    let arguments = ["translate", "--against", &python];
    let remedy = format!("{python} -m pip install tokenizers");
    refused(
        &arguments,
        &[
            "lacks what measuring ctranslate2 needs: tokenizers",
            &remedy,
        ],
    );
}

#[cfg(unix)]
#[test]
fn a_python_that_fails_is_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let python = stub(
        folder.path(),
        "python",
        "echo 'no module named site' >&2; exit 1",
    );
    let arguments = ["translate", "--against", &python];
    refused(
        &arguments,
        &["is not a Python 3 that works", "no module named site"],
    );
}

/// A program in place of Python.
#[cfg(unix)]
fn stub(folder: &std::path::Path, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;

    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}
