//! `train --dry-run`: describes a run without training.

use std::time::Duration;

use anyhow::{Context as _, Error, Result};
use burn::tensor::Device;
use burnformer_core::{ModelConfig, TransformerConfig};
use burnformer_data::SpecialIds;
use burnformer_interop::Format;
use burnformer_train::report::Verbosity;
use burnformer_train::{
    Corpora, Learner, RunEstimate, RunMode, StartModel, TrainConfig, fit, is_to_be_fitted,
};

use crate::device::guarded;
use crate::output;

/// A run that is described but not started, with a model of this shape.
pub(super) struct DryRun(ModelConfig);

impl DryRun {
    /// The run of `config`. Its model starts from the weights of `start`, if any.
    ///
    /// # Errors
    /// Returns an error if no model can have the shape.
    pub(super) fn new(config: &TrainConfig, start: Option<&StartModel>) -> Result<Self> {
        let vocab = config.tokenizer.train.vocab_size;
        let shape = match start {
            Some(start) => start.shape(&config.model),
            None => config.model.over([vocab; 2], SpecialIds::OURS),
        };
        shape.validate()?;
        Ok(Self(shape))
    }

    /// Prints the configuration, the size of the model, and estimates from some updates on the
    /// texts: the time of the run, its memory, and the time of the first score. Without an
    /// `estimate`, nothing was measured.
    pub(super) fn print(&self, config: &TrainConfig, estimate: Option<RunEstimate>) -> Result<()> {
        output::print(config.to_toml())?;
        match estimate {
            Some(estimate) => print_measured(config, &estimate)?,
            None => output::print(format_args!("# parameters: {}", self.0.parameter_count()))?,
        }
        self.0.downcast_ref().map_or(Ok(()), exports)
    }
}

/// Prints which formats of other systems can carry a model of this shape, and why others cannot.
fn exports(shape: &TransformerConfig) -> Result<()> {
    let (can, cannot): (Vec<Format>, Vec<Format>) = Format::WRITTEN
        .into_iter()
        .partition(|format| format.check(shape).is_ok());
    let can: Vec<&str> = can.into_iter().map(Format::name).collect();
    output::print(format_args!("# can be exported to: {}", can.join(", ")))?;
    for format in cannot {
        if let Err(error) = format.check(shape) {
            output::print(format_args!("# not to {format}: {error}"))?;
        }
    }
    Ok(())
}

fn print_measured(config: &TrainConfig, estimate: &RunEstimate) -> Result<()> {
    let &RunEstimate {
        parameters,
        resident_bytes,
        measured,
        seconds,
        updates,
    } = estimate;
    output::print(format_args!("# parameters: {parameters}"))?;
    if let Some(bytes) = resident_bytes {
        let gigabytes = bytes as f64 / 1e9;
        output::print(format_args!(
            "# memory, with the worst batch: {gigabytes:.2} GB"
        ))?;
    }
    output::print(format_args!(
        "# time: {}, the mean of {measured} updates being {seconds:.3} s; validations come on top",
        if updates.is_finite() {
            format!(
                "about {} for {updates} updates",
                duration(updates * seconds)
            )
        } else {
            "without end, since no limit is set".into()
        }
    ))?;
    let every = config.validation.every as f64;
    let first = if every > 0.0 {
        every.min(updates)
    } else {
        updates
    };
    if config.data.validates() && first.is_finite() {
        output::print(format_args!(
            "# first score: after update {first}, about {}",
            duration(first * seconds)
        ))
    } else {
        output::print("# first score: none, without a validation text (--valid)")
    }
}

/// `seconds` in the unit that fits.
fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} seconds"),
        ..5400.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}

/// How long to measure updates.
const MEASURING_TIME: Duration = Duration::from_secs(5);

/// Returns `config` with the model size and the run length fitted to the machine, if requested.
///
/// # Errors
/// Returns the errors that would prevent the run from starting.
pub(super) fn fitted(
    config: &TrainConfig,
    corpora: &Corpora,
    devices: &[Device],
) -> Result<TrainConfig> {
    if !is_to_be_fitted(config) {
        return Ok(config.clone());
    }
    output::note("measuring models of several sizes: half a minute, on a busy machine longer");
    let (config, note) = fit(config, |it: &TrainConfig| {
        Ok::<_, Error>(estimated(it, corpora, devices)?.seconds)
    })?;
    output::note(note);
    Ok(config)
}

/// Makes some updates of a run with `config` in a temporary folder.
///
/// # Errors
/// Returns the errors that would prevent the run from starting.
pub(super) fn estimated(
    config: &TrainConfig,
    corpora: &Corpora,
    devices: &[Device],
) -> Result<RunEstimate> {
    let folder = tempfile::tempdir().context("a temporary folder cannot be made; set TMPDIR")?;
    guarded("choose a smaller training.budget", || {
        let config = config.clone();
        let quiet = Verbosity::Quiet;
        let learner = Learner::new(config, corpora, folder.path(), RunMode::New, quiet, devices)?;
        Ok(RunEstimate::measure(learner, MEASURING_TIME)?)
    })
}
