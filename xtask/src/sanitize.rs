//! `sanitize`: the tests of unsafe code, in builds and under tools that see wrong reads, writes and
//! races.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::shell::{USAGE, cargo, finished, output, say, succeeds, target_dir};

/// With a target, build scripts and macros are built without the flags.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A tool, and how tests are built for it and run under it.
struct Tool {
    name: &'static str,
    /// The flags of the compiler.
    flags: &'static str,
    /// The packages whose tests are run: those with unsafe code, and those that compute with it.
    packages: &'static [&'static str],
    /// Variables of the tests.
    variables: &'static [(&'static str, &'static str)],
    /// If true, the library of the language is built with the same flags.
    builds_std: bool,
}

/// Debug assertions include the checks of unsafe functions in the library of the language.
const TOOLS: [Tool; 3] = [
    Tool {
        name: "address",
        flags: "-Zsanitizer=address -Cdebug-assertions=yes",
        packages: &["burnformer-kernels", "burnformer-core", "burnformer-infer"],
        variables: &[(
            "ASAN_OPTIONS",
            "detect_leaks=1:detect_stack_use_after_return=1",
        )],
        builds_std: false,
    },
    Tool {
        name: "thread",
        flags: "-Zsanitizer=thread",
        packages: &["burnformer-kernels"],
        variables: &[("TSAN_OPTIONS", "halt_on_error=0")],
        builds_std: true,
    },
    Tool {
        name: "valgrind",
        flags: "",
        packages: &["burnformer-kernels"],
        variables: &[(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "valgrind --quiet --error-exitcode=9 --leak-check=no",
        )],
        builds_std: false,
    },
];

/// Runs the tools that `args` name, or all. What follows `--` is for the tests.
pub fn run(args: &[OsString]) -> ExitCode {
    let mut parts = args.split(|argument| argument == "--");
    let names = parts.next().unwrap_or_default();
    let tests = parts.next().unwrap_or_default();
    if let Some(name) = names
        .iter()
        .find(|name| !TOOLS.iter().any(|tool| *name == tool.name))
    {
        let known = TOOLS.map(|tool| tool.name).join(", ");
        say(format_args!(
            "xtask: no tool `{}`; there are {known}",
            name.display()
        ));
        return ExitCode::from(USAGE);
    }
    let asked = |tool: &&Tool| names.is_empty() || names.iter().any(|name| *name == tool.name);
    let failed: Vec<&str> = TOOLS
        .iter()
        .filter(asked)
        .filter(|tool| !passes(tool, tests))
        .map(|tool| tool.name)
        .collect();
    finished(match &failed[..] {
        [] => Ok(()),
        failed => Err(format!("failed: {}", failed.join(", "))),
    })
}

/// Returns whether the tests pass under `tool`. One that is not here is named and passes.
fn passes(tool: &Tool, tests: &[OsString]) -> bool {
    if let Some(lack) = lack(tool) {
        say(format_args!("xtask: {} is not run: {lack}", tool.name));
        return true;
    }
    say(format_args!("xtask: tests under {}", tool.name));
    succeeds(&mut command(tool, tests))
        .map_err(|failure| say(format_args!("xtask: {}: {failure}", tool.name)))
        .is_ok()
}

/// What the machine lacks for `tool`.
fn lack(tool: &Tool) -> Option<&'static str> {
    if tool.builds_std && !sources().is_some_and(|path| path.exists()) {
        return Some(
            "it needs the sources of the language's library: rustup component add rust-src",
        );
    }
    if tool.flags.is_empty() && Command::new(tool.name).arg("--version").output().is_err() {
        return Some("it is not installed");
    }
    None
}

/// The sources of the library of the language, where cargo looks for them.
fn sources() -> Option<PathBuf> {
    let folder = output(Command::new("rustc").args(["--print", "sysroot"])).ok()?;
    Some(Path::new(folder.trim()).join("lib/rustlib/src/rust/library/Cargo.toml"))
}

fn command(tool: &Tool, tests: &[OsString]) -> Command {
    let mut command = cargo("test");
    command.args([
        "--release",
        "--target",
        TARGET,
        "--no-fail-fast",
        "--target-dir",
    ]);
    command.arg(target_dir().join(format!("sanitize-{}", tool.name)));
    command.args(tool.packages.iter().flat_map(|name| ["--package", name]));
    command.args(["--lib", "--test", "it"]);
    if tool.builds_std {
        command.arg("-Zbuild-std");
    }
    command.arg("--").args(tests);
    command.envs(tool.variables.iter().copied());
    command.env("RUSTFLAGS", tool.flags);
    // The flags of sanitizers are not stable. The compiler takes them with this variable.
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}
