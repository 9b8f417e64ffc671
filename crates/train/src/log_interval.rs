use burnformer_data::Batch;
use serde::{Deserialize, Serialize};

use crate::checkpoint::RunState;
use crate::float_text;
use crate::report::TrainRecord;
use crate::statistics::UpdateStatistics;

/// The amount of text from which an update learns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    /// The number of sentence pairs.
    pub(crate) pairs: u64,
    /// The number of tokens of both sides, padding included.
    pub(crate) positions: u64,
    /// The number of real tokens of both sides.
    pub(crate) real: u64,
}

impl Extent {
    /// The amount of text in `batches`.
    pub(crate) fn of(batches: &[Batch]) -> Self {
        let sum = |count: fn(&Batch) -> usize| batches.iter().map(count).sum::<usize>() as u64;
        Self {
            pairs: sum(|batch| batch.batch),
            positions: sum(Batch::positions),
            real: sum(|batch| batch.source_tokens + batch.target_tokens),
        }
    }
}

/// The sums over the updates since the last log line. They are a part of the run's state, so that a line whose updates
/// were interrupted by a kill shows the same numbers as without the kill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogInterval {
    updates: u64,
    tokens: u64,
    positions: u64,
    real: u64,
    #[serde(with = "float_text")]
    loss: f64,
    #[serde(with = "float_text")]
    nll: f64,
    #[serde(with = "float_text")]
    norm: f64,
    /// The number of seconds that the run had trained when the interval began.
    #[serde(with = "float_text")]
    since: f64,
}

impl LogInterval {
    /// Adds an update.
    pub(crate) fn add(&mut self, extent: Extent, statistics: &UpdateStatistics) {
        self.updates += 1;
        self.tokens += statistics.tokens as u64;
        self.positions += extent.positions;
        self.real += extent.real;
        self.loss += statistics.loss;
        self.nll += statistics.nll;
        self.norm += statistics.norm;
    }

    /// The means over the interval, which then starts again; NaN if every update was skipped. `waited` is the number of
    /// seconds of the interval that were spent waiting for data.
    pub(crate) fn point(state: &mut RunState, lr: f64, waited: f64) -> TrainRecord {
        let next = Self { since: state.seconds, ..Self::default() };
        let done = std::mem::replace(&mut state.interval, next);
        let tokens = done.tokens as f64;
        let nll = done.nll / tokens;
        let seconds = (state.seconds - done.since).max(f64::MIN_POSITIVE);
        TrainRecord {
            epoch: state.sampler.epoch + 1,
            step: state.step,
            loss: done.loss / tokens,
            nll,
            ppl: nll.exp(),
            lr,
            gnorm: done.norm / done.updates as f64,
            tokens_per_second: tokens / seconds,
            padding: 1.0 - done.real as f64 / done.positions.max(1) as f64,
            data_wait: (waited / seconds).min(1.0),
            seconds: state.seconds,
            tokens: state.tokens,
            pairs: state.pairs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_saved_in_the_middle_closes_with_the_same_means() {
        let add = |state: &mut RunState, from: u32, to: u32| {
            for i in from..to {
                let x = 1.0 / f64::from(i);
                let (loss, nll, norm) = (x, x * x, x / 3.0);
                let statistics = UpdateStatistics { loss, nll, norm, tokens: 7, overflowed: false };
                state.interval.add(Extent::default(), &statistics);
            }
        };
        let mut whole = RunState::default();
        add(&mut whole, 1, 50);
        let mut parts = RunState::default();
        add(&mut parts, 1, 20);
        let saved = serde_json::to_vec(&parts).unwrap();
        let mut parts: RunState = serde_json::from_slice(&saved).unwrap();
        add(&mut parts, 20, 50);
        assert_eq!(
            LogInterval::point(&mut whole, 1e-3, 0.0),
            LogInterval::point(&mut parts, 1e-3, 0.0)
        );
    }
}
