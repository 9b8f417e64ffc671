//! The first bytes of a cache file: a checksum and JSON, filled up with spaces.

use serde::{Deserialize, Serialize};

use crate::cleaning_report::CleaningReport;
use crate::hash::{Key, hex, key_of};

/// Version of the format. It is raised whenever the format, the cleaning or the tokenisation
/// changes its meaning.
const VERSION: u32 = 2;

/// Number of bytes of a [`Header`].
pub(super) const HEADER_BYTES: usize = 1024;
/// Number of bytes of its checksum, in hexadecimal digits.
const CHECKSUM_BYTES: usize = 64;

/// Counts and checksums of a cache file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    version: u32,
    /// Number of bytes per token.
    pub width: Width,
    pub pairs: u32,
    pub tokens: u64,
    pub report: CleaningReport,
    /// If true, a bit per pair follows the offsets: whether the pair continues the document of the
    /// pair before it. The field is written only if it is set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_documents: bool,
    key: String,
    /// The checksum of the rest of the file and of the report.
    pub body_hash: String,
}

/// Number of bytes per token: two if the vocabularies have at most 65,536 tokens, else four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Width {
    Two,
    Four,
}

impl Width {
    /// Returns the smallest width for ids below `vocab_size`.
    pub fn of(vocab_size: usize) -> Self {
        if vocab_size <= 1 << 16 {
            Self::Two
        } else {
            Self::Four
        }
    }

    /// Returns the width in bytes.
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
            Self::Two => bytes
                .as_chunks()
                .0
                .iter()
                .map(|&id| u16::from_le_bytes(id).into())
                .collect(),
            Self::Four => bytes
                .as_chunks()
                .0
                .iter()
                .map(|&id| u32::from_le_bytes(id))
                .collect(),
        }
    }
}

impl Header {
    /// Returns the header of a cache for `key`, without the checksum of its body.
    pub fn new(width: Width, [pairs, tokens]: [u64; 2], report: CleaningReport, key: &Key) -> Self {
        Self {
            version: VERSION,
            width,
            pairs: u32::try_from(pairs).expect("a corpus has fewer than 2^32 pairs"),
            tokens,
            report,
            has_documents: false,
            key: hex(key),
            body_hash: String::new(),
        }
    }

    /// Returns the header as bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let width = HEADER_BYTES - CHECKSUM_BYTES;
        let json = serde_json::json!(self).to_string();
        let json = format!("{json:<width$}");
        (hex(&key_of(&[json.as_bytes()])) + &json).into_bytes()
    }

    /// Parses a header and checks that it belongs to `key`. The error says what does not match.
    pub fn parse(bytes: &[u8; HEADER_BYTES], key: &Key) -> Result<Self, String> {
        let (checksum, json) = bytes.split_at(CHECKSUM_BYTES);
        if hex(&key_of(&[json])).as_bytes() != checksum {
            return Err("it is not a token cache, or its header is damaged".to_owned());
        }
        let header: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if header.version != VERSION {
            return Err(format!(
                "format version {} instead of {VERSION}",
                header.version
            ));
        }
        if header.key != hex(key) {
            return Err("it was made of other text or with other settings".to_owned());
        }
        Ok(header)
    }

    /// Returns the number of bytes of all tokens.
    pub fn token_bytes(&self) -> u64 {
        self.tokens.saturating_mul(self.width.bytes())
    }

    /// Returns the number of zeros that are hashed after the tokens, up to the next multiple of 8
    /// bytes.
    pub fn zeros(&self) -> usize {
        self.token_bytes().wrapping_neg() as usize % 8
    }

    /// Returns the position of the offsets in the file. There is one per sentence, and one for the
    /// end.
    pub fn before_offsets(&self) -> u64 {
        self.token_bytes().saturating_add(HEADER_BYTES as u64)
    }

    /// Returns the number of bytes of all offsets.
    pub fn offset_bytes(&self) -> u64 {
        16 * u64::from(self.pairs) + 8
    }

    /// Returns the number of bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        let before = self.before_offsets().saturating_add(self.offset_bytes());
        before.saturating_add(self.document_bytes())
    }

    /// Returns the number of bytes of the bits of documents.
    pub fn document_bytes(&self) -> u64 {
        if self.has_documents {
            u64::from(self.pairs).div_ceil(8)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        for (width, ids) in [
            (Width::Two, [0, 7, 65_535]),
            (Width::Four, [0, 65_536, u32::MAX]),
        ] {
            let mut bytes = Vec::new();
            width.write(&ids, &mut bytes);
            assert_eq!(bytes.len() as u64, 3 * width.bytes());
            assert_eq!(width.read(&bytes), ids);
        }
    }

    #[test]
    fn a_header_round_trips_and_no_bit_of_it_may_differ() {
        let counts = [3, 5];
        let header = Header::new(Width::Four, counts, CleaningReport::default(), &[1; 32]);
        let good: [u8; HEADER_BYTES] = header.to_bytes().try_into().unwrap();
        let read = Header::parse(&good, &[1; 32]).unwrap();
        assert_eq!((read.pairs, read.tokens, read.zeros()), (3, 5, 4));
        // 20 bytes of tokens and 7 offsets.
        assert_eq!(read.file_bytes(), 1024 + 20 + 56);
        for at in 0..HEADER_BYTES {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(Header::parse(&bad, &[1; 32]).is_err(), "byte {at}");
        }
    }
}
