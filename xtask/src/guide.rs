//! Builds the guide in `docs/` with mdBook.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::shell::{say, success};

/// The version of mdBook that the guide is written for.
const VERSION: &str = "0.5.4";

/// Builds the guide into `target/guide` below `workspace`; says how to install mdBook where it is
/// missing.
pub fn build(workspace: &Path) -> ExitCode {
    let folder = workspace.join("target/guide");
    let docs = workspace.join("docs");
    let built =
        Command::new("mdbook").arg("build").arg("--dest-dir").arg(&folder).arg(&docs).status();
    match &built {
        Err(cause) => say(format_args!(
            "xtask: mdbook does not start ({cause}); install it by: cargo install mdbook --version {VERSION} --locked"
        )),
        Ok(status) if status.success() => {
            say(format_args!("xtask: the guide is {}", folder.join("index.html").display()));
        }
        Ok(_) => {}
    }
    success(built.is_ok_and(|status| status.success()))
}
