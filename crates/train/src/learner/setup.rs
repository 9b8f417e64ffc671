//! The parts of a run beside the model from which it starts, checked before anything is written.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use burnformer_core::{Model, ModelConfig, Precision};
use burnformer_data::{
    Batch, BatchSampler, SamplerSettings, SamplerState, SpecialIds, Tokenizers, UpdateStream,
};
use burnformer_kernels::is_fused_on;

use crate::config::{EarlyStoppingMetric, TrainConfig};
use crate::error::TrainError;
use crate::run::checkpoint;
use crate::run::corpora::Corpora;
use crate::run::dir::{RunDir, RunMode};
use crate::run::origin::Origin;
use crate::run::start_model::{FirstModel, special_ids};
use crate::run::state::CheckpointKind;
use crate::update::memory::{MemoryLimit, worst_batch, worst_shape};
use crate::update::recipe::{Objective, Recipe};
use crate::update::replicas::{Replicas, Workers};
use crate::validation::Validator;

/// The parts of a run beside its model and optimiser. Updates do not change them.
pub(super) struct Setup {
    pub config: TrainConfig,
    pub first: FirstModel,
    pub replicas: Replicas,
    pub tokenizers: Tokenizers,
    pub sampler: BatchSampler,
    /// The number of batches in the first epoch, for schedules that end with a number of epochs.
    pub batches_per_epoch: usize,
    pub validator: Option<Validator>,
    pub origin: Origin,
    pub run: RunDir,
    pub memory: MemoryLimit,
    /// The batch that needs the most memory, on which a model has to have a finite loss before it
    /// is kept, and the number of its rows, source and target columns.
    pub worst: (Batch, [usize; 3]),
}

impl Setup {
    /// Checks the model, opens the folder, and estimates the memory of the worst batch.
    pub fn new(
        config: TrainConfig,
        first: FirstModel,
        corpora: &Corpora,
        folder: &Path,
        mode: RunMode,
        workers: Workers,
    ) -> Result<Self, TrainError> {
        let special = special_ids(first.shape.as_ref());
        let sampler = sampler(&config, corpora, special)?;
        let worst = worst_of(&config, &first.shape, &sampler)?;
        let validator = Validator::new(&config, corpora, special, first.search.clone())?;
        let (replicas, origin) = (Replicas::new(workers.devices), Origin::of(corpora));
        let replicas = replicas.among(workers.ranks, config.training.exchange);
        let run = RunDir::open(folder, mode)?;
        let mut memory = MemoryLimit::new(&config.training, &first.shape, worst.1);
        // The free memory of a GPU is not known; there the trial batch decides.
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
            worst,
        })
    }

    /// Computes the gradients of the batch that needs the most memory once on each device, all at
    /// the same time, and drops them: this needs the memory of an update without making one. Then
    /// checks the memory of the process. Model and random state do not change.
    pub fn try_worst_batch(&mut self, model: &Model) -> Result<(), TrainError> {
        let batches = vec![self.worst.0.clone(); self.replicas.count()];
        let tokens = batches.iter().map(|batch| batch.target_tokens).sum();
        let recipe = Recipe::new(&self.config);
        let objective = Objective { recipe, step: 0, tokens, loss_scale: 1.0 };
        let sums = self.replicas.own_sums(model, &batches, objective);
        // Read, so that it has been computed when the memory is looked at.
        sums.gradients.global_norm();
        self.memory.check_process()
    }

    /// The updates from `state` on.
    pub fn updates(&self, state: SamplerState) -> Result<UpdateStream, TrainError> {
        let stream = self.sampler.stream(state)?;
        Ok(stream.updates(self.config.training.accumulate, self.replicas.rank()))
    }

    /// Returns whether the configuration asks for a checkpoint after update `step`.
    pub fn is_scheduled(&self, step: u64) -> bool {
        let every = self.config.checkpoints.every;
        every > 0 && step.is_multiple_of(every)
    }

    /// The metric that decides which model is best.
    pub fn metric(&self) -> EarlyStoppingMetric {
        self.validator.as_ref().map_or(self.config.validation.metric, Validator::metric)
    }

    /// The reason why the checkpoint of `step` was written.
    pub fn kind_of(&self, step: u64) -> CheckpointKind {
        checkpoint::kind(&self.run.checkpoint(step))
    }
}

pub(super) fn check_precision(precision: Precision, device: &Device) -> Result<(), TrainError> {
    match precision.is_supported_on(device) {
        true => Ok(()),
        false => {
            let device = format!("{:?}", device.clone().inner());
            Err(TrainError::Precision { precision, device })
        }
    }
}

fn sampler(
    config: &TrainConfig,
    corpora: &Corpora,
    special: SpecialIds,
) -> Result<BatchSampler, TrainError> {
    let settings = SamplerSettings {
        budget: config.training.budget,
        multiple: config.training.multiple,
        seed: config.training.seed,
        special,
        ..SamplerSettings::default()
    };
    Ok(BatchSampler::new(corpora.train.clone(), settings)?)
}

/// The batch that needs the most memory, and its shape. For a corpus of several windows it is a
/// made-up one, of the most tokens that any epoch can give a batch.
fn worst_of(
    config: &TrainConfig,
    shape: &ModelConfig,
    sampler: &BatchSampler,
) -> Result<(Batch, [usize; 3]), TrainError> {
    let precision = config.training.precision.number_type();
    if sampler.windows() > 1 {
        let worst = worst_shape(shape, sampler, sampler.most_columns(), precision);
        return Ok((full_batch(sampler, worst), worst));
    }
    // An epoch of a mixture need not have the longest pairs.
    let plan = match sampler.corpus().parts() {
        [] => sampler.window(config.training.seed, 0, 0)?,
        _ => Arc::new(sampler.ordered()?),
    };
    let (pairs, worst) =
        worst_batch(shape, &plan, precision).expect("a sampler has at least one batch");
    Ok((sampler.batch(pairs)?, worst))
}

/// A batch without padding, of one token.
fn full_batch(sampler: &BatchSampler, [rows, source, target]: [usize; 3]) -> Batch {
    let special = sampler.settings().special;
    let row = (vec![special.eos; source - 1], vec![special.eos; target - 1]);
    Batch::with_special_ids((0..rows as u32).collect(), &vec![row; rows], 1, special)
}
