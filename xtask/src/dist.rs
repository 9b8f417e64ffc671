//! Makes what a release needs, in `target/dist`. Nothing is published.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::shell::{USAGE, copy, finished, say, succeeds, write};
use crate::wheel::{self, Build};

/// The shells that the program writes completions for, and the usual name of such a file.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "burnformer"),
    ("zsh", "_burnformer"),
    ("fish", "burnformer.fish"),
];

/// Texts of the repository that go with the program.
const TEXTS: [&str; 4] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE"];

/// Makes the archive of the program, the wheel and the checksums, with the
/// devices that `--device` names, for this machine or for `--target`.
pub fn run(workspace: &Path, args: &[OsString]) -> ExitCode {
    let (what, rest) = Build::of(args);
    if !rest.is_empty() {
        say("xtask: `dist` takes no arguments but --target and --device");
        return ExitCode::from(USAGE);
    }
    finished(make(workspace, &what))
}

fn make(workspace: &Path, what: &Build) -> Result<(), String> {
    let dist = workspace.join("target/dist");
    let _ = fs::remove_dir_all(&dist);
    let version = env!("CARGO_PKG_VERSION");
    let here = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let name = format!(
        "burnformer-{version}-{}",
        what.target.as_ref().unwrap_or(&here)
    );
    let folder = dist.join(&name);
    fs::create_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
    let program = wheel::program(workspace, what)?;
    copy(&program, &folder.join("burnformer"))?;
    if what.target.is_none() {
        succeeds(Command::new("strip").arg(folder.join("burnformer")))?;
    }
    manual(workspace, what, program, &folder)?;
    for text in TEXTS {
        copy(&workspace.join(text), &folder.join(text))?;
    }
    write(
        &folder.join("THIRD-PARTY.txt"),
        what.licences("burnformer")?.as_bytes(),
    )?;
    let archive = format!("{name}.tar.gz");
    let owner = ["--owner=0", "--group=0", "--sort=name"];
    succeeds(
        Command::new("tar")
            .args(owner)
            .args(["-czf", &archive, &name])
            .current_dir(&dist),
    )?;
    fs::remove_dir_all(&folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
    let wheel = wheel::build(workspace, what)?;
    copy(&wheel, &dist.join(wheel.file_name().unwrap_or_default()))?;
    let sums = "sha256sum -- burnformer* > SHA256SUMS && cat SHA256SUMS";
    succeeds(Command::new("sh").args(["-c", sums]).current_dir(&dist))?;
    say(format_args!("xtask: the release is in {}", dist.display()));
    Ok(())
}

/// Writes the manual pages and the completions into `folder`, by `program` or, if that is for
/// another system, by one for this.
fn manual(workspace: &Path, what: &Build, program: PathBuf, folder: &Path) -> Result<(), String> {
    let program = if what.is_for_another_system() {
        wheel::program(workspace, &Build::default())?
    } else {
        program
    };
    succeeds(
        Command::new(&program)
            .args(["completions", "--man"])
            .arg(folder.join("man")),
    )?;
    for (shell, file) in SHELLS {
        let script = Command::new(&program).args(["completions", shell]).output();
        let script = script.map_err(|cause| format!("{}: {cause}", program.display()))?;
        write(&folder.join("completions").join(file), &script.stdout)?;
    }
    Ok(())
}
