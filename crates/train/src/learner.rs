//! The training loop.

use std::fs;
use std::path::Path;
use std::time::Instant;

use burn::tensor::Device;
use burnformer_core::{Transformer, TransformerConfig};
use burnformer_data::{
    Batch, BatchSampler, PlannedBatch, Prefetch, SamplerSettings, Tokenizers,
};
use burnformer_infer::SearchSettings;

use crate::adam::Adam;
use crate::average::average_models;
use crate::checkpoint::{self, RunState, Saved};
use crate::config::TrainConfig;
use crate::corpora::Corpora;
use crate::early_stopping::Metric;
use crate::error::TrainError;
use crate::meter::Meter;
use crate::report::{Reporter, ReporterOptions, ValidPoint};
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
    /// Starts a run in `folder`, or resumes the one there, on `device`.
    ///
    /// # Errors
    /// A [`TrainError`] if the folder is in use (or, resuming, holds nothing), the configuration
    /// describes no model, or the data cannot be batched.
    pub fn new(
        config: TrainConfig,
        corpora: &Corpora,
        folder: &Path,
        resume: bool,
        quiet: bool,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let device = device.clone().autodiff();
        let vocabulary = |t: &burnformer_data::Tokenizer| t.vocab_size();
        let tokenizers = corpora.tokenizers.clone();
        let shape =
            config.model.over(vocabulary(&tokenizers.source), vocabulary(&tokenizers.target));
        let settings = SamplerSettings {
            budget: config.training.budget,
            max_sentences: Some(config.training.max_sentences).filter(|&n| n > 0),
            seed: config.training.seed,
        };
        let sampler = BatchSampler::new(corpora.train.clone(), settings)?;
        let validator = Validator::new(&config, corpora)?;
        let model = shape.init(config.training.seed, &device)?;
        let run = RunDir::open(folder, resume)?;
        let adam = |model: &Transformer| Adam::new(config.optimizer, model);
        let (model, adam, state) = match resume {
            false => {
                let adam = adam(&model);
                (model, adam, RunState { sampler: sampler.start(), ..RunState::default() })
            }
            true => {
                let newest = run.checkpoint_steps()?.pop();
                let newest = newest
                    .ok_or_else(|| TrainError::NothingToResume { path: folder.into() })?;
                let path = run.checkpoint(newest);
                let loaded = checkpoint::load(&path, adam, &device)?;
                if loaded.config != shape {
                    let message = "the model has another shape than the configuration".into();
                    return Err(TrainError::Checkpoint { path, message });
                }
                (loaded.model, loaded.adam, loaded.state)
            }
        };
        let updater = Updater {
            adam,
            seed: config.training.seed,
            label_smoothing: config.training.label_smoothing,
            clip_norm: config.optimizer.clip_norm,
        };
        let toml = run.config();
        fs::write(&toml, config.to_toml()).map_err(|e| TrainError::io(&toml, e))?;
        let some = |n: u64| (n > 0).then_some(n);
        let minutes = config.training.max_minutes;
        let options = ReporterOptions {
            max_steps: some(config.training.max_updates),
            max_seconds: (minutes > 0.0).then_some(60.0 * minutes),
            quiet,
            resume_step: resume.then_some(state.step),
        };
        let reporter = Reporter::create(run.path(), options)?;
        let earlier_seconds = state.seconds;
        let mut learner = Self {
            config,
            shape,
            device,
            run,
            reporter,
            tokenizers,
            sampler,
            validator,
            model: Some(model),
            updater,
            state,
            started: Instant::now(),
            earlier_seconds,
        };
        learner.announce(resume)?;
        Ok(learner)
    }

    fn announce(&mut self, resume: bool) -> Result<(), TrainError> {
        let plan = self.sampler.plan(self.state.sampler.seed, self.state.sampler.epoch);
        let (pairs, over) = (self.sampler.corpus().len(), self.sampler.over_budget());
        self.reporter.note(&format!(
            "model: {:.1}M parameters | corpus: {pairs} pairs, {over} over the budget | epoch: {} batches, {:.1}% padding",
            self.shape.parameter_count() as f64 / 1e6,
            plan.len(),
            100.0 * plan.padding_share(),
        ))?;
        if resume {
            let RunState { step, sampler, best, .. } = &self.state;
            let best = best.value.map_or("none".into(), |v| format!("{v:.4} at update {}", best.step));
            self.reporter.note(&format!(
                "resumed after update {step}: epoch {}, batch {} next, learning rate {:.3e}, best {best}",
                sampler.epoch + 1,
                sampler.next_batch + 1,
                self.rate(step + 1),
            ))?;
        }
        Ok(())
    }

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
            return Err(TrainError::NothingToDo { step: self.state.step, limit: limit.to_string() });
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

    fn saved(&self) -> Saved<'_> {
        static SEARCH: std::sync::OnceLock<SearchSettings> = std::sync::OnceLock::new();
        Saved {
            config: &self.shape,
            model: self.model(),
            tokenizers: &self.tokenizers,
            search: SEARCH.get_or_init(SearchSettings::default),
        }
    }

    fn save_checkpoint(&mut self) -> Result<(), TrainError> {
        let path = self.run.checkpoint(self.state.step);
        checkpoint::save(&path, &self.saved(), &self.updater.adam, &self.state)?;
        self.run.prune(self.config.checkpoints.keep)
    }

    /// The last checkpoint, `last`, the average, and `best` if the average is better.
    fn finish(&mut self, reason: StopReason) -> Result<(), TrainError> {
        let step = self.state.step;
        self.reporter.note(&format!("stopped after update {step}: {reason}"))?;
        if self.config.validation.every == 0 || !step.is_multiple_of(self.config.validation.every) {
            self.validate()?;
        }
        if !self.run.checkpoint(step).exists() {
            self.save_checkpoint()?;
        }
        checkpoint::publish(&self.run.checkpoint(step), &self.run.model("last"))?;
        if self.config.checkpoints.average > 1 {
            self.average()?;
        }
        if self.validator.is_none() && self.config.checkpoints.average <= 1 {
            checkpoint::publish(&self.run.model("last"), &self.run.model("best"))?;
        }
        Ok(())
    }

    fn average(&mut self) -> Result<(), TrainError> {
        let steps = self.run.checkpoint_steps()?;
        let newest = &steps[steps.len().saturating_sub(self.config.checkpoints.average)..];
        let dirs: Vec<_> = newest.iter().map(|&step| self.run.checkpoint(step)).collect();
        let (_, model) = average_models(&dirs, &self.device)?;
        self.model = Some(model);
        checkpoint::save_model(&self.run.model("average"), &self.saved())?;
        self.reporter.note(&format!("averaged the checkpoints of updates {newest:?}"))?;
        let better = match &self.validator {
            None => true,
            Some(validator) => {
                let validation = validator.validate(&self.shape, self.model(), &self.device)?;
                let metric = self.config.validation.metric;
                let value = metric_value(metric, &validation);
                let better = self.state.best.record(metric, value, self.state.step);
                self.report_validation(&validation, better)?;
                better
            }
        };
        if better {
            checkpoint::save_model(&self.run.model("best"), &self.saved())?;
        }
        Ok(())
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
