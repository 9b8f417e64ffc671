//! Builds the npm package of the translator in WebAssembly into `target/npm`, by the script in
//! `crates/web`. Tests it in Node, and in Deno, Chromium and Firefox if they are installed.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::shell::{USAGE, as_from_a_shell, finished, say, succeeds, write};
use crate::{licences, wheel};

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the package and, with `--test`, runs its tests. They compare it with the program that
/// `BURNFORMER` names, or with one that is built here.
///
/// Cargo's variables apply only to WebAssembly if their names have the prefix `WEB_`. For example,
/// `WEB_CARGO`, `WEB_RUSTC` and `WEB_CARGO_UNSTABLE_BUILD_STD` select another compiler and build
/// its standard library.
pub fn run(workspace: &Path, args: &[OsString]) -> ExitCode {
    let is_tested = args == ["--test"];
    if !args.is_empty() && !is_tested {
        say("xtask: `web` takes no argument but --test");
        return ExitCode::from(USAGE);
    }
    finished(build(workspace).and_then(|()| if is_tested { test(workspace) } else { Ok(()) }))
}

fn build(workspace: &Path) -> Result<(), String> {
    succeeds(node(workspace).arg("build.mjs").arg(TARGET))?;
    let features = ["--features", "gpu", "--target", TARGET].map(String::from);
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
