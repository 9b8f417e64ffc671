use std::path::PathBuf;

use anyhow::Result;
use burnformer_core::model_dir;
use serde_json::json;

/// Arguments of `inspect`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory
    model: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// List every parameter with its shape
    #[arg(long)]
    parameters: bool,
}

/// Describes a model directory after checking its hashes.
pub fn run(args: Args) -> Result<()> {
    model_dir::verify(&args.model)?;
    let config = model_dir::load_config(&args.model)?;
    let shapes = model_dir::parameter_shapes(&args.model)?;
    if args.json {
        let value = json!({
            "path": args.model,
            "architecture": config.architecture(),
            "parameters": config.parameter_count(),
            "model": config,
            "shapes": shapes,
        });
        println!("{}", serde_json::to_string_pretty(&value)?);
        return Ok(());
    }
    println!("model       {}", args.model.display());
    println!("architecture {}", config.architecture().name());
    println!("parameters  {}", config.parameter_count());
    let fields = serde_json::to_value(&config)?;
    for (name, value) in fields.as_object().into_iter().flatten() {
        println!("{name:<19} {}", value.to_string().trim_matches('"'));
    }
    if args.parameters {
        for (name, shape) in shapes {
            println!("{name:<60} {shape:?}");
        }
    }
    println!("files       unchanged since they were written (SHA-256)");
    Ok(())
}
