//! The identity of a file, independent of its name.

use std::fs::{self, File};
use std::io::{stdin, stdout};
use std::path::Path;

/// A regular file, regardless of its name. Other spellings of the path, symbolic links and hard
/// links have the same identity. Pipes, terminals and devices have none: writing to them destroys
/// nothing that is read.
///
/// The identity is valid while the file exists: a later file may reuse the number of a removed one.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FileId(Id);

/// Device and inode number.
#[cfg(unix)]
type Id = (u64, u64);

/// A handle with the volume and file number.
#[cfg(windows)]
type Id = same_file::Handle;

/// Other systems do not provide identities.
#[cfg(not(any(unix, windows)))]
type Id = ();

impl FileId {
    /// Returns the file at `path`; `None` if it is not a regular file.
    pub fn of_path(path: &Path) -> Option<Self> {
        // Opening a pipe would wait for the program at its other end.
        let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        is_file.then(|| id_of_path(path)).flatten().map(Self)
    }

    /// Returns the file that standard input reads; `None` if it is not a regular file.
    pub fn of_standard_input() -> Option<Self> {
        Self::of_file(duplicate(&stdin())?)
    }

    /// Returns the file that standard output writes; `None` if it is not a regular file.
    pub fn of_standard_output() -> Option<Self> {
        Self::of_file(duplicate(&stdout())?)
    }

    fn of_file(file: File) -> Option<Self> {
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        is_file.then(|| id_of_file(file)).flatten().map(Self)
    }
}

#[cfg(unix)]
fn id_of_path(path: &Path) -> Option<Id> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(unix)]
fn id_of_file(file: File) -> Option<Id> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(unix)]
fn duplicate(stream: &impl std::os::fd::AsFd) -> Option<File> {
    stream.as_fd().try_clone_to_owned().ok().map(File::from)
}

#[cfg(windows)]
fn id_of_path(path: &Path) -> Option<Id> {
    same_file::Handle::from_path(path).ok()
}

#[cfg(windows)]
fn id_of_file(file: File) -> Option<Id> {
    same_file::Handle::from_file(file).ok()
}

#[cfg(windows)]
fn duplicate(stream: &impl std::os::windows::io::AsHandle) -> Option<File> {
    stream.as_handle().try_clone_to_owned().ok().map(File::from)
}

#[cfg(not(any(unix, windows)))]
fn id_of_path(_: &Path) -> Option<Id> {
    None
}

#[cfg(not(any(unix, windows)))]
fn id_of_file(_: File) -> Option<Id> {
    None
}

#[cfg(not(any(unix, windows)))]
fn duplicate<T>(_: &T) -> Option<File> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_file_has_its_identity_and_a_copy_has_another() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        fs::create_dir(path("folder")).unwrap();
        fs::write(path("file"), "text").unwrap();
        fs::copy(path("file"), path("copy")).unwrap();
        fs::hard_link(path("file"), path("hard")).unwrap();
        let file = FileId::of_path(&path("file"));
        assert!(file.is_some());
        assert_eq!(FileId::of_path(&path("hard")), file);
        assert_eq!(FileId::of_path(&path("folder/../file")), file);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("file", path("link")).unwrap();
            assert_eq!(FileId::of_path(&path("link")), file);
        }
        assert_ne!(FileId::of_path(&path("copy")), file);
    }

    #[test]
    fn what_is_no_regular_file_has_no_identity() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(FileId::of_path(home.path()), None);
        assert_eq!(FileId::of_path(&home.path().join("missing")), None);
        #[cfg(unix)]
        assert_eq!(FileId::of_path(Path::new("/dev/null")), None);
    }
}
