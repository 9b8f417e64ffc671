use std::path::PathBuf;

use anyhow::Result;
use burnformer_interop::Format;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::output::say;

/// Arguments of `import`.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
pub struct Args {
    /// The format of the model; found by itself if it is left out
    #[arg(value_parser = format())]
    format: Option<Format>,
    /// The model of the other system: a folder
    path: PathBuf,
    /// The new model directory
    #[arg(long, short)]
    out: PathBuf,
}

/// A format by its name.
pub fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .map(|name| name.parse().expect("one of the names above"))
}

/// Writes a model directory of a model of another system.
pub fn run(args: Args) -> Result<()> {
    let format = args.format.map_or_else(|| Format::find(&args.path), Ok)?;
    let package = format.read(&args.path)?;
    package.save(&args.out)?;
    for remark in &package.remarks {
        say(format_args!("note: {remark}"));
    }
    let (parameters, out) = (package.config.parameter_count(), args.out.display());
    say(format_args!("{format}: {parameters} parameters of {} in {out}", args.path.display()));
    Ok(())
}
