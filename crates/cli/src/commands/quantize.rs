use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burn::tensor::Device;
use burnformer_core::{ComputeType, model_dir, named_parameters};
use burnformer_train::copy_files;

use super::model;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::new_model::{recover, write_new};
use crate::output::{check_new, note};

/// Arguments of `quantize`.
#[derive(clap::Args)]
#[command(after_help = include_str!("quantize.txt"))]
pub struct Args {
    /// The model directory to quantise
    #[arg(long, short, value_parser = model())]
    model: PathBuf,
    /// The new model directory
    #[arg(long, short)]
    out: PathBuf,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default().reads_models([&self.model]))
    }
}

/// The files that are written anew. Every other file of the model directory is copied.
const WRITTEN_FILES: [&str; 3] = ["config.json", "model.safetensors", "manifest.json"];

/// Writes the model with 8-bit integer matrices to `--out`. It has a quarter of the size, and
/// decoding with it multiplies in 8 bits.
///
/// # Errors
/// Returns an error if the model cannot be read, or the model directory cannot be written.
pub fn run(args: Args) -> Result<()> {
    recover(&args.out)?;
    check_new(&args.out)?;
    model_dir::verify(&args.model)?;
    if model_dir::load_compute_type(&args.model)? == ComputeType::Int8 {
        bail!(
            "{}: is quantised already; give the model that it was made from",
            args.model.display()
        );
    }
    let (config, model) = model_dir::load(&args.model, &Device::flex())?;
    write_new(&args.out, |folder| {
        model_dir::save_parameters(
            folder,
            config.as_ref(),
            &named_parameters(&model),
            ComputeType::Int8,
        )?;
        copy_files(&args.model, folder, &WRITTEN_FILES)?;
        Ok(model_dir::seal(folder)?)
    })?;
    let [before, after] = [&args.model, &args.out].map(|dir| weights_size(dir));
    note(format_args!(
        "{}: weights of {:.1} MB instead of {:.1} MB",
        args.out.display(),
        after? as f64 / 1e6,
        before? as f64 / 1e6
    ));
    Ok(())
}

fn weights_size(dir: &Path) -> Result<u64> {
    let path = dir.join("model.safetensors");
    Ok(fs::metadata(&path)
        .with_context(|| path.display().to_string())?
        .len())
}
