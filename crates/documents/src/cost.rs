//! The price of a file, which is known before it is unpacked.

/// The largest number of bytes of memory for one byte of a text.
const MEMORY_PER_BYTE: u64 = 64;

/// What a file becomes when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of files in the archive; 1 for a text.
    pub entries: usize,
    /// The number of bytes of text or XML that are read from the file.
    pub unpacked: u64,
}

impl Cost {
    /// The cost of a text of this number of bytes.
    pub fn of_text(bytes: usize) -> Self {
        Self {
            entries: 1,
            unpacked: bytes as u64,
        }
    }

    /// The largest number of bytes of memory that reading the file, translating it and writing it
    /// hold at one time, without those of the model.
    pub fn memory(self) -> u64 {
        MEMORY_PER_BYTE.saturating_mul(self.unpacked)
    }
}
