//! The cost of a file, known before it is unpacked.

use burnformer_files::archive::Price;

use crate::OfficeKind;

/// Upper bound on memory per byte of text. The worst case is one-letter sentences on lines of their
/// own. `tests/memory.rs` checks these bounds.
const MEMORY_PER_TEXT_BYTE: u64 = 640;
/// Upper bound on memory per byte of Word, PowerPoint or Excel XML, with long element names.
const MEMORY_PER_OFFICE_BYTE: u64 = 80;
/// Upper bound on memory per byte of OpenDocument or EPUB XML.
const MEMORY_PER_OTHER_OFFICE_BYTE: u64 = 160;
/// Memory in bytes for each file in an archive.
const MEMORY_PER_ENTRY: u64 = 1 << 10;
/// Memory in bytes for every document.
const BASE_MEMORY: u64 = 1 << 20;

/// The size of a file after reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of files in the archive; 1 for a text.
    pub entries: usize,
    /// Number of bytes of text or XML read from the file.
    pub unpacked: u64,
    /// Memory in bytes for each unpacked byte.
    memory_per_byte: u64,
}

impl Cost {
    /// Returns the cost of a text of `bytes` bytes.
    pub fn of_text(bytes: usize) -> Self {
        Self {
            entries: 1,
            unpacked: bytes as u64,
            memory_per_byte: MEMORY_PER_TEXT_BYTE,
        }
    }

    /// Returns the cost of an Office document.
    pub(crate) fn of_office(price: Price, kind: OfficeKind) -> Self {
        let memory_per_byte = match kind {
            OfficeKind::Docx | OfficeKind::Pptx | OfficeKind::Xlsx => MEMORY_PER_OFFICE_BYTE,
            OfficeKind::OpenDocument | OfficeKind::Epub => MEMORY_PER_OTHER_OFFICE_BYTE,
        };
        Self {
            entries: price.entries,
            unpacked: price.unpacked,
            memory_per_byte,
        }
    }

    /// Returns an upper bound, in bytes, on the memory for reading, translating and writing the
    /// file. The model's own memory is not included.
    pub fn memory(self) -> u64 {
        let entries = MEMORY_PER_ENTRY * self.entries as u64;
        let text = self.memory_per_byte.saturating_mul(self.unpacked);
        text.saturating_add(BASE_MEMORY + entries)
    }
}
