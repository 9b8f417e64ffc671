//! What a run needs beside the model from which it starts, checked before anything is written.

use std::path::Path;

use burn::tensor::Device;
use burnformer_core::{Model, ModelConfig};
use burnformer_data::{
    Batch, BatchSampler, BpeDropout, BpeDropoutSettings, SamplerSettings, SpecialIds,
};
use burnformer_kernels::is_fused_on;

use super::limit_reached;
use super::restore::{Start, newest};
use crate::config::{TrainConfig, TrainingSettings};
use crate::corpora::Corpora;
use crate::error::TrainError;
use crate::memory::{Memory, worst_batch, worst_shape};
use crate::origin::Origin;
use crate::parallel::Replicas;
use crate::run_dir::{RunDir, RunMode};
use crate::start_model::{FirstModel, special_ids};
use crate::train_step::Objective;
use crate::validate::Validator;

/// What a run needs beside the model from which it starts.
pub(super) struct Setup {
    pub(super) first: FirstModel,
    pub(super) replicas: Replicas,
    pub(super) sampler: BatchSampler,
    pub(super) validator: Option<Validator>,
    pub(super) origin: Origin,
    pub(super) run: RunDir,
    pub(super) memory: Memory,
    /// The batch that needs the most memory, and the number of its rows, source and target columns.
    pub(super) worst: (Batch, [usize; 3]),
}

impl Setup {
    /// Checks the model, opens the folder, and estimates the memory of the worst batch.
    pub(super) fn new(
        config: &TrainConfig,
        corpora: &Corpora,
        folder: &Path,
        mode: RunMode,
        devices: &[Device],
    ) -> Result<Self, TrainError> {
        let first = FirstModel::new(config, &corpora.tokenizers, corpora.start.clone())?;
        let special = special_ids(first.shape.as_ref());
        let sampler = sampler(config, corpora, special)?;
        let worst = worst_of(config, &first.shape, &sampler)?;
        let validator = Validator::new(config, corpora, special)?;
        let (replicas, origin) = (Replicas::new(devices), Origin::of(corpora));
        let run = RunDir::open(folder, mode)?;
        let mut memory = Memory::new(config);
        // What a GPU has free is not known; there the trial batch decides.
        if is_fused_on(replicas.first()) || config.training.max_memory > 0.0 {
            memory.check_estimate(&first.shape, config, worst.1)?;
        }
        Ok(Self { first, replicas, sampler, validator, origin, run, memory, worst })
    }

    /// The state from which the run starts.
    ///
    /// # Errors
    /// [`TrainError::NothingToDo`] if the run has already ended there. Nothing is written then, so that what the run
    /// reported at its end stays.
    pub(super) fn start(&self, config: &TrainConfig, mode: RunMode) -> Result<Start, TrainError> {
        let Self { first, sampler, origin, run, .. } = self;
        let device = self.replicas.first();
        let start = match mode {
            RunMode::New => Start::fresh(config, first, sampler, device)?,
            RunMode::Resume => newest(run, config, origin, first, sampler, device, |_| true)?,
        };
        let step = start.state.step;
        match limit_reached(config, &start.state).filter(|_| run.finished(step).is_some()) {
            Some(limit) => Err(TrainError::NothingToDo { step, limit: limit.to_string() }),
            None => Ok(start),
        }
    }

    /// Computes the batch that needs the most memory once, and checks the memory of the process afterwards.
    pub(super) fn try_worst_batch(
        &mut self,
        config: &TrainConfig,
        model: &Model,
    ) -> Result<(), TrainError> {
        try_batch(model, config, &self.worst.0, &self.replicas);
        self.memory.check_process(&self.first.shape, config, self.worst.1)
    }
}

fn sampler(
    config: &TrainConfig,
    corpora: &Corpora,
    special: SpecialIds,
) -> Result<BatchSampler, TrainError> {
    let settings = SamplerSettings {
        budget: config.training.budget,
        max_sentences: Some(config.training.max_sentences).filter(|&most| most > 0),
        multiple: config.training.multiple,
        seed: config.training.seed,
        special,
    };
    let sampler = BatchSampler::new(corpora.train.clone(), settings)?;
    let data = &config.data;
    if data.bpe_dropout == 0.0 {
        return Ok(sampler);
    }
    let longest = [data.max_source_len, data.max_target_len];
    let settings = BpeDropoutSettings { probability: data.bpe_dropout, longest };
    Ok(sampler.with_bpe_dropout(BpeDropout::new(&corpora.tokenizers, settings)?))
}

/// The batch that needs the most memory, and its shape. With BPE-dropout it is a made-up one, of the most tokens that
/// any epoch can give a batch.
fn worst_of(
    config: &TrainConfig,
    shape: &ModelConfig,
    sampler: &BatchSampler,
) -> Result<(Batch, [usize; 3]), TrainError> {
    let precision = config.training.precision.number_type();
    if config.data.bpe_dropout > 0.0 {
        let worst = worst_shape(shape, sampler, sampler.most_columns()?, precision);
        return Ok((full_batch(sampler, worst), worst));
    }
    // An epoch of a mixture need not have the longest pairs.
    let plan = match sampler.corpus().parts() {
        [] => sampler.plan(config.training.seed, 0),
        _ => sampler.ordered(),
    };
    let (pairs, worst) =
        worst_batch(shape, sampler, &plan, precision).expect("a sampler has at least one batch");
    Ok((sampler.batch(pairs)?, worst))
}

/// A batch without padding, of one token.
fn full_batch(sampler: &BatchSampler, [rows, source, target]: [usize; 3]) -> Batch {
    let special = sampler.settings().special;
    let row = (vec![special.eos; source - 1], vec![special.eos; target - 1]);
    Batch::with_special_ids((0..rows as u32).collect(), &vec![row; rows], 1, special)
}

/// Computes the gradients of one batch on each device, all at the same time, and drops them: this needs the memory of
/// an update without making one. Model and random state do not change.
fn try_batch(model: &Model, config: &TrainConfig, batch: &Batch, replicas: &Replicas) {
    let batches = vec![batch.clone(); replicas.count()];
    let tokens = batches.iter().map(|batch| batch.target_tokens).sum();
    let &TrainingSettings { seed, label_smoothing, r_drop, .. } = &config.training;
    let objective = Objective { seed, step: 0, label_smoothing, r_drop, tokens, loss_scale: 1.0 };
    let sums = replicas.sums(model, &batches, objective);
    // Read, so that it has been computed when the memory is looked at.
    sums.gradients.global_norm();
}
