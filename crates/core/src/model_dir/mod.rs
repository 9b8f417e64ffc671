//! The model directory: a model on disk that programs in any language can read.
//!
//! | file | content |
//! |---|---|
//! | `config.json` | format version, architecture (`arch`), every field of its configuration (`model`); `compute`: `int8` where the model multiplies in 8 bits |
//! | `model.safetensors` | float32 weights in PyTorch's layout under the names of [`named_parameters`]; or a matrix as 8-bit integers, with a float32 scale for each of its rows under its name and `.scale` |
//! | `manifest.json` | size and SHA-256 of every other file, written last |
//!
//! A program that adds files of its own (tokenisers, search settings) writes them after
//! [`save`] and before [`seal`]. Loading checks every hash and executes nothing.

mod error;
mod manifest;
mod source;
mod tensors;

use std::path::Path;

use burn::tensor::Device;
use burnformer_kernels::{ComputeType, is_fused_on};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use error::{ModelDirError, ModelDirProblem};
pub use manifest::{files, read, seal, seal_again, verify, verify_before_load};
pub use source::{ModelFiles, Source};
pub use tensors::{NamedTensor, read_tensors, write_quantized, write_tensors};

use crate::config::TransformerConfig;
use crate::parameters::{
    Parameters, QuantizedParameters, StateDict, StoredTensor, named_parameters, with_stored,
};
use crate::rnn::RnnConfig;
use crate::seq2seq::{Model, ModelConfig, Seq2SeqConfig};
use error::Result;
use manifest::{WEIGHTS, read_checked, read_tensors_checked};
use tensors::{StoredTensors, into_float32, write, write_named};

/// Version of the format that this crate writes and reads.
pub const FORMAT_VERSION: u32 = 1;
const CONFIG: &str = "config.json";

#[derive(Serialize)]
struct ConfigFile {
    format_version: u32,
    arch: &'static str,
    #[serde(skip_serializing_if = "is_float32")]
    compute: ComputeType,
    model: Json,
}

fn is_float32(compute: &ComputeType) -> bool {
    *compute == ComputeType::Float32
}

/// Writes `config.json` and `model.safetensors` into `dir`, which is created if it does not exist.
///
/// The directory is complete only after [`seal`].
///
/// # Errors
/// Returns a [`ModelDirError`] if a file cannot be written.
pub fn save(dir: &Path, config: &dyn Seq2SeqConfig, model: &impl Parameters) -> Result<()> {
    save_parameters(dir, config, &named_parameters(model), ComputeType::Float32)
}

/// Writes the same files as [`save`] for a model with these named `parameters` that translates in
/// `compute`. With [`ComputeType::Int8`] its matrices are stored in 8 bits, a quarter of their
/// size.
///
/// # Errors
/// Returns a [`ModelDirError`] if a file cannot be written.
pub fn save_parameters(
    dir: &Path,
    config: &dyn Seq2SeqConfig,
    parameters: &StateDict,
    compute: ComputeType,
) -> Result<()> {
    write_config(dir, config, compute)?;
    match compute {
        ComputeType::Int8 => write_quantized(&dir.join(WEIGHTS), parameters),
        _ => write_tensors(&dir.join(WEIGHTS), parameters),
    }
}

/// Saves a configuration and parameters in float32 as [`save_parameters`] does, without a copy of
/// the parameters.
///
/// # Errors
/// Returns a [`ModelDirError`] if a file cannot be written.
pub fn save_named<'a>(
    dir: &Path,
    config: &dyn Seq2SeqConfig,
    parameters: impl Iterator<Item = NamedTensor<'a>>,
) -> Result<()> {
    write_config(dir, config, ComputeType::Float32)?;
    write_named(&dir.join(WEIGHTS), parameters)
}

/// Writes `config.json` in `dir`, which is made if it does not exist.
fn write_config(dir: &Path, config: &dyn Seq2SeqConfig, compute: ComputeType) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|e| ModelDirError::io(dir, e))?;
    let file = ConfigFile {
        format_version: FORMAT_VERSION,
        arch: config.architecture(),
        compute,
        model: config.to_json(),
    };
    let json = serde_json::to_vec_pretty(&file).expect("a configuration is plain data");
    write(&dir.join(CONFIG), &json)
}

/// Reads the configuration in `source`. Its architecture must be one of this crate.
///
/// # Errors
/// Returns a [`ModelDirError`] that names the file and the problem.
pub fn load_config<'a>(source: impl Into<Source<'a>>) -> Result<ModelConfig> {
    let source = source.into();
    let path = source.join(CONFIG);
    let value = read_config(source)?;
    let architecture = value["arch"].as_str().unwrap_or_default();
    let Some(config) = read_fields(architecture, &value["model"]) else {
        return Err(ModelDirProblem::Architecture(architecture.into()).at(path));
    };
    let config = config.map_err(|e| ModelDirError::damaged(&path, e))?;
    config
        .validate()
        .map_err(|error| ModelDirProblem::Config(error).at(path))?;
    Ok(config)
}

/// Reads a configuration from its serialised `fields`. Returns `None` if no architecture of this
/// crate has this name.
fn read_fields(architecture: &str, fields: &Json) -> Option<serde_json::Result<ModelConfig>> {
    match architecture {
        TransformerConfig::ARCHITECTURE => {
            Some(TransformerConfig::deserialize(fields).map(ModelConfig::from))
        }
        RnnConfig::ARCHITECTURE => Some(RnnConfig::deserialize(fields).map(ModelConfig::from)),
        _ => None,
    }
}

/// Returns the default compute type of the model in `source`.
///
/// # Errors
/// Returns a [`ModelDirError`] that names the file and the problem.
pub fn load_compute_type<'a>(source: impl Into<Source<'a>>) -> Result<ComputeType> {
    let source = source.into();
    match read_config(source)?["compute"].take() {
        Json::Null => Ok(ComputeType::Float32),
        value => serde_json::from_value(value)
            .map_err(|e| ModelDirError::damaged(&source.join(CONFIG), e)),
    }
}

/// Returns the content of `config.json`, in the known version of the format.
fn read_config(source: Source) -> Result<Json> {
    let path = source.join(CONFIG);
    let bytes = read_checked(source, CONFIG)?;
    let value: Json =
        serde_json::from_slice(&bytes).map_err(|e| ModelDirError::damaged(&path, e))?;
    let version = value["format_version"].as_u64().unwrap_or(0);
    if version != u64::from(FORMAT_VERSION) {
        return Err(ModelDirProblem::Version(version).at(path));
    }
    Ok(value)
}

/// Loads configuration and model from `source` onto `device`. The architecture must be one of this
/// crate.
///
/// # Errors
/// Returns a [`ModelDirError`] that names the file and the problem.
pub fn load<'a>(source: impl Into<Source<'a>>, device: &Device) -> Result<(ModelConfig, Model)> {
    let source = source.into();
    let config = load_config(source)?;
    let model = build(source, config.as_ref(), device)?;
    Ok((config, model))
}

/// Loads configuration and model as [`load`] does, and packs the weights for inference with
/// products in `compute`, see [`Seq2Seq::pack`](crate::Seq2Seq::pack). In 8-bit integers, only
/// embeddings that are stored in float32 are in memory in float32 beside their integers; reading
/// another parameter gives the rounded numbers.
///
/// # Errors
/// Returns a [`ModelDirError`] that names the file and the problem.
pub fn load_packed<'a>(
    source: impl Into<Source<'a>>,
    device: &Device,
    compute: ComputeType,
) -> Result<(ModelConfig, Model)> {
    let source = source.into();
    let config = load_config(source)?;
    let tensors = parameters_of(source, config.as_ref())?;
    let (mut model, mut quantized) = with_tensors(source, config.as_ref(), device, tensors)?;
    quantized.replaces_weights = is_fused_on(device);
    model.pack_stored(compute, &mut quantized);
    Ok((config, model))
}

/// Loads the model in `dir`, of any architecture, which must have been saved with the
/// configuration `config`, onto `device`.
///
/// # Errors
/// Returns a [`ModelDirError`] that names the file and the problem.
pub fn load_as(dir: &Path, config: &dyn Seq2SeqConfig, device: &Device) -> Result<Model> {
    let value = read_config(dir.into())?;
    let path = dir.join(CONFIG);
    let architecture = value["arch"].as_str().unwrap_or_default();
    if architecture != config.architecture() {
        return Err(ModelDirProblem::Architecture(architecture.into()).at(path));
    }
    let is_same = match read_fields(architecture, &value["model"]) {
        Some(config_of_file) => {
            *config_of_file.map_err(|e| ModelDirError::damaged(&path, e))? == *config
        }
        None => value["model"] == config.to_json(),
    };
    if !is_same {
        return Err(ModelDirProblem::Other.at(path));
    }
    build(dir.into(), config, device)
}

/// Returns the model that `config` describes, with the parameters in `files`.
fn build(files: Source, config: &dyn Seq2SeqConfig, device: &Device) -> Result<Model> {
    let tensors = parameters_of(files, config)?;
    Ok(with_tensors(files, config, device, tensors)?.0)
}

/// Returns the model that `config` describes, with the parameters `tensors` of `files`.
fn with_tensors(
    files: Source,
    config: &dyn Seq2SeqConfig,
    device: &Device,
    tensors: StoredTensors,
) -> Result<(Model, QuantizedParameters)> {
    let model = config.build(0, device);
    let model = model.map_err(|error| ModelDirProblem::Config(error).at(files.join(CONFIG)))?;
    let loaded = with_stored(model, tensors);
    loaded.map_err(|error| ModelDirProblem::Parameters(error).at(files.join(WEIGHTS)))
}

/// Returns the configuration and the parameters of the model in `dir`, read from the files without
/// building the model: for programs that need no device. The total number of parameters is checked
/// against the configuration; their names and shapes are not.
///
/// # Errors
/// Returns a [`ModelDirError`] that names the file and the problem.
pub fn load_parameters(dir: &Path) -> Result<(ModelConfig, StateDict)> {
    let config = load_config(dir)?;
    let parameters = parameters_of(dir.into(), config.as_ref())?;
    Ok((config, into_float32(parameters)))
}

/// Reads the parameters in `source`, and checks that they are finite and as many as `config` has.
fn parameters_of(source: Source, config: &dyn Seq2SeqConfig) -> Result<StoredTensors> {
    let parameters = read_tensors_checked(source, WEIGHTS)?;
    check_size(&source.join(CONFIG), config, &parameters)?;
    if let Some((name, _)) = parameters.iter().find(|(_, stored)| !is_finite(stored)) {
        return Err(ModelDirProblem::NotFinite(name.clone()).at(source.join(WEIGHTS)));
    }
    Ok(parameters)
}

/// Returns whether all numbers of `data` are finite, without a branch per number.
fn is_finite(stored: &StoredTensor) -> bool {
    let are_finite = |values: &[f32]| values.iter().fold(true, |all, x| all & x.is_finite());
    match stored {
        StoredTensor::Quantized(rows, _) => {
            let largest = rows.scales.iter().map(|scale| scale * f32::from(i8::MIN));
            are_finite(&largest.collect::<Vec<_>>())
        }
        StoredTensor::Float32(data) => match data.as_slice::<f32>() {
            Ok(values) => are_finite(values),
            Err(_) => data.iter::<f32>().all(f32::is_finite),
        },
    }
}

/// Compares the number of parameters, before memory for the model is allocated.
fn check_size(path: &Path, config: &dyn Seq2SeqConfig, tensors: &StoredTensors) -> Result<()> {
    let expected = config.parameter_count();
    let sizes = tensors
        .values()
        .map(|it| it.shape().iter().product::<usize>());
    let found = sizes.sum();
    if expected != found {
        return Err(ModelDirProblem::Size { expected, found }.at(path));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
