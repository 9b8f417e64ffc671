use anyhow::Result;

use crate::output::Output;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell; for bash, `burnformer completions bash > ~/.local/share/bash-completion/completions/burnformer`
    shell: clap_complete::Shell,
}

/// Prints the script for `program`.
pub fn run(args: Args, mut program: clap::Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "burnformer", &mut script);
    let mut output = Output::create(None, &[])?;
    output.text(&String::from_utf8_lossy(&script))?;
    output.flush()
}
