//! Builds the Python package by maturin, into `target/wheel`, and tests it where it is installed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::devices::{Plan, features_of};
use crate::licences;
use crate::shell::{USAGE, as_from_a_shell, cargo, finished, say, succeeds, write};

/// The package that builds a wheel, and those that its tests need.
const TOOLS: [&str; 1] = ["maturin==1.16.0"];
const TEST_TOOLS: [&str; 2] = ["pytest==9.2.0", "mypy==2.4.1"];

/// Builds the wheel, with the devices that `--device` names; with `--test`, installs it into a fresh environment and runs its
/// tests there, which compare it with the program `burnformer`.
pub fn run(workspace: &Path, args: &[OsString]) -> ExitCode {
    let is_tested = match &Plan::of(args).rest[..] {
        [] => false,
        [only] if only == "--test" => true,
        _ => {
            say("xtask: `wheel` takes no arguments but --test and --device");
            return ExitCode::from(USAGE);
        }
    };
    let features = features_of(args);
    finished(build(workspace, &features).and_then(|wheel| {
        say(format_args!("xtask: the wheel is {}", wheel.display()));
        if is_tested { test(workspace, &wheel, &features) } else { Ok(()) }
    }))
}

/// The path of the new wheel.
pub fn build(workspace: &Path, features: &[String]) -> Result<PathBuf, String> {
    let folder = workspace.join("target/wheel");
    let python = environment(&folder.join("tools"), &TOOLS.map(OsString::from), false)?;
    let wheels = folder.join("dist");
    let dependencies = licences::dependencies("burnformer-python", features)?;
    let texts = workspace.join("crates/python/licences/THIRD-PARTY.txt");
    write(&texts, licences::texts(&dependencies).as_bytes())?;
    for text in ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"] {
        let copied = fs::copy(workspace.join(text), texts.with_file_name(text));
        copied.map_err(|cause| format!("{text}: {cause}"))?;
    }
    let _ = fs::remove_dir_all(&wheels);
    let maturin = python.with_file_name("maturin");
    let mut command = Command::new(&maturin);
    command.args(["build", "--release", "--locked"]).args(features).arg("--out").arg(&wheels);
    command.arg("--manifest-path").arg(workspace.join("crates/python/Cargo.toml"));
    as_from_a_shell(&mut command);
    succeeds(&mut command)?;
    let found = fs::read_dir(&wheels).ok().and_then(|mut found| found.next()?.ok());
    Ok(found.ok_or("maturin left no wheel")?.path())
}

/// The program `burnformer`, built.
pub fn program(workspace: &Path, features: &[String]) -> Result<PathBuf, String> {
    let mut program = cargo("build");
    succeeds(program.args(["--release", "--package", "burnformer"]).args(features))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| workspace.join("target"));
    Ok(target.join("release").join(format!("burnformer{}", std::env::consts::EXE_SUFFIX)))
}

fn test(workspace: &Path, wheel: &Path, features: &[String]) -> Result<(), String> {
    let program = program(workspace, features)?;
    let mut packages = TEST_TOOLS.map(OsString::from).to_vec();
    packages.push(wheel.into());
    let python = environment(&workspace.join("target/wheel/venv"), &packages, true)?;
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "--quiet"]).arg(workspace.join("crates/python/tests"));
    succeeds(command.env("BURNFORMER", program))
}

/// The Python of an environment in `folder` that has `packages`; of a new one if it has to be `fresh`.
fn environment(folder: &Path, packages: &[OsString], fresh: bool) -> Result<PathBuf, String> {
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = programs.join(if cfg!(windows) { "python.exe" } else { "python" });
    if fresh || !python.exists() {
        let base = if cfg!(windows) { "python" } else { "python3" };
        succeeds(Command::new(base).args(["-m", "venv", "--clear"]).arg(folder))?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    succeeds(Command::new(&python).args(install).args(packages))?;
    Ok(python)
}
