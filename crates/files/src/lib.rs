//! Files that exist whole or not at all, whatever moment the machine stops at.
//!
//! A file is written beside its place, flushed to the disk, renamed over what is there, and the folder around it flushed:
//! whoever opens the path, even after a power cut, finds the old content or the new. Its permissions are those of any new
//! file of the user, that is, what the umask leaves of `rw-rw-rw-`.
//!
//! Every crate of the workspace that replaces a file does it here, in one of two ways:
//!
//! - Where one process writes a folder, as a run's, [`write`] and [`write_with`] use the name `NAME.partial`, so that what a
//!   kill leaves is written over by the next attempt.
//! - Where several may, as in a cache, [`write_shared`] and [`Temporary`] give each file a name of its own. What a kill leaves of one is
//!   [removed](remove_leftovers) by the next process that finds itself alone with the folder.
//!
//! Windows cannot flush a folder; there, and on file systems that refuse, that step is left out.

#![forbid(unsafe_code)]

mod temporary;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

pub use temporary::{Readers, Temporary, remove_leftovers, write_shared};

/// Replaces the file at `path` by one that holds `bytes`.
///
/// # Errors
/// What the operating system says; the file is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Replaces the file at `path` by one that `fill` writes.
///
/// # Errors
/// That of `fill`, and what the operating system says; the file is then as it was.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = path.with_file_name(name);
    // A leftover would keep its own permissions.
    let _ = fs::remove_file(&partial);
    let filled = File::create(&partial).and_then(|mut file| {
        fill(&mut file)?;
        file.sync_all()
    });
    let replaced = filled.and_then(|()| fs::rename(&partial, path));
    if replaced.is_err() {
        // On a full disk the half-written file would stand in the way of everything else.
        let _ = fs::remove_file(&partial);
    }
    replaced.and_then(|()| sync_folder_of(path))
}

/// Flushes the folder that `path` lies in: only then does a rename outlive a power cut.
///
/// # Errors
/// What the operating system says, unless it is that this cannot be done to a folder.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    match File::open(folder_of(path)).and_then(|folder| folder.sync_all()) {
        // Not every file system lets a folder be flushed, and Windows none.
        Err(error) if cfg!(windows) || error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

/// The folder that `path` lies in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
mod readme {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("settings.json");
        fs::write(home.path().join("settings.json.partial"), "what a kill left").unwrap();
        for content in ["one", "two"] {
            write(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_fails_leaves_the_file_as_it_was_and_nothing_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        fs::write(&path, "kept").unwrap();
        let full = |file: &mut File| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        assert_eq!(write_with(&path, full).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        let folder = home.path().join("folder");
        fs::create_dir(&folder).unwrap();
        assert!(write(&folder, b"a file cannot replace a folder").is_err());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
        assert!(write(&home.path().join("gone/file"), b"no folder is made").is_err());
    }

    #[test]
    fn a_name_without_a_folder_lies_in_the_current_one() {
        assert_eq!(folder_of(Path::new("name")), Path::new("."));
        assert_eq!(folder_of(Path::new("a/name")), Path::new("a"));
        sync_folder_of(Path::new("name")).unwrap();
    }
}
