//! The bytes of a binary file, read in order.

use std::ops::Range;
use std::path::Path;

use crate::error::{InteropError, Result};

/// A position in the content `bytes` of the file `path`.
pub(crate) struct Cursor<'a> {
    pub path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self { path, bytes, at: 0 }
    }

    /// The range of the next `len` bytes.
    ///
    /// # Errors
    /// Returns [`InteropError::Damaged`] if there are fewer bytes.
    pub fn range(&mut self, len: usize) -> Result<Range<usize>> {
        let end = self
            .at
            .checked_add(len)
            .filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            let message = format!(
                "it ends within the {len} bytes that follow byte {}",
                self.at
            );
            InteropError::damaged(self.path, message)
        })?;
        let range = self.at..end;
        self.at = end;
        Ok(range)
    }

    /// Returns the bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// Returns an error if there are fewer bytes.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        Ok(&self.bytes[self.range(len)?])
    }

    /// A little-endian number of `width` bytes, at most 8.
    ///
    /// # Errors
    /// Returns an error if there are fewer bytes.
    pub fn number(&mut self, width: usize) -> Result<u64> {
        Ok(number(self.bytes(width)?))
    }

    /// A number of `width` bytes as a size. A number that does not fit becomes the largest size,
    /// beyond the end of any file.
    ///
    /// # Errors
    /// Returns an error if there are fewer bytes.
    pub fn size(&mut self, width: usize) -> Result<usize> {
        Ok(usize::try_from(self.number(width)?).unwrap_or(usize::MAX))
    }

    /// The next `len` bytes as text, without trailing zeros.
    ///
    /// # Errors
    /// Returns an error if there are fewer bytes.
    pub fn text(&mut self, len: usize) -> Result<String> {
        Ok(text(self.bytes(len)?))
    }
}

/// The little-endian number in `bytes`, at most 8.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// `bytes` as text, without trailing zeros.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\0')
        .to_string()
}
