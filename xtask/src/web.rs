//! Builds the npm package of the translator in WebAssembly into `target/npm`, by the script in
//! `crates/web`. Tests it in Node, and in Deno, Chromium and Firefox if they are installed.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::shell::{USAGE, as_from_a_shell, finished, say, succeeds, write};
use crate::{licences, wheel};

const TARGET: &str = "wasm32-unknown-unknown";

/// The options of the command.
const OPTIONS: &str = "--test, or --only paper";

/// Builds the package and, with `--test`, runs its tests. They compare it with the program that
/// `BURNFORMER` names, or with one that is built here. `--only paper` builds the page of the paper
/// alone, with one build of Burn.
///
/// Cargo's variables apply only to WebAssembly if their names have the prefix `WEB_`. For example,
/// `WEB_CARGO`, `WEB_RUSTC` and `WEB_CARGO_UNSTABLE_BUILD_STD` select another compiler and build
/// its standard library.
pub fn run(workspace: &Path, args: &[OsString]) -> ExitCode {
    let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let args: Vec<&str> = args.iter().map(|arg| &**arg).collect();
    finished(match args[..] {
        [] => build(workspace, None),
        ["--only", "paper"] => build(workspace, Some("paper")),
        ["--test"] => build(workspace, None).and_then(|()| test(workspace)),
        _ => {
            say(format!("xtask: `web` takes no argument but {OPTIONS}"));
            return ExitCode::from(USAGE);
        }
    })
}

/// Builds the package, or only the page of the module `only`.
pub fn build(workspace: &Path, only: Option<&str>) -> Result<(), String> {
    succeeds(node(workspace).arg("build.mjs").arg(TARGET).args(only))?;
    let feature = only.unwrap_or("gpu");
    let features = ["--features", feature, "--target", TARGET].map(String::from);
    let texts = workspace.join("target/npm/THIRD-PARTY.txt");
    write(
        &texts,
        licences::texts("burnformer-web", &features)?.as_bytes(),
    )
}

fn test(workspace: &Path) -> Result<(), String> {
    let program = match std::env::var_os("BURNFORMER") {
        Some(program) => program.into(),
        None => wheel::program(workspace, &wheel::Build::default())?,
    };
    succeeds(
        node(workspace)
            .args(["--test", "tests/"])
            .env("BURNFORMER", program),
    )
}

fn node(workspace: &Path) -> Command {
    let mut command = Command::new("node");
    command.current_dir(workspace.join("crates/web"));
    as_from_a_shell(&mut command);
    command
}
