//! Marian's models, `.npz` and `.bin`, also of Firefox and Bergamot.
//!
//! Marian's matrices are `[in, out]`; the matrices of a model directory are `[out, in]`.

mod bin;
mod decoder;
mod files;
mod npz;
mod options;
mod shortlist;
mod weights;
mod yaml;

use std::path::Path;
use std::rc::Rc;

use burnformer_core::OutputBias;

use crate::embeddings::{Embeddings, append_padding, padding_id};
use crate::error::{InteropError, Result};
use crate::files::read_file;
use crate::pretrained::Pretrained;
use crate::tensors::{Tensor, Weights};
use crate::text_files::TextFiles;
use bin::OPTIONS;
pub(crate) use files::recognizes;
use files::{Folder, Vocabularies};
use yaml::Options;

/// Reads the model at `path`: a `.npz` or `.bin` file with its vocabularies and decoder options in
/// the same folder, or that folder. `files` are the tokeniser files named by the user.
///
/// # Errors
/// Returns an [`InteropError`] with the file, the tensor or option, and a remedy.
pub(crate) fn read(path: &Path, files: &TextFiles) -> Result<Pretrained> {
    let folder = Folder::find(path, files)?;
    let path = &folder.model;
    let bytes = read_file(path)?;
    let items = if bin::is_bin(&bytes) {
        bin::read(path, &bytes)?
    } else {
        npz::read(path, &bytes)?
    };
    let remedy =
        "a model that Marian wrote holds its options; convert it with a Marian of 2018 or later";
    let text = items.texts.get(OPTIONS);
    let text = text.ok_or_else(|| InteropError::missing(path, OPTIONS, remedy))?;
    let options = Options::read(text).map_err(|e| InteropError::damaged(path, e))?;
    options::check(path, &options)?;
    let mut tensors = Weights::new(path, items.tensors);
    let embeddings = embeddings(&mut tensors)?;
    let Embeddings { source, target, .. } = &embeddings;
    let sizes = [source.shape[0], target.shape[0], source.shape[1]];
    let mut config = options::config(path, &options, &sizes, &tensors)?;
    config.sharing = embeddings.sharing();
    config.pad = padding_id([config.source_vocab, config.target_vocab]);
    config.bos = config.pad;
    let layer_options = options::of_weights(path, &options, config.decoder_layers)?;
    let mut weights = weights::take_layers(&config, &layer_options, &mut tensors)?;
    // A factor for activations in int8 that belongs to no matrix.
    if options.get("version").is_some() {
        tensors.take_any("none_QuantMultA");
    }
    match tensors.take_any("decoder_ff_logit_out_b") {
        Some(bias) => {
            config.conventions.output_bias = OutputBias::PerPiece;
            weights.insert(
                "output_bias".into(),
                weights::vector(
                    &tensors,
                    "decoder_ff_logit_out_b",
                    bias,
                    config.target_vocab,
                )?,
            );
        }
        None => config.conventions.output_bias = OutputBias::None,
    }
    weights.extend(embeddings.into_weights());
    tensors.finish("it has parts that no plain Transformer of Marian has")?;
    let Vocabularies {
        texts,
        closing,
        suppressed,
    } = folder.vocabularies(&config, files)?;
    config.eos = closing;
    let (search, warnings) = folder.search(&suppressed)?;
    let mut model = Pretrained {
        config,
        weights,
        generation: search.into(),
        texts,
        shortlist: None,
        warnings,
    };
    let sizes = [model.config.source_vocab, model.config.target_vocab];
    append_padding(&mut model);
    model.shortlist = folder.shortlist(sizes, model.config.source_vocab)?;
    let path = path.clone();
    model
        .config
        .validate()
        .map_err(|source| InteropError::Config(path, source))?;
    Ok(model)
}

/// Takes the matrices over the vocabularies out of a file. A side without a matrix uses the shared
/// one, and an output without a matrix the target's.
fn embeddings(tensors: &mut Weights) -> Result<Embeddings> {
    let shared = tensors.take_any("Wemb").map(Rc::new);
    let source = embedding(tensors, "encoder_Wemb", shared.as_ref())?;
    let target = embedding(tensors, "decoder_Wemb", shared.as_ref())?;
    let output = tensors.take_any("decoder_ff_logit_out_Wt");
    let output = match (output, tensors.take_any("decoder_ff_logit_out_W")) {
        (None, Some(output)) if output.shape.len() == 2 => Some(output.transposed()),
        (output, _) => output,
    };
    let output = output.map_or_else(|| Rc::clone(&target), Rc::new);
    let shape = [target.shape[0], source.shape[1]];
    tensors.check_shape("decoder_Wemb", &target, &shape)?;
    tensors.check_shape("decoder_ff_logit_out_W", &output, &shape)?;
    Ok(Embeddings {
        source,
        target,
        output,
    })
}

/// Takes the embedding `name`, or `shared` if there is none.
fn embedding(tensors: &mut Weights, name: &str, shared: Option<&Rc<Tensor>>) -> Result<Rc<Tensor>> {
    let own = tensors.take_any(name).map(Rc::new);
    let matrix = own.or_else(|| shared.cloned());
    let matrix = matrix.ok_or_else(|| tensors.missing(name))?;
    match matrix.shape[..] {
        [rows, columns] if rows > 0 && columns > 0 => Ok(matrix),
        _ => {
            let message = format!("tensor {name} is not a matrix");
            Err(InteropError::damaged(&tensors.path, message))
        }
    }
}
