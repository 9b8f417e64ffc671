//! Checkpoints: everything that a run needs to resume, in one folder.
//!
//! A checkpoint is a model directory, ready to translate, with three more files:
//! `optimizer.safetensors` with the moments of the optimiser, `state.json` with a [`RunState`], the
//! hashes of the data ([`Origin`]) and the kind of the checkpoint ([`CheckpointKind`]), and
//! `config.toml` with the resolved configuration. The random state of shuffling and dropout is the
//! seed, the update and the sampler's position. A checkpoint exists completely or not at all: see
//! `folder.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn::tensor::{Device, TensorData};
use burnformer_core::model_dir::{self, ModelDirProblem, read_tensors, write_tensors};
use burnformer_core::{Model, ModelConfig, named_parameters, with_parameters};
use burnformer_data::Tokenizers;
use burnformer_infer::{GENERATION_FILE, GenerationSettings, InferError, save_text_files};
use serde::{Deserialize, Serialize};
use toml::Table;

pub use super::state::{CheckpointKind, RunState, ValidationState};
use crate::config::{EarlyStoppingMetric, TrainConfig};
use crate::error::{Result, TrainError};
use crate::optimizer::Optimizer;
use crate::run::{
    BestModel, CheckpointError, Origin, RunDir, RunError, compare, copy_files, freeze,
    replace_file, save_folder,
};

const OPTIMIZER: &str = "optimizer.safetensors";
const STATE: &str = "state.json";
const CONFIG: &str = "config.toml";
/// The version of `state.json`.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StateFile {
    version: u32,
    kind: CheckpointKind,
    state: RunState,
    origin: Origin,
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// The contents of a model directory: the model, the tokenisers and the default settings.
pub struct Saved<'a> {
    /// The configuration of the model.
    pub config: &'a ModelConfig,
    /// The model.
    pub model: &'a Model,
    /// The tokenisers.
    pub tokenizers: &'a Tokenizers,
    /// The default settings, for `generation.json`.
    pub generation: &'a GenerationSettings,
}

/// The parts of a checkpoint besides its model: everything that training needs to resume.
pub struct TrainerState<'a> {
    /// The kind of the checkpoint.
    pub kind: CheckpointKind,
    /// The optimiser.
    pub optimizer: &'a Optimizer,
    /// The state of the run.
    pub state: &'a RunState,
    /// The resolved configuration.
    pub config: &'a TrainConfig,
    /// The hashes of the run's data and tokenisers.
    pub origin: &'a Origin,
}

/// Writes a model directory to `path`, replacing an old one.
///
/// # Errors
/// Returns a [`SaveError`](crate::SaveError) if a file cannot be written; the old directory is left
/// unchanged.
pub fn save_model(path: &Path, saved: &Saved) -> Result<()> {
    save_folder(path, |folder| write_model(folder, saved))
}

/// Writes a model directory to `path`, replacing an old one, with a file of the model's score by
/// `metric`.
///
/// # Errors
/// Returns the errors of [`save_model`].
pub(crate) fn save_best_model(
    path: &Path,
    saved: &Saved,
    best: BestModel,
    metric: EarlyStoppingMetric,
) -> Result<()> {
    save_folder(path, |folder| {
        write_model(folder, saved)?;
        best.write(folder, metric)
    })
}

/// Writes a checkpoint to `path`.
///
/// # Errors
/// Returns a [`SaveError`](crate::SaveError) if a file cannot be written; earlier checkpoints are
/// left unchanged.
pub fn save(path: &Path, saved: &Saved, trainer: &TrainerState) -> Result<()> {
    save_folder(path, |folder| {
        write_model(folder, saved)?;
        write_tensors(&folder.join(OPTIMIZER), &trainer.optimizer.named_moments())?;
        let state = *trainer.state;
        let origin = trainer.origin.clone();
        let file = StateFile {
            version: VERSION,
            kind: trainer.kind,
            state,
            origin,
        };
        let json = serde_json::to_vec_pretty(&file).expect("a state is plain data");
        write(&folder.join(STATE), &json)?;
        write(&folder.join(CONFIG), trainer.config.to_toml().as_bytes())
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(TrainError::io(path))
}

fn write_model(folder: &Path, saved: &Saved) -> Result<()> {
    model_dir::save(folder, saved.config.as_ref(), saved.model)?;
    Ok(save_text_files(folder, saved.tokenizers, saved.generation)?)
}

/// Copies the model of the checkpoint `from` to the model directory `to`, without the training
/// files.
///
/// # Errors
/// Returns a [`SaveError`](crate::SaveError) if a file cannot be copied.
pub fn publish(from: &Path, to: &Path) -> Result<()> {
    save_folder(to, |folder| {
        copy_files(from, folder, &[OPTIMIZER, STATE, CONFIG])
    })
}

/// Sets the default settings of the model directory `dir`. Its other files stay; folders in it are
/// lost.
///
/// # Errors
/// Returns an error if `dir` cannot be replaced, or if a file cannot be copied or written. `dir` is
/// left unchanged then.
pub fn set_generation(dir: &Path, settings: &GenerationSettings) -> Result<()> {
    replace_file(dir, GENERATION_FILE, |path| {
        Ok(settings.save(path).map_err(InferError::from)?)
    })
}

/// The initial state of a run, or the checkpoint that it resumes from.
pub struct Start {
    /// The model.
    pub model: Model,
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The state of the run.
    pub state: RunState,
    /// Messages for the user, such as changes of settings since the checkpoint.
    pub notes: Vec<String>,
}

/// Loads the checkpoint at `path` onto `device`, to resume with `config` and the texts and
/// tokenisers of `origin`. `shape` is the configuration of the model. Every file is checked against
/// its hash before it is used.
///
/// # Errors
/// Returns [`CheckpointError::Damaged`] and [`TrainError::ModelDir`] for a damaged checkpoint;
/// [`CheckpointError::OtherRun`] for an undamaged one that belongs to another corpus, tokeniser or
/// configuration.
pub fn load(
    path: &Path,
    config: &TrainConfig,
    shape: &ModelConfig,
    origin: &Origin,
    device: &Device,
) -> Result<Start> {
    model_dir::verify(path)?;
    let StateFile {
        state,
        origin: old_origin,
        ..
    } = read_state(path)?;
    let old_config = read_config(path)?;
    let changes = compare((&old_origin, &old_config), (origin, config)).map_err(|what| {
        CheckpointError::OtherRun {
            path: path.into(),
            what,
        }
    })?;
    let model = model_dir::load_as(path, shape.as_ref(), device)?;
    let model = freeze(model, &config.training.freeze)?;
    let moments = read_tensors(&path.join(OPTIMIZER), &listed(path, OPTIMIZER)?)?;
    let optimizer = Optimizer::new(config.optimizer, &model);
    let optimizer = optimizer.restore(state.optimizer_steps, moments, device);
    let optimizer = optimizer.ok_or_else(|| wrong(path, OPTIMIZER, &"moments of another model"))?;
    let notes = changes
        .into_iter()
        .map(|change| format!("changed since: {change}"))
        .collect();
    Ok(Start {
        model,
        optimizer,
        state,
        notes,
    })
}

/// The state of the newest checkpoint of the run in `run`.
///
/// # Errors
/// Returns [`RunError::NothingToResume`] if there is no checkpoint, and
/// [`CheckpointError::Damaged`] if it is damaged.
pub fn last_state(run: &Path) -> Result<RunState> {
    let run = RunDir::at(run);
    match run.checkpoint_steps()?.last() {
        Some(&step) => Ok(read_state(&run.checkpoint(step))?.state),
        None => Err(RunError::NothingToResume(run.path().into()).into()),
    }
}

/// The kind of the checkpoint at `path`. An unreadable checkpoint counts as scheduled, and loading
/// it reports the error.
pub(crate) fn kind(path: &Path) -> CheckpointKind {
    read_state(path).map_or(CheckpointKind::Scheduled, |file| file.kind)
}

fn read_state(path: &Path) -> Result<StateFile> {
    let json = listed(path, STATE)?;
    // The version first, because newer versions may have other fields.
    let Versioned { version } =
        serde_json::from_slice(&json).map_err(|error| wrong(path, STATE, &error))?;
    if version != VERSION {
        return Err(ModelDirProblem::Version(version.into())
            .at(path.join(STATE))
            .into());
    }
    serde_json::from_slice(&json).map_err(|error| wrong(path, STATE, &error))
}

/// The configuration in the checkpoint.
fn read_config(path: &Path) -> Result<Table> {
    let text = listed(path, CONFIG)?;
    let text = String::from_utf8(text).map_err(|e| wrong(path, CONFIG, &e))?;
    text.parse().map_err(|e| wrong(path, CONFIG, &e))
}

/// A file of the checkpoint that its manifest must list.
fn listed(path: &Path, name: &str) -> Result<Vec<u8>> {
    model_dir::read(path, name)?.ok_or_else(|| wrong(path, name, &"not listed in manifest.json"))
}

fn wrong(path: &Path, name: &str, what: &dyn std::fmt::Display) -> TrainError {
    CheckpointError::Damaged {
        path: path.join(name),
        message: what.to_string(),
    }
    .into()
}

/// Averages the parameters of the models in `dirs` (paper §6.1). Sums are accumulated in float64,
/// in the given order.
///
/// # Errors
/// Returns [`CheckpointError::Average`] if `dirs` is empty or the configurations differ, and the
/// errors of loading a model.
pub fn average_models<P: AsRef<Path>>(dirs: &[P], device: &Device) -> Result<(ModelConfig, Model)> {
    let Some(first) = dirs.first() else {
        return Err(CheckpointError::Average(
            "no model directory is given; name at least one".into(),
        )
        .into());
    };
    let config = model_dir::load_config(first.as_ref())?;
    let other = dirs
        .iter()
        .find(|dir| model_dir::load_config(dir.as_ref()).is_ok_and(|found| *found != *config));
    if let Some(dir) = other {
        let a = first.as_ref().display();
        let b = dir.as_ref().display();
        let message =
            format!("{a} and {b} have different configurations; choose models of one run");
        return Err(CheckpointError::Average(message).into());
    }
    let model = average_as(dirs, &config, device)?;
    Ok((config, model))
}

/// The average, as in [`average_models`], of models with the configuration `config` of any
/// architecture.
pub(crate) fn average_as<P: AsRef<Path>>(
    dirs: &[P],
    config: &ModelConfig,
    device: &Device,
) -> Result<Model> {
    let mut models = dirs
        .iter()
        .map(|dir| model_dir::load_as(dir.as_ref(), &**config, device));
    let model = models.next().expect("there is a model to average")?;
    let mut sums = Sums::new();
    add(&mut sums, &model);
    for other in models {
        add(&mut sums, &other?);
    }
    let count = dirs.len() as f64;
    let values = sums
        .into_iter()
        .map(|(name, (shape, sum))| {
            let values: Vec<f32> = sum.into_iter().map(|x| (x / count) as f32).collect();
            (name, TensorData::new(values, shape))
        })
        .collect();
    Ok(with_parameters(model, values).expect("the values are of this model"))
}

type Sums = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

/// Adds the parameters of `model`.
fn add(sums: &mut Sums, model: &Model) {
    for (name, data) in named_parameters(model) {
        let shape = data.shape().to_vec();
        // The neutral element of addition is -0.
        let (_, sum) = sums.entry(name).or_insert_with(|| {
            let zeros = vec![-0.0; shape.iter().product()];
            (shape, zeros)
        });
        sum.iter_mut()
            .zip(data.iter::<f64>())
            .for_each(|(sum, x)| *sum += x);
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::TransformerConfig;

    use super::*;

    fn saved(seed: u64, vocab: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = TransformerConfig::tiny(vocab);
        let model = config
            .init(seed, &Device::default())
            .expect("a preset is valid");
        model_dir::save(folder.path(), &config, &model).expect("saves");
        model_dir::seal(folder.path()).expect("seals");
        folder
    }

    #[test]
    fn the_average_is_the_mean_of_each_parameter() {
        let device = Device::default();
        let a = saved(1, 20);
        let b = saved(2, 20);
        let (_, mean) = average_models(&[a.path(), b.path()], &device).unwrap();
        let load = |f: &tempfile::TempDir| {
            named_parameters(&model_dir::load(f.path(), &device).unwrap().1)
        };
        let a = load(&a);
        let b = load(&b);
        let mean = named_parameters(&mean);
        for (name, value) in mean {
            let expected = a[&name]
                .iter::<f32>()
                .zip(b[&name].iter::<f32>())
                .map(|(x, y)| (x + y) / 2.0);
            assert!(
                value
                    .iter::<f32>()
                    .zip(expected)
                    .all(|(x, y)| (x - y).abs() < 1e-7),
                "{name}"
            );
        }
    }

    #[test]
    fn nothing_and_different_shapes_cannot_be_averaged() {
        let device = Device::default();
        let none: [&Path; 0] = [];
        assert!(matches!(
            average_models(&none, &device),
            Err(TrainError::Checkpoint(CheckpointError::Average(_)))
        ));
        let a = saved(1, 20);
        let b = saved(2, 21);
        let mixed = average_models(&[a.path(), b.path()], &device);
        assert!(matches!(
            mixed,
            Err(TrainError::Checkpoint(CheckpointError::Average(_)))
        ));
    }
}
