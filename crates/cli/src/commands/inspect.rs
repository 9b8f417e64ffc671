use std::collections::BTreeMap;

use anyhow::Result;
use burnformer_core::model_dir;
use serde_json::json;

use super::OneModel;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{Output, print};

/// Arguments of `inspect`.
#[derive(clap::Args)]
#[command(after_help = include_str!("inspect.txt"))]
pub struct Args {
    #[command(flatten)]
    model: OneModel,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// List every parameter with its shape
    #[arg(long)]
    parameters: bool,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default().reads_models([self.model.dir()?]))
    }
}

/// Describes a model directory after checking its hashes.
///
/// # Errors
/// Returns an error if the model cannot be read or is damaged, or the output cannot be written.
pub fn run(args: Args) -> Result<()> {
    let dir = args.model.dir()?;
    model_dir::verify(dir)?;
    let (config, parameters) = model_dir::load_parameters(dir)?;
    let compute = model_dir::load_compute_type(dir)?;
    let shapes = parameters
        .into_iter()
        .map(|(name, data)| (name, data.shape().to_vec()));
    let shapes: BTreeMap<String, Vec<usize>> = shapes.collect();
    if args.json {
        let value = json!({
            // JSON is Unicode, and a path need not be.
            "path": dir.display().to_string(),
            "architecture": config.architecture(),
            "parameters": config.parameter_count(),
            "compute": compute.name(),
            "model": config.to_json(),
            "shapes": shapes,
        });
        return print(serde_json::to_string_pretty(&value)?);
    }
    let mut output = Output::standard();
    output.line(format_args!("model       {}", dir.display()))?;
    output.line(format_args!("architecture {}", config.architecture()))?;
    output.line(format_args!("parameters  {}", config.parameter_count()))?;
    output.line(format_args!("compute     {}", compute.name()))?;
    let fields = config.to_json();
    for (name, value) in fields.as_object().into_iter().flatten() {
        output.line(format_args!(
            "{name:<19} {}",
            value.to_string().trim_matches('"')
        ))?;
    }
    if args.parameters {
        for (name, shape) in shapes {
            output.line(format_args!("{name:<60} {shape:?}"))?;
        }
    }
    output.line("files       unchanged since they were written (SHA-256)")?;
    output.flush()
}
