use std::path::PathBuf;

use anyhow::Result;
use burnformer_interop::{Format, Pretrained};

use super::model;
use crate::conversion::check_empty;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::new_model::{recover, write_new};
use crate::output::note;
use crate::values::one_of;

/// Arguments of `export`.
#[derive(clap::Args)]
#[command(after_help = include_str!("export.txt"))]
pub struct Args {
    /// The format to write
    #[arg(value_parser = one_of(Format::WRITTEN, Format::name))]
    format: Format,
    /// The model directory; embedded:de-en and embedded:en-de are inside the program
    #[arg(long, short, value_parser = model(), value_name = "DIR")]
    model: PathBuf,
    /// The new folder for the converted model
    #[arg(long, short)]
    out: PathBuf,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default().reads_models([&self.model]))
    }
}

/// Converts a model directory into a model of another system.
///
/// # Errors
/// Returns an error if the model cannot be read, the other system cannot express it, or the output
/// cannot be written.
pub fn run(args: Args) -> Result<()> {
    recover(&args.out)?;
    check_empty(&args.out)?;
    let model = Pretrained::load(&args.model)?;
    write_new(&args.out, |folder| Ok(args.format.write(&model, folder)?))?;
    let from = args.model.display();
    let to = args.out.display();
    note(format_args!("{}: {from} written to {to}", args.format));
    Ok(())
}
