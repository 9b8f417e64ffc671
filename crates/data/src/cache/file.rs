//! Files of the cache folder, which several processes may use at the same time.

use std::fs::File;
use std::io;
use std::path::Path;

use burnformer_files::{Readers, Temporary, folder_of};

use crate::error::{DataError, Result};

/// The error for a failed write to `path`.
pub(super) fn unwritable(path: &Path) -> impl Fn(io::Error) -> DataError + '_ {
    |cause| DataError::Unwritable(path.into(), cause)
}

/// Creates a folder and its parents.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(unwritable(path))
}

/// Replaces the file at `path`, which holds either the old content or the new at any moment. Other
/// processes may do so at the same time.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    burnformer_files::write_shared(path, bytes).map_err(unwritable(path))
}

/// A temporary file in the folder of `path`, which can later be renamed to `path`.
pub(super) fn temporary(path: &Path) -> Result<Temporary> {
    Temporary::new(folder_of(path), Readers::Umask).map_err(unwritable(path))
}

/// Fills `bytes` with the content of `file` from `offset` on.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the file ends before, and errors of the operating system.
#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Fills `bytes` with the content of `file` from `offset` on.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`] if the file ends before, and errors of the operating system.
#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => (bytes, offset) = (&mut bytes[read..], offset + read as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fails, because files cannot be read at a position on this system.
///
/// # Errors
/// Always [`io::ErrorKind::Unsupported`].
#[cfg(not(any(unix, windows)))]
pub(super) fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_from_their_position_and_a_file_that_ends_before_is_an_error() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), b"0123456789").unwrap();
        let file = File::open(path.path()).unwrap();
        let mut bytes = [0; 3];
        read_exact_at(&file, &mut bytes, 7).unwrap();
        assert_eq!(&bytes, b"789");
        let error = read_exact_at(&file, &mut bytes, 8).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
