//! Folders that exist completely or not at all, even after a crash or a power cut.
//!
//! A process that creates a folder first takes the [`FolderLock`] of its path. It writes the files
//! into a [`NewFolder`] beside the path. The hidden name keeps patterns such as `step-*` from
//! matching it. Every file is flushed to disk, then the new folder itself. It is renamed to its
//! path, or exchanged with the old folder in one step where the system supports this. Then the
//! parent folder is flushed too.
//!
//! For the folder `model`, the names are:
//!
//! | name | content |
//! |---|---|
//! | `.model.lock` | the lock, with the id of its process; removed when the lock is released |
//! | `.model.partial` | the new folder; after the exchange the old one, until it is removed |
//! | `.model.old` | the old folder, where the system cannot exchange two folders in one step |
//!
//! A killed process leaves some of them. The next process that takes the lock repairs and removes
//! them.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::{open_or_create, sync_folder, sync_folder_of, with_retries};

const LOCK: &str = "lock";
const PARTIAL: &str = "partial";
const OLD: &str = "old";

/// Returns the hidden name of `path` with this suffix, such as `.model.partial`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(
        path.with_added_extension(suffix)
            .file_name()
            .unwrap_or_default(),
    );
    path.with_file_name(name)
}

/// Returns the paths where a killed process may have left the folder `path` or parts of it.
pub fn leftovers(path: &Path) -> [PathBuf; 2] {
    [beside(path, PARTIAL), beside(path, OLD)]
}

/// Returns the folder that a leftover such as `.model.partial` or `.model.lock` belongs to; `None`
/// for any other name.
pub fn owner_of(leftover: &Path) -> Option<PathBuf> {
    let kind = leftover.extension()?;
    let name = leftover.file_stem()?.to_str()?.strip_prefix('.')?;
    let is_ours = [LOCK, PARTIAL, OLD].iter().any(|known| kind == *known);
    (is_ours && !name.is_empty()).then(|| leftover.with_file_name(name))
}

/// The right to create, replace or remove the folder at one path. Only one process holds it at a
/// time. The system releases it when the process ends, even if it is killed.
///
/// On a file system without locks, every process gets it.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    /// The locked file; `None` on a file system without locks.
    file: Option<File>,
}

impl FolderLock {
    /// Takes the lock of the folder `path`, which need not exist, and repairs what a killed process
    /// left. A symbolic link to a folder stands for that folder.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if another process holds the lock; the message names the process.
    /// [`ErrorKind::InvalidInput`] if `path` has no name, like `..`. Other errors of the operating
    /// system; the parent of `path` must exist.
    pub fn try_new(path: &Path) -> io::Result<Self> {
        Self::locked_by(path, |file| match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(in_use(file)),
            Err(TryLockError::Error(cause)) => Err(cause),
        })
    }

    /// Like [`try_new`](Self::try_new), but waits for the process that holds the lock.
    ///
    /// # Errors
    /// The errors of [`try_new`](Self::try_new), except [`ErrorKind::WouldBlock`].
    pub fn wait(path: &Path) -> io::Result<Self> {
        Self::locked_by(path, |file| file.lock())
    }

    fn locked_by(path: &Path, lock: impl Fn(&mut File) -> io::Result<()>) -> io::Result<Self> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        if path.file_name().is_none() {
            let message = "the path has no name; write the name of the folder";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        }
        let name = beside(&path, LOCK);
        let file = loop {
            let mut file = open_or_create(&name)?;
            match lock(&mut file) {
                Ok(()) => {}
                Err(cause) if cause.kind() == ErrorKind::Unsupported => break None,
                Err(cause) => return Err(cause),
            }
            // The previous holder may have removed the file meanwhile.
            if is_file_at(&file, &name) {
                // The id is only for the message, and a full disk may have no room for it.
                let _ = sign(&mut file);
                break Some(file);
            }
        };
        let lock = Self { path, file };
        lock.recover()?;
        Ok(lock)
    }

    /// Creates an empty folder beside the path, to be published later.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn new_folder(&self) -> io::Result<NewFolder<'_>> {
        let path = beside(&self.path, PARTIAL);
        fs::create_dir(&path)?;
        Ok(NewFolder {
            lock: self,
            made: path,
        })
    }

    /// Removes the folder at the path. It is renamed first, so the path never holds only a part of
    /// the files.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn remove(&self) -> io::Result<()> {
        let partial = beside(&self.path, PARTIAL);
        with_retries(|| fs::rename(&self.path, &partial))?;
        // Otherwise a power cut could bring it back after what made it superfluous.
        let _ = sync_folder_of(&self.path);
        remove_folder(&partial)
    }

    /// Restores a folder that was moved aside and not replaced, and removes incomplete folders.
    fn recover(&self) -> io::Result<()> {
        let [partial, old] = leftovers(&self.path);
        if old.exists() && !self.path.exists() {
            with_retries(|| fs::rename(&old, &self.path))?;
        }
        remove_folder(&partial)?;
        remove_folder(&old)
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // The file is removed under the lock, so that no other process holds it. Windows cannot
        // reuse the name of a removed file that another process still has open.
        if self.file.is_some() && cfg!(unix) {
            let _ = fs::remove_file(beside(&self.path, LOCK));
        }
    }
}

/// A folder under a temporary name, to be filled and then published. If it is dropped before that,
/// it is removed: on a full disk, it would take the space that everything else needs.
#[derive(Debug)]
pub struct NewFolder<'a> {
    lock: &'a FolderLock,
    made: PathBuf,
}

impl NewFolder<'_> {
    /// Returns the temporary path of the folder.
    pub fn path(&self) -> &Path {
        &self.made
    }

    /// Flushes the folder to disk and renames it to its path. Only an empty folder may be there.
    ///
    /// # Errors
    /// Errors of the operating system, and [`ErrorKind::DirectoryNotEmpty`] if a folder with files
    /// is there. Existing files stay unchanged.
    pub fn publish_new(self) -> io::Result<()> {
        let path = &self.lock.path;
        sync_all_in(&self.made)?;
        if cfg!(windows) {
            // Windows cannot rename onto a folder, not even an empty one.
            let _ = fs::remove_dir(path);
        }
        with_retries(|| fs::rename(&self.made, path))?;
        let _ = sync_folder_of(path);
        Ok(())
    }

    /// Flushes the folder to disk and moves it to its path. An existing folder is replaced, in one
    /// step where the system supports this. An existing file is not.
    ///
    /// # Errors
    /// Errors of the operating system. An existing folder or file stays unchanged.
    pub fn replace(self) -> io::Result<()> {
        let path = &self.lock.path;
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {}
            Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(cause),
            _ => return self.publish_new(),
        }
        sync_all_in(&self.made)?;
        exchange(&self.made, path)?;
        // The folder is complete. Flushing its parent only protects it from a power cut in the next
        // seconds.
        let _ = sync_folder_of(path);
        Ok(())
    }
}

impl Drop for NewFolder<'_> {
    fn drop(&mut self) {
        // After an exchange this is the old folder. What cannot be removed now is removed by the
        // next process that takes the lock.
        let _ = remove_folder(&self.made);
    }
}

/// Removes the folder at `path` with all its files, if it exists.
///
/// # Errors
/// Errors of the operating system.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    match with_retries(|| fs::remove_dir_all(path)) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Returns whether `file` is still the file at `name`.
#[cfg(unix)]
fn is_file_at(file: &File, name: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(open), Ok(found)) = (file.metadata(), fs::metadata(name)) else {
        return false;
    };
    [open.dev(), open.ino()] == [found.dev(), found.ino()]
}

/// Returns whether `file` is still the file at `name`. It always is, because it is never removed.
#[cfg(not(unix))]
fn is_file_at(_: &File, _: &Path) -> bool {
    true
}

/// Writes the id of this process into the lock file.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

/// Returns the error for a lock that another process holds.
fn in_use(file: &mut File) -> io::Error {
    let mut holder = String::new();
    let _ = file.read_to_string(&mut holder);
    let holder = if holder.is_empty() {
        "another process".into()
    } else {
        format!("another process ({holder})")
    };
    io::Error::new(ErrorKind::WouldBlock, format!("{holder} is at work on it"))
}

/// Flushes all files and folders in `folder`, then the folder itself.
fn sync_all_in(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all_in(&entry.path())?;
        } else {
            // Windows flushes only files opened for writing.
            File::options()
                .append(true)
                .open(entry.path())?
                .sync_all()?;
        }
    }
    sync_folder(folder)
}

/// Exchanges two folders, in one step where the system supports this.
fn exchange(new: &Path, path: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
    }
    exchange_in_steps(new, path)
}

/// Replaces a folder in two steps. If the second step does not happen, the next [`FolderLock`]
/// undoes the first.
fn exchange_in_steps(new: &Path, path: &Path) -> io::Result<()> {
    let old = beside(path, OLD);
    with_retries(|| fs::rename(path, &old))?;
    if let Err(cause) = with_retries(|| fs::rename(new, path)) {
        with_retries(|| fs::rename(&old, path))?;
        return Err(cause);
    }
    let _ = remove_folder(&old);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces the folder `path` by one with the file `text`.
    fn write(path: &Path, text: &str) -> io::Result<()> {
        let lock = FolderLock::try_new(path)?;
        let folder = lock.new_folder()?;
        fs::write(folder.path().join("text"), text)?;
        folder.replace()
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path.join("text")).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_replaces_another_and_nothing_is_left_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("best.v2");
        for round in ["one", "two", "three"] {
            write(&path, round).unwrap();
            assert_eq!(text(&path), round);
            assert_eq!(names(home.path()), ["best.v2"]);
        }
        FolderLock::try_new(&path).unwrap().remove().unwrap();
        assert_eq!(names(home.path()), [""; 0]);
    }

    #[test]
    fn a_folder_that_is_not_finished_vanishes_and_the_old_one_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("best");
        write(&path, "one").unwrap();
        let lock = FolderLock::try_new(&path).unwrap();
        let folder = lock.new_folder().unwrap();
        fs::write(folder.path().join("text"), "two").unwrap();
        drop(folder);
        drop(lock);
        assert_eq!(text(&path), "one");
        assert_eq!(names(home.path()), ["best"]);
    }

    #[test]
    fn a_new_folder_takes_the_place_of_an_empty_one_and_of_no_other() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new");
        fs::create_dir(&path).unwrap();
        let publish = |content: &str| {
            let lock = FolderLock::try_new(&path)?;
            let folder = lock.new_folder()?;
            fs::create_dir(folder.path().join("inner"))?;
            fs::write(folder.path().join("text"), content)?;
            folder.publish_new()
        };
        publish("one").unwrap();
        publish("two").unwrap_err();
        assert_eq!(text(&path), "one");
        assert_eq!(names(home.path()), ["new"]);
        fs::write(home.path().join("file"), "kept").unwrap();
        let lock = FolderLock::try_new(&home.path().join("file")).unwrap();
        lock.new_folder().unwrap().publish_new().unwrap_err();
        assert_eq!(
            fs::read_to_string(home.path().join("file")).unwrap(),
            "kept"
        );
    }

    #[test]
    fn a_lock_is_refused_while_another_has_it_and_the_message_names_the_process() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("model");
        let first = FolderLock::try_new(&path).unwrap();
        let refused = FolderLock::try_new(&path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        let id = std::process::id().to_string();
        assert!(refused.to_string().contains(&id), "{refused}");
        drop(first);
        FolderLock::try_new(&path).unwrap();
        let nameless = FolderLock::try_new(Path::new("/")).unwrap_err();
        assert_eq!(nameless.kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn folders_that_many_replace_at_a_time_are_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("model");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for round in 0..20 {
                        let lock = FolderLock::wait(path).unwrap();
                        let folder = lock.new_folder().unwrap();
                        let number = format!("{:03}", thread * 20 + round);
                        fs::write(folder.path().join("text"), &number).unwrap();
                        folder.replace().unwrap();
                        assert_eq!(text(path), number);
                    }
                });
            }
        });
        assert_eq!(names(home.path()), ["model"]);
    }

    #[test]
    fn an_exchange_in_steps_ends_the_same_and_can_stop_after_any_of_them() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("best");
        let [new, old] = leftovers(&path);
        let fresh = || {
            for folder in [&path, &new, &old] {
                remove_folder(folder).unwrap();
            }
            write(&path, "one").unwrap();
            fs::create_dir(&new).unwrap();
            fs::write(new.join("text"), "two").unwrap();
            fs::write(beside(&path, LOCK), "of a killed process").unwrap();
        };
        fresh();
        exchange_in_steps(&new, &path).unwrap();
        assert_eq!(text(&path), "two");
        for (steps, expected) in [(0, "one"), (1, "one"), (2, "two")] {
            fresh();
            let renames = [(&path, &old), (&new, &path)];
            for (from, to) in &renames[..steps] {
                fs::rename(from, to).unwrap();
            }
            drop(FolderLock::try_new(&path).unwrap());
            assert_eq!(text(&path), expected, "after {steps} steps");
            assert_eq!(names(home.path()), ["best"], "after {steps} steps");
        }
    }

    #[test]
    fn the_names_of_leftovers_tell_the_folder() {
        let path = Path::new("runs/step-000100");
        for suffix in [LOCK, PARTIAL, OLD] {
            assert_eq!(owner_of(&beside(path, suffix)).as_deref(), Some(path));
        }
        for name in ["step-000100", ".step-000100", "step.partial", ".partial"] {
            assert_eq!(owner_of(&path.with_file_name(name)), None, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_behind_a_link_is_replaced_and_the_link_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("model");
        let link = home.path().join("link");
        write(&path, "one").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, "two").unwrap();
        assert!(link.is_symlink());
        assert_eq!(text(&path), "two");
    }
}
