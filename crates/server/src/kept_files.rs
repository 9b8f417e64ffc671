//! Translated files that wait to be fetched.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lru::LruCache;

use crate::lock::locked;
use crate::sender::{Room, Sender, Share};

/// The most bytes of translated files that are kept.
pub(crate) const MOST_KEPT: usize = 64 << 20;

/// The time for which a translated file can be fetched.
const KEPT: Duration = Duration::from_secs(600);

/// The time for which a file is safe from the files of other senders.
const SAFE: Duration = Duration::from_secs(60);

/// The translated files that wait to be fetched. A sender's oldest files make room for its newer
/// ones; files of others do so after a while, and before that no other is taken.
pub(crate) struct KeptFiles {
    room: Arc<Room>,
    inner: Mutex<Inner>,
}

struct Inner {
    files: LruCache<String, Stored>,
    random: std::collections::hash_map::RandomState,
    count: u64,
}

struct Stored {
    room: Share,
    since: Instant,
    bytes: Vec<u8>,
}

impl KeptFiles {
    /// Room for files of `most` bytes together.
    pub fn new(most: usize) -> Self {
        let (files, random) = (LruCache::unbounded(), Default::default());
        Self { room: Room::new(most), inner: Mutex::new(Inner { files, random, count: 0 }) }
    }

    /// Keeps a file of `sender` and returns the name under which it can be fetched, which cannot be
    /// guessed; `None` if there is no room.
    pub fn put(&self, sender: &Sender, name: &str, bytes: Vec<u8>) -> Option<String> {
        use std::hash::BuildHasher;
        let mut inner = locked(&self.inner);
        let mut room = self.room.share(sender);
        // An estimate for the parts beside the text.
        while !room.grow(bytes.len() + 512) {
            let is = |of_sender: bool, longest| {
                let is_out = |stored: &Stored| {
                    (of_sender && stored.room.sender == *sender)
                        || stored.since.elapsed() >= longest
                };
                let mut from_oldest = inner.files.iter().rev();
                from_oldest.find(|(_, stored)| is_out(stored)).map(|(name, _)| name.clone())
            };
            let out = is(true, KEPT).or_else(|| is(false, SAFE))?;
            inner.files.pop(&out);
        }
        inner.count += 1;
        let [a, b] = [0u8, 1].map(|half| inner.random.hash_one((half, inner.count)));
        let key = format!("{a:016x}{b:016x}.{name}");
        inner.files.put(key.clone(), Stored { room, since: Instant::now(), bytes });
        Some(key)
    }

    /// The bytes of the file of this name, while it is kept.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let inner = locked(&self.inner);
        let stored = inner.files.peek(key)?;
        (stored.since.elapsed() < KEPT).then(|| stored.bytes.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(number: u8) -> Sender {
        Sender::Address([127, 0, 0, number].into())
    }

    #[test]
    fn files_are_found_until_newer_ones_need_their_room() {
        let files = KeptFiles::new(1030);
        let first = files.put(&sender(1), "a.txt", "12345678".into()).unwrap();
        assert_eq!(files.get(&first).as_deref(), Some(&b"12345678"[..]));
        let second = files.put(&sender(1), "a.txt", "123456".into()).unwrap();
        assert_ne!(first, second);
        assert_eq!(files.get(&first), None);
        assert_eq!(files.get(&second).as_deref(), Some(&b"123456"[..]));
        assert_eq!(files.get("0.a.txt"), None);
        assert!(files.put(&sender(1), "a.txt", vec![0; 5_000]).is_none());
    }

    #[test]
    fn the_client_with_the_most_bytes_makes_room() {
        let files = KeptFiles::new(10_000);
        let others = files.put(&sender(1), "a.txt", "mine".into()).unwrap();
        let many: Vec<_> =
            (0..100).map(|_| files.put(&sender(2), "a.txt", vec![0; 1_000]).unwrap()).collect();
        assert_eq!(files.get(&others).as_deref(), Some(&b"mine"[..]));
        assert!(files.get(&many[0]).is_none() && files.get(&many[99]).is_some());
    }

    #[test]
    fn many_addresses_drive_out_nobody() {
        let files = KeptFiles::new(100_000);
        let first = files.put(&sender(0), "a.txt", "mine".into()).unwrap();
        let put = |number| files.put(&sender(number), "a.txt", vec![0; 1_000]);
        assert!((1..=255).map(put).any(|kept| kept.is_none()));
        assert_eq!(files.get(&first).as_deref(), Some(&b"mine"[..]));
    }
}
