//! Helpers for all commands: cargo and other programs, files, exit codes, and messages on standard
//! error.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::{env, fs};

/// The exit code for a command line that was not understood.
pub const USAGE: u8 = 2;

/// Prints a line on standard error. Ignores a failure to write, which would make `eprintln!` panic.
pub fn say(text: impl Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

pub fn success(good: bool) -> ExitCode {
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The exit code of a command that ends with `result`. Prints the error.
pub fn finished(result: Result<(), String>) -> ExitCode {
    success(
        result
            .map_err(|failure| say(format_args!("xtask: {failure}")))
            .is_ok(),
    )
}

/// `cargo <subcommand>` on this workspace, whatever the current folder is.
pub fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .arg(subcommand)
        .arg("--manifest-path")
        .arg(manifest());
    as_from_a_shell(&mut command);
    command
}

/// Removes the variables that cargo sets for this program from `command`. Build scripts would see
/// them and run again.
pub fn as_from_a_shell(command: &mut Command) {
    let describes_package = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|kind| name.starts_with(kind))
    };
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(describes_package))
    {
        command.env_remove(name);
    }
}

/// The workspace's Cargo.toml.
pub fn manifest() -> PathBuf {
    workspace().join("Cargo.toml")
}

/// The folder of the workspace, from the environment that cargo sets at run time. Clones that share
/// a target folder may share this program, compiled in either.
pub fn workspace() -> PathBuf {
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest)
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf()
}

/// The folder of cargo's outputs.
pub fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// The folder of cargo's copies of other people's packages.
pub fn cargo_home() -> PathBuf {
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    named
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .unwrap_or_default()
}

/// The exit code of the child; 1 if it did not start or a signal ended it.
pub fn exit_code(status: io::Result<ExitStatus>) -> ExitCode {
    if let Err(cause) = &status {
        say(format_args!("xtask: cannot start cargo: {cause}"));
    }
    let code = status.ok().and_then(|status| status.code());
    code.and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Runs `command` and returns an error if it fails.
pub fn succeeds(command: &mut Command) -> Result<(), String> {
    let name = Path::new(command.get_program())
        .file_name()
        .unwrap_or(OsStr::new("?"));
    let name = name.display().to_string();
    match command.status() {
        Err(cause) => Err(format!("{name} does not start ({cause}); is it installed?")),
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} failed: {status}")),
    }
}

/// Runs `command` and returns what it prints, or its messages as an error.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|cause| format!("cargo does not start: {cause}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Prints `text` on standard output. The reader may stop early, as `head` does.
pub fn print(text: &str) -> Result<(), String> {
    let mut output = io::stdout();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: cannot be written: {cause}"))
        }
        _ => Ok(()),
    }
}

/// Writes a file into a folder that may not exist yet.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(path, bytes));
    written.map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Copies a file.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to)
        .map(|_| ())
        .map_err(|cause| format!("{}: {cause}", from.display()))
}
