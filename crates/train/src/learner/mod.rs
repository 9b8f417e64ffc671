//! The training loop.

mod save;
mod start;

use std::fs;
use std::time::Instant;

use burn::tensor::Device;
use burnformer_core::{Transformer, TransformerConfig};
use burnformer_data::{Batch, BatchSampler, PlannedBatch, Prefetch, Tokenizers};

use crate::checkpoint::{self, RunState};
use crate::config::TrainConfig;
use crate::early_stopping::Metric;
use crate::error::TrainError;
use crate::meter::Meter;
use crate::report::{Reporter, ValidPoint};
use crate::run_dir::RunDir;
use crate::update::Updater;
use crate::validate::{Validation, Validator};

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
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MaxUpdates => "training.max_updates reached",
            Self::MaxMinutes => "training.max_minutes reached",
            Self::MaxEpochs => "training.max_epochs reached",
            Self::Patience => "no better validation for validation.patience times",
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
    shape: TransformerConfig,
    device: Device,
    run: RunDir,
    reporter: Reporter,
    tokenizers: Tokenizers,
    sampler: BatchSampler,
    validator: Option<Validator>,
    /// Away only during an update, which works on it in place.
    model: Option<Transformer>,
    updater: Updater,
    state: RunState,
    /// When this sitting began, less the seconds of earlier ones.
    started: Instant,
    earlier_seconds: f64,
}

impl Learner {
    /// The model as it stands.
    pub fn model(&self) -> &Transformer {
        self.model.as_ref().expect("the model is away only during an update")
    }

    /// The run's folder.
    pub fn run_dir(&self) -> &RunDir {
        &self.run
    }

    /// Trains until a limit is reached, then writes `last`, `average` and `best`.
    ///
    /// # Errors
    /// [`TrainError::NothingToDo`] if a limit is reached already; [`TrainError::Diverged`] if the loss
    /// stops being a number; errors of data, decoding and the file system.
    pub fn train(mut self) -> Result<Outcome, TrainError> {
        if let Some(limit) = self.limit_reached() {
            return Err(TrainError::NothingToDo {
                step: self.state.step,
                limit: limit.to_string(),
            });
        }
        self.started = Instant::now();
        let stream = self.sampler.stream(self.state.sampler)?;
        let mut batches = Prefetch::new(stream, self.config.training.prefetch);
        let mut meter = Meter::new(batches.waited());
        let reason = loop {
            self.update(&mut batches, &mut meter)?;
            let step = self.state.step;
            let every = |n: u64| n > 0 && step.is_multiple_of(n);
            if every(self.config.training.log_every) {
                self.log(&mut meter, &batches)?;
            }
            if every(self.config.validation.every) {
                self.validate()?;
            }
            if every(self.config.checkpoints.every) {
                self.save_checkpoint()?;
            }
            let patience = self.config.validation.patience;
            let exhausted = self.state.best.exhausted(patience).then_some(StopReason::Patience);
            if let Some(reason) = exhausted.or_else(|| self.limit_reached()) {
                break reason;
            }
        };
        drop(batches);
        self.finish(reason)?;
        self.reporter.finish()?;
        Ok(Outcome { state: self.state, reason })
    }

    fn rate(&self, step: u64) -> f64 {
        self.config.schedule.rate(step, self.shape.d_model)
    }

    fn limit_reached(&self) -> Option<StopReason> {
        let t = &self.config.training;
        let seconds = self.state.seconds;
        let reached = [
            (t.max_updates > 0 && self.state.step >= t.max_updates, StopReason::MaxUpdates),
            (t.max_minutes > 0.0 && seconds >= 60.0 * t.max_minutes, StopReason::MaxMinutes),
            (t.max_epochs > 0 && self.state.sampler.epoch >= t.max_epochs, StopReason::MaxEpochs),
        ];
        reached.into_iter().find(|(reached, _)| *reached).map(|(_, reason)| reason)
    }

    fn update(
        &mut self,
        batches: &mut Prefetch<PlannedBatch>,
        meter: &mut Meter,
    ) -> Result<(), TrainError> {
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
        self.state.tokens += statistics.tokens as u64;
        self.state.pairs += parts.iter().map(|b| b.batch as u64).sum::<u64>();
        self.state.seconds = self.earlier_seconds + self.started.elapsed().as_secs_f64();
        meter.add(&parts, statistics);
        Ok(())
    }

    fn log(
        &mut self,
        meter: &mut Meter,
        batches: &Prefetch<PlannedBatch>,
    ) -> Result<(), TrainError> {
        let point = meter.point(&self.state, self.rate(self.state.step), batches.waited());
        if !(point.loss.is_finite() && point.gnorm.is_finite()) {
            let (step, loss, norm) = (point.step, point.loss, point.gnorm);
            return Err(TrainError::Diverged { step, loss, norm });
        }
        self.reporter.train(&point)?;
        Ok(())
    }

    fn validate(&mut self) -> Result<(), TrainError> {
        let Some(validator) = &self.validator else { return Ok(()) };
        let validation = validator.validate(&self.shape, self.model(), &self.device)?;
        let step = self.state.step;
        let value = metric_value(self.config.validation.metric, &validation);
        let best = self.state.best.record(self.config.validation.metric, value, step);
        self.report_validation(&validation, best)?;
        if best {
            checkpoint::save_model(&self.run.model("best"), &self.saved())?;
        }
        Ok(())
    }

    fn report_validation(&mut self, validation: &Validation, best: bool) -> Result<(), TrainError> {
        self.state.seconds = self.earlier_seconds + self.started.elapsed().as_secs_f64();
        let step = self.state.step;
        self.reporter.valid(&ValidPoint {
            step,
            seconds: self.state.seconds,
            loss: validation.loss,
            nll: validation.nll,
            ppl: validation.perplexity(),
            bleu: validation.bleu,
            signature: validation.signature.clone(),
            best,
        })?;
        if validation.hypotheses.is_empty() {
            return Ok(());
        }
        let path = self.run.hypotheses(step);
        let text = validation.hypotheses.join("\n") + "\n";
        fs::write(&path, text).map_err(|e| TrainError::io(&path, e))
    }
}

/// The value of `metric`; without decoding, BLEU falls back to perplexity, negated so that higher is
/// better.
fn metric_value(metric: Metric, validation: &Validation) -> f64 {
    match metric {
        Metric::Bleu => validation.bleu.unwrap_or(-validation.perplexity()),
        Metric::Ppl => validation.perplexity(),
        Metric::Loss => validation.loss,
    }
}
