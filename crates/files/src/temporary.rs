//! Files on their way, in folders that several processes write.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::{folder_of, sync_folder_of};

/// Names of temporary files, so special that no file of a user's is taken for one.
const PREFIX: &str = ".burnformer-";
const SUFFIX: &str = ".temporary";
/// Whoever has temporary files in a folder holds a shared lock on this one in it, whoever removes leftovers the only lock.
/// It stays: a lock on a file that may be removed is none.
const LOCK: &str = ".burnformer.lock";

/// Who may read a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The user alone.
    Owner,
    /// Those that the user's umask lets read a new file.
    Umask,
}

/// A file with a name of its own, to be written and then [published](Temporary::publish); removed when it is dropped
/// instead. Several processes may have such files in one folder.
#[derive(Debug)]
pub struct Temporary {
    // Removed before the lock is released.
    file: NamedTempFile,
    _lock: Option<File>,
}

impl Temporary {
    /// An empty file in `folder`, after [what killed processes left there](remove_leftovers) is removed.
    ///
    /// # Errors
    /// What the operating system says; `folder` must exist.
    pub fn new(folder: &Path, readers: Readers) -> io::Result<Self> {
        remove_leftovers(folder);
        let lock = lock_file(folder);
        // A file system without locks has no protection, and no one who removes.
        let lock = lock.filter(|lock| lock.lock_shared().is_ok());
        let mut builder = Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        // Private unless told otherwise; from this the system takes the umask.
        #[cfg(unix)]
        if readers == Readers::Umask {
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        #[cfg(not(unix))]
        let _ = readers;
        Ok(Self { file: builder.tempfile_in(folder)?, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Flushes the file to the disk and puts it in the place of `path`, in the same folder or file system, whatever is there.
    ///
    /// # Errors
    /// What the operating system says; the file at `path` is then as it was.
    pub fn publish(self, path: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(path).map_err(|error| error.error)?;
        // The file is there and whole; that it outlives a power cut is a matter of the next seconds.
        let _ = sync_folder_of(path);
        Ok(())
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Temporary {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.file.seek(place)
    }
}

/// Replaces the file at `path` by one that holds `bytes`, whoever else does so at the same time.
///
/// # Errors
/// What the operating system says; the file is then as it was.
pub fn write_shared(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Temporary::new(folder_of(path), Readers::Umask)?;
    file.write_all(bytes)?;
    file.publish(path)
}

/// Removes the temporary files that killed processes left in `folder`, unless a living one has any there: then it is left to
/// a later call. What cannot be removed stays.
pub fn remove_leftovers(folder: &Path) {
    let Some(leftovers) = leftovers(folder).filter(|found| !found.is_empty()) else { return };
    let Some(lock) = lock_file(folder) else { return };
    match lock.try_lock() {
        // No living process has a file here: it would hold the lock.
        Ok(()) => leftovers.iter().for_each(|path| drop(fs::remove_file(path))),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
    }
}

/// The temporary files in `folder`.
fn leftovers(folder: &Path) -> Option<Vec<PathBuf>> {
    let is_temporary = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_temporary));
    Some(named.map(|entry| entry.path()).collect())
}

/// The folder's lock, opened; `None` where there can be none.
fn lock_file(folder: &Path) -> Option<File> {
    let path = folder.join(LOCK);
    let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    // One of another user's may be read and locked all the same.
    options.or_else(|_| File::open(&path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name != LOCK);
        names.sort();
        names
    }

    #[test]
    fn what_is_published_replaces_the_file_and_what_is_not_vanishes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        for content in ["one", "two"] {
            write_shared(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        drop(Temporary::new(home.path(), Readers::Owner).unwrap());
        assert_eq!(names(home.path()), ["file"]);
        assert!(Temporary::new(&home.path().join("gone"), Readers::Umask).is_err());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_once_no_other_has_files_there() {
        let home = tempfile::tempdir().unwrap();
        let leftover = format!("{PREFIX}a1b2c3{SUFFIX}");
        let of_a_user = [".burnformer-notes", "burnformer-a1b2c3.temporary"];
        for name in of_a_user.iter().copied().chain([leftover.as_str()]) {
            fs::write(home.path().join(name), "text").unwrap();
        }
        // Every file opens the lock anew, as another process does.
        let lock = lock_file(home.path()).unwrap();
        lock.lock_shared().unwrap();
        let alive = Temporary::new(home.path(), Readers::Owner).unwrap();
        remove_leftovers(home.path());
        assert!(alive.path().exists() && names(home.path()).contains(&leftover));
        drop(lock);
        remove_leftovers(home.path());
        assert!(alive.path().exists() && names(home.path()).contains(&leftover));
        drop(alive);
        remove_leftovers(home.path());
        assert_eq!(names(home.path()), of_a_user);
    }

    #[test]
    fn files_made_by_many_at_a_time_are_all_published() {
        let home = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let folder = home.path();
                scope.spawn(move || {
                    for round in 0..50 {
                        write_shared(&folder.join(format!("{thread}-{round}")), b"text").unwrap();
                    }
                });
            }
        });
        assert_eq!(names(home.path()).len(), 400);
    }
}
