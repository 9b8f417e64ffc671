//! Translated files and glossaries, which clients fetch later.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use burnformer_glossary::Glossary;
use lru::LruCache;

use crate::language::LanguagePair;
use crate::lock::locked;
use crate::sender::{Budget, Permit, Sender};

/// The largest number of bytes of translated files that are kept, and of glossaries.
pub(crate) const MOST_STORED: usize = 64 << 20;

/// The time for which a translated file can be fetched, and for which it is safe from the files of
/// other senders.
pub(crate) const FETCHED: [Duration; 2] = [Duration::from_secs(600), Duration::from_secs(60)];

/// The time for which a glossary is kept, and for which it is safe from the glossaries of other
/// senders.
pub(crate) const USED: [Duration; 2] = [Duration::MAX, Duration::from_secs(3_600)];

/// A glossary that a client has sent.
#[derive(Clone)]
pub(crate) struct StoredGlossary {
    pub name: String,
    /// The time at which it was made.
    pub time: String,
    /// The terms of each pair of languages; at least one pair.
    pub terms: Vec<(LanguagePair, Arc<Glossary>)>,
}

/// A file that is translated or will be.
#[derive(Clone)]
pub(crate) struct StoredFile {
    /// The name that the client gave it.
    pub name: String,
    pub state: FileState,
}

/// The state of a translation.
#[derive(Clone)]
pub(crate) enum FileState {
    Translating,
    /// The translated file, and the characters of its source.
    Done(Arc<[u8]>, usize),
    /// The reason why it failed.
    Failed(String),
}

/// Values that clients fetch later, by identifiers that cannot be guessed. A sender's oldest values
/// are removed to make room for its newer ones. Values of other senders are removed only after a
/// while; until then, a value without room is refused.
pub(crate) struct Store<T> {
    budget: Arc<Budget>,
    /// The time for which a value is kept, and the time for which it is not removed for the values
    /// of other senders.
    times: [Duration; 2],
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    values: LruCache<String, Entry<T>>,
    random: RandomState,
    count: u64,
}

struct Entry<T> {
    permit: Permit,
    since: Instant,
    value: T,
}

impl<T: Clone> Store<T> {
    /// Creates a store for values of at most `most` bytes together. `times` are the time for which
    /// a value is kept, and the time for which it is not removed to make room for other senders.
    pub fn new(most: usize, times: [Duration; 2]) -> Self {
        let (values, random) = (LruCache::unbounded(), RandomState::default());
        let inner = Mutex::new(Inner {
            values,
            random,
            count: 0,
        });
        Self {
            budget: Budget::new(most),
            times,
            inner,
        }
    }

    /// Returns a new identifier of 32 hexadecimal digits.
    pub fn new_id(&self) -> String {
        let mut inner = locked(&self.inner);
        inner.count += 1;
        let [a, b] = [0u8, 1].map(|half| inner.random.hash_one((half, inner.count)));
        format!("{a:016X}{b:016X}")
    }

    /// Returns the secret of the identifier `id`, 64 hexadecimal digits.
    pub fn secret(&self, id: &str) -> String {
        let inner = locked(&self.inner);
        (2u8..6)
            .map(|part| format!("{:016X}", inner.random.hash_one((part, id))))
            .collect()
    }

    /// Stores a `value` of `sender` with its size in `bytes` under `id`. Returns whether there was
    /// room.
    pub fn put(&self, sender: &Sender, id: &str, value: T, bytes: usize) -> bool {
        let mut inner = locked(&self.inner);
        inner.values.pop(id);
        let mut permit = self.budget.permit(sender);
        // An estimate for the parts besides the text.
        while !permit.grow(bytes + 512) {
            let is = |of_sender: bool, longest| {
                let is_out = |stored: &Entry<T>| {
                    (of_sender && stored.permit.sender == *sender)
                        || stored.since.elapsed() >= longest
                };
                let mut from_oldest = inner.values.iter().rev();
                from_oldest
                    .find(|(_, stored)| is_out(stored))
                    .map(|(id, _)| id.clone())
            };
            let [kept, safe] = self.times;
            let Some(out) = is(true, kept).or_else(|| is(false, safe)) else {
                return false;
            };
            inner.values.pop(&out);
        }
        inner.values.put(
            id.into(),
            Entry {
                permit,
                since: Instant::now(),
                value,
            },
        );
        true
    }

    /// Returns the value stored under `id`, if it is still there.
    pub fn get(&self, id: &str) -> Option<T> {
        let inner = locked(&self.inner);
        let stored = inner.values.peek(id)?;
        (stored.since.elapsed() < self.times[0]).then(|| stored.value.clone())
    }

    /// The identifiers and values of `sender`, the newest first.
    pub fn of(&self, sender: &Sender) -> Vec<(String, T)> {
        let inner = locked(&self.inner);
        let of_sender = inner
            .values
            .iter()
            .filter(|(_, stored)| stored.permit.sender == *sender);
        of_sender
            .map(|(id, stored)| (id.clone(), stored.value.clone()))
            .collect()
    }

    /// Removes the value stored under `id`.
    pub fn remove(&self, id: &str) {
        locked(&self.inner).values.pop(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(number: u8) -> Sender {
        Sender::Address([127, 0, 0, number].into())
    }

    fn kept(most: usize) -> Store<Vec<u8>> {
        Store::new(most, FETCHED)
    }

    fn put(files: &Store<Vec<u8>>, number: u8, bytes: &[u8]) -> Option<String> {
        let id = files.new_id();
        files
            .put(&sender(number), &id, bytes.to_vec(), bytes.len())
            .then_some(id)
    }

    #[test]
    fn files_are_found_until_newer_ones_need_their_room() {
        let files = kept(1030);
        let first = put(&files, 1, b"12345678").unwrap();
        assert_eq!(files.get(&first).as_deref(), Some(&b"12345678"[..]));
        let second = put(&files, 1, b"123456").unwrap();
        assert_ne!(first, second);
        assert_eq!(files.get(&first), None);
        assert_eq!(files.get(&second).as_deref(), Some(&b"123456"[..]));
        assert_eq!(files.get("0.a.txt"), None);
        assert!(put(&files, 1, &[0; 5_000]).is_none());
    }

    #[test]
    fn the_client_with_the_most_bytes_makes_room() {
        let files = kept(10_000);
        let others = put(&files, 1, b"mine").unwrap();
        let many: Vec<_> = (0..100)
            .map(|_| put(&files, 2, &[0; 1_000]).unwrap())
            .collect();
        assert_eq!(files.get(&others).as_deref(), Some(&b"mine"[..]));
        assert!(files.get(&many[0]).is_none() && files.get(&many[99]).is_some());
    }

    #[test]
    fn many_addresses_drive_out_nobody() {
        let files = kept(100_000);
        let first = put(&files, 0, b"mine").unwrap();
        assert!(
            (1..=255)
                .map(|number| put(&files, number, &[0; 1_000]))
                .any(|it| it.is_none())
        );
        assert_eq!(files.get(&first).as_deref(), Some(&b"mine"[..]));
    }

    #[test]
    fn a_value_is_replaced_listed_and_forgotten() {
        let files = kept(3_000);
        let (one, two) = (
            put(&files, 1, b"one").unwrap(),
            put(&files, 1, b"two").unwrap(),
        );
        assert!(
            files.put(&sender(1), &one, vec![0; 900], 900),
            "its old room is free again"
        );
        let all = [(one.clone(), vec![0; 900]), (two.clone(), b"two".to_vec())];
        assert_eq!(files.of(&sender(1)), all);
        assert!(files.of(&sender(2)).is_empty());
        files.remove(&two);
        assert_eq!((files.get(&two), files.of(&sender(1)).len()), (None, 1));
        let [secret, other] = [&one, &two].map(|id| files.secret(id));
        assert!(secret.len() == 64 && secret == files.secret(&one) && secret != other);
    }
}
