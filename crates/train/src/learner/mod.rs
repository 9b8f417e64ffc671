//! The training loop.

mod restore;
mod save;
mod start;
mod validation;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use burnformer_core::{Model, ModelConfig};
use burnformer_data::{Batch, BatchSampler, PlannedBatch, Prefetch, Tokenizers};

use crate::checkpoint::RunState;
use crate::config::TrainConfig;
use crate::error::TrainError;
use crate::loss_scale::LossScale;
use crate::memory::Memory;
use crate::origin::Origin;
use crate::report::{Answer, Reporter};
use crate::run_dir::RunDir;
use crate::update::{UpdateStatistics, Updater};
use crate::validate::Validator;
use crate::window::Window;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// `training.max_updates`.
    MaxUpdates,
    /// `training.max_minutes`.
    MaxMinutes,
    /// `training.max_epochs`.
    MaxEpochs,
    /// `validation.patience` validations in a row did no better.
    Patience,
    /// Whoever runs the program asked for it; the run can be resumed.
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

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Where it stands.
    pub state: RunState,
    /// Why it stopped.
    pub reason: StopReason,
}

/// A training run: the model, its optimiser, its data and its folder.
pub struct Learner {
    config: TrainConfig,
    shape: ModelConfig,
    device: Device,
    run: RunDir,
    reporter: Reporter,
    tokenizers: Tokenizers,
    sampler: BatchSampler,
    validator: Option<Validator>,
    origin: Origin,
    memory: Memory,
    /// Rows, source and target columns of the batch that needs the most memory.
    worst: [usize; 3],
    /// Away only during an update, which works on it in place.
    model: Option<Model>,
    updater: Updater,
    state: RunState,
    /// When this sitting began, less the seconds of earlier ones.
    started: Instant,
    earlier_seconds: f64,
    /// How long this sitting had waited for data at the last log line.
    waited: Duration,
}

/// Why a stream of batches is left.
enum Left {
    /// The run ends.
    Stop(StopReason),
    /// Loss and gradient norm are no numbers any more: the run goes back.
    Diverged(f64, f64),
}

impl Learner {
    /// The model as it stands.
    pub fn model(&self) -> &Model {
        self.model.as_ref().expect("the model is away only during an update")
    }

    /// Where the run stands.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The run's folder.
    pub fn run_dir(&self) -> &RunDir {
        &self.run
    }

    /// Trains until a limit is reached, then writes `last`, `average` and `best`; or until `interrupted`
    /// is set, then finishes the update and writes a checkpoint.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] if loss or gradient stop being numbers for good; errors of data, decoding
    /// and the file system.
    pub fn train(mut self, interrupted: &AtomicBool) -> Result<Outcome, TrainError> {
        self.started = Instant::now();
        let reason = match self.limit_reached() {
            // Killed after the last update, before the end was written.
            Some(reason) => reason,
            None => self.make_updates(interrupted)?,
        };
        let note = format!("stopped after update {}: {reason}", self.state.step);
        self.reporter.note(&note)?;
        match reason {
            StopReason::Interrupted => self.save_checkpoint()?,
            reason => self.finish(reason)?,
        }
        self.reporter.finish()?;
        Ok(Outcome { state: self.state, reason })
    }

    /// The schedule's learning rate, lowered each time the run went back.
    fn rate(&self, step: u64) -> f64 {
        self.state.recovery.rate_scale * self.config.schedule.rate(step, self.shape.d_model())
    }

    fn limit_reached(&self) -> Option<StopReason> {
        limit_reached(&self.config, &self.state)
    }

    /// Updates until something ends the run; each time it goes back, the batches start anew from there.
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
            let statistics = self.update(batches)?;
            if let Some(left) = self.judge(&statistics)? {
                return Ok(left);
            }
            let step = self.state.step;
            let every = |n: u64| n > 0 && step.is_multiple_of(n);
            if every(self.config.training.log_every) {
                self.log(batches)?;
            }
            if every(self.config.validation.every) && !self.validate()? {
                return Ok(Left::Diverged(f64::NAN, statistics.norm));
            }
            // In the middle of a row of skipped updates nobody knows yet whether the model is good.
            let sound = self.state.recovery.skipped == 0;
            if sound && self.is_regular(step) {
                self.save_checkpoint()?;
            }
            self.check_memory(sound)?;
            if let Some(reason) = self.limit_reached() {
                return Ok(Left::Stop(reason));
            }
            if sound && interrupted.load(Ordering::Relaxed) {
                return Ok(Left::Stop(StopReason::Interrupted));
            }
        }
    }

    fn update(
        &mut self,
        batches: &mut Prefetch<PlannedBatch>,
    ) -> Result<UpdateStatistics, TrainError> {
        let mut planned = Vec::with_capacity(self.config.training.accumulate);
        for _ in 0..self.config.training.accumulate {
            planned.push(batches.next().expect("the stream of batches has no end")?);
        }
        let last = planned.last().expect("at least one batch an update");
        let mut sampler = last.next;
        if last.ends_epoch() {
            // Named by what comes next, so that whole epochs can be counted.
            sampler.epoch += 1;
            sampler.next_batch = 0;
        }
        let parts: Vec<Batch> = planned.into_iter().map(|p| p.batch).collect();
        let step = self.state.step + 1;
        let rate = self.rate(step);
        let model = self.model.take().expect("the model is away only during an update");
        let (model, statistics) = self.updater.update(model, &parts, step, rate, &self.device);
        self.model = Some(model);
        self.state.step = step;
        self.state.sampler = sampler;
        self.state.optimizer_steps = self.updater.adam.steps();
        self.state.loss_scale = self.updater.loss_scale;
        self.state.seconds = self.seconds();
        if statistics.is_finite() {
            self.state.tokens += statistics.tokens as u64;
            self.state.pairs += parts.iter().map(|b| b.batch as u64).sum::<u64>();
            self.state.window.add(&parts, &statistics);
        }
        Ok(statistics)
    }

    /// Seconds trained, over all sittings.
    fn seconds(&self) -> f64 {
        self.earlier_seconds + self.started.elapsed().as_secs_f64()
    }

    /// Reports an update that was skipped, and whether the run has to go back.
    fn judge(&mut self, statistics: &UpdateStatistics) -> Result<Option<Left>, TrainError> {
        if statistics.overflowed {
            return self.note_overflow().map(|()| None);
        }
        let finite = statistics.is_finite();
        let (loss, norm) = (statistics.loss / statistics.tokens as f64, statistics.norm);
        let back = self.state.recovery.record(&self.config.recovery, finite);
        if !finite {
            self.report_divergence(Answer::Skip, loss, norm, None)?;
        }
        Ok(back.then_some(Left::Diverged(loss, norm)))
    }

    /// An update skipped on the way to a loss scale that fits says nothing of the model: no divergence.
    fn note_overflow(&mut self) -> Result<(), TrainError> {
        let (step, factor) =
            (self.state.step, self.state.loss_scale.map_or(1.0, LossScale::factor));
        let note = format!(
            "update {step} skipped: a gradient left float16's range; the loss is now multiplied by {factor}"
        );
        Ok(self.reporter.note(&note)?)
    }

    fn log(&mut self, batches: &Prefetch<PlannedBatch>) -> Result<(), TrainError> {
        let waited = (batches.waited() - self.waited).as_secs_f64();
        self.waited = batches.waited();
        let rate = self.rate(self.state.step);
        let point = Window::point(&mut self.state, rate, waited);
        Ok(self.reporter.train(&point)?)
    }

    /// Stops the run, with a checkpoint if it is `sound`, before the system would kill it.
    fn check_memory(&mut self, sound: bool) -> Result<(), TrainError> {
        let checked = self.memory.check_process(&self.shape, &self.config, self.worst);
        if checked.is_err() && sound {
            self.save_checkpoint()?;
        }
        checked
    }
}

/// The limit of `config` that a run in `state` has come to.
fn limit_reached(config: &TrainConfig, state: &RunState) -> Option<StopReason> {
    let (t, patience) = (&config.training, config.validation.patience);
    let reached = [
        (state.best.exhausted(patience), StopReason::Patience),
        (t.max_updates > 0 && state.step >= t.max_updates, StopReason::MaxUpdates),
        (t.max_minutes > 0.0 && state.seconds >= 60.0 * t.max_minutes, StopReason::MaxMinutes),
        (t.max_epochs > 0 && state.sampler.epoch >= t.max_epochs, StopReason::MaxEpochs),
    ];
    reached.into_iter().find(|(reached, _)| *reached).map(|(_, reason)| reason)
}
