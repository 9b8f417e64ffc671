//! The first 144 bytes of a cache file.

use crate::hash::{Key, key_of};

const MAGIC: [u8; 8] = *b"BURNTOKS";
const BYTE_ORDER: u32 = 0x0102_0304;
/// Version of the format. It is raised whenever the format, the cleaning or the tokenisation
/// changes its meaning.
pub(crate) const VERSION: u32 = 1;

/// Number of bytes of a [`Header`].
pub(super) const HEADER_BYTES: usize = 144;
/// The largest cleaning report that is read, in bytes.
const LARGEST_REPORT: u64 = 1 << 16;

/// Counts and checksums of a cache file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Number of bytes per token.
    pub width: Width,
    pub pairs: u64,
    pub tokens: u64,
    pub report_bytes: u64,
    pub key: Key,
    pub body_hash: Key,
}

/// Number of bytes per token: two if the vocabularies have at most 65,536 tokens, else four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Two,
    Four,
}

impl Width {
    /// The smallest width for ids below `vocab_size`.
    pub fn of(vocab_size: usize) -> Self {
        if vocab_size <= 1 << 16 { Self::Two } else { Self::Four }
    }

    /// The width in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }

    /// Appends ids in the form of the file. They must be below the vocabulary size that was given
    /// to [`Width::of`].
    pub fn write(self, ids: &[u32], out: &mut Vec<u8>) {
        match self {
            Self::Two => out.extend(ids.iter().flat_map(|&id| (id as u16).to_le_bytes())),
            Self::Four => out.extend(ids.iter().flat_map(|id| id.to_le_bytes())),
        }
    }

    /// Reads the ids in `bytes`.
    pub fn read(self, bytes: &[u8]) -> Vec<u32> {
        match self {
            Self::Two => {
                bytes.as_chunks().0.iter().map(|&id| u16::from_le_bytes(id).into()).collect()
            }
            Self::Four => bytes.as_chunks().0.iter().map(|&id| u32::from_le_bytes(id)).collect(),
        }
    }
}

impl Header {
    /// The header as bytes of the file: little-endian integers, followed by their checksum.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(BYTE_ORDER.to_le_bytes());
        bytes.extend(VERSION.to_le_bytes());
        for count in [self.width.bytes(), self.pairs, self.tokens, self.report_bytes] {
            bytes.extend(count.to_le_bytes());
        }
        bytes.extend(self.key);
        bytes.extend(self.body_hash);
        bytes.extend(key_of(&[&bytes]));
        bytes
    }

    /// Parses a header and checks that it belongs to `key`. The error says what does not match.
    pub fn parse(bytes: &[u8; HEADER_BYTES], key: &Key) -> Result<Self, String> {
        let mut rest = &bytes[..];
        if take::<8>(&mut rest) != MAGIC || u32::from_le_bytes(take(&mut rest)) != BYTE_ORDER {
            return Err("it is not a token cache".to_owned());
        }
        let version = u32::from_le_bytes(take(&mut rest));
        if version != VERSION {
            return Err(format!("format version {version} instead of {VERSION}"));
        }
        let [width, pairs, tokens, report_bytes] =
            std::array::from_fn(|_| u64::from_le_bytes(take(&mut rest)));
        let (found, body_hash) = (take(&mut rest), take(&mut rest));
        if take::<32>(&mut rest) != key_of(&[&bytes[..HEADER_BYTES - 32]]) {
            return Err("the header's checksum does not fit".to_owned());
        }
        if found != *key {
            return Err("it was made of other text or with other settings".to_owned());
        }
        let width = match width {
            2 => Width::Two,
            4 => Width::Four,
            other => return Err(format!("{other} bytes per token")),
        };
        let header = Self { width, pairs, tokens, report_bytes, key: found, body_hash };
        let possible = header.sizes().is_some()
            && report_bytes <= LARGEST_REPORT
            && u32::try_from(pairs).is_ok();
        possible.then_some(header).ok_or_else(|| "its counts are impossible".to_owned())
    }

    /// Number of bytes of tokens, padding, offsets and report; `None` if the counts are impossible.
    fn sizes(&self) -> Option<[u64; 4]> {
        let tokens = self.tokens.checked_mul(self.width.bytes())?;
        let padding = tokens.checked_next_multiple_of(8)? - tokens;
        let offsets = self.pairs.checked_mul(16)?.checked_add(8)?;
        let sizes = [tokens, padding, offsets, self.report_bytes];
        let end = sizes.into_iter().try_fold(HEADER_BYTES as u64, u64::checked_add)?;
        usize::try_from(end).ok().map(|_| sizes)
    }

    fn size(&self, part: usize) -> u64 {
        self.sizes().expect("a parsed header's counts are possible")[part]
    }

    /// Number of bytes of all tokens.
    pub fn token_bytes(&self) -> u64 {
        self.size(0)
    }

    /// Number of zeros between tokens and offsets, which start at a multiple of 8.
    pub fn padding(&self) -> u64 {
        self.size(1)
    }

    /// Number of bytes before the offsets.
    pub fn before_offsets(&self) -> u64 {
        HEADER_BYTES as u64 + self.token_bytes() + self.padding()
    }

    /// Number of offsets: one per sentence, and one for the end.
    pub fn offsets(&self) -> u64 {
        self.size(2) / 8
    }

    /// Number of bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        self.sizes().into_iter().flatten().sum::<u64>() + HEADER_BYTES as u64
    }
}

/// The next `N` bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (first, tail) = rest.split_first_chunk().expect("a header holds all its fields");
    *rest = tail;
    *first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_were_written() {
        for (width, ids) in [(Width::Two, [0, 7, 65_535]), (Width::Four, [0, 65_536, u32::MAX])] {
            let mut bytes = Vec::new();
            width.write(&ids, &mut bytes);
            assert_eq!(bytes.len() as u64, 3 * width.bytes());
            assert_eq!(width.read(&bytes), ids);
        }
    }

    #[test]
    fn a_header_is_read_as_it_was_written_and_no_bit_of_it_may_differ() {
        let header = Header {
            width: Width::Four,
            pairs: 3,
            tokens: 5,
            report_bytes: 9,
            key: [1; 32],
            body_hash: [2; 32],
        };
        let good: [u8; HEADER_BYTES] = header.to_bytes().try_into().unwrap();
        let read = Header::parse(&good, &[1; 32]).unwrap();
        assert_eq!((read.pairs, read.tokens, read.body_hash), (3, 5, [2; 32]));
        // 20 bytes of tokens, 4 of padding, 7 offsets, 9 of report.
        assert_eq!(read.file_bytes(), 144 + 20 + 4 + 56 + 9);
        for at in 0..HEADER_BYTES {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(Header::parse(&bad, &[1; 32]).is_err(), "byte {at}");
        }
    }
}
