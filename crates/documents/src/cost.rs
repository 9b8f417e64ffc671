//! The price of a file, which is known before it is unpacked.

use burnformer_files::archive::Price;

use crate::OfficeKind;

/// The largest number of bytes of memory for one byte of a text. A sentence of one letter on a line
/// of its own is the most expensive. `tests/memory.rs` holds documents to these numbers.
const TEXT: u64 = 640;
/// The same for one byte of the XML of Word, PowerPoint and Excel, with long names of elements.
const OFFICE: u64 = 80;
/// The same for one byte of the XML of OpenDocument and EPUB.
const OTHER_OFFICE: u64 = 160;
/// The memory for a file in an archive.
const ENTRY: u64 = 1 << 10;
/// The memory that every file needs.
const BASE: u64 = 1 << 20;

/// What a file becomes when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of files in the archive; 1 for a text.
    pub entries: usize,
    /// The number of bytes of text or XML that are read from the file.
    pub unpacked: u64,
    /// The bytes of memory for one of these bytes.
    memory_per_byte: u64,
}

impl Cost {
    /// The cost of a text of this number of bytes.
    pub fn of_text(bytes: usize) -> Self {
        Self {
            entries: 1,
            unpacked: bytes as u64,
            memory_per_byte: TEXT,
        }
    }

    /// The cost of a document of this kind and price.
    pub(crate) fn of_office(price: Price, kind: OfficeKind) -> Self {
        let memory_per_byte = match kind {
            OfficeKind::Docx | OfficeKind::Pptx | OfficeKind::Xlsx => OFFICE,
            OfficeKind::OpenDocument | OfficeKind::Epub => OTHER_OFFICE,
        };
        Self {
            entries: price.entries,
            unpacked: price.unpacked,
            memory_per_byte,
        }
    }

    /// The largest number of bytes of memory that reading the file, translating it and writing it
    /// hold at one time, without those of the model.
    pub fn memory(self) -> u64 {
        let entries = ENTRY * self.entries as u64;
        let text = self.memory_per_byte.saturating_mul(self.unpacked);
        text.saturating_add(BASE + entries)
    }
}
