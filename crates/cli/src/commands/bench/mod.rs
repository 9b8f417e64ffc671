//! Benchmarks that anyone can repeat. Each prints one JSON line, and some compare with a peer.

mod alternation;
mod data;
mod decode;
mod growth;
mod kernels;
mod layers;
mod options;
mod peer;
mod record;
mod setting;
mod train;

use anyhow::Result;
use clap::Subcommand;

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Training updates on real text: target tokens per second, padding not counted
    Train(train::Args),
    /// Translation with random weights, in which every hypothesis has the same length
    Decode(decode::Args),
    /// Matrix products in the shapes of a Transformer: GFLOP/s
    Kernels(kernels::Args),
    /// Time and memory of an update over length, width, vocabulary, batch and threads: CSV
    Growth(growth::Args),
    /// The layers of the paper's Table 1: how their cost grows with length and width
    Layers(layers::Args),
    /// Batches from a tokenised corpus: tokens per second, and the share of padding
    Data(data::Args),
}

/// Measures, and prints to standard output.
pub fn run(args: Args) -> Result<()> {
    match args.what {
        What::Train(args) => train::run(args),
        What::Decode(args) => decode::run(args),
        What::Kernels(args) => kernels::run(args),
        What::Growth(args) => growth::run(args),
        What::Layers(args) => layers::run(args),
        What::Data(args) => data::run(args),
    }
}
