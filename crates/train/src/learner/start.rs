use std::fs;
use std::path::Path;
use std::time::Instant;

use burn::tensor::Device;
use burnformer_core::{Transformer, TransformerConfig};
use burnformer_data::{BatchSampler, SamplerSettings};

use super::Learner;
use crate::adam::Adam;
use crate::checkpoint::{self, RunState};
use crate::config::TrainConfig;
use crate::corpora::Corpora;
use crate::error::TrainError;
use crate::report::{Reporter, ReporterOptions};
use crate::run_dir::RunDir;
use crate::update::Updater;
use crate::validate::Validator;

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
        let tokenizers = corpora.tokenizers.clone();
        let (source, target) = (tokenizers.source.vocab_size(), tokenizers.target.vocab_size());
        let shape = config.model.over(source, target);
        shape.validate()?;
        let sampler = sampler(&config, corpora)?;
        let validator = Validator::new(&config, corpora)?;
        let run = RunDir::open(folder, resume)?;
        let (model, adam, state) = match resume {
            false => fresh(&config, &shape, &sampler, &device)?,
            true => restored(&config, &shape, &run, &device)?,
        };
        let toml = run.config();
        fs::write(&toml, config.to_toml()).map_err(|e| TrainError::io(&toml, e))?;
        let reporter = reporter(&config, &run, quiet, resume.then_some(state.step))?;
        let updater = Updater {
            adam,
            seed: config.training.seed,
            label_smoothing: config.training.label_smoothing,
            clip_norm: config.optimizer.clip_norm,
        };
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
            earlier_seconds: state.seconds,
            state,
            started: Instant::now(),
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
            let best =
                best.value.map_or("none".into(), |v| format!("{v:.4} at update {}", best.step));
            self.reporter.note(&format!(
                "resumed after update {step}: epoch {}, batch {} next, learning rate {:.3e}, best {best}",
                sampler.epoch + 1,
                sampler.next_batch + 1,
                self.rate(step + 1),
            ))?;
        }
        Ok(())
    }
}

fn sampler(config: &TrainConfig, corpora: &Corpora) -> Result<BatchSampler, TrainError> {
    let settings = SamplerSettings {
        budget: config.training.budget,
        max_sentences: Some(config.training.max_sentences).filter(|&most| most > 0),
        seed: config.training.seed,
    };
    Ok(BatchSampler::new(corpora.train.clone(), settings)?)
}

type Start = (Transformer, Adam, RunState);

fn fresh(
    config: &TrainConfig,
    shape: &TransformerConfig,
    sampler: &BatchSampler,
    device: &Device,
) -> Result<Start, TrainError> {
    let model = shape.init(config.training.seed, device)?;
    let adam = Adam::new(config.optimizer, &model);
    Ok((model, adam, RunState { sampler: sampler.start(), ..RunState::default() }))
}

/// The newest checkpoint of `run`.
fn restored(
    config: &TrainConfig,
    shape: &TransformerConfig,
    run: &RunDir,
    device: &Device,
) -> Result<Start, TrainError> {
    let newest = run.checkpoint_steps()?.pop();
    let newest = newest.ok_or_else(|| TrainError::NothingToResume { path: run.path().into() })?;
    let path = run.checkpoint(newest);
    let adam = |model: &Transformer| Adam::new(config.optimizer, model);
    let loaded = checkpoint::load(&path, adam, device)?;
    if loaded.config != *shape {
        let message = "the model has another shape than the configuration".into();
        return Err(TrainError::Checkpoint { path, message });
    }
    Ok((loaded.model, loaded.adam, loaded.state))
}

fn reporter(
    config: &TrainConfig,
    run: &RunDir,
    quiet: bool,
    resume_step: Option<u64>,
) -> Result<Reporter, TrainError> {
    let minutes = config.training.max_minutes;
    let options = ReporterOptions {
        max_steps: Some(config.training.max_updates).filter(|&most| most > 0),
        max_seconds: (minutes > 0.0).then_some(60.0 * minutes),
        quiet,
        resume_step,
    };
    Ok(Reporter::create(run.path(), options)?)
}
