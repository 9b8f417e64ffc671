//! How fast a queue's sentences are translated.

use std::time::Duration;

/// The number of sentences per second, over the last batches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    sentences: f64,
    seconds: f64,
}

impl Pace {
    /// What is left of the past with each batch.
    const FADING: f64 = 0.9;

    pub(super) fn add(&mut self, sentences: usize, took: Duration) {
        self.sentences = self.sentences * Self::FADING + sentences as f64;
        self.seconds = self.seconds * Self::FADING + took.as_secs_f64();
    }

    /// How long `sentences` will take, from one second to a minute.
    pub(super) fn wait(self, sentences: usize, workers: usize) -> Duration {
        let per_sentence = if self.sentences > 0.0 { self.seconds / self.sentences } else { 0.0 };
        let seconds = per_sentence * sentences as f64 / workers as f64;
        Duration::from_secs_f64(seconds.ceil().clamp(1.0, 60.0))
    }
}
