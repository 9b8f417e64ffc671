//! Waiting requests, and the batches taken from them. Senders take turns, and so do the requests of
//! each sender.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::engine::{Candidate, Choice, EngineError, Job};
use crate::fair::{SenderQueues, Waiter};
use crate::sender::Sender;

/// The maximum cost of a batch per sentence that it may have: 32 tokens times a beam of four.
const COST_PER_SENTENCE: usize = 128;
/// A request of at most this many sentences may use all the room of its sender. Larger requests
/// leave half of it, so that they cannot block the others.
pub(super) const FEW: usize = 16;
/// A request counts as at most one part in this many of the room, so that requests of any size are
/// accepted.
const HEAVIEST: usize = 16;

/// The reason why a request was not translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// Too many sentences wait.
    #[error("too many sentences are waiting already; try again later")]
    Full,
    /// The server is being stopped.
    #[error("the server is being stopped")]
    Stopped,
    /// The engine has failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The result of one request: the candidates of each of its sentences.
pub(super) type Answer = Result<Vec<Vec<Candidate>>, QueueError>;

/// The sizes of the queue of a language pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// The maximum number of sentences in a batch; at least 1. The cost of a batch, in tokens ×
    /// beam, is at most 128 times this number. Long sentences and wide beams therefore have smaller
    /// batches.
    pub batch: usize,
    /// The maximum number of waiting sentences; a request beyond it is refused. One sender may have
    /// at most half of them. A request counts as at most a sixteenth of this number, so that
    /// requests of any size are accepted.
    pub waiting: usize,
    /// The number of batches that are translated at the same time; at least 1. They share the
    /// processors equally. While all of these batches have long sentences, one more batch is
    /// translated for short ones.
    pub workers: usize,
}

impl QueueSettings {
    /// The maximum cost of a batch. All sentences count like the most expensive one, since the
    /// others wait for it.
    fn cost(self) -> usize {
        self.batch.saturating_mul(COST_PER_SENTENCE)
    }

    /// The maximum number of sentences that a request counts as.
    pub(super) fn heaviest(self) -> usize {
        (self.waiting / HEAVIEST).max(FEW)
    }
}

impl Default for QueueSettings {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            batch: 32,
            waiting: 4096,
            workers,
        }
    }
}

#[derive(Default)]
pub(super) struct State {
    /// Requests with sentences that no worker has taken yet.
    requests: SenderQueues<WaitingRequest>,
    /// The number of sentences in `requests`.
    pub(super) sentences: usize,
    /// The number of running batches.
    running: usize,
    /// The number of running batches that are a single sentence above the maximum cost of a batch.
    long: usize,
    pub(super) stopped: bool,
}

/// A waiting sentence, with its index in the request.
pub(super) struct Item {
    pub(super) index: usize,
    pub(super) job: Job,
}

/// A request with waiting sentences.
pub(super) struct WaitingRequest {
    choice: Choice,
    items: VecDeque<Item>,
    partial: Arc<Mutex<PartialAnswer>>,
    abandoned: Arc<AtomicBool>,
}

impl WaitingRequest {
    /// Creates a request for `items`. The answer is sent to `reply`. When `abandoned` becomes true,
    /// the request is no longer needed.
    pub(super) fn new(
        choice: Choice,
        items: VecDeque<Item>,
        abandoned: Arc<AtomicBool>,
        reply: oneshot::Sender<Answer>,
    ) -> Self {
        let answers = vec![Vec::new(); items.len()];
        let missing = items.len();
        let partial = Arc::new(Mutex::new(PartialAnswer {
            answers,
            missing,
            reply: Some(reply),
        }));
        Self {
            choice,
            items,
            partial,
            abandoned,
        }
    }

    /// The cost of the next sentence.
    fn cost(&self) -> usize {
        self.items.front().map_or(0, |item| item.job.cost)
    }

    fn take(&mut self) -> (u64, TakenSentence) {
        let Item { index, job } = self.items.pop_front().expect("one with sentences");
        let partial = self.partial.clone();
        let abandoned = self.abandoned.clone();
        (
            job.cost as u64,
            TakenSentence {
                index,
                job,
                partial,
                abandoned,
            },
        )
    }
}

impl Waiter for WaitingRequest {
    fn next_cost(&self) -> Option<u64> {
        self.items.front().map(|item| item.job.cost as u64)
    }
}

/// The answer of a request as far as it is complete.
pub(super) struct PartialAnswer {
    answers: Vec<Vec<Candidate>>,
    missing: usize,
    reply: Option<oneshot::Sender<Answer>>,
}

impl PartialAnswer {
    pub(super) fn send(&mut self, answer: Answer) {
        if let Some(reply) = self.reply.take() {
            // The client may have disconnected.
            let _ = reply.send(answer);
        }
    }

    /// Counts `count` further answers, and sends all of them once they are complete.
    fn done(&mut self, count: usize) {
        self.missing -= count;
        if self.missing == 0 {
            let answers = std::mem::take(&mut self.answers);
            self.send(Ok(answers));
        }
    }
}

/// A sentence that is being translated, and the request that it belongs to.
pub(super) struct TakenSentence {
    index: usize,
    pub(super) job: Job,
    pub(super) partial: Arc<Mutex<PartialAnswer>>,
    pub(super) abandoned: Arc<AtomicBool>,
}

/// Sentences with the same choice that are translated together.
pub(super) struct Batch {
    pub(super) choice: Choice,
    pub(super) taken: Vec<TakenSentence>,
    /// If true, the batch is a single sentence above the maximum cost of a batch.
    pub(super) is_long: bool,
}

impl State {
    /// Adds a request of at least one sentence.
    pub(super) fn put(&mut self, sender: &Sender, request: WaitingRequest) {
        self.sentences += request.items.len();
        self.requests.add(sender, request);
    }

    /// The number of waiting sentences, each request counted up to `heaviest`.
    pub(super) fn weight(&self, heaviest: usize) -> usize {
        self.requests
            .iter()
            .map(|request| request.items.len().min(heaviest))
            .sum()
    }

    /// The number of waiting sentences of `sender`, each request counted up to `heaviest`.
    pub(super) fn weight_of(&self, sender: &Sender, heaviest: usize) -> usize {
        self.requests
            .of(sender)
            .map(|request| request.items.len().min(heaviest))
            .sum()
    }

    /// Drops the requests that are no longer needed.
    pub(super) fn forget_abandoned(&mut self) {
        self.requests.retain(|request| {
            if request.abandoned.load(Ordering::Relaxed) {
                request.items.clear();
            }
        });
        self.sentences = self
            .requests
            .iter()
            .map(|request| request.items.len())
            .sum();
    }

    /// Accepts no more requests. Each waiting request is answered with the sentences that are
    /// translated already or in a running batch.
    pub(super) fn unload(&mut self) {
        for request in self.requests.iter() {
            request.partial.lock().done(request.items.len());
        }
        self.stop();
    }

    /// Drops all requests, and accepts no more.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.requests = SenderQueues::default();
        self.sentences = 0;
    }

    /// Returns whether a batch that begins with a sentence of this `cost` may start. While all
    /// workers translate long sentences, one more batch of short sentences may start, so that these
    /// do not wait.
    fn may_begin(&self, cost: usize, settings: QueueSettings) -> bool {
        let all_are_long = self.long >= settings.workers && self.running <= self.long;
        self.running < settings.workers || (cost <= settings.cost() && all_are_long)
    }

    /// Takes a batch of one choice, beginning with the next request in turn; `None` if no batch may
    /// start.
    pub(super) fn take(&mut self, settings: QueueSettings) -> Option<Batch> {
        self.forget_abandoned();
        let (_, first) = self
            .requests
            .find(|request| self.may_begin(request.cost(), settings))?;
        let choice = first.choice;
        // Leave a share of the sentences to idle workers.
        let idle = settings.workers.saturating_sub(self.running).max(1);
        let most = settings.batch.min(self.sentences.div_ceil(idle));
        let mut taken = Vec::new();
        let mut longest = 0;
        while taken.len() < most {
            let Some((key, _)) = self.requests.find(|request| {
                let fits = if taken.is_empty() {
                    self.may_begin(request.cost(), settings)
                } else {
                    longest.max(request.cost()) * (taken.len() + 1) <= settings.cost()
                };
                request.choice == choice && fits
            }) else {
                break;
            };
            let (cost, sentence) = self.requests.turn(&key, WaitingRequest::take);
            self.sentences -= 1;
            longest = longest.max(cost as usize);
            taken.push(sentence);
        }
        let is_long = longest > settings.cost();
        self.running += 1;
        self.long += usize::from(is_long);
        Some(Batch {
            choice,
            taken,
            is_long,
        })
    }

    /// Records that a batch is done.
    pub(super) fn done(&mut self, is_long: bool) {
        self.running -= 1;
        self.long -= usize::from(is_long);
    }
}

/// Gives every request its candidates, and sends complete answers.
pub(super) fn hand_out(batch: Vec<TakenSentence>, candidates: Vec<Vec<Candidate>>) {
    for (taken, candidates) in batch.into_iter().zip(candidates) {
        let mut partial = taken.partial.lock();
        partial.answers[taken.index] = candidates;
        partial.done(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Sentence;

    const SETTINGS: QueueSettings = QueueSettings {
        batch: 4,
        waiting: 0,
        workers: 1,
    };

    fn choice(beam: usize) -> Choice {
        Choice {
            beam: Some(beam),
            ..Choice::default()
        }
    }

    /// Adds a request called `name` with sentences of these costs.
    fn put(state: &mut State, name: &str, choice: Choice, costs: &[usize]) -> Arc<AtomicBool> {
        put_by(state, "one", name, choice, costs)
    }

    /// Adds a request like [`put`], from the sender called `sender`.
    fn put_by(
        state: &mut State,
        sender: &str,
        name: &str,
        choice: Choice,
        costs: &[usize],
    ) -> Arc<AtomicBool> {
        let sentence = Sentence {
            text: name.into(),
            ..Sentence::default()
        };
        let abandoned = Arc::<AtomicBool>::default();
        let (reply, _) = oneshot::channel();
        let items = costs
            .iter()
            .enumerate()
            .map(|(index, &cost)| Item {
                index,
                job: Job {
                    sentence: sentence.clone(),
                    cost,
                    request: None,
                    report: None,
                },
            })
            .collect();
        let sender = Sender::Key(sender.into());
        state.put(
            &sender,
            WaitingRequest::new(choice, items, abandoned.clone(), reply),
        );
        abandoned
    }

    /// Returns the requests of the next batch, one letter each, and whether it is a long sentence.
    fn take(state: &mut State) -> Option<(String, bool)> {
        let batch = state.take(SETTINGS)?;
        Some((
            batch
                .taken
                .iter()
                .map(|taken| &taken.job.sentence.text[..])
                .collect(),
            batch.is_long,
        ))
    }

    /// Returns the next batch and marks it as done.
    fn next(state: &mut State) -> String {
        let (names, is_long) = take(state).expect("a batch");
        state.done(is_long);
        names
    }

    #[test]
    fn a_click_does_not_wait_for_a_list_of_another_choice() {
        let mut state = State::default();
        put(&mut state, "l", choice(4), &[10; 31]);
        assert_eq!(next(&mut state), "llll");
        put(&mut state, "c", choice(5), &[10]);
        // The list had its turn before the click arrived.
        assert_eq!(
            [next(&mut state), next(&mut state)]
                .concat()
                .find('c')
                .map(|at| at <= 4),
            Some(true)
        );
    }

    #[test]
    fn requests_of_one_choice_share_batches_in_turns() {
        let mut state = State::default();
        put(&mut state, "a", choice(1), &[10; 6]);
        put(&mut state, "b", choice(1), &[10; 2]);
        assert_eq!([next(&mut state), next(&mut state)], ["abab", "aaaa"]);
        assert_eq!(state.sentences, 0);
    }

    #[test]
    fn the_longest_sentence_bounds_the_cost_of_a_batch() {
        let mut state = State::default();
        put(&mut state, "a", choice(1), &[50]);
        put(&mut state, "b", choice(1), &[300]);
        put(&mut state, "c", choice(1), &[50]);
        put(&mut state, "d", choice(1), &[150]);
        // A batch may cost 512. With b, a and c would cost 900; with d, 450.
        assert_eq!([next(&mut state), next(&mut state)], ["acd", "b"]);
    }

    #[test]
    fn long_sentences_leave_one_batch_for_short_ones() {
        let mut state = State::default();
        put(&mut state, "l", choice(1), &[600; 3]);
        assert_eq!(take(&mut state), Some(("l".into(), true)));
        assert_eq!(take(&mut state), None, "a second long one");
        put(&mut state, "s", choice(1), &[10]);
        assert_eq!(take(&mut state), Some(("s".into(), false)));
        put(&mut state, "s", choice(1), &[10]);
        assert_eq!(take(&mut state), None, "a third batch");
        state.done(false);
        assert_eq!(take(&mut state), Some(("s".into(), false)));
    }

    #[test]
    fn a_hundred_requests_get_no_more_service_than_one() {
        let mut state = State::default();
        (0..100).for_each(|_| drop(put_by(&mut state, "many", "m", choice(1), &[10])));
        put_by(&mut state, "few", "f", choice(1), &[10; 6]);
        let first = [(); 3].map(|()| next(&mut state)).concat();
        assert_eq!(first.matches('f').count(), 6, "{first}");
        assert_eq!(state.weight_of(&Sender::Key("many".into()), 16), 94);
    }

    #[test]
    fn an_unloaded_model_finishes_running_batches() {
        let mut state = State::default();
        let (reply, mut answer) = oneshot::channel();
        let items = (0..3)
            .map(|index| Item {
                index,
                job: Job {
                    sentence: Sentence::default(),
                    cost: 300,
                    request: None,
                    report: None,
                },
            })
            .collect();
        let request = WaitingRequest::new(choice(1), items, Arc::default(), reply);
        state.put(&Sender::Key("one".into()), request);
        let batch = state.take(SETTINGS).expect("a batch");
        state.unload();
        assert!(
            answer.try_recv().is_err(),
            "the first sentence is not translated yet"
        );
        assert!(!batch.taken[0].abandoned.load(Ordering::Relaxed));
        hand_out(batch.taken, vec![vec![Candidate::default()]]);
        let lengths = answer
            .try_recv()
            .unwrap()
            .unwrap()
            .into_iter()
            .map(|all| all.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [1, 0, 0]);
    }

    #[test]
    fn cheaper_requests_starve_nobody() {
        let mut state = State::default();
        put(&mut state, "e", choice(1), &[400]);
        let mut served = 0;
        loop {
            // Always one more request than can be served.
            (0..=served % 2).for_each(|_| drop(put(&mut state, "n", choice(2), &[10])));
            if next(&mut state) == "e" {
                return;
            }
            served += 1;
            assert!(served < 500, "five hundred newcomers went first");
        }
    }

    #[test]
    fn abandoned_requests_are_skipped() {
        let mut state = State::default();
        let abandoned = put(&mut state, "a", choice(1), &[10; 5]);
        put(&mut state, "b", choice(1), &[10]);
        abandoned.store(true, Ordering::Relaxed);
        assert_eq!((next(&mut state), state.sentences), ("b".into(), 0));
        assert!(state.take(SETTINGS).is_none());
    }

    #[test]
    fn idle_workers_get_their_share() {
        let mut state = State::default();
        put(&mut state, "a", choice(1), &[10; 4]);
        let settings = QueueSettings {
            workers: 2,
            ..SETTINGS
        };
        let sizes = [0, 1].map(|_| state.take(settings).expect("a batch").taken.len());
        assert_eq!(sizes, [2, 2]);
    }
}
