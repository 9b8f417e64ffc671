//! An update, and what the run does once its statistics are read.
//!
//! On the CPU they are read at once. A device that computes asynchronously is asked only when the
//! run needs an answer (before a log line, a validation, a checkpoint, and at the end), for all
//! updates since the last time together. Until then the state of the run does not change, so that
//! nothing is saved or reported about updates that were not checked.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use burnformer_data::{PlannedUpdate, UpdateStream};

use super::Learner;
use super::message::Message;
use super::outcome::{Divergence, Exit, limit_reached};
use super::pending::PendingUpdate;
use crate::error::TrainError;
use crate::report::Answer;
use crate::run::state::RunState;
use crate::update::loss_scale::LossScale;
use crate::update::statistics::UpdateStatistics;

impl Learner {
    /// Makes the next update.
    pub(super) fn update(&mut self, batches: &mut UpdateStream) -> Result<(), TrainError> {
        let asked = Instant::now();
        let PlannedUpdate { batches, from, next } =
            batches.next().expect("the stream of updates has no end")?;
        self.clock.waited += asked.elapsed();
        let step = self.ahead().step + 1;
        let rate = self.rate(step);
        self.pending.last_rate = rate;
        self.send(&Message::Update { step, from, rate: rate.to_bits() });
        let model = self.model.take().expect("the model is away only during an update");
        let (model, statistics, extent) =
            self.updater.update(model, &batches, step, rate, &self.setup.replicas);
        self.model = Some(model);
        self.pending.updates.push(PendingUpdate { statistics, extent, sampler: next });
        Ok(())
    }

    /// The state of the run if the updates that were not read yet are good.
    pub(super) fn ahead(&self) -> RunState {
        self.pending.after(&self.state, self.clock.seconds())
    }

    /// Returns whether the statistics of the updates are needed now: for a log line, or because the
    /// model is measured or saved next.
    pub(super) fn reads_now(&self, interrupted: &AtomicBool) -> bool {
        let (ahead, config) = (self.ahead(), &self.setup.config);
        let every = |n: u64| n > 0 && ahead.step.is_multiple_of(n);
        self.updater.synchronous
            || self.pending.is_full()
            || every(config.training.log_every)
            || every(config.validation.every)
            || self.setup.is_scheduled(ahead.step)
            || limit_reached(config, &ahead).is_some()
            || self.look_is_due()
            || interrupted.load(Ordering::Relaxed)
    }

    /// Reads the statistics of the updates and advances the state over them, one by one: to the
    /// last, whose norm is returned, or to the one because of which the run has to go back.
    pub(super) fn read(&mut self) -> Result<ControlFlow<Exit, f64>, TrainError> {
        let updates = std::mem::take(&mut self.pending.updates);
        let pending: Vec<_> = updates.iter().map(|update| update.statistics.clone()).collect();
        let mut norm = f64::NAN;
        for (update, statistics) in updates.iter().zip(self.updater.read(&pending)) {
            self.advance(update, &statistics);
            norm = statistics.norm;
            if let Some(exit) = self.judge(&statistics)? {
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
            self.state.pairs += update.extent.pairs;
            self.state.interval.add(update.extent, statistics);
        }
    }

    /// Reports an update that was skipped. Returns whether the run has to go back.
    fn judge(&mut self, statistics: &UpdateStatistics) -> Result<Option<Exit>, TrainError> {
        if statistics.overflowed {
            return self.note_overflow().map(|()| None);
        }
        let finite = statistics.is_finite();
        let loss = statistics.loss / statistics.tokens as f64;
        let divergence = Divergence::Update { loss, norm: statistics.norm };
        let back = self.state.recovery.record(&self.setup.config.recovery, finite);
        if !finite {
            self.report_divergence(Answer::Skip, divergence, None)?;
        }
        let nll = statistics.nll / statistics.tokens as f64;
        if let Some(warning) = self.adviser.after_update(self.state.step, nll) {
            self.reporter.note(&warning)?;
        }
        Ok(back.then_some(Exit::Diverged(divergence)))
    }

    /// An update that is skipped while the loss scale adapts says nothing about the model: it is
    /// not divergence.
    fn note_overflow(&mut self) -> Result<(), TrainError> {
        let (step, factor) =
            (self.state.step, self.state.loss_scale.map_or(1.0, LossScale::factor));
        let note = format!(
            "update {step} skipped: a gradient left float16's range; the loss is now multiplied by {factor}"
        );
        self.reporter.note(&note)
    }
}
