use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use burnformer_core::model_dir;
use burnformer_train::average_models;

use crate::device::DeviceName;

/// Arguments of `average`.
#[derive(clap::Args)]
pub struct Args {
    /// Model directories or checkpoints of one run
    #[arg(required = true)]
    models: Vec<PathBuf>,
    /// The new model directory
    #[arg(long, short)]
    out: PathBuf,
}

/// Writes the mean of `models` to `out`, with the first one's tokenisers and search settings.
pub fn run(args: Args) -> Result<()> {
    if args.out.exists() {
        bail!("{}: exists already; choose another --out", args.out.display());
    }
    let (config, model) = average_models(&args.models, &DeviceName::Cpu.open())?;
    model_dir::save(&args.out, &config, &model)?;
    for name in
        ["tokenizer.json", "source_tokenizer.json", "target_tokenizer.json", "generation.json"]
    {
        let from = args.models[0].join(name);
        if from.exists() {
            let to = args.out.join(name);
            fs::copy(&from, &to).with_context(|| format!("{}", to.display()))?;
        }
    }
    model_dir::seal(&args.out)?;
    eprintln!("averaged {} models into {}", args.models.len(), args.out.display());
    Ok(())
}
