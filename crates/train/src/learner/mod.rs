//! The training loop, [`Learner`]: batch, forward, backward, clip, step, log, validate, save.
//!
//! The functions below the loop read from the device. On the CPU, statistics are read after each
//! update. An asynchronous device is read only before a log line, a validation, a checkpoint, and
//! at the end, for all updates since the last read. The state of the run does not change until
//! then, so that unchecked updates are neither saved nor reported.

mod begin;
mod checkpoints;
mod clock;
mod divergence;
mod divergence_error;
mod estimate;
mod outcome;
mod pending;
mod processes;
mod save;
mod setup;
#[cfg(test)]
mod tests;
mod validate;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use burn::tensor::Device;
use burnformer_core::Model;
use burnformer_data::{Batch, PlannedUpdate, SamplerState, Tokenizers, UpdateStream};

use self::checkpoints::Checkpoints;
use self::clock::Clock;
pub use self::divergence_error::DivergenceError;
pub use self::estimate::RunEstimate;
use self::outcome::{Divergence, Exit, limit_reached, progress};
pub use self::outcome::{Outcome, StopReason};
use self::pending::{PendingUpdate, PendingUpdates};
pub use self::processes::follow;
use self::processes::{Message, send, send_state};
use self::setup::{MODEL_IS_THERE, Setup};
use crate::advice::Diagnostics;
use crate::error::Result;
use crate::report::{Answer, Reporter};
use crate::run::{BestModel, CheckpointKind, RunState};
use crate::update::{LossScale, UpdateStatistics, Updater};
use crate::validation::{Subject, Validator};

/// A training run: the model, its optimiser, its data and its folder.
pub struct Learner {
    setup: Setup,
    checkpoints: Checkpoints,
    validator: Option<Validator>,
    tokenizers: Tokenizers,
    /// The number of batches in the first epoch, for schedules with a limit in epochs.
    batches_per_epoch: usize,
    /// The model; `None` only during an update, which changes it in place.
    model: Option<Model>,
    updater: Updater,
    /// The state of the run after the last checked update.
    state: RunState,
    /// The updates after it, not checked yet.
    pending: PendingUpdates,
    clock: Clock,
    reporter: Reporter,
    /// Warns about problems that losses and validations show.
    diagnostics: Diagnostics,
    /// The model in `best/`. It may be newer than the checkpoint from which this process resumed.
    best_on_disk: Option<BestModel>,
    /// The seconds of training before early validation; `None` once it is done, or if there is
    /// none.
    early_validation_after: Option<f64>,
}

/// The batches of an update of this process, and what determines the update besides them.
struct UpdateInput {
    step: u64,
    /// The learning rate.
    rate: f64,
    batches: Vec<Batch>,
    /// The position in the batches after it.
    next: SamplerState,
}

/// The actions after an update, which need its statistics.
struct DueActions {
    log: bool,
    validation: bool,
    early_validation: bool,
    checkpoint: bool,
    stop: Option<StopReason>,
}

impl Learner {
    /// The current model.
    pub fn model(&self) -> &Model {
        self.model.as_ref().expect(MODEL_IS_THERE)
    }

    /// The device of the weights, with autodiff. It also decodes and validates.
    fn device(&self) -> &Device {
        self.setup.replicas.first()
    }

    /// The state of the run.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Trains until a limit is reached, then writes `last`, `average` and `best`. If `interrupted`
    /// becomes true before that, the run finishes the current update and writes a checkpoint.
    ///
    /// # Errors
    /// Returns a [`DivergenceError`] if the loss or the gradient stays NaN or infinite, and the
    /// errors of data, decoding and the file system.
    pub fn train(self, interrupted: &AtomicBool) -> Result<Outcome> {
        self.train_with(interrupted, |_| ())
    }

    /// Trains like [`train`](Self::train), and calls `on_killable` with true after the checkpoint
    /// of the last update. From then on the process may be killed at any time: a resumed run
    /// completes the final steps with the same outcome. `on_killable` is called with false if more
    /// updates follow.
    ///
    /// # Errors
    /// Returns the errors of [`train`](Self::train).
    pub fn train_with(
        mut self,
        interrupted: &AtomicBool,
        mut on_killable: impl FnMut(bool),
    ) -> Result<Outcome> {
        self.try_room()?;
        self.clock.start();
        send_state(&self.setup.replicas, self.model(), &self.updater);
        let reason = loop {
            let reason = match limit_reached(&self.setup.config, &self.state) {
                // Killed after the last update, before the end was written.
                Some(reason) => reason,
                None => self.make_updates(interrupted)?,
            };
            if !self.is_sound() {
                self.roll_back(Divergence::Model { last_norm: None })?;
                continue;
            }
            self.save_checkpoint(match reason {
                StopReason::Interrupted => CheckpointKind::Interrupted,
                _ => CheckpointKind::Final,
            })?;
            // After the checkpoint: a launcher may kill the process at any time after a signal.
            let note = format!(
                "stopped after update {} and saved: {reason}",
                self.state.step
            );
            self.reporter.note(&note)?;
            on_killable(true);
            // An earlier interrupt also stops the run here, as no second signal will come.
            if reason == StopReason::Interrupted || interrupted.load(Ordering::SeqCst) {
                break StopReason::Interrupted;
            }
            if self.finish(reason)? {
                break reason;
            }
            on_killable(false);
            self.roll_back(Divergence::Model { last_norm: None })?;
        };
        send(&self.setup.replicas, &Message::End {});
        self.reporter.finish()?;
        Ok(Outcome {
            state: self.state,
            reason,
        })
    }

    /// The learning rate of the schedule, lowered by each rollback.
    fn rate(&self, step: u64) -> f64 {
        let ahead = self.ahead();
        let SamplerState {
            epoch, next_batch, ..
        } = ahead.sampler;
        let Setup { config, first, .. } = &self.setup;
        let epochs = epoch as f64 + next_batch as f64 / self.batches_per_epoch as f64;
        let progress = progress(config, step - 1, ahead.seconds, epochs);
        self.state.recovery.rate_scale
            * config.schedule.rate(step, first.config.d_model(), progress)
    }

    /// Makes updates until the run ends. After a rollback, the batches start again from the
    /// checkpoint.
    fn make_updates(&mut self, interrupted: &AtomicBool) -> Result<StopReason> {
        loop {
            let mut batches = self.setup.updates(self.state.sampler)?;
            match self.train_on(&mut batches, interrupted)? {
                Exit::Stop(reason) => return Ok(reason),
                Exit::Diverged(divergence) => self.roll_back(divergence)?,
            }
        }
    }

    /// Makes updates over `batches`; logs, validates and saves when due.
    fn train_on(&mut self, batches: &mut UpdateStream, interrupted: &AtomicBool) -> Result<Exit> {
        loop {
            let input = self.next_batches(batches)?;
            let replicas = &self.setup.replicas;
            let model = self.model();
            let gradients =
                self.updater
                    .forward_backward(model, &input.batches, input.step, replicas);
            let size = gradients.size;
            let clipped = self.updater.clip(gradients, replicas.first());
            let model = self.model.take().expect(MODEL_IS_THERE);
            let (model, statistics) =
                self.updater
                    .step(model, clipped, input.rate, replicas.first());
            self.model = Some(model);
            let update = PendingUpdate {
                statistics,
                size,
                sampler: input.next,
            };
            self.pending.push(update, input.rate);
            if !self.needs_statistics(interrupted) {
                continue;
            }
            let norm = match self.read_statistics()? {
                ControlFlow::Break(exit) => return Ok(exit),
                ControlFlow::Continue(norm) => norm,
            };
            let diverged = Exit::Diverged(Divergence::Model {
                last_norm: Some(norm),
            });
            let due = self.due(&self.state, interrupted);
            if due.log {
                self.log()?;
            }
            if due.validation && !self.validate(Subject::Model)? {
                return Ok(diverged);
            }
            // A validation takes time, and it may exhaust the patience.
            let stop = self.stop_reason(&self.state, interrupted);
            if self.early_validation_is_due() {
                self.early_validation()?;
            }
            // While updates are being skipped, it is not known whether the model is good.
            let settled = self.state.recovery.skipped == 0;
            let checkpoint = settled && due.checkpoint;
            let stop = stop.filter(|reason| settled || *reason != StopReason::Interrupted);
            if (checkpoint || stop.is_some()) && !self.is_sound() {
                return Ok(diverged);
            }
            if checkpoint {
                self.save_checkpoint(CheckpointKind::Scheduled)?;
            }
            self.check_memory()?;
            if let Some(reason) = stop {
                return Ok(Exit::Stop(reason));
            }
        }
    }

    /// The batches of the next update of all processes.
    fn next_batches(&mut self, batches: &mut UpdateStream) -> Result<UpdateInput> {
        let asked = Instant::now();
        let PlannedUpdate {
            batches,
            from,
            next,
        } = batches.next().expect("the stream of updates has no end")?;
        self.clock.waited += asked.elapsed();
        let step = self.ahead().step + 1;
        let rate = self.rate(step);
        send(&self.setup.replicas, &Message::Update { step, from, rate });
        Ok(UpdateInput {
            step,
            rate,
            batches,
            next,
        })
    }

    /// Logs the updates since the last log line.
    fn log(&mut self) -> Result<()> {
        let waited = std::mem::take(&mut self.clock.waited).as_secs_f64();
        let point = self.state.log_point(self.pending.last_rate, waited);
        self.reporter.train(&point)
    }

    /// Stops the run at its memory limit, with a checkpoint if the model is sound.
    fn check_memory(&mut self) -> Result<()> {
        let checked = self.setup.memory_limit.check_process();
        if checked.is_err() && self.state.recovery.skipped == 0 && self.is_sound() {
            self.save_checkpoint(CheckpointKind::Interrupted)?;
        }
        Ok(checked?)
    }

    /// The state of the run if all pending updates are finite.
    fn ahead(&self) -> RunState {
        self.pending.after(&self.state, self.clock.seconds())
    }

    /// The actions that are due in `state`.
    fn due(&self, state: &RunState, interrupted: &AtomicBool) -> DueActions {
        let config = &self.setup.config;
        DueActions {
            log: is_every(config.training.log_every, state.step),
            validation: is_every(config.validation.every, state.step),
            early_validation: self.early_validation_is_due(),
            checkpoint: self.setup.is_scheduled(state.step),
            stop: self.stop_reason(state, interrupted),
        }
    }

    /// The reason to stop in `state`: a limit of the run, or an interrupt.
    fn stop_reason(&self, state: &RunState, interrupted: &AtomicBool) -> Option<StopReason> {
        limit_reached(&self.setup.config, state).or_else(|| {
            interrupted
                .load(Ordering::Relaxed)
                .then_some(StopReason::Interrupted)
        })
    }

    /// Returns whether the next action needs the statistics of the updates.
    fn needs_statistics(&self, interrupted: &AtomicBool) -> bool {
        let DueActions {
            log,
            validation,
            early_validation,
            checkpoint,
            stop,
        } = self.due(&self.ahead(), interrupted);
        let is_due = log || validation || early_validation || checkpoint || stop.is_some();
        is_due || self.updater.synchronous || self.pending.is_full()
    }

    /// Reads the statistics of the pending updates and advances the state. Returns the gradient
    /// norm of the last update, or the exit if an update forces a rollback.
    fn read_statistics(&mut self) -> Result<ControlFlow<Exit, f64>> {
        let updates = std::mem::take(&mut self.pending.updates);
        let pending: Vec<_> = updates
            .iter()
            .map(|update| update.statistics.clone())
            .collect();
        let mut norm = f64::NAN;
        for (update, statistics) in updates.iter().zip(self.updater.read(&pending)) {
            self.advance(update, &statistics);
            norm = statistics.norm;
            if let Some(exit) = self.check_divergence(&statistics)? {
                return Ok(ControlFlow::Break(exit));
            }
        }
        Ok(ControlFlow::Continue(norm))
    }

    fn advance(&mut self, update: &PendingUpdate, statistics: &UpdateStatistics) {
        self.state.step += 1;
        self.state.sampler = update.sampler;
        self.state.loss_scale = self.updater.loss_scale;
        self.state.seconds = self.clock.seconds();
        if statistics.is_finite() {
            self.state.optimizer_steps += 1;
            self.state.tokens += statistics.tokens as u64;
            self.state.pairs += update.size.pairs;
            self.state.interval.add(update.size, statistics);
        }
    }

    /// Reports a skipped update. Returns the exit if the run must roll back.
    fn check_divergence(&mut self, statistics: &UpdateStatistics) -> Result<Option<Exit>> {
        if statistics.overflowed {
            return self.note_overflow().map(|()| None);
        }
        let finite = statistics.is_finite();
        let loss = statistics.loss / statistics.tokens as f64;
        let divergence = Divergence::Update {
            loss,
            norm: statistics.norm,
        };
        let back = self
            .state
            .recovery
            .record(&self.setup.config.recovery, finite);
        if !finite {
            self.report_divergence(Answer::Skip, divergence, None)?;
        }
        let nll = statistics.nll / statistics.tokens as f64;
        if let Some(warning) = self.diagnostics.after_update(self.state.step, nll) {
            self.reporter.note(&warning)?;
        }
        Ok(back.then_some(Exit::Diverged(divergence)))
    }

    /// Notes that an update was skipped while the loss scale adapts, which is not divergence.
    fn note_overflow(&mut self) -> Result<()> {
        let step = self.state.step;
        let factor = self.state.loss_scale.map_or(1.0, LossScale::factor);
        let note = format!(
            "update {step} skipped: a gradient left float16's range; the loss is now multiplied by {factor}"
        );
        self.reporter.note(&note)
    }
}

/// Returns whether `step` is a multiple of `interval`; never for 0.
fn is_every(interval: u64, step: u64) -> bool {
    interval > 0 && step.is_multiple_of(interval)
}
