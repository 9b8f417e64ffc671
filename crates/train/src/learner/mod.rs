//! The training loop.

mod first_look;
mod rehearsal;
mod restore;
mod save;
mod setup;
mod soundness;
mod start;
mod updates;
mod validation;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use burnformer_core::{Model, ModelConfig};
use burnformer_data::{Batch, BatchSampler, PlannedBatch, Prefetch, SamplerState, Tokenizers};
use burnformer_infer::SearchSettings;

use crate::advice::Adviser;
use crate::best_model::BestModel;
use crate::checkpoint::{CheckpointKind, RunState};
use crate::config::TrainConfig;
use crate::error::TrainError;
use crate::log_interval::LogInterval;
use crate::memory::Memory;
use crate::origin::Origin;
use crate::parallel::Replicas;
use crate::report::Reporter;
use crate::run_dir::RunDir;
use crate::start_model::FirstModel;
use crate::update::Updater;
use crate::validate::Validator;
pub use rehearsal::Rehearsal;
use updates::Made;

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It reached `training.max_updates`.
    MaxUpdates,
    /// It reached `training.max_minutes`.
    MaxMinutes,
    /// It reached `training.max_epochs`.
    MaxEpochs,
    /// `validation.patience` consecutive validations were not better.
    Patience,
    /// The caller interrupted it. The run can be resumed.
    Interrupted,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MaxUpdates => "training.max_updates reached",
            Self::MaxMinutes => "training.max_minutes reached",
            Self::MaxEpochs => "training.max_epochs reached",
            Self::Patience => "no better validation for validation.patience times",
            Self::Interrupted => "interrupted; continue with --resume",
        })
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The state of the run.
    pub state: RunState,
    /// The reason why it ended.
    pub reason: StopReason,
}

/// A training run: the model, its optimiser, its data and its folder.
pub struct Learner {
    config: TrainConfig,
    shape: ModelConfig,
    first: FirstModel,
    /// How saved models are searched unless they are told otherwise.
    search: SearchSettings,
    replicas: Replicas,
    run: RunDir,
    reporter: Reporter,
    tokenizers: Tokenizers,
    sampler: BatchSampler,
    validator: Option<Validator>,
    origin: Origin,
    memory: Memory,
    /// The rows and the source and target columns of the batch that needs the most memory.
    worst: [usize; 3],
    /// That batch, on which a model has to have a finite loss before it is kept.
    probe: Batch,
    /// The model; `None` only during an update, which changes it in place.
    model: Option<Model>,
    updater: Updater,
    /// Warns when validations show that the run does not go well.
    adviser: Adviser,
    /// The model that `best/` holds, which may be from after the checkpoint that this process goes on from.
    best_on_disk: Option<BestModel>,
    /// The state of the run after the last update that was checked.
    state: RunState,
    /// The updates after that, whose statistics have not been read.
    unread: Vec<Made>,
    /// The learning rate of the last update, for the log.
    last_rate: f64,
    /// The number of batches in the first epoch, for schedules that end with a number of epochs.
    batches_per_epoch: usize,
    /// The number of seconds after which the first look is due; `None` if there is none to come.
    look_after: Option<f64>,
    /// When this process began to train, minus the seconds of earlier processes.
    started: Instant,
    earlier_seconds: f64,
    /// How long this process had waited for data at the last log line.
    waited: Duration,
}

/// The reason why a stream of batches is left.
enum Left {
    /// The run ends.
    Stop(StopReason),
    /// Loss or gradient norm are not finite: the run goes back.
    Diverged(f64, f64),
}

impl Learner {
    /// The model in its present state.
    pub fn model(&self) -> &Model {
        self.model.as_ref().expect("the model is away only during an update")
    }

    /// The device that holds the weights, decodes and validates; with autodiff.
    fn device(&self) -> &Device {
        self.replicas.first()
    }

    /// The state of the run.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The run's folder.
    pub fn run_dir(&self) -> &RunDir {
        &self.run
    }

    /// Trains until a limit is reached, then writes `last`, `average` and `best`. If `interrupted` is set before,
    /// finishes the update and writes a checkpoint.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] if loss or gradient stay infinite or NaN; errors of data, decoding and the file system.
    pub fn train(self, interrupted: &AtomicBool) -> Result<Outcome, TrainError> {
        self.train_killable(interrupted, |_| ())
    }

    /// [`train`](Self::train) that calls `killable` with true when the checkpoint of the last update has been written:
    /// from then on the process may be ended at any moment, and a resumed run makes the rest of the end with the same
    /// outcome. It calls `killable` with false if updates follow after all.
    ///
    /// # Errors
    /// Those of [`train`](Self::train).
    pub fn train_killable(
        mut self,
        interrupted: &AtomicBool,
        mut killable: impl FnMut(bool),
    ) -> Result<Outcome, TrainError> {
        self.started = Instant::now();
        let reason = loop {
            let reason = match self.limit_reached() {
                // Killed after the last update, before the end was written.
                Some(reason) => reason,
                None => self.make_updates(interrupted)?,
            };
            if !self.is_sound() {
                self.go_back(f64::NAN, f64::NAN)?;
                continue;
            }
            let note = format!("stopped after update {}: {reason}", self.state.step);
            self.reporter.note(&note)?;
            self.save_checkpoint(match reason {
                StopReason::Interrupted => CheckpointKind::Interrupted,
                _ => CheckpointKind::Final,
            })?;
            killable(true);
            // A request that came before is not followed by a signal that would end the process.
            if reason == StopReason::Interrupted || interrupted.load(Ordering::SeqCst) {
                break StopReason::Interrupted;
            }
            if self.finish(reason)? {
                break reason;
            }
            killable(false);
            self.go_back(f64::NAN, f64::NAN)?;
        };
        self.reporter.finish()?;
        Ok(Outcome { state: self.state, reason })
    }

    /// The learning rate of the schedule, lowered each time the run went back.
    fn rate(&self, step: u64) -> f64 {
        let ahead = self.ahead();
        let SamplerState { epoch, next_batch, .. } = ahead.sampler;
        let epochs = epoch as f64 + next_batch as f64 / self.batches_per_epoch as f64;
        let progress = progress(&self.config, step - 1, ahead.seconds, epochs);
        let width = self.shape.d_model();
        self.state.recovery.rate_scale * self.config.schedule.rate(step, width, progress)
    }

    fn limit_reached(&self) -> Option<StopReason> {
        limit_reached(&self.config, &self.state)
    }

    /// Makes updates until something ends the run. Each time the run goes back, the batches start again from there.
    fn make_updates(&mut self, interrupted: &AtomicBool) -> Result<StopReason, TrainError> {
        loop {
            let stream = self.sampler.stream(self.state.sampler)?;
            let mut batches = Prefetch::new(stream, self.config.training.prefetch);
            self.waited = Duration::ZERO;
            let left = self.follow(&mut batches, interrupted)?;
            drop(batches);
            match left {
                Left::Stop(reason) => return Ok(reason),
                Left::Diverged(loss, norm) => self.go_back(loss, norm)?,
            }
        }
    }

    fn follow(
        &mut self,
        batches: &mut Prefetch<PlannedBatch>,
        interrupted: &AtomicBool,
    ) -> Result<Left, TrainError> {
        loop {
            self.update(batches)?;
            if !self.reads_now(interrupted) {
                continue;
            }
            let norm = match self.read()? {
                ControlFlow::Break(left) => return Ok(left),
                ControlFlow::Continue(norm) => norm,
            };
            let step = self.state.step;
            let every = |n: u64| n > 0 && step.is_multiple_of(n);
            if every(self.config.training.log_every) {
                self.log(batches)?;
            }
            if every(self.config.validation.every) && !self.validate()? {
                return Ok(Left::Diverged(f64::NAN, norm));
            }
            if self.look_is_due() {
                self.first_look()?;
            }
            // While updates are being skipped, it is not known whether the model is good.
            let settled = self.state.recovery.skipped == 0;
            let scheduled = settled && self.is_scheduled(step);
            let asked = settled && interrupted.load(Ordering::Relaxed);
            let stop = self.limit_reached().or(asked.then_some(StopReason::Interrupted));
            if (scheduled || stop.is_some()) && !self.is_sound() {
                return Ok(Left::Diverged(f64::NAN, norm));
            }
            if scheduled {
                self.save_checkpoint(CheckpointKind::Scheduled)?;
            }
            self.check_memory()?;
            if let Some(reason) = stop {
                return Ok(Left::Stop(reason));
            }
        }
    }

    /// The number of seconds trained, including those before a resume.
    fn seconds(&self) -> f64 {
        self.earlier_seconds + self.started.elapsed().as_secs_f64()
    }

    fn log(&mut self, batches: &Prefetch<PlannedBatch>) -> Result<(), TrainError> {
        let waited = (batches.waited() - self.waited).as_secs_f64();
        self.waited = batches.waited();
        let point = LogInterval::point(&mut self.state, self.last_rate, waited);
        Ok(self.reporter.train(&point)?)
    }

    /// Stops the run before the system would kill it for its memory, with a checkpoint if the model may be saved.
    fn check_memory(&mut self) -> Result<(), TrainError> {
        let checked = self.memory.check_process(&self.shape, &self.config, self.worst);
        if checked.is_err() && self.state.recovery.skipped == 0 && self.is_sound() {
            self.save_checkpoint(CheckpointKind::Interrupted)?;
        }
        checked
    }
}

/// The share of the run that is over after `updates`, `seconds` and `epochs`, by the limit that comes first; 0 if there
/// is no limit.
fn progress(config: &TrainConfig, updates: u64, seconds: f64, epochs: f64) -> f64 {
    let t = &config.training;
    let share = |done: f64, limit: f64| if limit > 0.0 { done / limit } else { 0.0 };
    share(updates as f64, t.max_updates as f64)
        .max(share(seconds, 60.0 * t.max_minutes))
        .max(share(epochs, t.max_epochs as f64))
}

/// The limit of `config` that a run in `state` has reached.
fn limit_reached(config: &TrainConfig, state: &RunState) -> Option<StopReason> {
    let (t, patience) = (&config.training, config.validation.patience);
    // Patience last: the validation at the end of a run, which comes after the other limits, may exhaust it too, and a
    // process that makes that end again has to find the reason of the first.
    let reached = [
        (t.max_updates > 0 && state.step >= t.max_updates, StopReason::MaxUpdates),
        (t.max_minutes > 0.0 && state.seconds >= 60.0 * t.max_minutes, StopReason::MaxMinutes),
        (t.max_epochs > 0 && state.sampler.epoch >= t.max_epochs, StopReason::MaxEpochs),
        (state.validation.early_stopping.exhausted(patience), StopReason::Patience),
    ];
    reached.into_iter().find(|(reached, _)| *reached).map(|(_, reason)| reason)
}

#[cfg(test)]
mod tests;
