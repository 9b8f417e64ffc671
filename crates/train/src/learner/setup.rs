//! The parts of a run besides its model, checked before anything is written.

use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof};
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use burnformer_core::model_dir::{ModelDirError, ModelDirProblem};
use burnformer_core::{Model, ModelConfig, Precision};
use burnformer_data::{
    Batch, BatchSampler, SamplerSettings, SamplerState, SpecialIds, Tokenizers, UpdateStream,
};
use burnformer_kernels::is_fused_on;

use super::outcome::limit_reached;
use crate::config::{EarlyStoppingMetric, TrainConfig};
use crate::error::{Result, TrainError};
use crate::optimizer::Optimizer;
use crate::run::{
    CheckpointError, CheckpointKind, Corpora, FirstModel, Origin, RunDir, RunMode, RunState, Start,
    checkpoint, freeze, special_ids,
};
use crate::update::{
    MemoryLimit, Objective, Recipe, Replicas, Workers, WorkersError, worst_batch, worst_shape,
};
use crate::validation::Validator;

/// The constant parts of a run: everything besides its model and optimiser.
pub(super) struct Setup {
    pub config: TrainConfig,
    pub first: FirstModel,
    pub replicas: Replicas,
    pub tokenizers: Tokenizers,
    pub sampler: BatchSampler,
    /// The number of batches in the first epoch, for schedules with a limit in epochs.
    pub batches_per_epoch: usize,
    pub validator: Option<Validator>,
    pub origin: Origin,
    pub run: RunDir,
    pub memory: MemoryLimit,
    /// The batch that needs the most memory. A model is saved only if its loss on it is finite.
    pub worst_batch: Batch,
    /// Rows, source tokens and target tokens of the worst batch.
    pub worst_shape: [usize; 3],
}

impl Setup {
    /// Checks the model, opens the folder, and estimates the memory of the worst batch.
    pub fn new(
        config: TrainConfig,
        corpora: &Corpora,
        folder: &Path,
        mode: RunMode,
        workers: Workers,
    ) -> Result<Self> {
        let model = corpora.model.clone();
        let first = FirstModel::new(&config, corpora.start.clone(), || corpora.tokens(), model)?;
        let special = special_ids(first.config.as_ref());
        let sampler = sampler(&config, corpora, special)?;
        let (worst_batch, worst_shape) = worst_of(&config, &first.config, &sampler)?;
        let validator = Validator::new(&config, corpora, special, first.search.clone())?;
        let replicas = Replicas::new(workers.devices);
        let origin = Origin::of(corpora);
        let replicas = replicas.among(workers.ranks, config.training.exchange);
        let run = RunDir::open(folder, mode)?;
        let mut memory = MemoryLimit::new(&config.training, &first.config, worst_shape);
        // The free memory of a GPU is unknown; the trial batch decides there.
        if is_fused_on(replicas.first()) || config.training.max_memory > 0.0 {
            memory.check_estimate()?;
        }
        let batches_per_epoch = sampler.batches_in(config.training.seed, 0)? as usize;
        let tokenizers = corpora.tokenizers.clone();
        Ok(Self {
            config,
            first,
            replicas,
            tokenizers,
            sampler,
            batches_per_epoch,
            validator,
            origin,
            run,
            memory,
            worst_batch,
            worst_shape,
        })
    }

    /// Computes and drops the gradients of the worst batch on all devices at once, which takes the
    /// memory of an update. Then checks the memory of the process. Model and random state do not
    /// change.
    pub fn try_worst_batch(&mut self, model: &Model) -> Result<()> {
        let batches = vec![self.worst_batch.clone(); self.replicas.count()];
        let tokens = batches.iter().map(|batch| batch.target_tokens).sum();
        let recipe = Recipe::new(&self.config);
        let objective = Objective {
            recipe,
            step: 0,
            tokens,
            loss_scale: 1.0,
        };
        let sums = self.replicas.own_sums(model, &batches, objective);
        // Waits for the computation before memory is measured.
        sums.gradients.global_norm();
        Ok(self.memory.check_process()?)
    }

    /// The updates from `state` on.
    pub fn updates(&self, state: SamplerState) -> Result<UpdateStream> {
        let size = self.config.training.accumulate;
        let rank = self.replicas.rank();
        Ok(self.sampler.updates(state, size, rank)?)
    }

    /// Returns whether a checkpoint is scheduled after update `step`.
    pub fn is_scheduled(&self, step: u64) -> bool {
        let every = self.config.checkpoints.every;
        every > 0 && step.is_multiple_of(every)
    }

    /// The metric that chooses the best model.
    pub fn metric(&self) -> EarlyStoppingMetric {
        self.validator
            .as_ref()
            .map_or(self.config.validation.metric, Validator::metric)
    }

    /// The reason why the checkpoint of `step` was written.
    pub fn kind_of(&self, step: u64) -> CheckpointKind {
        checkpoint::kind(&self.run.checkpoint(step))
    }

    /// The state that the run starts from.
    ///
    /// # Errors
    /// Returns [`TrainError::NothingToDo`] if the run has already ended with this state. Nothing is
    /// written then, and the reports of the finished run stay.
    pub fn start(&self, mode: RunMode) -> Result<Start> {
        let start = match mode {
            RunMode::New => self.fresh()?,
            RunMode::Resume => self.newest(|_| true)?,
        };
        let step = start.state.step;
        if let Some(limit) = limit_reached(&self.config, &start.state)
            && self.run.finished(step).is_some()
        {
            return Err(TrainError::NothingToDo {
                step,
                limit: limit.to_string(),
            });
        }
        Ok(start)
    }

    /// The initial state of a new run.
    pub fn fresh(&self) -> Result<Start> {
        let Self {
            config,
            first,
            sampler,
            replicas,
            ..
        } = self;
        let model = first.init(config.training.seed, replicas.first())?;
        let model = freeze(model, &config.training.freeze)?;
        let optimizer = Optimizer::new(config.optimizer, &model);
        let state = RunState {
            sampler: sampler.start(),
            ..RunState::default()
        };
        Ok(Start {
            model,
            optimizer,
            state,
            notes: Vec::new(),
        }
        .in_precision(self))
    }

    /// The newest undamaged checkpoint of a `wanted` update, or the start of the run if there is
    /// none. Newer damaged checkpoints are reported and set aside. The checkpoint of a finished run
    /// includes the results of its end.
    pub fn newest(&self, wanted: impl Fn(u64) -> bool) -> Result<Start> {
        let Self {
            config,
            first,
            origin,
            run,
            replicas,
            ..
        } = self;
        let mut steps = run.checkpoint_steps()?;
        steps.retain(|&step| wanted(step));
        let mut damaged = Vec::new();
        for &step in steps.iter().rev() {
            let path = run.checkpoint(step);
            match checkpoint::load(&path, config, &first.config, origin, replicas.first()) {
                Ok(loaded) => {
                    run.forget_other_end(step)?;
                    return Ok(self.at(loaded, &damaged)?.in_precision(self));
                }
                Err(error) if is_damage(&error) => damaged.push((step, error)),
                Err(error) => return Err(error),
            }
        }
        if !damaged.is_empty() {
            let damage = damaged.iter().map(|(_, error)| error.to_string()).collect();
            return Err(CheckpointError::AllDamaged {
                path: run.path().into(),
                damage,
            }
            .into());
        }
        run.forget_other_end(0)?;
        let mut start = self.fresh()?;
        start
            .notes
            .push("no checkpoint yet: the run starts again from its beginning".into());
        Ok(start)
    }

    /// Sets the `damaged` checkpoints aside and starts at `start`.
    fn at(&self, start: Start, damaged: &[(u64, TrainError)]) -> Result<Start> {
        let mut notes = Vec::new();
        for (step, error) in damaged {
            let aside = self.run.set_aside(*step)?;
            notes.push(format!("damaged checkpoint: {error}"));
            notes.push(format!(
                "moved it to {} (remove it when you like); going on from update {}",
                aside.display(),
                start.state.step
            ));
        }
        notes.extend(start.notes);
        let mut state = start.state;
        if let Some(finished) = self.run.finished(state.step) {
            state.validation = finished.validation;
        }
        Ok(Start {
            state,
            notes,
            ..start
        })
    }
}

pub(super) fn check_precision(precision: Precision, device: &Device) -> Result<(), WorkersError> {
    if precision.is_supported_on(device) {
        return Ok(());
    }
    let device = format!("{:?}", device.clone().inner());
    Err(WorkersError::Precision { precision, device })
}

fn sampler(config: &TrainConfig, corpora: &Corpora, special: SpecialIds) -> Result<BatchSampler> {
    let settings = SamplerSettings {
        budget: config.training.budget,
        multiple: config.training.multiple,
        seed: config.training.seed,
        special,
        ..SamplerSettings::default()
    };
    Ok(BatchSampler::new(corpora.train.clone(), settings)?)
}

/// The batch that needs the most memory, and its shape. A corpus of several windows has an
/// artificial one, of the largest shape that any epoch allows.
fn worst_of(
    config: &TrainConfig,
    shape: &ModelConfig,
    sampler: &BatchSampler,
) -> Result<(Batch, [usize; 3])> {
    let precision = config.training.precision.number_type();
    if sampler.windows() > 1 {
        let worst = worst_shape(shape, sampler, sampler.most_columns(), precision);
        return Ok((full_batch(sampler, worst), worst));
    }
    // An epoch of a mixture may lack the longest pairs.
    let plan = match sampler.corpus().parts() {
        [] => sampler.window(config.training.seed, 0, 0)?,
        _ => Arc::new(sampler.ordered()?),
    };
    let (pairs, worst) =
        worst_batch(shape, &plan, precision).expect("a sampler has at least one batch");
    Ok((sampler.batch(pairs)?, worst))
}

/// A batch of `</s>` without padding.
fn full_batch(sampler: &BatchSampler, [rows, source, target]: [usize; 3]) -> Batch {
    let special = sampler.settings().special;
    let row = (vec![special.eos; source - 1], vec![special.eos; target - 1]);
    Batch::with_special_ids((0..rows as u32).collect(), &vec![row; rows], 1, special)
}

impl Start {
    /// The start with the model in the precision of `setup`.
    fn in_precision(mut self, setup: &Setup) -> Self {
        let precision = setup.config.training.precision.number_type();
        self.model.set_precision(precision);
        self.optimizer = self.optimizer.in_precision(precision);
        let scaled = precision == Precision::Float16;
        self.state.loss_scale = scaled.then(|| self.state.loss_scale.unwrap_or_default());
        self
    }
}

/// Returns whether the checkpoint is damaged, so that an older one may replace it. A checkpoint of
/// another run, of a newer version, or without read permission is not damaged.
fn is_damage(error: &TrainError) -> bool {
    match error {
        TrainError::Checkpoint(CheckpointError::Damaged { .. }) => true,
        TrainError::ModelDir(ModelDirError {
            problem:
                ModelDirProblem::Version(_) | ModelDirProblem::Architecture(_) | ModelDirProblem::Other,
            ..
        }) => false,
        TrainError::ModelDir(_) => error.io_kind().is_none_or(|kind| {
            matches!(
                kind,
                NotFound | UnexpectedEof | InvalidData | NotADirectory | IsADirectory
            )
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn an_unreadable_or_newer_checkpoint_is_not_damaged() {
        let path = std::path::PathBuf::from("step-000010/config.json");
        let io = |cause| TrainError::from(ModelDirProblem::Io(cause).at(&path));
        // EACCES, EIO, ENFILE, EMFILE.
        for number in [13, 5, 23, 24] {
            assert!(
                !is_damage(&io(Error::from_raw_os_error(number))),
                "{number}"
            );
        }
        assert!(is_damage(&io(Error::from(UnexpectedEof))));
        assert!(is_damage(&ModelDirProblem::Missing.at(&path).into()));
        assert!(!is_damage(&ModelDirProblem::Version(2).at(path).into()));
    }
}
