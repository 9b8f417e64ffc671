//! Replaces files completely or not at all, even after a crash or a power cut.
//!
//! A file is written under another name in the same folder and flushed to disk. Then it is renamed
//! to its final name, and the folder is flushed. A program that opens the path sees either the old
//! content or the new. The file gets the permissions of any new file of the user: `rw-rw-rw-`
//! without the bits that the umask removes.
//!
//! Every crate of the workspace that replaces a file uses this crate. Several processes may write
//! to the same folder. Processes that replace the same path may run on several machines.
//!
//! - [`write()`], [`write_with`] and [`Temporary::beside`] write beside their path. The next
//!   process that replaces the same path removes the file that a killed process left.
//! - [`Temporary::new`] is for folders of files with many names, such as a cache. The next process
//!   that is alone in the folder [removes](remove_leftovers) the files that killed processes left.
//! - [`FolderLock`] does the same for a folder with all its files. A [`NewFolder`] replaces it in
//!   one step.
//!
//! [`create_folder`] creates folders that survive a power cut.
//! [`try_reserve`] reserves the memory for a large file, and [`user_cache`] names the folder for
//! files that can be made again.
//!
//! The crate also reads users' files: [`read_whole`] never reads more than a limit, and [`FileId`]
//! tells whether two names refer to the same file.
//!
//! With the feature `archive`, the module of that name opens ZIP archives from untrusted sources,
//! and tells their price before anything is unpacked.
//!
//! Windows cannot flush a folder. There, and on file systems that refuse it, this step is skipped.

#![forbid(unsafe_code)]
// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

#[cfg(feature = "archive")]
pub mod archive;
mod folder;
mod identity;
mod read;
mod reserve;
mod temporary;
mod user_cache;

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

pub use folder::{FolderLock, NewFolder, leftovers, owner_of, remove_folder};
pub use identity::FileId;
pub use read::{FileKind, ReadError, ReadProblem, read_to_end, read_whole};
pub use reserve::{is_refusable, try_reserve};
pub use temporary::{Readers, Temporary, remove_leftovers, write, write_with};
pub use user_cache::user_cache;

/// Opens the file at `path` for reading and writing, and creates it if it does not exist.
///
/// # Errors
/// Errors of the operating system.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Renames or removes a file or folder with `attempt`. On Windows this fails while another program,
/// such as a virus scanner, has it open. It is then retried for two and a half seconds.
///
/// # Errors
/// The last error of `attempt`.
pub fn with_retries(mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for pause in (0..8).map(|doublings| Duration::from_millis(10 << doublings)) {
        match attempt() {
            Err(error) if is_open_elsewhere(&error) => thread::sleep(pause),
            done => return done,
        }
    }
    attempt()
}

/// Returns whether Windows denied access or reports a sharing violation.
fn is_open_elsewhere(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32))
}

/// Returns whether `path` is a file, or a link to one. Unlike [`Path::is_file`], it does not take a
/// file whose kind cannot be read for a missing one.
///
/// # Errors
/// Errors of the operating system, except that there is nothing at `path`.
pub fn is_file(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_file()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Creates the folder `path` and its missing parents. Their names survive a power cut where the
/// parent of the first one can be flushed.
///
/// # Errors
/// Errors of the operating system.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    fs::create_dir_all(path)?;
    for folder in missing {
        let _ = sync_folder_of(folder);
    }
    Ok(())
}

/// Flushes the folder of `path`. Only then does a rename survive a power cut.
///
/// # Errors
/// Errors of the operating system, except on a file system that cannot flush folders.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    sync_folder(folder_of(path))
}

/// Flushes the file names in `folder`.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems, and all of Windows, cannot flush a folder.
        Err(error) if cfg!(windows) || error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}

/// Returns the folder of `path`; `.` if the path has none.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("settings.json");
        fs::write(
            home.path().join(".settings.json.a1b2c3.partial"),
            "what a kill left",
        )
        .unwrap();
        for content in ["one", "two"] {
            write(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_file_unchanged_and_nothing_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        fs::write(&path, "kept").unwrap();
        assert_eq!(
            write_with(&path, |file: &mut Temporary| {
                file.write_all(b"half")?;
                Err(io::Error::from(io::ErrorKind::StorageFull))
            })
            .unwrap_err()
            .kind(),
            io::ErrorKind::StorageFull
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
        let folder = home.path().join("folder");
        fs::create_dir(&folder).unwrap();
        assert!(write(&folder, b"a file cannot replace a folder").is_err());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
        assert!(write(&home.path().join("gone/file"), b"no folder is made").is_err());
    }

    #[cfg(windows)]
    #[test]
    fn a_file_that_another_program_has_open_for_a_moment_is_replaced() {
        use std::os::windows::fs::OpenOptionsExt;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        fs::write(&path, "old").unwrap();
        let open = File::options()
            .read(true)
            .share_mode(0)
            .open(&path)
            .unwrap();
        let scanner = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            drop(open);
        });
        write(&path, b"new").unwrap();
        scanner.join().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_missing_file_is_none_and_one_that_cannot_be_seen_an_error() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        assert!(!is_file(&path).unwrap() && !is_file(home.path()).unwrap());
        fs::write(&path, "text").unwrap();
        assert!(is_file(&path).unwrap());
        // Nothing lies below a file.
        assert!(is_file(&path.join("below")).is_err() || cfg!(windows));
    }

    #[test]
    fn a_folder_is_created_with_its_parents_and_may_exist() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b/c");
        for _ in 0..2 {
            create_folder(&path).unwrap();
            assert!(path.is_dir());
        }
        fs::write(path.join("file"), "text").unwrap();
        create_folder(&path.join("file/d")).unwrap_err();
    }

    #[test]
    fn a_name_without_a_folder_lies_in_the_current_one() {
        assert_eq!(folder_of(Path::new("name")), Path::new("."));
        assert_eq!(folder_of(Path::new("a/name")), Path::new("a"));
        sync_folder_of(Path::new("name")).unwrap();
    }
}
