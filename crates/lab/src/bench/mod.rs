//! Benchmarks that anyone can repeat. Each prints one record, and some compare with a peer.

mod compare;
mod layers;
mod options;
mod record;
mod shape;
mod train;
mod translate;

use anyhow::Result;
use peak_alloc::PeakAlloc;

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// Training updates on real text: target tokens per second, padding not counted
    Train(train::Args),
    /// A text file through a model, from start to end: sentences per second
    Translate(translate::Args),
    /// The layers of the paper's Table 1: how their cost grows with length and width
    Layers(layers::Args),
}

/// Measures, and prints to standard output. `allocator` counts the allocations of the process.
///
/// # Errors
/// Returns the errors of the chosen benchmark.
pub fn run(args: Args, allocator: &PeakAlloc) -> Result<()> {
    match args.benchmark {
        Benchmark::Train(args) => train::run(args),
        Benchmark::Translate(args) => translate::run(args),
        Benchmark::Layers(args) => layers::run(args, allocator),
    }
}
