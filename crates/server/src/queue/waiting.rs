//! The requests that wait, and the batches taken from them.
//!
//! Turns are those of weighted fair queueing (Demers, Keshav and Shenker, 1989). A clock runs at
//! the speed at which each request would be served if all of them were served at the same time, and
//! the sentence goes first that would be done first then. So a request waits for as much work as it
//! asks for itself, and nobody waits for ever.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use tokio::sync::oneshot;

use super::answer::Answer;
use super::pace::Pace;
use crate::engine::{Candidate, Choice, Work};
use crate::lock::locked;

#[derive(Default)]
pub(super) struct State {
    /// Requests with sentences that nobody has taken yet, in the order of their turns.
    requests: BTreeMap<Turn, Waiting>,
    /// The number of those sentences.
    pub(super) sentences: usize,
    /// The requests so far.
    arrived: u64,
    /// The clock: the cost that each request would have been served if all were served at the same
    /// time.
    clock: u64,
    /// The batches that are translated now.
    running: usize,
    /// How many of them are a single sentence beyond the bound on the cost of a batch.
    long: usize,
    /// Sentences translated and the seconds it took, fading. The time of the waiting sentences is
    /// estimated from it.
    pub(super) pace: Pace,
    pub(super) stopped: bool,
    /// The requests that are not answered.
    asked: Vec<Weak<Mutex<Gathered>>>,
}

/// When the next sentence of a request has its turn: the clock when it would be done, then the
/// number of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    done: u64,
    number: u64,
}

/// A sentence that waits.
pub(super) struct Item {
    pub(super) place: usize,
    pub(super) work: Work,
    /// What its search costs, as [`Engine::cost`](crate::Engine::cost) says.
    pub(super) cost: usize,
}

struct Waiting {
    choice: Choice,
    arrived: Instant,
    items: VecDeque<Item>,
    gathered: Arc<Mutex<Gathered>>,
    left: Arc<AtomicBool>,
}

impl Waiting {
    /// The cost of the next sentence.
    fn next(&self) -> usize {
        self.items[0].cost
    }
}

/// The answers of a request as they come in.
pub(super) struct Gathered {
    answers: Vec<Vec<Candidate>>,
    missing: usize,
    reply: Option<oneshot::Sender<Answer>>,
    left: Arc<AtomicBool>,
}

impl Gathered {
    pub(super) fn send(&mut self, answer: Answer) {
        if let Some(reply) = self.reply.take() {
            // The client may have gone.
            let _ = reply.send(answer);
        }
    }
}

/// A sentence that is being translated, and where its translation goes.
pub(super) struct Taken {
    place: usize,
    pub(super) work: Work,
    pub(super) gathered: Arc<Mutex<Gathered>>,
    pub(super) left: Arc<AtomicBool>,
}

/// Sentences of one choice that are translated together.
pub(super) struct Batch {
    pub(super) choice: Choice,
    pub(super) taken: Vec<Taken>,
    /// Whether it is a single sentence that costs more than a batch may.
    pub(super) is_long: bool,
}

/// Bounds on batches.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// The most sentences.
    pub(super) sentences: usize,
    /// The most that they cost, all counted like the most expensive one, since the others wait for
    /// it.
    pub(super) cost: usize,
    /// The most batches at the same time.
    pub(super) workers: usize,
}

impl State {
    /// Adds a request for `items`, at least one, of which `answer` will be the reply. Nobody waits
    /// for it any more when `left` is true.
    pub(super) fn put(
        &mut self,
        choice: Choice,
        items: VecDeque<Item>,
        left: Arc<AtomicBool>,
        reply: oneshot::Sender<Answer>,
    ) {
        let count = items.len();
        let (answers, reply) = (vec![Vec::new(); count], Some(reply));
        let gathered = Gathered { answers, missing: count, reply, left: left.clone() };
        let gathered = Arc::new(Mutex::new(gathered));
        self.asked.retain(|asked| asked.strong_count() > 0);
        self.asked.push(Arc::downgrade(&gathered));
        let request = Waiting { choice, arrived: Instant::now(), items, gathered, left };
        self.sentences += count;
        self.arrived += 1;
        let turn = Turn { done: self.clock + request.next() as u64, number: self.arrived };
        self.requests.insert(turn, request);
    }

    /// Leaves out the requests that nobody waits for any more.
    pub(super) fn forget_abandoned(&mut self) {
        self.requests.retain(|_, request| !request.left.load(Ordering::Relaxed));
        self.sentences = self.requests.values().map(|request| request.items.len()).sum();
    }

    /// Answers all requests by what is translated already, and takes no more.
    pub(super) fn unload(&mut self) {
        for asked in self.asked.drain(..).filter_map(|asked| asked.upgrade()) {
            let mut gathered = locked(&asked);
            gathered.left.store(true, Ordering::Relaxed);
            let none = vec![Vec::new(); gathered.answers.len()];
            let answers = std::mem::replace(&mut gathered.answers, none);
            gathered.send(Ok(answers));
        }
        self.stop();
    }

    /// Leaves out all requests, and takes no more.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.requests.clear();
        self.sentences = 0;
    }

    /// Whether a batch may begin whose next sentence costs `cost`. Long sentences leave a worker
    /// more to the others, so that those do not wait for them.
    fn may_begin(&self, cost: usize, bounds: Bounds) -> bool {
        let all_are_long = self.long >= bounds.workers && self.running <= self.long;
        self.running < bounds.workers || (cost <= bounds.cost && all_are_long)
    }

    /// The time at which the request arrived whose turn it is, if a batch may begin.
    pub(super) fn first_arrived(&mut self, bounds: Bounds) -> Option<Instant> {
        self.forget_abandoned();
        let mut requests = self.requests.values();
        let first = requests.find(|request| self.may_begin(request.next(), bounds))?;
        Some(first.arrived)
    }

    /// Takes a batch with one choice, beginning with the request whose turn it is; `None` if none
    /// may begin.
    pub(super) fn take(&mut self, bounds: Bounds) -> Option<Batch> {
        let mut requests = self.requests.values();
        let first = requests.find(|request| self.may_begin(request.next(), bounds))?;
        let choice = first.choice;
        // Workers that have nothing to do get their share.
        let idle = bounds.workers.saturating_sub(self.running).max(1);
        let most = bounds.sentences.min(self.sentences.div_ceil(idle));
        let (mut taken, mut longest) = (Vec::new(), 0);
        while taken.len() < most {
            let fits = |request: &Waiting| match taken.len() {
                0 => self.may_begin(request.next(), bounds),
                others => longest.max(request.next()) * (others + 1) <= bounds.cost,
            };
            let next = |(_, request): &(&Turn, &Waiting)| request.choice == choice && fits(request);
            let Some((&turn, _)) = self.requests.iter().find(next) else { break };
            let (cost, sentence) = self.take_one(turn);
            longest = longest.max(cost);
            taken.push(sentence);
        }
        let is_long = longest > bounds.cost;
        self.running += 1;
        self.long += usize::from(is_long);
        Some(Batch { choice, taken, is_long })
    }

    /// Takes the next sentence of the request at `turn`, with its cost, and moves the request to
    /// its next turn.
    fn take_one(&mut self, turn: Turn) -> (usize, Taken) {
        let sharing = self.requests.len() as u64;
        let mut request = self.requests.remove(&turn).expect("a request that waits");
        let Item { place, work, cost } = request.items.pop_front().expect("one with sentences");
        self.sentences -= 1;
        self.clock += (cost as u64).div_ceil(sharing);
        let (gathered, left) = (request.gathered.clone(), request.left.clone());
        if !request.items.is_empty() {
            let done = turn.done.max(self.clock) + request.next() as u64;
            self.requests.insert(Turn { done, ..turn }, request);
        }
        (cost, Taken { place, work, gathered, left })
    }

    /// Notes that a batch is done.
    pub(super) fn done(&mut self, is_long: bool) {
        self.running -= 1;
        self.long -= usize::from(is_long);
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

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { sentences: 4, cost: 100, workers: 1 };

    fn choice(beam: usize) -> Choice {
        Choice { beam: Some(beam), ..Choice::default() }
    }

    /// Adds a request called `name` whose sentences have these costs.
    fn put(state: &mut State, name: &str, choice: Choice, costs: &[usize]) -> Arc<AtomicBool> {
        let work = Work { text: name.into(), ..Work::default() };
        let item = |(place, &cost)| Item { place, work: work.clone(), cost };
        let left = Arc::<AtomicBool>::default();
        let (reply, _) = oneshot::channel();
        state.put(choice, costs.iter().enumerate().map(item).collect(), left.clone(), reply);
        left
    }

    /// The requests of the next batch, one letter each, and whether it is a long sentence.
    fn take(state: &mut State) -> Option<(String, bool)> {
        let batch = state.take(BOUNDS)?;
        Some((batch.taken.iter().map(|taken| &taken.work.text[..]).collect(), batch.is_long))
    }

    /// The next batch, which is done at once.
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
        // The turn of the list came before the click did.
        assert_eq!(
            [next(&mut state), next(&mut state)].concat().find('c').map(|at| at <= 4),
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
    fn a_batch_costs_no_more_than_is_allowed_counted_by_its_longest() {
        let mut state = State::default();
        put(&mut state, "a", choice(1), &[10]);
        put(&mut state, "b", choice(1), &[60]);
        put(&mut state, "c", choice(1), &[10]);
        put(&mut state, "d", choice(1), &[30]);
        // With b, a and c would cost 180; with d, 90.
        assert_eq!([next(&mut state), next(&mut state)], ["acd", "b"]);
    }

    #[test]
    fn long_sentences_leave_one_batch_to_the_others() {
        let mut state = State::default();
        put(&mut state, "l", choice(1), &[500; 3]);
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
    fn nobody_waits_for_ever_for_cheaper_requests() {
        let mut state = State::default();
        put(&mut state, "e", choice(1), &[400]);
        let mut served = 0;
        loop {
            // Always one more than can be served.
            (0..=served % 2).for_each(|_| drop(put(&mut state, "n", choice(2), &[10])));
            if next(&mut state) == "e" {
                return;
            }
            served += 1;
            assert!(served < 500, "five hundred newcomers went first");
        }
    }

    #[test]
    fn requests_that_nobody_waits_for_are_left_out() {
        let mut state = State::default();
        let left = put(&mut state, "a", choice(1), &[10; 5]);
        put(&mut state, "b", choice(1), &[10]);
        left.store(true, Ordering::Relaxed);
        assert!(state.first_arrived(BOUNDS).is_some());
        assert_eq!((state.sentences, next(&mut state)), (1, "b".into()));
        assert!(state.first_arrived(BOUNDS).is_none());
    }

    #[test]
    fn workers_without_work_get_their_share() {
        let mut state = State::default();
        put(&mut state, "a", choice(1), &[10; 4]);
        let bounds = Bounds { workers: 2, ..BOUNDS };
        let sizes = [0, 1].map(|_| state.take(bounds).expect("a batch").taken.len());
        assert_eq!(sizes, [2, 2]);
    }
}
