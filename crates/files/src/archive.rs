//! ZIP archives from untrusted sources. Their cost is known before they are unpacked.
//!
//! The central directory declares how many bytes each file unpacks to. The price is the sum of
//! these sizes, and [`unpack`] never exceeds the declared size of a file. Two files of an archive
//! must not share bytes: otherwise a small archive with many names for the same bytes would need
//! much memory.

use std::borrow::Cow;
use std::io::{self, Read, Seek, Write};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::{ZipError, ZipResult};

/// The cost of unpacking an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Number of files in the archive, including files that are not unpacked.
    pub entries: usize,
    /// Number of bytes in the unpacked files, as the archive declares them.
    pub unpacked: u64,
}

impl Price {
    /// Returns whether neither number exceeds `limit`.
    pub fn is_within(self, limit: Self) -> bool {
        self.entries <= limit.entries && self.unpacked <= limit.unpacked
    }
}

/// Opens an archive and reads its central directory.
///
/// # Errors
/// If it is not an archive, is truncated or damaged, or has two files that share bytes.
pub fn open<R: Read + Seek>(reader: R) -> ZipResult<ZipArchive<R>> {
    let mut archive = ZipArchive::new(reader)?;
    if archive.has_overlapping_entries()? {
        return Err(invalid("two of its files share bytes"));
    }
    Ok(archive)
}

/// Returns the price of unpacking the files of `archive` with names accepted by `is_wanted`.
/// Nothing is unpacked.
///
/// # Errors
/// If the name of a file cannot be read.
pub fn price<R: Read + Seek>(
    archive: &ZipArchive<R>,
    is_wanted: impl Fn(&str) -> bool,
) -> ZipResult<Price> {
    let entries = archive.len();
    let mut unpacked = 0u64;
    for index in 0..entries {
        let file = archive.by_index_data(index)?;
        if is_wanted(&file.name()?) {
            unpacked = unpacked.saturating_add(file.size());
        }
    }
    Ok(Price { entries, unpacked })
}

/// Writes the content of `file` to `out` and returns its length.
///
/// # Errors
/// If the content is damaged or longer than the archive declares, or if `out` fails.
pub fn unpack(mut file: ZipFile<'_, impl Read>, out: &mut impl Write) -> ZipResult<u64> {
    let declared = file.size();
    let length = io::copy(&mut file.by_ref().take(declared.saturating_add(1)), out)?;
    if length > declared {
        return Err(invalid("a file is longer than its directory declares"));
    }
    Ok(length)
}

fn invalid(fault: &'static str) -> ZipError {
    ZipError::InvalidArchive(Cow::Borrowed(fault))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    const ENTRY: &[u8] = b"PK\x01\x02";

    /// Creates an archive of files with these names, each 1,000 equal bytes.
    fn write(names: &[&str]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            archive
                .start_file(*name, SimpleFileOptions::default())
                .unwrap();
            archive.write_all(&[7; 1000]).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    /// Returns the offsets of the entries in the central directory.
    fn entries(bytes: &[u8]) -> Vec<usize> {
        let starts = bytes.windows(ENTRY.len()).enumerate();
        starts
            .filter_map(|(at, it)| (it == ENTRY).then_some(at))
            .collect()
    }

    #[test]
    fn the_price_is_that_of_the_wanted_files() {
        let archive = open(Cursor::new(write(&["a.xml", "b.png", "c.xml"]))).unwrap();
        let found = price(&archive, |name| name.ends_with("xml")).unwrap();
        let expected = Price {
            entries: 3,
            unpacked: 2000,
        };
        assert_eq!(found, expected);
        assert!(found.is_within(expected));
        assert!(!found.is_within(Price {
            entries: 2,
            ..expected
        }));
        assert!(!found.is_within(Price {
            unpacked: 1999,
            ..expected
        }));
    }

    #[test]
    fn files_that_share_bytes_are_refused() {
        let mut bytes = write(&["a", "b"]);
        assert!(open(Cursor::new(&bytes)).is_ok());
        let second = entries(&bytes)[1];
        bytes[second + 42..second + 46].fill(0);
        let error = open(Cursor::new(&bytes)).err().unwrap().to_string();
        assert!(error.contains("share bytes"), "{error}");
    }

    #[test]
    fn a_file_does_not_unpack_to_more_than_it_declares() {
        let mut bytes = write(&["a"]);
        let entry = entries(&bytes)[0];
        bytes[entry + 24..entry + 28].copy_from_slice(&10u32.to_le_bytes());
        let mut archive = open(Cursor::new(bytes)).unwrap();
        let mut out = Vec::new();
        assert_eq!(price(&archive, |_| true).unwrap().unpacked, 10);
        assert!(unpack(archive.by_index(0).unwrap(), &mut out).is_err());
        assert!(out.len() <= 11, "{}", out.len());
    }
}
