//! An estimate of a run's time, from some discarded updates.

use std::time::{Duration, Instant};

use super::Learner;
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
    pub memory: Option<u64>,
    /// The number of measured updates; at least 1.
    pub measured: u32,
    /// The mean seconds of an update.
    pub seconds: f64,
    /// The number of updates of the whole run; infinite without a limit.
    pub updates: f64,
}

impl Learner {
    /// Makes at least two updates for about `time` and discards them. The first, slower update is
    /// not measured.
    ///
    /// # Errors
    /// Returns [`TrainError::Data`](crate::TrainError::Data) if the text can no longer be read.
    pub fn estimate(mut self, time: Duration) -> Result<RunEstimate> {
        let mut batches = self.setup.updates(self.state.sampler)?;
        self.update(&mut batches)?;
        let _ = self.read()?;
        let started = Instant::now();
        let mut measured = 0;
        while measured == 0 || (measured < MAX_UPDATES && started.elapsed() < time) {
            self.update(&mut batches)?;
            let _ = self.read()?;
            measured += 1;
        }
        let seconds = started.elapsed().as_secs_f64() / f64::from(measured);
        Ok(RunEstimate {
            parameters: self.setup.first.config.parameter_count(),
            memory: self.setup.memory.resident(),
            measured,
            seconds,
            updates: self.updates_in_all(seconds),
        })
    }

    /// The number of updates until the first limit, at `seconds` per update.
    fn updates_in_all(&self, seconds: f64) -> f64 {
        let training = &self.setup.config.training;
        let epoch = self.setup.batches_per_epoch as f64 / training.accumulate as f64;
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
}
