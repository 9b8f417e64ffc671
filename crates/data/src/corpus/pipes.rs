//! Texts that can be read only once: standard input, pipes, and the files under `/dev/fd` that a
//! shell provides.

use std::fs;
use std::path::{Path, PathBuf};

use super::is_standard_input;

/// Returns whether the text at `path` can be read only once, or its name means nothing to another
/// process: standard input (`-`), a pipe, a socket, a terminal, or an open file descriptor (such as
/// `/dev/fd/63` for `<(command)` in a shell).
pub fn is_pipe(path: &Path) -> bool {
    let is_special = |meta: fs::Metadata| !meta.is_file() && !meta.is_dir();
    is_standard_input(path) || is_descriptor(path) || fs::metadata(path).is_ok_and(is_special)
}

/// The first of `paths` that names the same pipe as an earlier one. Text that one reader takes from
/// a pipe cannot be read by another.
pub fn repeated_pipe<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Option<&'a Path> {
    let mut seen = Vec::new();
    paths.into_iter().filter(|path| is_pipe(path)).find(|path| {
        let pipe = Pipe::of(path);
        let repeated = seen.contains(&pipe);
        seen.push(pipe);
        repeated
    })
}

/// The identity of a pipe.
#[derive(PartialEq, Eq)]
enum Pipe {
    StandardInput,
    /// The system's numbers of a pipe, which are the same for all its names.
    Node(u64, u64),
    Named(PathBuf),
}

impl Pipe {
    fn of(path: &Path) -> Self {
        let of_input = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        if of_input.iter().any(|name| path.as_os_str() == *name) {
            return Self::StandardInput;
        }
        node(path)
            .map_or_else(|| Self::Named(path.into()), |(device, number)| Self::Node(device, number))
    }
}

/// Device and inode number of anything that is not a regular file. A regular file with two
/// descriptors can be read through each of them.
#[cfg(unix)]
fn node(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(path).ok().filter(|meta| !meta.is_file())?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn node(_: &Path) -> Option<(u64, u64)> {
    None
}

/// Returns whether `path` is an open file of this process. Reading it may move the position of that
/// file.
fn is_descriptor(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"];
    path == Path::new("/dev/stdin")
        || folders.iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_what_does_not_exist_are_no_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "a\n").unwrap();
        for path in [&file, folder.path(), Path::new("/no/such/file")] {
            assert!(!is_pipe(path), "{}", path.display());
        }
        assert_eq!(repeated_pipe([&*file, &*file]), None, "a file can be read again and again");
    }

    #[test]
    fn standard_input_is_one_pipe_under_each_of_its_names() {
        for name in ["-", "/dev/stdin", "/dev/fd/0"].map(Path::new) {
            assert!(is_pipe(name), "{}", name.display());
            assert_eq!(repeated_pipe([Path::new("-"), Path::new("a"), name]), Some(name));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_named_pipe_is_one_and_two_are_two() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, link] = ["a", "b", "link"].map(|name| folder.path().join(name));
        for path in [&a, &b] {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        std::os::unix::fs::symlink(&a, &link).unwrap();
        assert!([&a, &b, &link].into_iter().all(|path| is_pipe(path)));
        assert_eq!(repeated_pipe([&*a, &*b]), None);
        assert_eq!(repeated_pipe([&*a, &*b, &*link]), Some(&*link));
    }
}
