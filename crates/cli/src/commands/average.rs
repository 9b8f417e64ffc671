use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_files::is_file;
use burnformer_infer::{GENERATION_FILE, TOKENIZER_FILES, load_tokenizers};
use burnformer_text::counted;
use burnformer_train::{average_models, copy_file};

use super::model;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::new_model::{recover, write_new};
use crate::output::{check_new, note};

/// Arguments of `average`.
#[derive(clap::Args)]
#[command(after_help = include_str!("average.txt"))]
pub struct Args {
    /// Model directories or checkpoints of one run
    #[arg(required = true, value_parser = model())]
    models: Vec<PathBuf>,
    /// The new model directory
    #[arg(long, short)]
    out: PathBuf,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default().reads_models(&self.models))
    }
}

/// Writes the mean of `models` to `out`, with the tokenisers and search settings of the first one.
///
/// # Errors
/// Returns an error if a model cannot be read, the models differ in shape, or `out` cannot be
/// written.
pub fn run(args: Args) -> Result<()> {
    recover(&args.out)?;
    check_new(&args.out)?;
    check_one_run(&args.models)?;
    let (config, model) = average_models(&args.models, &Device::flex())?;
    write_new(&args.out, |folder| {
        model_dir::save(folder, config.as_ref(), &model)?;
        for name in TOKENIZER_FILES.into_iter().chain([GENERATION_FILE]) {
            let from = args.models[0].join(name);
            let is_there = is_file(&from).with_context(|| from.display().to_string())?;
            if is_there {
                copy_file(&from, &folder.join(name))?;
            }
        }
        Ok(model_dir::seal(folder)?)
    })?;
    let models = counted(args.models.len(), "model");
    note(format_args!(
        "averaged {models} into {}",
        args.out.display()
    ));
    Ok(())
}

/// Checks every file of `models`, and that their tokenisers are equal: a mean of models with
/// different vocabularies has no meaning.
fn check_one_run(models: &[PathBuf]) -> Result<()> {
    let mut first = None;
    for path in models {
        model_dir::verify(path)?;
        let tokenizers = load_tokenizers(path)?;
        let hashes = [tokenizers.source.hash(), tokenizers.target.hash()];
        if *first.get_or_insert(hashes.clone()) != hashes {
            let a = models[0].display();
            let b = path.display();
            bail!("{a} and {b} have different tokenisers; average models of one run");
        }
    }
    Ok(())
}
