//! `burnformer-lab`: benchmarks and the paper's comparisons, run by `cargo xtask bench` and
//! `cargo xtask study`.
//!
//! A separate program keeps these, and the counting allocator, out of the program that users
//! install.

// `println!` and `eprintln!` panic where their stream fails; `output::print` and `output::say` do
// not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod bench;
mod study_command;

use std::process::ExitCode;

use anyhow::Result;
use burnformer::{device, output};
use clap::{Parser, Subcommand};

/// Measure speed, memory and the variations of the paper's model.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    version,
    max_term_width = 100,
    args_override_self = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print nothing but results, warnings and errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Measure speed and memory, alone or in comparison with another framework
    Bench(bench::Args),
    /// Train the variations of the paper's Table 3 and compare them; test on longer sentences
    Study(study_command::Args),
}

/// The allocator, which counts allocations for the benchmark of layers.
#[global_allocator]
static ALLOCATOR: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

fn main() -> ExitCode {
    burnformer_core::allocator::keep_freed_memory();
    device::prepare();
    match Cli::try_parse() {
        Ok(cli) => {
            output::set_quiet(cli.quiet);
            output::exit_code(device::guarded("", || run(cli.command))).into()
        }
        Err(usage) => output::exit_code(output::print_usage(usage)).into(),
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Bench(args) => bench::run(args, &ALLOCATOR),
        Command::Study(args) => study_command::run(args),
    }
}
