//! Translated files and glossaries that clients fetch later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use burnformer_terminology::Glossary;
use lru::LruCache;
use parking_lot::Mutex;
use subtle::ConstantTimeEq;

use crate::language::LanguagePair;
use crate::sender::{Budget, Permit, Sender};

/// The maximum size in bytes of all stored files, and again of all stored glossaries.
pub(crate) const MAX_STORED: usize = 64 << 20;

/// How long a value is stored.
#[derive(Clone, Copy)]
pub(crate) struct Retention {
    /// How long it is kept.
    kept: Duration,
    /// How long it is not removed for the values of other senders.
    protected: Duration,
}

/// The retention of a translated file.
pub(crate) const FILE_RETENTION: Retention = Retention {
    kept: Duration::from_secs(600),
    protected: Duration::from_secs(60),
};

/// The retention of a glossary.
pub(crate) const GLOSSARY_RETENTION: Retention = Retention {
    kept: Duration::MAX,
    protected: Duration::from_secs(3_600),
};

/// The maximum number of values of a sender. They are listed in one answer, since clients of DeepL
/// do not support paging.
pub(crate) const MAX_VALUES: usize = 1_000;

/// A glossary that a client has sent.
#[derive(Clone)]
pub(crate) struct StoredGlossary {
    pub name: String,
    /// The creation time.
    pub time: String,
    /// The terms of each pair of languages.
    pub terms: Vec<(LanguagePair, Arc<Glossary>)>,
}

impl StoredGlossary {
    /// Its approximate memory in bytes.
    pub fn size(&self) -> usize {
        let terms = self.terms.iter().map(|(_, terms)| terms.size());
        terms.sum::<usize>() + self.name.len()
    }
}

/// A translated file, or one that is being translated.
#[derive(Clone)]
pub(crate) struct StoredFile {
    /// The file name given by the client.
    pub name: String,
    /// The secret that a request must send; `None` if the identifier is enough.
    pub secret: Option<String>,
    pub state: FileState,
}

impl StoredFile {
    /// Returns whether a request with `secret` may fetch the file.
    pub fn is_for(&self, secret: Option<&str>) -> bool {
        match (&self.secret, secret) {
            (None, None) => true,
            (Some(own), Some(sent)) => own.as_bytes().ct_eq(sent.as_bytes()).into(),
            _ => false,
        }
    }
}

/// The state of a translation.
#[derive(Clone)]
pub(crate) enum FileState {
    Translating,
    Done {
        /// The translated file.
        bytes: Arc<[u8]>,
        /// The number of characters of its source.
        source_chars: usize,
        /// What stays in the source language, such as names of sheets.
        untranslated: String,
    },
    /// The error message.
    Failed(String),
}

/// Values that clients fetch later by unguessable identifiers. Values that are no longer kept are
/// removed when another one is stored. The oldest values of a sender are removed to make room for
/// its newer ones. Values of other senders are removed only after a while; until then, a value
/// without room is refused.
pub(crate) struct Store<T> {
    budget: Arc<Budget>,
    retention: Retention,
    values: Mutex<LruCache<String, Entry<T>>>,
}

struct Entry<T> {
    permit: Permit,
    since: Instant,
    value: T,
}

impl<T> Entry<T> {
    fn is_of(&self, sender: &Sender) -> bool {
        self.permit.sender == *sender
    }

    fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

impl<T: Clone> Store<T> {
    /// Creates a store for values of at most `most` bytes together.
    pub fn new(most: usize, retention: Retention) -> Self {
        Self {
            budget: Budget::new(most),
            retention,
            values: Mutex::new(LruCache::unbounded()),
        }
    }

    /// Stores a `value` of `sender` with its size in `bytes` under `id`. Returns whether there was
    /// room.
    pub fn put(&self, sender: &Sender, id: &str, value: T, bytes: usize) -> bool {
        let mut values = self.values.lock();
        values.pop(id);
        self.insert(&mut values, sender, id, value, bytes)
    }

    fn insert(
        &self,
        values: &mut LruCache<String, Entry<T>>,
        sender: &Sender,
        id: &str,
        value: T,
        bytes: usize,
    ) -> bool {
        let Retention { kept, protected } = self.retention;
        while pop_oldest(values, |entry| entry.age() >= kept) {}
        while values.iter().filter(|(_, it)| it.is_of(sender)).count() >= MAX_VALUES {
            pop_oldest(values, |entry| entry.is_of(sender));
        }
        let mut permit = self.budget.permit(sender);
        // 512 bytes are an estimate for the parts besides the text.
        while !permit.grow(bytes + 512) {
            let is_room_made = pop_oldest(values, |entry| entry.is_of(sender))
                || pop_oldest(values, |entry| entry.age() >= protected);
            if !is_room_made {
                return false;
            }
        }
        let entry = Entry {
            permit,
            since: Instant::now(),
            value,
        };
        values.put(id.into(), entry);
        true
    }

    /// Returns the value stored under `id`, if it is still there.
    pub fn get(&self, id: &str) -> Option<T> {
        self.find(id, |_| true)
    }

    /// Returns the value stored under `id`, if it is still there and `sender` may have it. A value
    /// stored with a key is returned only to that key.
    pub fn get_for(&self, sender: &Sender, id: &str) -> Option<T> {
        self.find(id, |owner| {
            owner == sender || !matches!(owner, Sender::Key(_))
        })
    }

    fn find(&self, id: &str, may_have: impl Fn(&Sender) -> bool) -> Option<T> {
        let values = self.values.lock();
        let entry = values.peek(id)?;
        let is_found = entry.age() < self.retention.kept && may_have(&entry.permit.sender);
        is_found.then(|| entry.value.clone())
    }

    /// The identifiers and values of `sender`, the newest first.
    pub fn of(&self, sender: &Sender) -> Vec<(String, T)> {
        let values = self.values.lock();
        let of_sender = values.iter().filter(|(_, entry)| entry.is_of(sender));
        of_sender
            .map(|(id, entry)| (id.clone(), entry.value.clone()))
            .collect()
    }

    /// Removes the value stored under `id`.
    pub fn remove(&self, id: &str) {
        self.values.lock().pop(id);
    }
}

impl<T> Store<Arc<T>> {
    /// Stores `new`, a value of this many `bytes`, in place of `old` under `id`. Its sender stays
    /// the same.
    pub fn replace(&self, id: &str, old: &Arc<T>, new: Arc<T>, bytes: usize) -> Replaced {
        let mut values = self.values.lock();
        let Some(entry) = values.pop(id) else {
            return Replaced::Changed;
        };
        let sender = entry.permit.sender.clone();
        if !Arc::ptr_eq(&entry.value, old) {
            values.put(id.into(), entry);
            return Replaced::Changed;
        }
        // The old value keeps its room until the new one has its own, and stays if it has none.
        if self.insert(&mut values, &sender, id, new, bytes) {
            return Replaced::Done;
        }
        values.put(id.into(), entry);
        Replaced::NoRoom
    }
}

/// What has become of a value that was to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    Done,
    /// Another request has changed or removed the old value.
    Changed,
    NoRoom,
}

/// Removes the oldest entry that satisfies `is_out`, and returns whether there was one.
fn pop_oldest<T>(
    values: &mut LruCache<String, Entry<T>>,
    is_out: impl Fn(&Entry<T>) -> bool,
) -> bool {
    let oldest = values.iter().rev().find(|(_, entry)| is_out(entry));
    let Some(id) = oldest.map(|(id, _)| id.clone()) else {
        return false;
    };
    values.pop(&id);
    true
}

/// Returns a new identifier or secret that cannot be guessed: 32 hexadecimal digits from the random
/// number generator of the operating system.
///
/// # Panics
/// Panics if the operating system has no random numbers.
pub(crate) fn unguessable() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("random numbers of the operating system");
    format!("{:032X}", u128::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(number: u8) -> Sender {
        Sender::Address([127, 0, 0, number].into())
    }

    fn kept(most: usize) -> Store<Vec<u8>> {
        Store::new(most, FILE_RETENTION)
    }

    fn put(files: &Store<Vec<u8>>, number: u8, bytes: &[u8]) -> Option<String> {
        let id = unguessable();
        files
            .put(&sender(number), &id, bytes.to_vec(), bytes.len())
            .then_some(id)
    }

    #[test]
    fn files_are_kept_until_newer_ones_need_their_room() {
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
    fn old_files_are_removed_although_there_is_room() {
        let retention = Retention {
            kept: Duration::ZERO,
            ..FILE_RETENTION
        };
        let files = Store::new(MAX_STORED, retention);
        for number in 0..3 {
            assert!(put(&files, number, b"old").is_some());
        }
        assert_eq!(files.values.lock().len(), 1);
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
    fn many_addresses_evict_no_other_sender() {
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
    fn a_value_is_replaced_listed_and_removed() {
        let files = kept(3_000);
        let one = put(&files, 1, b"one").unwrap();
        let two = put(&files, 1, b"two").unwrap();
        assert!(
            files.put(&sender(1), &one, vec![0; 900], 900),
            "its old room is free again"
        );
        let all = [(one.clone(), vec![0; 900]), (two.clone(), b"two".to_vec())];
        assert_eq!(files.of(&sender(1)), all);
        assert!(files.of(&sender(2)).is_empty());
        files.remove(&two);
        assert_eq!((files.get(&two), files.of(&sender(1)).len()), (None, 1));
    }

    #[test]
    fn a_value_is_replaced_only_if_it_has_not_changed_and_if_there_is_room() {
        let store = Store::new(3_000, FILE_RETENTION);
        let [old, new, other] = [1, 2, 3].map(Arc::new);
        assert!(store.put(&sender(1), "a", old.clone(), 8));
        assert_eq!(store.replace("a", &old, new.clone(), 8), Replaced::Done);
        assert_eq!(
            store.replace("a", &old, other.clone(), 8),
            Replaced::Changed
        );
        assert_eq!(
            store.replace("a", &new, other.clone(), 5_000),
            Replaced::NoRoom
        );
        assert_eq!(store.get("a"), Some(new));
        assert_eq!(store.of(&sender(1)).len(), 1);
        assert_eq!(store.replace("b", &old, other, 8), Replaced::Changed);
    }

    #[test]
    fn a_value_stored_with_a_key_is_returned_only_to_that_key() {
        let files = kept(10_000);
        let key = |name: &str| Sender::Key(name.into());
        assert!(files.put(&key("one"), "a", vec![1], 1));
        assert!(files.put(&sender(1), "b", vec![2], 1));
        let found = |visitor: &Sender| ["a", "b"].map(|id| files.get_for(visitor, id).is_some());
        assert_eq!(found(&key("one")), [true, true]);
        assert_eq!(found(&key("two")), [false, true]);
        assert_eq!(found(&sender(2)), [false, true]);
    }

    #[test]
    fn a_sender_has_a_bounded_number_of_values() {
        let files = kept(MAX_STORED);
        let first = put(&files, 1, b"first").unwrap();
        let others = put(&files, 2, b"others").unwrap();
        let newer: Vec<_> = (0..MAX_VALUES)
            .map(|_| put(&files, 1, b"newer").unwrap())
            .collect();
        assert_eq!(files.get(&first), None);
        assert!(newer.iter().all(|id| files.get(id).is_some()));
        assert!(files.get(&others).is_some());
    }

    #[test]
    fn digits_of_identifiers_are_evenly_distributed() {
        let all: Vec<String> = (0..1_000).map(|_| unguessable()).collect();
        assert!(all.iter().all(|id| id.len() == 32));
        // Each of the 32 digits has 16 values: the rarest of them comes some 62 times.
        for digit in 0..32 {
            let mut counts = [0; 16];
            for id in &all {
                counts[usize::from_str_radix(&id[digit..=digit], 16).unwrap()] += 1;
            }
            assert!(counts.iter().all(|&count| (20..120).contains(&count)));
        }
    }
}
