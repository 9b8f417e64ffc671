use std::time::{Duration, Instant};

use burnformer_data::Batch;

use crate::checkpoint::RunState;
use crate::report::TrainPoint;
use crate::update::UpdateStatistics;

/// Adds up updates between two log lines.
pub(crate) struct Meter {
    since: Instant,
    waited: Duration,
    tokens: usize,
    positions: usize,
    real: usize,
    updates: Vec<UpdateStatistics>,
}

impl Meter {
    pub(crate) fn new(waited: Duration) -> Self {
        let since = Instant::now();
        Self { since, waited, tokens: 0, positions: 0, real: 0, updates: vec![] }
    }

    pub(crate) fn add(&mut self, batches: &[Batch], statistics: UpdateStatistics) {
        self.tokens += statistics.tokens;
        self.positions += batches.iter().map(Batch::positions).sum::<usize>();
        self.real += batches.iter().map(|b| b.source_tokens + b.target_tokens).sum::<usize>();
        self.updates.push(statistics);
    }

    /// The means since the last point, which starts the next stretch.
    pub(crate) fn point(&mut self, state: &RunState, lr: f64, waited: Duration) -> TrainPoint {
        let done = std::mem::replace(self, Self::new(waited));
        let tokens = done.tokens.max(1) as f64;
        let read = |value: &burn::tensor::Tensor<1>| f64::from(value.clone().into_scalar::<f32>());
        let total = |f: fn(&UpdateStatistics) -> &burn::tensor::Tensor<1>| {
            done.updates.iter().map(|u| read(f(u))).sum::<f64>()
        };
        let nll = total(|u| &u.nll) / tokens;
        let seconds = done.since.elapsed().as_secs_f64();
        TrainPoint {
            epoch: state.sampler.epoch + 1,
            step: state.step,
            loss: total(|u| &u.loss) / tokens,
            nll,
            ppl: nll.exp(),
            lr,
            gnorm: done.updates.iter().map(|u| u.norm).sum::<f64>()
                / done.updates.len().max(1) as f64,
            tokens_per_second: tokens / seconds,
            padding: 1.0 - done.real as f64 / done.positions.max(1) as f64,
            data_wait: (waited - done.waited).as_secs_f64() / seconds,
            seconds: state.seconds,
            tokens: state.tokens,
            pairs: state.pairs,
        }
    }
}
