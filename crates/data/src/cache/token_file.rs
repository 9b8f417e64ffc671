//! A cache file that is open: its verification, and what is read from it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::bits::Bits;
use super::header::{HEADER_BYTES, Header};
use crate::corpus::{TextError, open_error};
use crate::error::{DataError, Result};
use crate::hash::{Key, hex};

/// An open cache file with verified content.
#[derive(Debug)]
pub(super) struct TokenFile {
    /// One reader at a time moves the position in the file.
    file: Mutex<File>,
    path: PathBuf,
    header: Header,
    /// The highest id that was found when the file was verified.
    highest: u32,
}

impl TokenFile {
    /// Opens and verifies the file at `path`.
    ///
    /// # Errors
    /// Returns [`TextError::NotFound`] if the file does not exist, and [`DataError::DamagedCache`]
    /// if its content was not written for `key` or has changed since.
    pub fn open(path: &Path, key: &Key) -> Result<Self> {
        let file = File::open(path).map_err(|cause| open_error(path, cause))?;
        let verified = verify(&file, key).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(path, "it ends too early".to_owned()),
            io::ErrorKind::InvalidData => damaged(path, error.to_string()),
            _ => open_error(path, error).into(),
        })?;
        let (header, highest) = verified;
        Ok(Self {
            file: file.into(),
            path: path.into(),
            header,
            highest,
        })
    }

    /// Returns the header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads `count` ids from token number `start` on.
    pub fn read(&self, start: u64, count: usize) -> Result<Vec<u32>> {
        let width = self.header.width;
        let bytes = self.bytes(
            HEADER_BYTES as u64 + start * width.bytes(),
            count * width.bytes() as usize,
        )?;
        let ids = width.read(&bytes);
        if ids.iter().any(|&id| id > self.highest) {
            return Err(self.changed("was overwritten"));
        }
        Ok(ids)
    }

    /// Reads the offsets of the sentences of `pairs`.
    pub fn offsets(&self, pairs: Range<usize>) -> Result<Vec<u64>> {
        let from = self.header.before_offsets() + 16 * pairs.start as u64;
        let bytes = self.bytes(from, 16 * pairs.len() + 8)?;
        let offsets: Vec<u64> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|&offset| u64::from_le_bytes(offset))
            .collect();
        if !offsets.is_sorted() || offsets.iter().any(|&offset| offset > self.header.tokens) {
            return Err(self.changed("was overwritten"));
        }
        Ok(offsets)
    }

    /// Reads for each pair whether it continues the document of the pair before it.
    pub fn documents(&self) -> Result<Bits> {
        let count = self.header.document_bytes() as usize;
        if count == 0 {
            // A text that is not divided into documents has no bits.
            return Ok(Bits::default());
        }
        let from = self.header.before_offsets() + self.header.offset_bytes();
        let bytes = self.bytes(from, count)?;
        Ok(Bits::from_bytes(bytes, self.header.pairs as usize))
    }

    fn bytes(&self, from: u64, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file
            .seek(SeekFrom::Start(from))
            .and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|cause| match cause.kind() {
            io::ErrorKind::UnexpectedEof => self.changed("became shorter"),
            _ => TextError::Unreadable(self.path.clone(), cause).into(),
        })?;
        Ok(bytes)
    }

    fn changed(&self, how: &str) -> DataError {
        damaged(&self.path, format!("it {how} while it was in use"))
    }
}

fn damaged(path: &Path, message: String) -> DataError {
    DataError::DamagedCache(path.into(), message)
}

/// Number of bytes that are read at a time; a multiple of the size of a token.
const CHUNK_BYTES: u64 = 1 << 18;

/// Reads a whole cache file in bounded memory and checks header, size and checksum.
///
/// # Errors
/// Returns [`io::ErrorKind::InvalidData`] with the part that does not match,
/// [`io::ErrorKind::UnexpectedEof`], or errors of the disk.
fn verify(mut file: &File, key: &Key) -> io::Result<(Header, u32)> {
    let size = file.metadata()?.len();
    let mut head = [0; HEADER_BYTES];
    file.read_exact(&mut head)?;
    let header = Header::parse(&head, key).map_err(invalid)?;
    if size != header.file_bytes() {
        return Err(invalid(format!(
            "{size} bytes instead of {}",
            header.file_bytes()
        )));
    }
    let mut highest = 0;
    let mut hash = Sha256::new();
    read_hashed(file, header.token_bytes(), &mut hash, |ids| {
        highest = header.width.read(ids).into_iter().fold(highest, u32::max);
    })?;
    hash.update(&[0; 8][..header.zeros()]);
    let rest = header.offset_bytes() + header.document_bytes();
    read_hashed(file, rest, &mut hash, |_| ())?;
    hash.update(serde_json::to_vec(&header.report)?);
    if hex(&hash.finalize()) != header.body_hash {
        return Err(invalid("the checksum does not match"));
    }
    Ok((header, highest))
}

/// Reads and hashes the next `count` bytes, and calls `each` with every chunk of them.
fn read_hashed(
    mut file: &File,
    count: u64,
    hash: &mut Sha256,
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut left = count;
    let mut chunk = vec![0; CHUNK_BYTES as usize];
    while left > 0 {
        let chunk = &mut chunk[..left.min(CHUNK_BYTES) as usize];
        file.read_exact(chunk)?;
        hash.update(&*chunk);
        each(chunk);
        left -= chunk.len() as u64;
    }
    Ok(())
}

fn invalid(message: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::header::Width;
    use super::*;
    use crate::cleaning_report::CleaningReport;

    fn error(content: &[u8]) -> DataError {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        TokenFile::open(file.path(), &[7; 32]).expect_err("an error")
    }

    #[test]
    fn a_file_that_is_not_a_cache_is_reported_as_damaged() {
        for content in [&b""[..], b"short", &[0; 2000]] {
            let error = error(content);
            assert!(matches!(error, DataError::DamagedCache(..)), "{error:?}");
            assert!(
                error
                    .to_string()
                    .contains("delete it and it is built again")
            );
        }
    }

    #[test]
    fn a_cache_of_other_text_is_not_taken() {
        let header = Header::new(Width::Two, [0, 0], CleaningReport::default(), &[8; 32]);
        let message = error(&header.to_bytes()).to_string();
        assert!(
            message.contains("other text or with other settings"),
            "{message}"
        );
    }
}
