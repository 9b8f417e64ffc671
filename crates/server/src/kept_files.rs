//! Translated files that wait to be fetched.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lru::LruCache;

use crate::lock::locked;

/// How many bytes of translated files are kept.
pub(crate) const MOST_KEPT: usize = 64 << 20;

/// How long a translated file can be fetched.
const KEPT: Duration = Duration::from_secs(600);

/// How long a file is safe whose owner has no more than an eighth of the room, however many other
/// owners come.
const SAFE: Duration = Duration::from_secs(60);

/// The translated files that wait to be fetched. Where they need more room, those of the client
/// with the most bytes make it, the oldest first, so that nobody drives out the files of others.
/// Where all are safe, no other is taken.
pub(crate) struct KeptFiles {
    most: usize,
    inner: Mutex<Inner>,
}

/// Who has a file: the key, or else the address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Key(String),
    Peer(IpAddr),
}

struct Inner {
    files: LruCache<String, Stored>,
    /// The bytes of each owner's files.
    bytes: HashMap<Owner, usize>,
    random: std::collections::hash_map::RandomState,
    count: u64,
}

struct Stored {
    owner: Owner,
    since: Instant,
    text: String,
}

impl Stored {
    /// The bytes that it takes, with an estimate for the parts beside its text.
    fn bytes(&self) -> usize {
        self.text.len() + 512
    }
}

impl Inner {
    /// The file that is left out next, if one is: one whose time is over, or one for which there is
    /// no room, which is `newest` where the others are safe.
    fn next_out(&self, most: usize, newest: &str) -> Option<String> {
        let (name, oldest) = self.files.peek_lru()?;
        if oldest.since.elapsed() >= KEPT {
            return Some(name.clone());
        }
        if self.files.len() == 1 || self.bytes.values().sum::<usize>() <= most {
            return None;
        }
        let (owner, bytes) = self.bytes.iter().max_by_key(|(_, bytes)| **bytes)?;
        let mut from_oldest = self.files.iter().rev();
        let (name, oldest) = from_oldest.find(|(_, stored)| stored.owner == *owner)?;
        let is_safe = *bytes <= most / 8 && oldest.since.elapsed() < SAFE;
        Some(if is_safe { newest.to_owned() } else { name.clone() })
    }

    fn remove(&mut self, name: &str) {
        let Some(stored) = self.files.pop(name) else { return };
        let left = self.bytes.get_mut(&stored.owner).expect("the owner of a file");
        *left -= stored.bytes();
        if *left == 0 {
            self.bytes.remove(&stored.owner);
        }
    }
}

impl KeptFiles {
    /// Room for files of `most` bytes together.
    pub fn new(most: usize) -> Self {
        let (files, random) = (LruCache::unbounded(), Default::default());
        let inner = Inner { files, bytes: HashMap::new(), random, count: 0 };
        Self { most, inner: Mutex::new(inner) }
    }

    /// Keeps a file of `owner` and returns the name under which it can be fetched, which cannot be
    /// guessed; `None` if there is no room.
    pub fn put(&self, owner: Owner, name: &str, text: String) -> Option<String> {
        use std::hash::BuildHasher;
        let mut inner = locked(&self.inner);
        inner.count += 1;
        let [a, b] = [0u8, 1].map(|half| inner.random.hash_one((half, inner.count)));
        let key = format!("{a:016x}{b:016x}.{name}");
        let stored = Stored { owner: owner.clone(), since: Instant::now(), text };
        *inner.bytes.entry(owner).or_default() += stored.bytes();
        inner.files.put(key.clone(), stored);
        while let Some(out) = inner.next_out(self.most, &key) {
            inner.remove(&out);
        }
        inner.files.contains(&key).then_some(key)
    }

    /// The text of the file of this name, while it is kept.
    pub fn get(&self, key: &str) -> Option<String> {
        let inner = locked(&self.inner);
        let stored = inner.files.peek(key)?;
        (stored.since.elapsed() < KEPT).then(|| stored.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(number: u8) -> Owner {
        Owner::Peer([127, 0, 0, number].into())
    }

    #[test]
    fn files_are_found_until_newer_ones_need_their_room() {
        let files = KeptFiles::new(1030);
        let first = files.put(owner(1), "a.txt", "12345678".into()).unwrap();
        assert_eq!(files.get(&first).as_deref(), Some("12345678"));
        let second = files.put(owner(1), "a.txt", "123456".into()).unwrap();
        assert_ne!(first, second);
        assert_eq!(files.get(&first), None);
        assert_eq!(files.get(&second).as_deref(), Some("123456"));
        assert_eq!(files.get("0.a.txt"), None);
        let large = files.put(owner(1), "a.txt", "x".repeat(5_000)).unwrap();
        assert!(files.get(&large).is_some() && files.get(&second).is_none());
    }

    #[test]
    fn the_client_with_the_most_bytes_makes_room() {
        let files = KeptFiles::new(10_000);
        let others = files.put(owner(1), "a.txt", "mine".into()).unwrap();
        let many: Vec<_> =
            (0..100).map(|_| files.put(owner(2), "a.txt", "x".repeat(1_000)).unwrap()).collect();
        assert_eq!(files.get(&others).as_deref(), Some("mine"));
        assert!(files.get(&many[0]).is_none() && files.get(&many[99]).is_some());
    }

    #[test]
    fn many_addresses_drive_out_nobody() {
        let files = KeptFiles::new(100_000);
        let first = files.put(owner(0), "a.txt", "mine".into()).unwrap();
        let put = |number| files.put(owner(number), "a.txt", "x".repeat(1_000));
        assert!((1..=255).map(put).any(|kept| kept.is_none()));
        assert_eq!(files.get(&first).as_deref(), Some("mine"));
    }
}
