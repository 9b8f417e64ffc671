//! `plot`: curves of runs, and figures of the paper.

mod masks;
mod paper;
mod runs;

use std::path::PathBuf;

use anyhow::Result;
use burnformer_view::Picture;

use crate::output::draw;

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

/// The files of the pictures.
#[derive(clap::Args)]
struct Output {
    /// Write the picture to this file, .png or .svg; may be given several times
    #[arg(long, short, required = true, value_name = "FILE")]
    output: Vec<PathBuf>,
}

impl Output {
    fn save(&self, picture: &impl Picture) -> Result<()> {
        draw(picture, &self.output)
    }
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
