//! Keys for the cache, made from content: SHA-256 over labelled parts.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::corpus::open_error;
use crate::error::{DataError, Result};

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

/// SHA-256 of a file's raw bytes, streamed.
pub(crate) fn file_key(path: &Path) -> Result<Key> {
    let file = File::open(path).map_err(|cause| open_error(path, cause))?;
    let mut hasher = Sha256::new();
    io::copy(&mut BufReader::with_capacity(1 << 18, file), &mut hasher)
        .map_err(|cause| DataError::Unreadable(path.into(), cause))?;
    Ok(hasher.finalize().into())
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
