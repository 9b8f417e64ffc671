//! `bench`: what things cost, one file a measurement.

mod layers;

use anyhow::Result;

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// The layers of the paper's Table 1: how their cost grows with length and width
    Layers(layers::Args),
}

/// Measures.
pub fn run(args: Args) -> Result<()> {
    match args.what {
        What::Layers(args) => layers::run(args),
    }
}
