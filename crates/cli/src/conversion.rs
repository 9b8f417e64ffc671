//! Models of other systems as model directories.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use burn::tensor::Device;
use burnformer_core::{TransformerConfig, allocator, model_dir};
use burnformer_infer::{
    Batching, GenerationSettings, NeuralModel, Request, SearchSettings, TranslateOptions,
    Translator, search as infer_search,
};
use burnformer_interop::{Format, InteropError, Pretrained, TextFiles};

use crate::new_model::{recover, write_new};
use crate::output::note;

/// Converts the model at `path` into the new model directory `out`. The format is detected if
/// `format` is `None`. The directory appears only after it has been loaded and has translated a
/// sentence. A `bare` model needs no tokeniser. Returns the format and the configuration.
///
/// # Errors
/// Returns an error if the model cannot be read or cannot translate, or the directory cannot be
/// written.
pub fn convert(
    format: Option<Format>,
    path: &Path,
    out: &Path,
    files: &TextFiles,
    bare: bool,
) -> Result<(Format, TransformerConfig)> {
    recover(out)?;
    check_empty(out)?;
    let (format, mut model) = burnformer_interop::import(path, format, files)?;
    let name = path.display();
    model
        .warnings
        .iter()
        .for_each(|warning| note(format_args!("note: {warning}")));
    if !bare && !model.has_tokenizers() {
        bail!(
            "{name}: no tokeniser with its tokens is beside the model (source.spm and target.spm, or tokenizer.json), without which it \
             translates no text; name its SentencePiece models with --sentencepiece SOURCE TARGET (or one for both), or take \
             --no-tokenizer to inspect and export it"
        );
    }
    write_new(out, |folder| {
        model.save(folder)?;
        // The trial loads them again.
        model.weights.clear();
        allocator::return_freed_memory();
        try_out(folder, &model).with_context(|| format!("{name}: was read and cannot be used"))
    })?;
    Ok((format, model.config))
}

/// Refuses the folder `out` if it is not empty.
///
/// # Errors
/// Returns [`InteropError::Occupied`] if the folder is not empty.
pub fn check_empty(out: &Path) -> Result<()> {
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(InteropError::Occupied(out.into()).into());
    }
    Ok(())
}

/// Loads the model directory `dir` and translates a few words with `settings`.
///
/// # Errors
/// Returns an error if loading or translating fails.
pub fn try_settings(dir: &Path, settings: GenerationSettings) -> Result<()> {
    let translator = Translator::load(dir, &Device::flex())?;
    let options = TranslateOptions {
        search: settings.search,
        protections: settings.protections,
        ..translator.options()
    };
    translator.translate(&["a 1"], &options)?;
    Ok(())
}

/// Loads the model directory `dir` and translates a few words, or ids without a tokeniser.
fn try_out(dir: &Path, converted: &Pretrained) -> Result<()> {
    let device = Device::flex();
    let search = SearchSettings {
        max_length: Some(8),
        ..SearchSettings::greedy()
    };
    if converted.has_tokenizers() {
        return try_settings(dir, search.into());
    }
    let (config, model) = model_dir::load(dir, &device)?;
    let model = NeuralModel::new(config, model, &device);
    let request = Request::new(vec![converted.config.eos]);
    infer_search(&model, &[request], &search, &Batching::default())?;
    Ok(())
}
