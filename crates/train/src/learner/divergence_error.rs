use std::path::PathBuf;

/// The loss, the gradient or the model was not finite, and no rollback is left.
#[derive(Debug, thiserror::Error)]
#[error(
    "update {step}: loss {loss}, gradient norm {norm}: the run diverged again after going back {rollbacks} times, \
     with the learning rate lowered to {rate_scale} of the schedule's; lower schedule.factor or raise \
     schedule.warmup, or set optimizer.clip_norm to 1, and continue with --out {} --resume",
    run.display()
)]
pub struct DivergenceError {
    /// The folder of the run.
    pub run: PathBuf,
    /// The update.
    pub step: u64,
    /// The loss of the update.
    pub loss: f64,
    /// The norm of the gradient of the update.
    pub norm: f64,
    /// The number of rollbacks.
    pub rollbacks: u64,
    /// The factor on the schedule's learning rate.
    pub rate_scale: f64,
}
