//! `cargo xtask bench`: benchmarks that anyone can repeat. Each prints one record, and some compare with a peer.
//!
//! They are a program of their own, so that the program which users install has neither them nor an allocator that counts.

// `println!` and `eprintln!` panic where their stream fails; `output::print` and `output::say` do not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod alternation;
mod challenge;
mod data;
mod decode;
mod exchange;
mod fused;
mod growth;
mod kernels;
mod layers;
mod options;
mod peer;
mod record;
mod setting;
mod train;
mod translate;

use std::process::ExitCode;

use anyhow::Result;
use burnformer::{device, output};
use clap::{Parser, Subcommand};

/// Measure speed and memory, alone or in comparison with another framework.
#[derive(Parser)]
#[command(name = "cargo xtask bench", version, max_term_width = 100)]
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
    /// Translation with random weights, in which every hypothesis has the same length
    Decode(decode::Args),
    /// Matrix products in the shapes of a Transformer: GFLOP/s
    Kernels(kernels::Args),
    /// Fused operations beside the same arithmetic in plain tensors: milliseconds, forward and backward
    Fused(fused::Args),
    /// Time and memory of an update over length, width, vocabulary, batch and threads: CSV
    Growth(growth::Args),
    /// The layers of the paper's Table 1: how their cost grows with length and width
    Layers(layers::Args),
    /// Batches from a tokenised corpus: tokens per second, and the share of padding
    Data(data::Args),
    /// Sums over the processes of `mpirun`: seconds
    Exchange(exchange::Args),
    /// The list of 200 inputs in assets/models/challenge.tsv: the share of translations that are accepted
    Challenge(challenge::Args),
}

/// The allocator, which counts what is allocated, for [`layers`].
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

fn main() -> ExitCode {
    burnformer_core::allocator::keep_freed_memory();
    burnformer_study::register();
    device::prepare();
    let benchmark = match Cli::try_parse() {
        Ok(cli) => cli.benchmark,
        Err(usage) => return output::exit_code(output::print_usage(usage)).into(),
    };
    output::exit_code(device::guarded("", || run(benchmark))).into()
}

/// Measures, and prints to standard output.
fn run(benchmark: Benchmark) -> Result<()> {
    match benchmark {
        Benchmark::Train(args) => train::run(args),
        Benchmark::Translate(args) => translate::run(args),
        Benchmark::Decode(args) => decode::run(args),
        Benchmark::Kernels(args) => kernels::run(args),
        Benchmark::Fused(args) => fused::run(args),
        Benchmark::Growth(args) => growth::run(args),
        Benchmark::Layers(args) => layers::run(args, &MEMORY),
        Benchmark::Data(args) => data::run(args),
        Benchmark::Exchange(args) => exchange::run(args),
        Benchmark::Challenge(args) => challenge::run(args),
    }
}
