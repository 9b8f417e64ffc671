//! Weighted fair queueing (Demers, Keshav and Shenker, 1989).
//!
//! A virtual clock advances as if all waiters were served at the same time at equal speed. The
//! waiter that would finish first is served first. A waiter therefore waits for about as much work
//! as it requests itself, and none waits forever.

use std::collections::BTreeMap;

use crate::sender::Sender;

/// Something that waits for turns.
pub(crate) trait Waiter {
    /// The cost of its next turn; `None` if it needs none.
    fn next_cost(&self) -> Option<u64>;
}

/// Waiters by their keys.
struct FairQueue<K, T> {
    /// The virtual clock: the cost that each waiter would have been served by now if all were
    /// served at the same time.
    clock: u64,
    /// The virtual start time of the next turn of each key, and its waiter.
    waiters: BTreeMap<K, (u64, T)>,
}

impl<K: Ord, T: Waiter> FairQueue<K, T> {
    fn new() -> Self {
        Self {
            clock: 0,
            waiters: BTreeMap::new(),
        }
    }

    /// The virtual finish time of each waiter, with its key and the waiter.
    fn done(&self) -> impl Iterator<Item = (u64, &K, &T)> {
        self.waiters
            .iter()
            .filter_map(|(key, (since, waiter))| Some((since + waiter.next_cost()?, key, waiter)))
    }

    /// The waiters in order of their turns.
    fn in_order(&self) -> impl Iterator<Item = (&K, &T)> {
        let mut all: Vec<_> = self.done().collect();
        all.sort_by_key(|&(done, key, _)| (done, key));
        all.into_iter().map(|(_, key, waiter)| (key, waiter))
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiters.values().map(|(_, waiter)| waiter)
    }

    /// Calls `keep` on every waiter, and removes the waiters that need no turn afterwards.
    fn retain(&mut self, mut keep: impl FnMut(&mut T)) {
        self.waiters.retain(|_, (_, waiter)| {
            keep(waiter);
            waiter.next_cost().is_some()
        });
    }

    /// Gives the waiter of this key a turn. `take` returns what the turn costs.
    fn turn<R>(&mut self, key: &K, take: impl FnOnce(&mut T) -> (u64, R)) -> (u64, R) {
        let sharing = self.waiters.len() as u64;
        let (since, waiter) = self.waiters.get_mut(key).expect("one that waits");
        let (cost, result) = take(waiter);
        self.clock += cost.div_ceil(sharing);
        *since = (*since + cost).max(self.clock);
        if waiter.next_cost().is_none() {
            self.waiters.remove(key);
        }
        (cost, result)
    }
}

impl<K: Ord, T: Waiter> Waiter for FairQueue<K, T> {
    fn next_cost(&self) -> Option<u64> {
        let next = self.done().min_by_key(|&(done, key, _)| (done, key));
        next.and_then(|(_, _, waiter)| waiter.next_cost())
    }
}

/// Takes turns among senders, and among the waiters of each sender. Ties go to the waiter that
/// arrived first.
pub(crate) struct SenderQueues<T> {
    arrived: u64,
    senders: FairQueue<Sender, FairQueue<u64, T>>,
}

impl<T: Waiter> Default for SenderQueues<T> {
    fn default() -> Self {
        Self {
            arrived: 0,
            senders: FairQueue::new(),
        }
    }
}

impl<T: Waiter> SenderQueues<T> {
    /// Adds a waiter.
    pub fn add(&mut self, sender: &Sender, waiter: T) {
        self.arrived += 1;
        let clock = self.senders.clock;
        let (_, turns) = self
            .senders
            .waiters
            .entry(sender.clone())
            .or_insert_with(|| (clock, FairQueue::new()));
        turns.waiters.insert(self.arrived, (turns.clock, waiter));
    }

    /// Returns the first waiter, in order of turns, that satisfies `is_next`, with its sender and
    /// number.
    pub fn find(&self, is_next: impl Fn(&T) -> bool) -> Option<((Sender, u64), &T)> {
        self.senders.in_order().find_map(|(sender, all)| {
            let (number, waiter) = all.in_order().find(|(_, waiter)| is_next(waiter))?;
            Some(((sender.clone(), *number), waiter))
        })
    }

    /// Gives a waiter a turn. `take` returns the cost of the turn.
    pub fn turn<R>(
        &mut self,
        (sender, number): &(Sender, u64),
        take: impl FnOnce(&mut T) -> (u64, R),
    ) -> (u64, R) {
        self.senders.turn(sender, |all| all.turn(number, take))
    }

    /// Charges `sender` for a turn that cost `more` than expected, if the sender has other waiters.
    pub fn charge(&mut self, sender: &Sender, more: u64) {
        let sharing = self.senders.waiters.len() as u64;
        if let Some((since, _)) = self.senders.waiters.get_mut(sender) {
            *since += more;
            self.senders.clock += more.div_ceil(sharing);
        }
    }

    /// Calls `keep` on every waiter, then removes the waiters that need no further turn.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut T)) {
        self.senders.retain(|all| all.retain(&mut keep));
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.senders.iter().flat_map(FairQueue::iter)
    }

    /// The waiters of `sender`.
    pub fn of(&self, sender: &Sender) -> impl Iterator<Item = &T> {
        self.senders
            .waiters
            .get(sender)
            .into_iter()
            .flat_map(|(_, all)| all.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The costs of turns.
    impl Waiter for Vec<u64> {
        fn next_cost(&self) -> Option<u64> {
            self.last().copied()
        }
    }

    fn add(turns: &mut SenderQueues<Vec<u64>>, sender: char, costs: Vec<u64>) {
        turns.add(&Sender::Key(sender.into()), costs);
    }

    /// The keys of the first `count` turns.
    fn order(turns: &mut SenderQueues<Vec<u64>>, count: usize) -> String {
        (0..count)
            .map(|_| {
                let (key, _) = turns.find(|_| true).expect("one that waits");
                turns.turn(&key, |costs| (costs.pop().expect("a cost"), ()));
                let Sender::Key(sender) = key.0 else {
                    panic!("a key")
                };
                sender
            })
            .collect()
    }

    #[test]
    fn many_requests_give_a_sender_no_more_turns() {
        let mut turns = SenderQueues::default();
        (0..60).for_each(|_| add(&mut turns, 'm', vec![10]));
        add(&mut turns, 'f', vec![10; 3]);
        assert_eq!(order(&mut turns, 6).matches('f').count(), 3);
    }

    #[test]
    fn a_turn_is_charged_for_cost_beyond_its_estimate() {
        let mut turns = SenderQueues::default();
        (0..60).for_each(|_| add(&mut turns, 'm', vec![1]));
        add(&mut turns, 'f', vec![10; 3]);
        assert_eq!(order(&mut turns, 1), "m");
        turns.charge(&Sender::Key("m".into()), 100);
        assert_eq!(order(&mut turns, 4), "fffm");
    }

    #[test]
    fn small_work_goes_before_large_work_of_any_number_of_others() {
        let mut turns = SenderQueues::default();
        ('a'..='z').for_each(|sender| add(&mut turns, sender, vec![100; 5]));
        order(&mut turns, 30);
        add(&mut turns, '0', vec![10]);
        assert_eq!(order(&mut turns, 1), "0");
    }

    #[test]
    fn finished_waiters_are_removed() {
        let mut turns = SenderQueues::default();
        add(&mut turns, 'a', vec![1]);
        order(&mut turns, 1);
        assert!(turns.find(|_| true).is_none() && turns.iter().next().is_none());
    }
}
