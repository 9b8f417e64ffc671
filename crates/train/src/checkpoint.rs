//! All a run needs to go on, in one folder.
//!
//! A checkpoint is a model directory (so that it translates as it is) with two files more:
//! `optimizer.safetensors`, Adam's moments, and `state.json`, a [`RunState`]. It is written beside its
//! place and renamed into it, so that it exists whole or not at all.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use burnformer_core::model_dir::{self, ModelDirError, read_tensors, write_tensors};
use burnformer_core::{Transformer, TransformerConfig};
use burnformer_data::{SamplerState, Tokenizers};
use burnformer_infer::save_text_files;
use serde::{Deserialize, Serialize};

use crate::adam::Adam;
use crate::early_stopping::Best;
use crate::error::TrainError;
use crate::run_dir::replace_folder;

const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";

/// Where a run stands between two updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Updates made.
    pub step: u64,
    /// The batch that comes next.
    pub sampler: SamplerState,
    /// Seconds trained, over all sittings.
    pub seconds: f64,
    /// Real target tokens seen.
    pub tokens: u64,
    /// Sentence pairs seen.
    pub pairs: u64,
    /// The best validation so far.
    pub best: Best,
}

/// The model, the tokenisers and search settings beside it: what a model directory holds.
pub struct Saved<'a> {
    /// The model's shape.
    pub config: &'a TransformerConfig,
    /// The model.
    pub model: &'a Transformer,
    /// The tokenisers.
    pub tokenizers: &'a Tokenizers,
    /// Search settings for `generation.json`.
    pub search: &'a burnformer_infer::SearchSettings,
}

/// Writes a model directory to `path`, replacing what is there.
///
/// # Errors
/// [`TrainError::Io`] and the like if a file cannot be written.
pub fn save_model(path: &Path, saved: &Saved) -> Result<(), TrainError> {
    write_folder(path, |folder| write_model(folder, saved))
}

/// Writes a checkpoint to `path`.
///
/// # Errors
/// [`TrainError::Io`] and the like if a file cannot be written.
pub fn save(path: &Path, saved: &Saved, adam: &Adam, state: &RunState) -> Result<(), TrainError> {
    write_folder(path, |folder| {
        write_model(folder, saved)?;
        write_tensors(&folder.join(OPTIMIZER), &adam.named_moments())?;
        let json = serde_json::to_vec_pretty(state).expect("a state is plain data");
        let file = folder.join(STATE);
        fs::write(&file, json).map_err(|e| TrainError::io(&file, e))
    })
}

fn write_model(folder: &Path, saved: &Saved) -> Result<(), TrainError> {
    model_dir::save(folder, saved.config, saved.model)?;
    Ok(save_text_files(folder, saved.tokenizers, saved.search)?)
}

/// Fills a folder beside `path`, seals it, and puts it in place.
fn write_folder(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    let partial = path.with_extension("partial");
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).map_err(|e| TrainError::io(&partial, e))?;
    fill(&partial)?;
    model_dir::seal(&partial)?;
    replace_folder(&partial, path)
}

/// Copies the model of the checkpoint `from` to the model directory `to`.
///
/// # Errors
/// [`TrainError::Io`] if a file cannot be copied.
pub fn publish(from: &Path, to: &Path) -> Result<(), TrainError> {
    write_folder(to, |folder| {
        for entry in fs::read_dir(from).map_err(|e| TrainError::io(from, e))? {
            let path = entry.map_err(|e| TrainError::io(from, e))?.path();
            let name = path.file_name().unwrap_or_default();
            if name != OPTIMIZER && name != STATE {
                fs::copy(&path, folder.join(name)).map_err(|e| TrainError::io(&path, e))?;
            }
        }
        Ok(())
    })
}

/// A checkpoint read back.
pub struct Loaded {
    /// The model's shape.
    pub config: TransformerConfig,
    /// The model.
    pub model: Transformer,
    /// The optimiser.
    pub adam: Adam,
    /// Where the run stood.
    pub state: RunState,
}

/// Reads the checkpoint at `path` onto `device`; `adam` makes the optimiser for a model.
///
/// # Errors
/// [`TrainError::Checkpoint`] and [`TrainError::ModelDir`] for a damaged checkpoint.
pub fn load(
    path: &Path,
    adam: impl FnOnce(&Transformer) -> Adam,
    device: &Device,
) -> Result<Loaded, TrainError> {
    model_dir::verify(path)?;
    let (config, model) = model_dir::load(path, device)?;
    let state_path = path.join(STATE);
    let wrong =
        |path: &Path, message: String| TrainError::Checkpoint { path: path.into(), message };
    let json = fs::read(&state_path).map_err(|e| TrainError::io(&state_path, e))?;
    let state: RunState =
        serde_json::from_slice(&json).map_err(|e| wrong(&state_path, e.to_string()))?;
    let file = path.join(OPTIMIZER);
    let bytes =
        fs::read(&file).map_err(|source| ModelDirError::Io { path: file.clone(), source })?;
    let moments = read_tensors(&file, &bytes)?;
    let adam = adam(&model).restore(state.step, moments, device);
    let adam = adam.ok_or_else(|| wrong(&file, "moments of another model".into()))?;
    Ok(Loaded { config, model, adam, state })
}
