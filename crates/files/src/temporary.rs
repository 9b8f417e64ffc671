//! Temporary files in folders shared by several processes.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::{folder_of, open_or_create, sync_folder_of, with_retries};

/// Prefix of temporary file names, unlikely in the user's own files.
const PREFIX: &str = ".burnformer-";
const SUFFIX: &str = ".temporary";
/// The lock file of a folder. A process with temporary files in the folder holds it as a shared
/// lock. A process that removes leftovers holds it exclusively. The file is never removed, because
/// a lock on a removed file protects nothing.
const LOCK: &str = ".burnformer.lock";

/// Suffix of temporary files that belong to one path.
const PARTIAL: &str = ".partial";

/// Who may read a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Only its owner.
    Owner,
    /// Everyone whom the umask allows to read new files.
    Umask,
}

/// A file under a temporary name, to be written and then [published](Temporary::publish). If it is
/// dropped before that, it is removed. Several processes may have such files in the same folder.
#[derive(Debug)]
pub struct Temporary {
    // Field order matters: the file is removed before the lock is released.
    file: NamedTempFile,
    _lock: Option<File>,
}

impl Temporary {
    /// Creates an empty file in `folder`, after removing [what killed processes left
    /// there](remove_leftovers).
    ///
    /// # Errors
    /// Errors of the operating system; `folder` must exist.
    pub fn new(folder: &Path, readers: Readers) -> io::Result<Self> {
        remove_leftovers(folder);
        let lock = lock_file(folder);
        // A file system without locks gives no protection, and no process removes leftovers.
        let lock = lock.filter(|lock| lock.lock_shared().is_ok());
        let file = make(folder, PREFIX.as_ref(), SUFFIX, readers)?;
        Ok(Self { file, _lock: lock })
    }

    /// Creates an empty file beside `path`, readable as the umask allows. First it removes what
    /// killed processes left while writing the same path. Temporary files for other paths stay,
    /// because the locks of many network file systems say nothing about processes on other
    /// machines.
    ///
    /// # Errors
    /// Errors of the operating system; the folder of `path` must exist.
    pub fn beside(path: &Path) -> io::Result<Self> {
        let mut prefix = OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        prefix.push(".");
        let folder = folder_of(path);
        remove_abandoned(folder, &prefix);
        loop {
            let file = make(folder, &prefix, PARTIAL, Readers::Umask)?;
            // On a file system without locks, no process removes another's file.
            let _ = file.as_file().lock();
            // Another process may have removed the file as abandoned before it was locked.
            if file.path().exists() {
                return Ok(Self { file, _lock: None });
            }
        }
    }

    /// Returns another handle of the file, for another writer.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn handle(&self) -> io::Result<File> {
        self.file.as_file().try_clone()
    }

    /// Returns the temporary path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Flushes the file to disk and renames it to `path`, which must be on the same file system. An
    /// existing file is replaced.
    ///
    /// # Errors
    /// Errors of the operating system. An existing file at `path` stays unchanged.
    pub fn publish(self, path: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        with_retries(|| fs::rename(self.file.path(), path))?;
        let _ = self.file.keep();
        // The file is complete. Flushing the folder only protects it from a power cut in the next
        // seconds.
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

/// Replaces the file at `path` by a file with the content `bytes`.
///
/// # Errors
/// Errors of the operating system. The old file then stays unchanged.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Replaces the file at `path` by a file written by `fill`.
///
/// # Errors
/// The error of `fill`, and errors of the operating system. The old file then stays unchanged.
pub fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut Temporary) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = Temporary::beside(path)?;
    fill(&mut file)?;
    file.publish(path)
}

/// Removes the temporary files that killed processes left in `folder`. If a living process has
/// temporary files there, nothing is removed until a later call. Files that cannot be removed stay.
pub fn remove_leftovers(folder: &Path) {
    let leftovers = files_named(folder, PREFIX.as_ref(), SUFFIX);
    let Some(leftovers) = leftovers.filter(|found| !found.is_empty()) else {
        return;
    };
    let Some(lock) = lock_file(folder) else {
        return;
    };
    // No living process has a temporary file here, because it would hold the lock.
    if lock.try_lock().is_ok() {
        leftovers
            .iter()
            .for_each(|path| drop(fs::remove_file(path)));
    }
}

/// Returns the files in `folder` with names that begin with `prefix` and end with `suffix`.
fn files_named(folder: &Path, prefix: &OsStr, suffix: &str) -> Option<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).ok()?.filter_map(Result::ok) {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(suffix.as_bytes()) {
            paths.push(entry.path());
        }
    }
    Some(paths)
}

/// Creates an empty file in `folder`.
fn make(
    folder: &Path,
    prefix: &OsStr,
    suffix: &str,
    readers: Readers,
) -> io::Result<NamedTempFile> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = readers;
    Builder::new()
        .prefix(prefix)
        .suffix(suffix)
        .make_in(folder, |path| options.open(path))
}

/// Removes the temporary files of one path that ended processes left. Their names begin with
/// `prefix`.
fn remove_abandoned(folder: &Path, prefix: &OsStr) {
    for path in files_named(folder, prefix, PARTIAL).unwrap_or_default() {
        // NFS locks only files opened for writing.
        let Ok(file) = File::options().read(true).write(true).open(&path) else {
            continue;
        };
        // The lock is held until the name is gone. Otherwise another process could take over the
        // file in between.
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Opens the lock file of the folder; `None` if that fails.
fn lock_file(folder: &Path) -> Option<File> {
    let path = folder.join(LOCK);
    // Another user's lock file can still be opened for reading, and locked.
    open_or_create(&path).or_else(|_| File::open(&path)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name != LOCK);
        names.sort();
        names
    }

    #[test]
    fn a_published_file_replaces_the_old_one_and_an_unpublished_one_vanishes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        for content in ["one", "two"] {
            let mut file = Temporary::new(home.path(), Readers::Umask).unwrap();
            file.write_all(content.as_bytes()).unwrap();
            file.publish(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        drop(Temporary::new(home.path(), Readers::Owner).unwrap());
        assert_eq!(names(home.path()), ["file"]);
        assert!(Temporary::new(&home.path().join("gone"), Readers::Umask).is_err());
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_once_no_other_has_files_there() {
        let home = tempfile::tempdir().unwrap();
        let leftover = format!("{PREFIX}a1b2c3{SUFFIX}");
        let user_files = [".burnformer-notes", "burnformer-a1b2c3.temporary"];
        for name in user_files.iter().copied().chain([leftover.as_str()]) {
            fs::write(home.path().join(name), "text").unwrap();
        }
        // Each call opens the lock anew, like another process.
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
        assert_eq!(names(home.path()), user_files);
    }

    #[test]
    fn leftovers_for_a_path_are_removed_by_the_next_process_that_writes_there() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.1-of-4");
        let other_files = [
            ".a.1-of-40.x1y2z3.partial",
            ".a.2-of-4.x1y2z3.partial",
            "a.1-of-4",
        ];
        for name in other_files.iter().chain(&[".a.1-of-4.x1y2z3.partial"]) {
            fs::write(home.path().join(name), "text").unwrap();
        }
        let [first, second] = [(); 2].map(|()| Temporary::beside(&path).unwrap());
        assert!(first.path().exists() && second.path().exists() && names(home.path()).len() == 5);
        for (file, content) in [(first, "one"), (second, "two")] {
            file.handle()
                .unwrap()
                .write_all(content.as_bytes())
                .unwrap();
            file.publish(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(names(home.path()), other_files);
    }

    #[test]
    fn files_made_by_many_at_a_time_are_all_published() {
        let home = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let folder = home.path();
                scope.spawn(move || {
                    for round in 0..50 {
                        crate::write(&folder.join(format!("{thread}-{round}")), b"text").unwrap();
                        let number = format!("{:02}", thread + round);
                        crate::write(&folder.join("all"), number.as_bytes()).unwrap();
                    }
                });
            }
        });
        assert_eq!(names(home.path()).len(), 401);
        assert_eq!(
            fs::read_to_string(home.path().join("all")).unwrap().len(),
            2
        );
    }
}
