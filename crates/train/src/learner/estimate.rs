//! An estimate of a run's time, from some discarded updates.

use std::time::{Duration, Instant};

use burnformer_data::UpdateStream;

use super::{Learner, MODEL_IS_THERE};
use crate::error::Result;

/// The largest number of measured updates.
const MAX_UPDATES: u32 = 20;

/// An estimate of a whole run, from its first updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunEstimate {
    /// The number of trained parameters of the model.
    pub parameters: usize,
    /// The memory of the process after the worst batch and these updates, in bytes, if the system
    /// reports it.
    pub resident_bytes: Option<u64>,
    /// The number of measured updates; at least 1.
    pub measured: u32,
    /// The mean seconds of an update.
    pub seconds: f64,
    /// The number of updates of the whole run; infinite without a limit.
    pub updates: f64,
}

impl RunEstimate {
    /// Makes at least two updates of `learner` for about `time` and discards them. The first,
    /// slower update is not measured.
    ///
    /// # Errors
    /// Returns [`TrainError::Data`](crate::TrainError::Data) if the text can no longer be read.
    pub fn measure(mut learner: Learner, time: Duration) -> Result<Self> {
        let mut batches = learner.setup.updates(learner.state.sampler)?;
        update(&mut learner, &mut batches, 1)?;
        let started = Instant::now();
        let mut measured = 0;
        while measured == 0 || (measured < MAX_UPDATES && started.elapsed() < time) {
            measured += 1;
            update(&mut learner, &mut batches, 1 + u64::from(measured))?;
        }
        let seconds = started.elapsed().as_secs_f64() / f64::from(measured);
        Ok(Self {
            parameters: learner.setup.first.config.parameter_count(),
            resident_bytes: learner.setup.memory_limit.resident(),
            measured,
            seconds,
            updates: updates_in_all(&learner, seconds),
        })
    }
}

/// Makes update number `step`, and waits for it.
fn update(learner: &mut Learner, batches: &mut UpdateStream, step: u64) -> Result<()> {
    let planned = batches.next().expect("the stream of updates has no end")?;
    let model = learner.model.take().expect(MODEL_IS_THERE);
    let rate = learner.rate(step);
    let replicas = &learner.setup.replicas;
    let (model, pending, _) = learner
        .updater
        .update(model, &planned.batches, step, rate, replicas);
    learner.model = Some(model);
    learner.updater.read(&[pending]);
    Ok(())
}

/// The number of updates until the first limit, at `seconds` per update.
fn updates_in_all(learner: &Learner, seconds: f64) -> f64 {
    let training = &learner.setup.config.training;
    let epoch = learner.batches_per_epoch as f64 / training.accumulate as f64;
    let limits = [
        training.max_updates as f64,
        (training.max_epochs as f64 * epoch).ceil(),
        (60.0 * training.max_minutes / seconds).ceil(),
    ];
    limits
        .into_iter()
        .filter(|&limit| limit > 0.0)
        .fold(f64::INFINITY, f64::min)
}
