//! The first 144 bytes of a cache file.

use bytemuck::{Pod, Zeroable};

use crate::hash::{Key, key_of};

const MAGIC: [u8; 8] = *b"BURNTOKS";
const BYTE_ORDER: u32 = 0x0102_0304;
/// Raised whenever the format, the cleaning or the tokenisation changes meaning.
pub(crate) const VERSION: u32 = 1;

/// Counts and checksums, in the byte order of the machine that wrote them.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    magic: [u8; 8],
    byte_order: u32,
    version: u32,
    /// Bytes a token: 2 or 4.
    pub width: u64,
    pub pairs: u64,
    pub tokens: u64,
    pub report_bytes: u64,
    pub key: Key,
    pub body_hash: Key,
    header_hash: Key,
}

/// Bytes of a [`Header`].
pub(super) const HEADER_BYTES: usize = size_of::<Header>();

impl Header {
    pub fn new(
        width: u64,
        pairs: u64,
        tokens: u64,
        report_bytes: u64,
        key: Key,
        body_hash: Key,
    ) -> Self {
        let header_hash = [0; 32];
        let mut header = Self {
            magic: MAGIC,
            byte_order: BYTE_ORDER,
            version: VERSION,
            width,
            pairs,
            tokens,
            report_bytes,
            key,
            body_hash,
            header_hash,
        };
        header.header_hash = header.checksum();
        header
    }

    fn checksum(&self) -> Key {
        key_of(&[&bytemuck::bytes_of(self)[..HEADER_BYTES - 32]])
    }

    /// Parses and checks a header for `key` in front of `file_bytes` bytes; an error says what does not fit.
    pub fn parse(bytes: &[u8], key: &Key) -> Result<Self, String> {
        let Some(bytes) = bytes.get(..HEADER_BYTES) else {
            return Err(format!(
                "{} bytes are too few for a header of {HEADER_BYTES}",
                bytes.len()
            ));
        };
        let header: Self = bytemuck::pod_read_unaligned(bytes);
        if header.magic != MAGIC || header.byte_order != BYTE_ORDER {
            return Err("it is not a token cache written on such a machine".to_owned());
        }
        if header.version != VERSION {
            return Err(format!("format version {} instead of {VERSION}", header.version));
        }
        if header.header_hash != header.checksum() {
            return Err("the header's checksum does not fit".to_owned());
        }
        if header.key != *key {
            return Err("it was made of other text or with other settings".to_owned());
        }
        if header.sizes().is_none() {
            return Err("its counts are impossible".to_owned());
        }
        Ok(header)
    }

    /// Where offsets, report and the end of the file stand, unless the counts are impossible.
    fn sizes(&self) -> Option<[usize; 3]> {
        if self.width != 2 && self.width != 4 {
            return None;
        }
        let tokens = self.tokens.checked_mul(self.width)?.checked_add(HEADER_BYTES as u64)?;
        let offsets_at = tokens.checked_next_multiple_of(8)?;
        let offsets = self.pairs.checked_mul(16)?.checked_add(8)?;
        let report_at = offsets_at.checked_add(offsets)?;
        let end = report_at.checked_add(self.report_bytes)?;
        let [offsets_at, report_at, end] = [offsets_at, report_at, end].map(usize::try_from);
        Some([offsets_at.ok()?, report_at.ok()?, end.ok()?])
    }

    fn size(&self, place: usize) -> usize {
        self.sizes().expect("a parsed header's counts are possible")[place]
    }

    /// Where the offsets start: after the tokens, at a multiple of 8.
    pub fn offsets_at(&self) -> usize {
        self.size(0)
    }

    /// Where the report starts.
    pub fn report_at(&self) -> usize {
        self.size(1)
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> usize {
        self.size(2)
    }
}
