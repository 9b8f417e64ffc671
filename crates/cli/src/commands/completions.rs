use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::output::{Output, note};

/// Arguments of `completions`.
#[derive(clap::Args)]
#[command(after_help = include_str!("completions.txt"))]
pub struct Args {
    /// The shell; for bash,
    /// `burnformer completions bash > ~/.local/share/bash-completion/completions/burnformer`
    #[arg(required_unless_present = "man")]
    shell: Option<clap_complete::Shell>,
    /// Write manual pages into this folder instead, one per command
    #[arg(long, value_name = "DIR", conflicts_with = "shell")]
    man: Option<PathBuf>,
}

/// Prints the script for `program`, or writes its manual pages.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn run(args: Args, mut program: clap::Command) -> Result<()> {
    if let Some(folder) = args.man {
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        clap_mangen::generate_to(program, &folder).with_context(|| folder.display().to_string())?;
        note(format_args!(
            "man -l {} reads the first page",
            folder.join("burnformer.1").display()
        ));
        return Ok(());
    }
    let mut script = Vec::new();
    let shell = args.shell.context("no shell")?;
    clap_complete::generate(shell, &mut program, "burnformer", &mut script);
    let mut output = Output::standard();
    output.text(script)?;
    output.flush()
}
