//! The calls of a command on the files of its folder, and the errors that each may return.

use std::collections::BTreeMap;

/// Calls that concern files, each with the errors that it may return. Network file systems and
/// those in user space return EINTR from nearly every call.
pub const CALLS: [(&str, &[&str]); 24] = [
    ("openat", &["EIO", "ENOSPC", "EDQUOT", "EACCES", "EINTR"]),
    ("read", &["EIO", "EINTR"]),
    ("pread64", &["EIO", "EINTR"]),
    ("readv", &["EIO", "EINTR"]),
    ("getdents64", &["EIO", "EINTR"]),
    ("statx", &["EIO", "EACCES", "EINTR"]),
    ("mmap", &["EACCES", "ENOMEM"]),
    ("flock", &["EIO", "EINTR"]),
    ("lseek", &["EIO"]),
    ("write", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("pwrite64", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("writev", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("copy_file_range", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("sendfile", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("ftruncate", &["EIO", "EINTR"]),
    ("fallocate", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("fsync", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("fdatasync", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("mkdir", &["EIO", "ENOSPC", "EDQUOT", "EACCES", "EINTR"]),
    ("rename", &["EIO", "ENOSPC", "EDQUOT", "EACCES", "EINTR"]),
    ("renameat2", &["EIO", "ENOSPC", "EDQUOT", "EACCES", "EINTR"]),
    ("unlink", &["EIO", "EACCES", "EINTR"]),
    ("unlinkat", &["EIO", "EACCES", "EINTR"]),
    ("rmdir", &["EIO", "EACCES", "EINTR"]),
];

/// Calls that change nothing, besides an `openat` without `O_CREAT`.
const READING: [&str; 8] = [
    "read",
    "pread64",
    "readv",
    "getdents64",
    "statx",
    "mmap",
    "flock",
    "lseek",
];

/// A call of a command on a file or folder of its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub call: &'static str,
    pub errors: &'static [&'static str],
    /// The file or folder. Of two, the first one.
    pub path: String,
    /// The number among the calls of this name that this thread makes on this path. strace counts
    /// the calls of each thread.
    pub number: usize,
    /// The number among all calls of this name that this thread makes.
    pub number_in_thread: usize,
    pub is_write: bool,
    /// Returns whether the first thread makes the call.
    pub is_first_thread: bool,
}

impl Step {
    /// Returns whether an error of this step in another thread is also one of `step`.
    fn strikes(&self, step: &Self) -> bool {
        let of = |step: &Self| (step.call, step.path.clone(), step.number);
        !self.is_first_thread && of(self) == of(step)
    }
}

/// The steps in the log of `strace -f -y`. Other threads than the first one that make the same call
/// on the same path are one step.
pub fn steps(log: &str, place: &str) -> Vec<Step> {
    let mut counts = BTreeMap::new();
    let mut count = |of: (&str, &str, &str)| {
        let number = counts
            .entry([of.0, of.1, of.2].map(String::from))
            .or_insert(0);
        *number += 1;
        *number
    };
    let mut steps: Vec<Step> = Vec::new();
    let first = log.split_whitespace().next().unwrap_or_default();
    for line in log.lines() {
        let (thread, rest) = line.split_once(' ').unwrap_or_default();
        let rest = rest.trim_start();
        let Some(&(call, errors)) = CALLS.iter().find(|(call, _)| is_call(rest, call)) else {
            continue;
        };
        let number_in_thread = count((thread, call, ""));
        let paths = paths(rest, place);
        let numbers: Vec<usize> = paths
            .iter()
            .map(|path| count((thread, call, path)))
            .collect();
        let (Some(path), Some(&number)) = (paths.first(), numbers.first()) else {
            continue;
        };
        let is_reading = READING.contains(&call) || (call == "openat" && !rest.contains("O_CREAT"));
        let step = Step {
            call,
            errors,
            path: path.clone(),
            number,
            number_in_thread,
            is_write: !is_reading,
            is_first_thread: thread == first,
        };
        if step.is_first_thread || !steps.iter().any(|known| known.strikes(&step)) {
            steps.push(step);
        }
    }
    steps
}

fn is_call(line: &str, call: &str) -> bool {
    line.strip_prefix(call)
        .is_some_and(|rest| rest.starts_with('('))
}

/// The different paths in a line that are `place` or lie in it. strace writes `"path"` for a string
/// and `3<path>` for an open file.
fn paths(line: &str, place: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for part in line.split(['"', '<', '>']) {
        let is_inside = part
            .strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_inside && !paths.iter().any(|path| path == part) {
            paths.push(part.into());
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_each_thread_on_each_path_are_counted() {
        let log = "7 openat(AT_FDCWD</>, \"/p/a\", O_RDONLY) = 3</p/a>\n\
                   7 read(3</p/a>, \"x\", 9) = 1\n\
                   8 read(4</p/b>,  <unfinished ...>\n\
                   7 read(5</elsewhere>, \"\", 9) = 0\n\
                   7 rename(\"/p/a\", \"/p/b\") = 0\n\
                   8 <... read resumed>\"y\", 9) = 1\n\
                   8 read(4</p/b>, \"\", 9) = 0\n\
                   9 read(3</p/b>, \"y\", 9) = 1\n\
                   9 statx(AT_FDCWD</>, \"/place\", 0, STATX_ALL, 0) = 0\n";
        let found: Vec<_> = steps(log, "/p")
            .into_iter()
            .map(|it| (it.call, it.path, it.number, it.number_in_thread))
            .collect();
        let expected = [
            ("openat", "/p/a", 1, 1),
            ("read", "/p/a", 1, 1),
            ("read", "/p/b", 1, 1),
            ("rename", "/p/a", 1, 1),
            ("read", "/p/b", 2, 2),
        ];
        assert_eq!(found, expected.map(|it| (it.0, it.1.into(), it.2, it.3)));
    }
}
