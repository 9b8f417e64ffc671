//! Keys for the cache, made from content: SHA-256 over labelled parts.
//!
//! Random choices are made from the same hashes, as a function of (seed, purpose, epoch), without
//! hidden state.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use sha2::{Digest, Sha256};

use crate::corpus::{TextError, open_error};

/// A SHA-256 digest.
pub(crate) type Key = [u8; 32];

/// SHA-256 of `parts`. Each part is preceded by its length. Different lists therefore never give
/// the same input.
pub(crate) fn key_of(parts: &[&[u8]]) -> Key {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The SHA-256 of files. Each file is read once, however often its key is needed.
///
/// They belong to one preparation, in which the files do not change.
#[derive(Debug, Default)]
pub struct FileKeys(HashMap<PathBuf, Key>);

impl FileKeys {
    /// Returns the SHA-256 of the file's raw bytes.
    pub(crate) fn key(&mut self, path: &Path) -> Result<Key, TextError> {
        if let Some(known) = self.0.get(path) {
            return Ok(*known);
        }
        let key = file_key(path)?;
        self.0.insert(path.into(), key);
        Ok(key)
    }
}

/// SHA-256 of a file's raw bytes, streamed.
fn file_key(path: &Path) -> Result<Key, TextError> {
    let file = File::open(path).map_err(|cause| open_error(path, cause))?;
    let mut hasher = Sha256::new();
    io::copy(&mut BufReader::with_capacity(1 << 18, file), &mut hasher)
        .map_err(|cause| TextError::Unreadable(path.into(), cause))?;
    Ok(hasher.finalize().into())
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a generator for one `purpose` and one epoch. The same arguments always give the same
/// stream, on every machine.
pub(crate) fn generator(purpose: &str, seed: u64, epoch: u64) -> ChaCha8Rng {
    let seed = key_of(&[
        purpose.as_bytes(),
        &seed.to_le_bytes(),
        &epoch.to_le_bytes(),
    ]);
    ChaCha8Rng::from_seed(seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use rand::seq::SliceRandom;

    #[test]
    fn moving_a_byte_between_parts_changes_the_key() {
        assert_ne!(key_of(&[b"ab", b"c"]), key_of(&[b"a", b"bc"]));
    }

    #[test]
    fn a_file_hashes_like_its_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"abc").unwrap();
        // SHA-256 of "abc", FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&file_key(file.path()).unwrap()), expected);
    }

    #[test]
    fn a_file_is_read_once_for_its_key() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_owned();
        let mut keys = FileKeys::default();
        let key = keys.key(&path).unwrap();
        file.close().unwrap();
        assert_eq!(keys.key(&path).unwrap(), key);
        assert!(FileKeys::default().key(&path).is_err());
    }

    fn shuffled(seed: u64, epoch: u64) -> Vec<u32> {
        let mut items: Vec<u32> = (0..100).collect();
        items.shuffle(&mut generator("test", seed, epoch));
        items
    }

    #[test]
    fn the_generator_is_chacha8() {
        // Strombergson's test vectors for ChaCha, 8 rounds, a key of 256 zero bits.
        let mut bytes = [0; 8];
        ChaCha8Rng::from_seed([0; 32]).fill_bytes(&mut bytes);
        assert_eq!(bytes, [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
    }

    #[test]
    fn a_shuffle_is_a_permutation_that_depends_on_seed_and_epoch_only() {
        let mut sorted = shuffled(1, 0);
        assert_eq!(shuffled(1, 0), shuffled(1, 0));
        assert_ne!(shuffled(1, 0), shuffled(1, 1));
        assert_ne!(shuffled(1, 0), shuffled(2, 0));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
