//! Measures updates on this machine, and chooses the size of the model by them (`training.fit`).

use std::time::Duration;

use anyhow::{Context as _, Error, Result};
use burn::tensor::Device;
use burnformer_train::report::Verbosity;
use burnformer_train::{Corpora, Learner, Rehearsal, RunMode, TrainConfig, fit, is_to_be_fitted};

use crate::device::guarded;
use crate::output;

/// The time for which updates are measured.
const MEASURED: Duration = Duration::from_secs(5);

/// `config` with the size and the length that suit the machine, if it asks for that.
///
/// # Errors
/// The errors with which the run would not start.
pub(super) fn fitted(
    config: &TrainConfig,
    corpora: &Corpora,
    devices: &[Device],
) -> Result<TrainConfig> {
    if !is_to_be_fitted(config) {
        return Ok(config.clone());
    }
    output::note("measuring models of several sizes: half a minute, on a busy machine longer");
    let seconds =
        |config: &TrainConfig| Ok::<_, Error>(rehearse(config, corpora, devices)?.seconds);
    let (config, note) = fit(config, seconds)?;
    output::note(note);
    Ok(config)
}

/// Makes some updates of a run with `config` in a folder that is removed again.
///
/// # Errors
/// The errors with which the run would not start.
pub(super) fn rehearse(
    config: &TrainConfig,
    corpora: &Corpora,
    devices: &[Device],
) -> Result<Rehearsal> {
    let place = tempfile::tempdir().context("a temporary folder cannot be made; set TMPDIR")?;
    guarded("choose a smaller training.budget", || {
        let (config, quiet) = (config.clone(), Verbosity::Quiet);
        let learner = Learner::new(config, corpora, place.path(), RunMode::New, quiet, devices)?;
        Ok(learner.rehearse(MEASURED)?)
    })
}
