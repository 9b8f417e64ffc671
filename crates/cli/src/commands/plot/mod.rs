//! `plot`: curves of runs, and figures of the paper.

mod masks;
mod output;
mod paper;
mod runs;

use anyhow::Result;

/// Arguments of `plot`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(flatten)]
    runs: runs::Args,
    #[command(subcommand)]
    paper: Option<Paper>,
}

/// Pictures that need no run (to draw a run of such a name, write `./schedule`).
#[derive(clap::Subcommand)]
enum Paper {
    /// The sinusoidal positional encodings (paper §3.5)
    Positions(paper::Positions),
    /// The learning rate over updates (paper §5.3)
    Schedule(paper::Schedule),
    /// The label-smoothed target and its loss (paper §5.4)
    Smoothing(paper::Smoothing),
    /// The masks of attention: padding, look-ahead, window (paper §3.2.3 and §4)
    Masks(masks::Masks),
}

/// Draws the picture.
pub fn run(args: Args) -> Result<()> {
    match args.paper {
        None => runs::run(args.runs),
        Some(Paper::Positions(args)) => paper::positions(args),
        Some(Paper::Schedule(args)) => paper::schedule(args),
        Some(Paper::Smoothing(args)) => paper::smoothing(args),
        Some(Paper::Masks(args)) => masks::masks(args),
    }
}
