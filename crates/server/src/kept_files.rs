//! Translated files that wait to be fetched.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
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

/// A file that is translated or will be.
#[derive(Clone)]
pub(crate) struct KeptFile {
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

/// The files that clients come back for, by identifiers that cannot be guessed. A sender's oldest
/// files make room for its newer ones; files of others do so after a while, and before that no
/// other is taken.
pub(crate) struct KeptFiles {
    room: Arc<Room>,
    inner: Mutex<Inner>,
}

struct Inner {
    files: LruCache<String, Stored>,
    random: RandomState,
    count: u64,
}

struct Stored {
    room: Share,
    since: Instant,
    file: KeptFile,
}

impl KeptFiles {
    /// Room for files of `most` bytes together.
    pub fn new(most: usize) -> Self {
        let (files, random) = (LruCache::unbounded(), RandomState::default());
        Self { room: Room::new(most), inner: Mutex::new(Inner { files, random, count: 0 }) }
    }

    /// A new identifier, of 32 hexadecimal digits.
    pub fn new_id(&self) -> String {
        let mut inner = locked(&self.inner);
        inner.count += 1;
        let [a, b] = [0u8, 1].map(|half| inner.random.hash_one((half, inner.count)));
        format!("{a:016X}{b:016X}")
    }

    /// A secret of 64 hexadecimal digits that belongs to the identifier `id`.
    pub fn secret(&self, id: &str) -> String {
        let inner = locked(&self.inner);
        (2u8..6).map(|part| format!("{:016X}", inner.random.hash_one((part, id)))).collect()
    }

    /// Keeps a file of `sender`, which takes this many bytes, as `id`. Returns whether there is
    /// room.
    pub fn put(&self, sender: &Sender, id: &str, file: KeptFile, bytes: usize) -> bool {
        let mut inner = locked(&self.inner);
        inner.files.pop(id);
        let mut room = self.room.share(sender);
        // An estimate for the parts beside the text.
        while !room.grow(bytes + 512) {
            let is = |of_sender: bool, longest| {
                let is_out = |stored: &Stored| {
                    (of_sender && stored.room.sender == *sender)
                        || stored.since.elapsed() >= longest
                };
                let mut from_oldest = inner.files.iter().rev();
                from_oldest.find(|(_, stored)| is_out(stored)).map(|(id, _)| id.clone())
            };
            let Some(out) = is(true, KEPT).or_else(|| is(false, SAFE)) else { return false };
            inner.files.pop(&out);
        }
        inner.files.put(id.into(), Stored { room, since: Instant::now(), file });
        true
    }

    /// The file of this identifier, while it is kept.
    pub fn get(&self, id: &str) -> Option<KeptFile> {
        let inner = locked(&self.inner);
        let stored = inner.files.peek(id)?;
        (stored.since.elapsed() < KEPT).then(|| stored.file.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(number: u8) -> Sender {
        Sender::Address([127, 0, 0, number].into())
    }

    fn put(files: &KeptFiles, number: u8, bytes: &[u8]) -> Option<String> {
        let id = files.new_id();
        let file = KeptFile { name: "a".into(), state: FileState::Done(bytes.into(), 0) };
        files.put(&sender(number), &id, file, bytes.len()).then_some(id)
    }

    fn get(files: &KeptFiles, id: &str) -> Option<Vec<u8>> {
        match files.get(id)?.state {
            FileState::Done(bytes, _) => Some(bytes.to_vec()),
            _ => None,
        }
    }

    #[test]
    fn files_are_found_until_newer_ones_need_their_room() {
        let files = KeptFiles::new(1030);
        let first = put(&files, 1, b"12345678").unwrap();
        assert_eq!(get(&files, &first).as_deref(), Some(&b"12345678"[..]));
        let second = put(&files, 1, b"123456").unwrap();
        assert_ne!(first, second);
        assert_eq!(get(&files, &first), None);
        assert_eq!(get(&files, &second).as_deref(), Some(&b"123456"[..]));
        assert_eq!(get(&files, "0.a.txt"), None);
        assert!(put(&files, 1, &[0; 5_000]).is_none());
    }

    #[test]
    fn the_client_with_the_most_bytes_makes_room() {
        let files = KeptFiles::new(10_000);
        let others = put(&files, 1, b"mine").unwrap();
        let many: Vec<_> = (0..100).map(|_| put(&files, 2, &[0; 1_000]).unwrap()).collect();
        assert_eq!(get(&files, &others).as_deref(), Some(&b"mine"[..]));
        assert!(get(&files, &many[0]).is_none() && get(&files, &many[99]).is_some());
    }

    #[test]
    fn many_addresses_drive_out_nobody() {
        let files = KeptFiles::new(100_000);
        let first = put(&files, 0, b"mine").unwrap();
        assert!((1..=255).map(|number| put(&files, number, &[0; 1_000])).any(|it| it.is_none()));
        assert_eq!(get(&files, &first).as_deref(), Some(&b"mine"[..]));
    }

    #[test]
    fn a_file_is_replaced_and_has_a_secret_of_its_own() {
        let files = KeptFiles::new(3_000);
        let (one, two) = (put(&files, 1, b"one").unwrap(), put(&files, 1, b"two").unwrap());
        let failed = KeptFile { name: "a".into(), state: FileState::Failed("no".into()) };
        assert!(files.put(&sender(1), &one, failed, 900), "its old room is free again");
        assert_eq!((get(&files, &one), get(&files, &two).as_deref()), (None, Some(&b"two"[..])));
        let [secret, other] = [&one, &two].map(|id| files.secret(id));
        assert!(secret.len() == 64 && secret == files.secret(&one) && secret != other);
    }
}
