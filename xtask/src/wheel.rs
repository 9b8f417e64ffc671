//! Builds the Python package with maturin into `target/wheel`, installs it and tests it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::devices::{Plan, features_of};
use crate::licences;
use crate::sbom;
use crate::shell::{
    USAGE, as_from_a_shell, cargo, cargo_home, copy, finished, say, succeeds, write,
};

/// The packages that build a wheel: maturin, and a compiler for other systems and older C
/// libraries.
const TOOLS: [&str; 3] = [
    "maturin==1.16.0",
    "cargo-zigbuild==0.24.1",
    "ziglang==0.15.2",
];
/// The packages that the tests of a wheel need.
const TEST_TOOLS: [&str; 2] = ["pytest==9.2.0", "mypy==2.4.1"];

/// The minimum version of glibc for a build with a named target.
const GLIBC: &str = "2.28";

/// The options of a build of the package.
#[derive(Default)]
pub struct Build {
    /// `--features …` for the devices besides the CPU.
    features: Vec<String>,
    /// The target that the command line names. The program and the wheel then need no C library
    /// newer than [`GLIBC`].
    pub target: Option<String>,
}

impl Build {
    /// Parses `--device` and `--target` in `args`. Returns the build and the other arguments.
    pub fn of(args: &[OsString]) -> (Self, Vec<OsString>) {
        let mut rest = Plan::of(args).rest;
        let index = rest.iter().position(|arg| arg == "--target");
        let whole = index.filter(|index| index + 1 < rest.len());
        let named = whole.and_then(|index| rest.drain(index..index + 2).nth(1));
        let target = named.map(|name| name.to_string_lossy().into_owned());
        (
            Self {
                features: features_of(args),
                target,
            },
            rest,
        )
    }

    /// Returns whether this machine may be unable to run the package.
    pub fn is_for_another_system(&self) -> bool {
        let here = format!(
            "{}-unknown-{}",
            std::env::consts::ARCH,
            std::env::consts::OS
        );
        self.target
            .as_ref()
            .is_some_and(|target| !target.starts_with(&here))
    }

    /// The licences of everything that is compiled into `package`.
    pub fn licences(&self, package: &str) -> Result<String, String> {
        licences::texts(package, &self.tree_arguments())
    }

    /// The bill of materials of `program`, a file that this build made.
    pub fn bill(&self, program: &Path) -> Result<String, String> {
        sbom::of_program(&self.tree_arguments(), Some(program))
    }

    /// The arguments of `cargo tree` for this build.
    fn tree_arguments(&self) -> Vec<String> {
        let target = self
            .target
            .iter()
            .flat_map(|target| ["--target".into(), target.clone()]);
        self.features.iter().cloned().chain(target).collect()
    }
}

/// Builds the wheel, with the devices that `--device` names, for this machine or for `--target`.
/// With `--test`, installs it into a fresh environment and runs its tests there. They compare it
/// with the program `burnformer`.
pub fn run(workspace: &Path, args: &[OsString]) -> ExitCode {
    let (what, rest) = Build::of(args);
    let is_tested = rest == ["--test"];
    if !rest.is_empty() && !is_tested {
        say("xtask: `wheel` takes no arguments but --test, --target and --device");
        return ExitCode::from(USAGE);
    }
    finished(build(workspace, &what).and_then(|wheel| {
        say(format_args!("xtask: the wheel is {}", wheel.display()));
        if is_tested {
            test(workspace, &wheel, &what)
        } else {
            Ok(())
        }
    }))
}

/// Builds the wheel and returns its path.
pub fn build(workspace: &Path, what: &Build) -> Result<PathBuf, String> {
    let folder = workspace.join("target/wheel");
    let wheels = folder.join("dist");
    let texts = workspace.join("crates/python/licences/THIRD-PARTY.txt");
    write(&texts, what.licences("burnformer-python")?.as_bytes())?;
    for text in ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"] {
        copy(&workspace.join(text), &texts.with_file_name(text))?;
    }
    let _ = fs::remove_dir_all(&wheels);
    let mut command = tool(workspace, "maturin", what)?;
    command
        .args(["build", "--release", "--locked"])
        .args(&what.features)
        .arg("--out")
        .arg(&wheels);
    command
        .arg("--manifest-path")
        .arg(workspace.join("crates/python/Cargo.toml"));
    if let Some(target) = &what.target {
        let tag = format!("manylinux_{}", GLIBC.replace('.', "_"));
        command.args(["--zig", "--target", target, "--compatibility", &tag]);
    }
    succeeds(&mut command)?;
    let found = fs::read_dir(&wheels)
        .ok()
        .and_then(|mut found| found.next()?.ok());
    Ok(found.ok_or("maturin left no wheel")?.path())
}

/// A command for the program `name` in the environment of tools. For a target, it finds the
/// compiler there, and strips its output.
fn tool(workspace: &Path, name: &str, what: &Build) -> Result<Command, String> {
    let needed = if what.target.is_some() {
        TOOLS.len()
    } else {
        1
    };
    let needed = &TOOLS.map(OsString::from)[..needed];
    let python = environment(&workspace.join("target/wheel/tools"), needed, false)?;
    let mut command = Command::new(python.with_file_name(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = python.parent().map(Path::to_owned).into_iter();
    let path = std::env::join_paths(programs.chain(std::env::split_paths(&path)));
    command.env("PATH", path.map_err(|cause| cause.to_string())?);
    if let Some(target) = &what.target {
        let target = target.to_uppercase().replace('-', "_");
        command.env(
            format!("CARGO_TARGET_{target}_RUSTFLAGS"),
            flags(workspace, &cargo_home()),
        );
    }
    as_from_a_shell(&mut command);
    Ok(command)
}

/// The flags of rustc for a release: no symbols, and neutral names for the folders of sources, so
/// that the same sources give the same bytes in every folder.
fn flags(workspace: &Path, cargo_home: &Path) -> String {
    let mut flags = String::from("-C strip=symbols");
    for (folder, name) in [(workspace, "/burnformer"), (cargo_home, "/cargo")] {
        let folder = folder.display().to_string();
        // Cargo divides flags at spaces.
        if !folder.contains(char::is_whitespace) {
            flags += &format!(" --remap-path-prefix={folder}={name}");
        }
    }
    flags
}

/// Builds the program `burnformer` and returns its path.
pub fn program(workspace: &Path, what: &Build) -> Result<PathBuf, String> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let mut folder = folder.unwrap_or_else(|| workspace.join("target"));
    let mut command = match &what.target {
        None => cargo("build"),
        Some(target) => {
            folder.push(target);
            let mut command = tool(workspace, "cargo-zigbuild", what)?;
            command.args([
                "zigbuild",
                "--target",
                &format!("{target}.{GLIBC}"),
                "--manifest-path",
            ]);
            command.arg(workspace.join("Cargo.toml"));
            command
        }
    };
    command.args(["--release", "--locked", "--package", "burnformer"]);
    succeeds(command.args(&what.features))?;
    Ok(folder
        .join("release")
        .join(format!("burnformer{}", std::env::consts::EXE_SUFFIX)))
}

fn test(workspace: &Path, wheel: &Path, what: &Build) -> Result<(), String> {
    let program = program(workspace, what)?;
    let mut packages = TEST_TOOLS.map(OsString::from).to_vec();
    packages.push(wheel.into());
    let python = environment(&workspace.join("target/wheel/venv"), &packages, true)?;
    let mut command = Command::new(python);
    command
        .args(["-m", "pytest", "--quiet"])
        .arg(workspace.join("crates/python/tests"));
    succeeds(command.env("BURNFORMER", program))
}

/// Returns the Python of a virtual environment in `folder` with `packages`. If `fresh`, a new
/// environment is created.
fn environment(folder: &Path, packages: &[OsString], fresh: bool) -> Result<PathBuf, String> {
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let python = programs.join(if cfg!(windows) {
        "python.exe"
    } else {
        "python"
    });
    if fresh || !python.exists() {
        let base = if cfg!(windows) { "python" } else { "python3" };
        succeeds(
            Command::new(base)
                .args(["-m", "venv", "--clear"])
                .arg(folder),
        )?;
    }
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    succeeds(Command::new(&python).args(install).args(packages))?;
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_a_release_have_neutral_names() {
        let flags = flags(Path::new("/home/a b/clone"), Path::new("/home/c/.cargo"));
        let expected = "-C strip=symbols --remap-path-prefix=/home/c/.cargo=/cargo";
        assert_eq!(flags, expected);
    }
}
