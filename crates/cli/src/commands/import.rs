use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_hub::ModelName;
use burnformer_interop::{Format, Package};

use crate::named;
use crate::output::{note, wrong_usage};
use crate::values::model_format;

/// Arguments of `import`.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
pub struct Args {
    /// Format of the model [default: recognised from its files]
    #[arg(value_parser = model_format())]
    format: Option<Format>,
    /// The other system's model: a folder, a file of Marian, or a name: hf:OWNER/NAME or hf:OWNER/NAME@REVISION is fetched from
    /// the Hugging Face hub, firefox:de-en from the list of Firefox's models
    path: PathBuf,
    /// The new model directory [default for a name: the user's cache, where every command finds it by the name]
    #[arg(long, short)]
    out: Option<PathBuf>,
}

/// Converts a model of another system into a model directory.
pub fn run(args: Args) -> Result<()> {
    let (path, out) = match (args.path.to_str().and_then(ModelName::parse), args.out) {
        (Some(name), None) => {
            let name = name?;
            let dir = named::model(&name, &|| true)?;
            note(format_args!("{name} is in {}; --model {name} names it", dir.display()));
            return Ok(());
        }
        (Some(name), Some(out)) => (named::fetch(&name?, &|| true)?.folder, out),
        (None, Some(out)) => (args.path, out),
        (None, None) => return Err(wrong_usage("--out is missing: name the new model directory")),
    };
    let (format, package) = convert(args.format, &path, &out)?;
    for remark in &package.remarks {
        note(format_args!("note: {remark}"));
    }
    let (parameters, out) = (package.config.parameter_count(), out.display());
    note(format_args!("{format}: {parameters} parameters of {} in {out}", path.display()));
    Ok(())
}

/// Converts the model at `path`, whose format is found out if it is not given, into the new model directory `out`.
///
/// # Errors
/// If it cannot be read, or the directory cannot be written.
pub fn convert(format: Option<Format>, path: &Path, out: &Path) -> Result<(Format, Package)> {
    let format = format.map_or_else(|| Format::find(path), Ok)?;
    let package = format.read(path)?;
    package.save(out)?;
    Ok((format, package))
}
