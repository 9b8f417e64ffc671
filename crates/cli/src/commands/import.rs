use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_hub::ModelName;
use burnformer_infer::{
    Batching, NeuralModel, Request, SearchSettings, TranslateOptions, Translator,
    search as infer_search,
};
use burnformer_interop::{Format, InteropError, Package, TextFiles};

use crate::named;
use crate::output::{note, wrong_usage};
use crate::values::one_of;

/// Arguments of `import`.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
pub struct Args {
    /// Format of the model [default: recognised from its files]
    #[arg(value_parser = one_of(&Format::ALL, Format::name))]
    format: Option<Format>,
    /// The other system's model: a folder, a file of Marian, a package (.argosmodel of Argos Translate, .zip of OPUS-MT), or a name: hf:OWNER/NAME or hf:OWNER/NAME@REVISION is fetched from
    /// the Hugging Face hub, firefox:de-en from the list of Firefox's models
    path: PathBuf,
    /// The new model directory [default for a name: the user's cache, where every command finds it by the name]
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Marian's vocabularies (.spm, .yml), of the source and of the target or one for both, where neither a decoder.yml nor their
    /// names tell which is which
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    vocabs: Vec<PathBuf>,
    /// The SentencePiece models, of the source and of the target or one for both [default: those beside the model]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    sentencepiece: Vec<PathBuf>,
    /// Import a model that has no tokeniser: it can be inspected and exported, and translates no text
    #[arg(long)]
    no_tokenizer: bool,
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
    let files = TextFiles { vocabularies: args.vocabs, sentencepiece: args.sentencepiece };
    let (format, package) = convert(args.format, &path, &out, &files, args.no_tokenizer)?;
    for remark in &package.remarks {
        note(format_args!("note: {remark}"));
    }
    let (parameters, out) = (package.config.parameter_count(), out.display());
    note(format_args!("{format}: {parameters} parameters of {} in {out}", path.display()));
    Ok(())
}

/// Converts the model at `path`, whose format is found out if it is not given, into the new model directory `out`. The
/// directory appears there once it has been loaded and has translated. A `bare` one needs no tokeniser.
///
/// # Errors
/// If the model cannot be read or cannot translate, or the directory cannot be written.
pub fn convert(
    format: Option<Format>,
    path: &Path,
    out: &Path,
    files: &TextFiles,
    bare: bool,
) -> Result<(Format, Package)> {
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(InteropError::Occupied { path: out.into() }.into());
    }
    let (format, package) = burnformer_interop::import(path, format, files)?;
    let name = path.display();
    if !bare && !package.has_tokenizers() {
        bail!(
            "{name}: no tokeniser is beside the model (source.spm and target.spm, or tokenizer.json), without which it \
             translates no text; name its SentencePiece models with --sentencepiece SOURCE TARGET (or one for both), or take \
             --no-tokenizer to inspect and export it"
        );
    }
    let beside = burnformer_files::folder_of(out);
    let cannot = || format!("{}: cannot be written", out.display());
    fs::create_dir_all(beside).with_context(cannot)?;
    let made = tempfile::tempdir_in(beside).with_context(cannot)?;
    let dir = made.path().join("model");
    package.save(&dir)?;
    try_out(&dir, &package).with_context(|| format!("{name}: was read and cannot be used"))?;
    // Windows renames onto no folder, not even an empty one.
    let _ = fs::remove_dir(out);
    fs::rename(&dir, out).with_context(cannot)?;
    Ok((format, package))
}

/// Loads the model directory `dir` and translates a few words, or ids without a tokeniser.
fn try_out(dir: &Path, package: &Package) -> Result<()> {
    let device = Device::flex();
    let search = SearchSettings { max_length: Some(8), ..SearchSettings::greedy() };
    if package.has_tokenizers() {
        let translator = Translator::load(dir, &device)?;
        let options = TranslateOptions { search, ..translator.options() };
        translator.translate(&["a 1"], &options)?;
        return Ok(());
    }
    let (config, model) = model_dir::load(dir, &device)?;
    let model = NeuralModel::new(config, model, &device);
    let request = Request::new(vec![package.config.eos]);
    infer_search(&model, &[request], &search, &Batching::default())?;
    Ok(())
}
