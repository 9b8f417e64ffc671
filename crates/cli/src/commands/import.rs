use std::path::PathBuf;

use anyhow::Result;
use burnformer_interop::Format;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::output::note;

/// Arguments of `import`.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
pub struct Args {
    /// Format of the model [default: recognised from its files]
    #[arg(value_parser = format())]
    format: Option<Format>,
    /// The other system's model: a folder, or a file of Marian
    path: PathBuf,
    /// The new model directory
    #[arg(long, short)]
    out: PathBuf,
}

/// Parses the name of a format.
pub fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .map(|name| name.parse().expect("one of the names above"))
}

/// Converts a model of another system into a model directory.
pub fn run(args: Args) -> Result<()> {
    let format = args.format.map_or_else(|| Format::find(&args.path), Ok)?;
    let package = format.read(&args.path)?;
    package.save(&args.out)?;
    for remark in &package.remarks {
        note(format_args!("note: {remark}"));
    }
    let (parameters, out) = (package.config.parameter_count(), args.out.display());
    note(format_args!("{format}: {parameters} parameters of {} in {out}", args.path.display()));
    Ok(())
}
