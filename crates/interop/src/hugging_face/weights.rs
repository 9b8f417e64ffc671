//! The weights of a folder: one file or shards, with the matrices over the vocabularies that the
//! file ties or repeats.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;

use super::config::{Family, MarianConfig, SAFETENSORS};
use crate::embeddings::Embeddings;
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_file};
use crate::tensors::{Tensor, Tensors, Weights, read_safetensors};
use crate::torch;

/// The files of weights, in the order in which transformers looks for them. An index names shards.
const FILES: [&str; 4] = [
    SAFETENSORS,
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
];

/// An index of shards.
#[derive(Deserialize)]
struct Index {
    /// The shard of each tensor.
    weight_map: BTreeMap<String, String>,
}

/// The file of weights in `dir`, or their index.
pub(super) fn file(dir: &Path) -> Option<PathBuf> {
    FILES
        .map(|name| dir.join(name))
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok_and(|found| !found.is_dir()))
}

/// Reads the weights in `dir`.
///
/// # Errors
/// Returns an [`InteropError`] with the file.
pub(super) fn read(dir: &Path) -> Result<Weights> {
    let remedy = "download the weights of the model, too";
    let path = file(dir).ok_or_else(|| InteropError::missing(dir, SAFETENSORS, remedy))?;
    let mut weights = Weights::new(&path, Tensors::new());
    if has_extension(&path, "json") {
        for shard in shards(&path)? {
            read_one(&dir.join(shard), &mut weights)?;
        }
    } else {
        read_one(&path, &mut weights)?;
    }
    Ok(weights)
}

/// The names of the shards in the index `path`.
fn shards(path: &Path) -> Result<BTreeSet<String>> {
    let index: Index = parse_json(path, &read_file(path)?)?;
    let names: BTreeSet<String> = index.weight_map.into_values().collect();
    match names.iter().find(|name| !is_plain(name)) {
        Some(name) => {
            let message = format!("its shard {name:?} is no file of the folder");
            Err(InteropError::damaged(path, message))
        }
        None => Ok(names),
    }
}

/// Returns whether `name` is the name of a file, without a folder.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|last| last == name)
}

fn read_one(path: &Path, weights: &mut Weights) -> Result<()> {
    let bytes = read_file(path)?;
    if has_extension(path, "safetensors") {
        read_safetensors(path, &bytes, weights)
    } else {
        torch::read(path, &bytes, weights)
    }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|found| found == wanted)
}

/// Takes the matrices over the vocabularies. A matrix of its own in the file is used whatever the
/// flags say, as in transformers 5; a missing one is the matrix that it is tied to.
///
/// # Errors
/// Returns [`InteropError::MissingTensor`] if the file has neither, and [`InteropError::Shape`] if
/// a matrix belongs to another configuration.
pub(super) fn embeddings(
    config: &MarianConfig,
    family: Family,
    weights: &mut Weights,
) -> Result<Embeddings> {
    let names = [
        "model.shared.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "lm_head.weight",
    ];
    let matrices = names.map(|name| weights.take_any(name).map(Rc::new));
    let [shared, source, target, output] = matrices.each_ref().map(Option::as_ref);
    let shares = family == Family::M2m100 || config.share_encoder_decoder_embeddings;
    let ties = config.tie_word_embeddings;
    // The embeddings of both sides are tied to `shared` even without `ties` in transformers 4,
    // which leaves their copies out of the file.
    let shared = shared.filter(|_| shares);
    let source_choices = [
        source,
        shared,
        output.filter(|_| shares && ties),
        target.filter(|_| shares && ties),
    ];
    let target_choices = [
        target,
        shared,
        output.filter(|_| ties),
        source.filter(|_| shares && ties),
    ];
    let output_choices = [
        output,
        shared.filter(|_| ties),
        target.filter(|_| ties),
        source.filter(|_| shares && ties),
    ];
    let source_shape = [config.vocab_size, config.d_model];
    let target_shape = [config.target_vocab(), config.d_model];
    Ok(Embeddings {
        source: first(weights, names[1], source_choices, &source_shape)?,
        target: first(weights, names[2], target_choices, &target_shape)?,
        output: first(weights, names[3], output_choices, &target_shape)?,
    })
}

/// The first matrix among `choices` for the tensor `name`.
fn first(
    weights: &Weights,
    name: &str,
    choices: [Option<&Rc<Tensor>>; 4],
    shape: &[usize],
) -> Result<Rc<Tensor>> {
    let matrix = choices.into_iter().flatten().next();
    let matrix = matrix.ok_or_else(|| weights.missing(name))?;
    weights.check_shape(name, matrix, shape)?;
    Ok(Rc::clone(matrix))
}
