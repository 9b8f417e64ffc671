//! The end of a run: its reasons and limits.

use derive_more::Display;

use crate::config::TrainConfig;
use crate::run::RunState;

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq)]
pub enum StopReason {
    /// The run reached `training.max_updates`.
    #[display("training.max_updates reached")]
    MaxUpdates,
    /// The run reached `training.max_minutes`.
    #[display("training.max_minutes reached")]
    MaxMinutes,
    /// The run reached `training.max_epochs`.
    #[display("training.max_epochs reached")]
    MaxEpochs,
    /// `validation.patience` consecutive validations were not better.
    #[display("no improvement in the last validation.patience validations")]
    Patience,
    /// The caller interrupted the run, which can be resumed.
    #[display("interrupted; continue with --resume")]
    Interrupted,
}

/// The reason why the loop over a stream of batches ends.
pub(super) enum Exit {
    /// The run ends.
    Stop(StopReason),
    /// The run goes back.
    Diverged(Divergence),
}

/// A result that is not finite.
#[derive(Clone, Copy, Debug)]
pub(super) enum Divergence {
    /// The loss per token or the gradient norm of an update.
    Update { loss: f64, norm: f64 },
    /// The weights, the moments or the output of the model, with the gradient norm of the last
    /// update, if any.
    Model { last_norm: Option<f64> },
}

impl Divergence {
    /// The loss and the gradient norm; NaN if unknown.
    pub fn loss_and_norm(self) -> (f64, f64) {
        match self {
            Self::Update { loss, norm } => (loss, norm),
            Self::Model { last_norm } => (f64::NAN, last_norm.unwrap_or(f64::NAN)),
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The state of the run.
    pub state: RunState,
    /// The reason why the run ended.
    pub reason: StopReason,
}

/// The share of the run that is done after `updates`, `seconds` and `epochs`, by the nearest limit;
/// 0 without a limit.
pub(super) fn progress(config: &TrainConfig, updates: u64, seconds: f64, epochs: f64) -> f64 {
    let t = &config.training;
    share(updates as f64, t.max_updates as f64)
        .max(share(seconds, 60.0 * t.max_minutes))
        .max(share(epochs, t.max_epochs as f64))
}

/// The share `done` of `limit`; 0 without a limit.
fn share(done: f64, limit: f64) -> f64 {
    if limit > 0.0 { done / limit } else { 0.0 }
}

/// The limit of `config` that a run in `state` has reached.
pub(super) fn limit_reached(config: &TrainConfig, state: &RunState) -> Option<StopReason> {
    let t = &config.training;
    let patience = config.validation.patience;
    // Patience comes last: the final validation can exhaust it, and a repeated end must report the
    // first reason.
    let reached = [
        (
            t.max_updates > 0 && state.step >= t.max_updates,
            StopReason::MaxUpdates,
        ),
        (
            t.max_minutes > 0.0 && state.seconds >= 60.0 * t.max_minutes,
            StopReason::MaxMinutes,
        ),
        (
            t.max_epochs > 0 && state.sampler.epoch >= t.max_epochs,
            StopReason::MaxEpochs,
        ),
        (
            state.validation.early_stopping.exhausted(patience),
            StopReason::Patience,
        ),
    ];
    reached
        .into_iter()
        .find(|(reached, _)| *reached)
        .map(|(_, reason)| reason)
}
