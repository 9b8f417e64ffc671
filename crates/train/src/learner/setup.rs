//! The constant parts of a run that every process has, checked before anything is written.

use std::sync::Arc;

use burn::tensor::Device;
use burnformer_core::{Model, ModelConfig, Precision};
use burnformer_data::{
    Batch, BatchSampler, SamplerSettings, SamplerState, SpecialIds, UpdateStream,
};
use burnformer_kernels::is_fused_on;

use crate::config::TrainConfig;
use crate::error::Result;
use crate::optimizer::Optimizer;
use crate::run::{Corpora, FirstModel, RunState, Start, freeze, special_ids};

use crate::update::{
    MemoryLimit, Objective, Recipe, Replicas, Workers, WorkersError, worst_batch, worst_shape,
};

/// The message of a panic if the model is missing.
pub(super) const MODEL_IS_THERE: &str = "the model is away only during a step of the optimiser";

/// The constant parts of a run that every process has: everything besides its model, its optimiser
/// and its files.
pub(super) struct Setup {
    pub config: TrainConfig,
    pub first: FirstModel,
    pub replicas: Replicas,
    pub sampler: BatchSampler,
    pub memory_limit: MemoryLimit,
    /// The batch that needs the most memory. A model is saved only if its loss on it is finite.
    pub worst_batch: Batch,
    /// Rows, source tokens and target tokens of the worst batch.
    pub worst_shape: [usize; 3],
}

impl Setup {
    /// Checks the devices and the model, and estimates the memory of the worst batch.
    ///
    /// # Errors
    /// Returns an error if a device does not compute in the precision, the start model does not
    /// fit, no batch can be made, or the memory does not suffice.
    pub fn new(config: TrainConfig, corpora: &Corpora, workers: Workers) -> Result<Self> {
        let precision = config.training.precision.number_type();
        for device in workers.devices {
            check_precision(precision, device)?;
        }
        let model = corpora.model.clone();
        let first = FirstModel::new(&config, corpora.start.clone(), || corpora.tokens(), model)?;
        let special = special_ids(first.config.as_ref());
        let sampler = sampler(&config, corpora, special)?;
        let (worst_batch, worst_shape) = worst_of(&config, &first.config, &sampler)?;
        let replicas = Replicas::new(workers.devices);
        let replicas = replicas.among(workers.ranks, config.training.exchange);
        let mut memory_limit = MemoryLimit::new(&config.training, &first.config, worst_shape);
        // The free memory of a GPU is unknown; the trial batch decides there.
        if is_fused_on(replicas.first()) || config.training.max_memory > 0.0 {
            memory_limit.check_estimate()?;
        }
        Ok(Self {
            config,
            first,
            replicas,
            sampler,
            memory_limit,
            worst_batch,
            worst_shape,
        })
    }

    /// Computes and drops the gradients of the worst batch on all devices at once, which takes the
    /// memory of an update. Then checks the memory of the process. Model and random state do not
    /// change.
    ///
    /// # Errors
    /// Returns an error if the process exceeds its memory limit.
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
        Ok(self.memory_limit.check_process()?)
    }

    /// The updates from `state` on.
    ///
    /// # Errors
    /// Returns an error if the order of the batches cannot be made.
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

    /// The initial state of a new run.
    ///
    /// # Errors
    /// Returns an error if the start model cannot be loaded.
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
        .in_precision(self.config.training.precision.number_type()))
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
    /// The start with the model in `precision`.
    pub fn in_precision(mut self, precision: Precision) -> Self {
        self.model.set_precision(precision);
        self.optimizer = self.optimizer.in_precision(precision);
        let scaled = precision == Precision::Float16;
        self.state.loss_scale = scaled.then(|| self.state.loss_scale.unwrap_or_default());
        self
    }
}
