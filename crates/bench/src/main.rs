//! `cargo xtask bench`: repeatable benchmarks. Each prints one record, and some compare with a peer.
//!
//! They are a separate program, so that the installed program has no benchmarks and no counting
//! allocator.

// Unlike `output::print` and `output::say`, `println!` and `eprintln!` panic if their stream fails.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod compare;
mod layers;
mod options;
mod record;
mod train;
mod translate;

use std::process::ExitCode;

use anyhow::Result;
use burnformer::{device, output};
use clap::{Parser, Subcommand};

/// Measure speed and memory, alone or in comparison with another framework.
#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    version,
    max_term_width = 100,
    args_override_self = true
)]
struct Cli {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Training updates on real text: target tokens per second, padding not counted
    Train(train::Args),
    /// A text file through a model, from start to end: sentences per second
    Translate(translate::Args),
    /// The layers of the paper's Table 1: how their cost grows with length and width
    Layers(layers::Args),
}

/// The counting allocator of [`layers`].
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

fn main() -> ExitCode {
    burnformer_core::allocator::keep_freed_memory();
    device::prepare();
    match Cli::try_parse() {
        Ok(cli) => output::exit_code(device::guarded("", || run(cli.benchmark))).into(),
        Err(usage) => output::exit_code(output::print_usage(usage)).into(),
    }
}

/// Measures, and prints to standard output.
fn run(benchmark: Benchmark) -> Result<()> {
    match benchmark {
        Benchmark::Train(args) => train::run(args),
        Benchmark::Translate(args) => translate::run(args),
        Benchmark::Layers(args) => layers::run(args, &MEMORY),
    }
}
