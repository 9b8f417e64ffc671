//! The files of a model directory, in a folder or in memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::error::{ModelDirError, ModelDirProblem, Result};

/// A model directory in memory, for programs without a file system.
#[derive(Clone, Debug, Default)]
pub struct ModelFiles {
    /// The name of the directory in messages. Like the name of a folder, it may contain the
    /// languages: `de-en`.
    pub name: PathBuf,
    /// The content of each file by its name.
    pub contents: BTreeMap<String, Vec<u8>>,
    /// The SHA-256 of files by their names, in hexadecimal, if it was computed before: a browser
    /// does that faster.
    pub hashes: BTreeMap<String, String>,
}

/// The files of a model directory. Functions that read one take a path or [`ModelFiles`].
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The files of this folder.
    Folder(&'a Path),
    /// The files in memory.
    Memory(&'a ModelFiles),
}

impl<'a, P: AsRef<Path> + ?Sized> From<&'a P> for Source<'a> {
    fn from(folder: &'a P) -> Self {
        Self::Folder(folder.as_ref())
    }
}

impl<'a> From<&'a ModelFiles> for Source<'a> {
    fn from(files: &'a ModelFiles) -> Self {
        Self::Memory(files)
    }
}

impl<'a> Source<'a> {
    /// Returns the folder, or the name of a model in memory.
    pub fn dir(self) -> &'a Path {
        match self {
            Self::Folder(dir) => dir,
            Self::Memory(files) => &files.name,
        }
    }

    /// Returns the path of a file, for messages.
    pub fn join(self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Opens a file and returns its size in bytes.
    pub(super) fn open(self, name: &str) -> Result<(Box<dyn Read + Send + 'a>, u64)> {
        let path = self.join(name);
        match self {
            Self::Folder(_) => {
                let (file, size) = open_file(&path)?;
                Ok((Box::new(file), size))
            }
            Self::Memory(files) => {
                let bytes = files.contents.get(name);
                let bytes = bytes.ok_or_else(|| ModelDirProblem::Missing.at(path))?;
                Ok((Box::new(&**bytes), bytes.len() as u64))
            }
        }
    }

    /// Returns the hash of a file in memory, if it was computed before.
    pub(super) fn hash(self, name: &str) -> Option<&'a String> {
        let Self::Memory(files) = self else {
            return None;
        };
        files.hashes.get(name)
    }

    /// Checks that a file is inside the directory, as every file in memory is.
    pub(super) fn check_inside(self, name: &str) -> Result<()> {
        match self {
            Self::Folder(dir) => check_inside(dir, name, &dir.join(name)),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Checks that there is a directory with the file `manifest`.
    pub(super) fn check_has(self, manifest: &str) -> Result<()> {
        let problem = match self {
            Self::Memory(files) if files.contents.contains_key(manifest) => return Ok(()),
            Self::Memory(_) => ModelDirProblem::NoManifest(None),
            Self::Folder(dir) if dir.join(manifest).exists() => return Ok(()),
            Self::Folder(dir) if dir.is_dir() => {
                ModelDirProblem::NoManifest(model_in(dir, manifest))
            }
            Self::Folder(dir) if dir.exists() => ModelDirProblem::NotADirectory,
            Self::Folder(_) => ModelDirProblem::NoDirectory,
        };
        Err(problem.at(self.dir()))
    }
}

/// A file of a model directory must be inside it: it has a plain name and is not reached through a
/// link.
fn check_inside(dir: &Path, name: &str, path: &Path) -> Result<()> {
    let mut parts = Path::new(name).components();
    let plain = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    // `a/.` has one component but is not a plain name.
    if !plain || name.contains(['/', '\\']) {
        return Err(ModelDirProblem::Outside(name.into()).at(dir));
    }
    let (Ok(home), Ok(real)) = (fs::canonicalize(dir), fs::canonicalize(path)) else {
        return Err(ModelDirProblem::Missing.at(path));
    };
    if !real.starts_with(home) {
        return Err(ModelDirProblem::Outside(name.into()).at(dir));
    }
    Ok(())
}

/// Opens a regular file. Reading anything else (a pipe, a device) could block or never end.
fn open_file(path: &Path) -> Result<(File, u64)> {
    let metadata = fs::metadata(path).map_err(|e| ModelDirError::io(path, e))?;
    if !metadata.is_file() {
        return Err(ModelDirProblem::NotAFile.at(path));
    }
    let file = File::open(path).map_err(|e| ModelDirError::io(path, e))?;
    Ok((file, metadata.len()))
}

/// Returns the first model directory by name in `dir`, or in a run in it.
fn model_in(dir: &Path, manifest: &str) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(dir)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
        .iter()
        .flat_map(|folder| [folder.clone(), folder.join("best"), folder.join("last")])
        .find(|folder| folder.join(manifest).is_file())
}
