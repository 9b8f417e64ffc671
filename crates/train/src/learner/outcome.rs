//! What a run comes to.

use crate::run::state::RunState;

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

/// What the first updates of a run tell about the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rehearsal {
    /// The number of trained numbers of the model.
    pub parameters: usize,
    /// The memory of the process after the worst batch and these updates, in bytes, if the system
    /// reports it.
    pub memory: Option<u64>,
    /// The number of updates that were measured; at least 1.
    pub measured: u32,
    /// The mean seconds of an update.
    pub seconds: f64,
    /// The number of updates of the whole run; infinite without a limit.
    pub updates: f64,
}
