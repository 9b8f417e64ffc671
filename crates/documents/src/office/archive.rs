//! The files of an archive.

use std::io::Cursor;

use zip::ZipArchive;
use zip::result::ZipResult;

/// An archive in memory.
pub(super) type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Returns the name of file `index` in the archive.
pub(super) fn name(zip: &Archive<'_>, index: usize) -> ZipResult<String> {
    Ok(zip.by_index_data(index)?.name()?.into_owned())
}
