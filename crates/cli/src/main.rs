//! `burnformer`: train, score and run translation models from one binary.
//!
//! The only crate that picks backends: every command takes `--device`, and the libraries below it
//! take what that names. stdout carries results only; everything else goes to stderr. A stdout that
//! nobody reads any more ends the command quietly, one that cannot be written is a failure; a stderr
//! that fails changes nothing. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 and 143 stopped by
//! Ctrl-C and SIGTERM.

// `println!` and `eprintln!` panic where their stream fails; `output::print` and `output::say` do not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod commands;
mod device;
mod embedded;
mod line_warnings;
mod output;
mod signals;
mod texts;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Train, score and run translation models: the Transformer of "Attention Is All You Need".
#[derive(Parser)]
#[command(name = "burnformer", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model on parallel text (without arguments: the embedded German–English corpus).
    Train(commands::train::Args),
    /// Translate text, one sentence a line, from standard input to standard output.
    Translate(commands::translate::Args),
    /// Score translations by BLEU, chrF or TER, of a model or of a file.
    EvalBleu(commands::eval_bleu::Args),
    /// Score given translations by a model's log-probability.
    Score(commands::score::Args),
    /// Explain the keys of configurations: type, default, presets, and when to change them.
    Config(commands::config::Args),
    /// Train the variations of the paper's Table 3 and compare them.
    Study(commands::study::Args),
    /// Average the parameters of several models.
    Average(commands::average::Args),
    /// Make a model directory of a model of another system.
    Import(commands::import::Args),
    /// Write a model directory as a model of another system.
    Export(commands::export::Args),
    /// Store a model's matrices in 8-bit integers: a quarter of the size, several times the speed on a CPU.
    Quantize(commands::quantize::Args),
    /// Describe a model directory.
    Inspect(commands::inspect::Args),
    /// Show what a model looks at: every layer and head, and word alignments.
    Attention(commands::attention::Args),
    /// Draw the curves of runs, or the paper's own pictures.
    Plot(commands::plot::Args),
    /// List the devices of this build and this machine.
    Devices(commands::devices::Args),
    /// Compute for other machines: what `--device remote:HOST:PORT` names there.
    Worker(commands::worker::Args),
    /// Measure speed, alone or beside another framework.
    Bench(commands::bench::Args),
}

/// Counts what is allocated, for `bench`.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// Exit code for a command line that makes no sense.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    burnformer_core::keep_freed_memory();
    device::prepare();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(usage) => return exit_code(output::print_usage(usage)),
    };
    exit_code(device::guarded("", || run(command)))
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Train(args) => commands::train::run(args),
        Command::Translate(args) => commands::translate::run(args),
        Command::EvalBleu(args) => commands::eval_bleu::run(args),
        Command::Score(args) => commands::score::run(args),
        Command::Config(args) => commands::config::run(args),
        Command::Study(args) => commands::study::run(args),
        Command::Average(args) => commands::average::run(args),
        Command::Import(args) => commands::import::run(args),
        Command::Export(args) => commands::export::run(args),
        Command::Quantize(args) => commands::quantize::run(args),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Attention(args) => commands::attention::run(args),
        Command::Plot(args) => commands::plot::run(args),
        Command::Devices(args) => commands::devices::run(args),
        Command::Worker(args) => commands::worker::run(args),
        Command::Bench(args) => commands::bench::run(args),
    }
}

/// The exit code of a command that came to `result`, of which it tells what the user has to know.
fn exit_code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if error.is::<output::Closed>() {
        return ExitCode::SUCCESS;
    }
    if let Some(stopped) = error.downcast_ref::<signals::Stopped>() {
        return ExitCode::from(stopped.exit_code());
    }
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        // Standard error may fail; the exit code tells all the same.
        let _ = usage.print();
        return ExitCode::from(WRONG_USAGE);
    }
    output::say(format_args!("error: {}", message(&error)));
    ExitCode::FAILURE
}

/// The error and its causes, but for those that it has named itself.
fn message(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |mut text, cause| {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_named_once() {
        let error = anyhow::anyhow!("no such file").context("a.toml: no such file; check it");
        assert_eq!(message(&error), "a.toml: no such file; check it");
        assert_eq!(message(&anyhow::anyhow!("b").context("a")), "a: b");
    }
}
