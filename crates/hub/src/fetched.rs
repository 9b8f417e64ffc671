use std::path::PathBuf;

/// A model that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The folder with its files. It belongs to the cache: read it only.
    pub folder: PathBuf,
    /// The revision to which the name was resolved: a commit of the hub, or a version of Firefox's.
    pub revision: String,
    /// The licence, as the list names it.
    pub licence: Option<String>,
    /// If true, the server could not be reached, and the revision is the one that was fetched last.
    pub is_stale: bool,
}

/// The progress of a download.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// The number of its bytes that are here.
    pub done: u64,
    /// The number of bytes of the whole file.
    pub size: u64,
}

/// Looks at the progress several times a second, and returns whether to go on.
pub type Watch<'a> = dyn FnMut(Progress) -> bool + 'a;
