//! The requests that wait, and the batches taken from them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::oneshot;

use super::pace::Pace;
use super::{Answer, locked};
use crate::engine::{Candidate, Choice, Work};

#[derive(Default)]
pub(super) struct State {
    /// Requests with sentences that nobody has taken yet, in the order of their next turn.
    pub(super) requests: VecDeque<Waiting>,
    /// The number of those sentences.
    pub(super) sentences: usize,
    /// Sentences translated and the seconds it took, fading: what is waiting will take so long.
    pub(super) pace: Pace,
    pub(super) stopped: bool,
}

pub(super) struct Waiting {
    pub(super) choice: Choice,
    pub(super) arrived: Instant,
    pub(super) work: VecDeque<(usize, Work)>,
    pub(super) gathered: Arc<Mutex<Gathered>>,
}

/// The answers of a request as they come in.
pub(super) struct Gathered {
    pub(super) answers: Vec<Vec<Candidate>>,
    pub(super) missing: usize,
    pub(super) reply: Option<oneshot::Sender<Answer>>,
}

impl Gathered {
    /// Whether nobody waits for the answer any more.
    fn is_abandoned(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    pub(super) fn send(&mut self, answer: Answer) {
        if let Some(reply) = self.reply.take() {
            // The client may have gone.
            let _ = reply.send(answer);
        }
    }
}

/// A sentence that is being translated, and where its translation goes.
pub(super) struct Taken {
    pub(super) place: usize,
    pub(super) work: Work,
    pub(super) gathered: Arc<Mutex<Gathered>>,
}

impl State {
    /// Leaves out the requests that nobody waits for any more.
    pub(super) fn forget_abandoned(&mut self) {
        self.requests.retain(|request| !locked(&request.gathered).is_abandoned());
        self.sentences = self.requests.iter().map(|request| request.work.len()).sum();
    }

    /// Takes a batch of at most `most` sentences with one choice: one of each request in turn, beginning with the one
    /// whose turn it is.
    pub(super) fn take(&mut self, most: usize) -> (Choice, Vec<Taken>) {
        self.forget_abandoned();
        let Some(first) = self.requests.front() else { return (Choice::default(), Vec::new()) };
        let choice = first.choice;
        let mut batch = Vec::with_capacity(most.min(self.sentences));
        let mut passed = 0;
        while batch.len() < most && passed < self.requests.len() {
            let mut request = self.requests.pop_front().expect("requests that were not passed");
            if request.choice != choice {
                self.requests.push_back(request);
                passed += 1;
                continue;
            }
            passed = 0;
            let (place, work) = request.work.pop_front().expect("a request with sentences");
            batch.push(Taken { place, work, gathered: request.gathered.clone() });
            if !request.work.is_empty() {
                self.requests.push_back(request);
            }
        }
        self.sentences -= batch.len();
        (choice, batch)
    }
}

/// Gives every request its candidates, and sends the answers that are complete.
pub(super) fn hand_out(batch: Vec<Taken>, candidates: Vec<Vec<Candidate>>) {
    for (taken, candidates) in batch.into_iter().zip(candidates) {
        let mut gathered = locked(&taken.gathered);
        gathered.answers[taken.place] = candidates;
        gathered.missing -= 1;
        if gathered.missing == 0 {
            let answers = std::mem::take(&mut gathered.answers);
            gathered.send(Ok(answers));
        }
    }
}
