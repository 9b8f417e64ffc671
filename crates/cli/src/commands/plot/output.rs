//! The place of a drawing.

use std::path::PathBuf;

use anyhow::Result;
use burnformer_view::Picture;

use crate::output::draw;

/// The files of the pictures.
#[derive(clap::Args)]
pub(super) struct Output {
    /// Write the picture to this file, .png or .svg; may be given several times
    #[arg(long, short, required = true, value_name = "FILE")]
    output: Vec<PathBuf>,
}

impl Output {
    pub(super) fn save(&self, picture: &impl Picture) -> Result<()> {
        draw(picture, &self.output)
    }
}
