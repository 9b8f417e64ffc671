//! Marian's models, `.npz` and `.bin`: large models, and the small ones of Firefox and
//! Bergamot.

mod bin;
mod files;
mod layers;
mod npz;
mod options;
mod shortlist;
mod yaml;

use std::path::Path;

use burnformer_core::{OutputBias, TransformerConfig};

use crate::embeddings::Embeddings;
use crate::error::{InteropError, Result};
use crate::files::read_file;
use crate::package::Package;
use crate::padding;
use crate::tensors::Weights;
use crate::text_files::TextFiles;
use bin::OPTIONS;
pub(crate) use files::is_there;
use files::{Folder, Vocabularies};
use layers::vector;
use yaml::Options;

/// Reads the model at `path`: a `.npz` or `.bin` file with its vocabularies and its decoder's
/// options in the same folder, or that folder. `files` are those that the user names.
///
/// # Errors
/// An [`InteropError`] that names the file, and the tensor or option, and what to do.
pub(crate) fn read(path: &Path, files: &TextFiles) -> Result<Package> {
    let folder = Folder::find(path, files)?;
    let path = &folder.model;
    let bytes = read_file(path)?;
    let items =
        if bin::is_bin(&bytes) { bin::read(path, &bytes)? } else { npz::read(path, &bytes)? };
    let text = items.texts.get(OPTIONS).ok_or_else(|| InteropError::Missing {
        path: path.clone(),
        wanted: OPTIONS.into(),
        remedy: "a model that Marian wrote holds its options; convert it with a Marian of 2018 or later",
    })?;
    let options = Options::read(text).map_err(|e| InteropError::damaged(path, e))?;
    let mut tensors = Weights::new(path, items.tensors);
    let embeddings = embeddings(&mut tensors)?;
    let Embeddings { source, target, .. } = &embeddings;
    let sizes = [source.shape[0], target.shape[0], source.shape[1]];
    let mut config = options::config(path, &options, &sizes, &tensors)?;
    config.sharing = embeddings.sharing();
    config.pad = padding::id([config.source_vocab, config.target_vocab]);
    config.bos = config.pad;
    let mut weights = layers::take(&config, &options, &mut tensors)?;
    match tensors.take_any("decoder_ff_logit_out_b") {
        Some(bias) => {
            config.conventions.output_bias = OutputBias::PerPiece;
            weights.insert(
                "output_bias".into(),
                vector(&tensors, "decoder_ff_logit_out_b", bias, config.target_vocab)?,
            );
        }
        None => config.conventions.output_bias = OutputBias::None,
    }
    weights.extend(embeddings.into_weights());
    tensors.finish("it has parts that no plain Transformer of Marian has")?;
    let Vocabularies { texts, closing, unknown } = folder.vocabularies(&config, files)?;
    config.eos = closing;
    let (search, remarks) = folder.search(unknown)?;
    let mut package = Package { config, weights, search, texts, shortlist: None, remarks };
    padding::append(&mut package);
    let TransformerConfig { source_vocab, target_vocab, .. } = package.config;
    package.shortlist = folder.shortlist([source_vocab, target_vocab])?;
    let path = path.clone();
    package.config.validate().map_err(|source| InteropError::Config(path, source))?;
    Ok(package)
}

/// Takes the matrices over the vocabularies out of a file. A side without a matrix has the
/// shared one, and the output that of the target.
fn embeddings(tensors: &mut Weights) -> Result<Embeddings> {
    let shared = tensors.take_any("Wemb");
    let mut side = |name: &str| {
        let matrix = tensors.take_any(name).or_else(|| shared.clone());
        let matrix = matrix.ok_or_else(|| tensors.missing(name))?;
        match matrix.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok(matrix),
            _ => {
                let message = format!("tensor {name} is not a matrix");
                Err(InteropError::damaged(&tensors.path, message))
            }
        }
    };
    let (source, target) = (side("encoder_Wemb")?, side("decoder_Wemb")?);
    let output = tensors.take_any("decoder_ff_logit_out_Wt");
    let output = match (output, tensors.take_any("decoder_ff_logit_out_W")) {
        (None, Some(output)) if output.shape.len() == 2 => Some(output.transposed()),
        (output, _) => output,
    };
    let output = output.unwrap_or_else(|| target.clone());
    let shape = [target.shape[0], source.shape[1]];
    let target = tensors.shaped("decoder_Wemb", target, &shape)?;
    let output = tensors.shaped("decoder_ff_logit_out_W", output, &shape)?;
    Ok(Embeddings { source, target, output })
}
