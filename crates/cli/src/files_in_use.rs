//! The files that a command reads and writes, compared before anything is written.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_core::model_dir;
use burnformer_data::corpus::is_standard_input;
use burnformer_files::FileId;

use crate::output::wrong_usage;
use crate::texts::shown;

/// The arguments of a command that reads and writes files.
pub trait UsesFiles {
    /// Returns the files that the command reads and writes with these arguments.
    ///
    /// # Errors
    /// Returns an error of usage if the arguments name no usable files.
    fn files_in_use(&self) -> Result<FilesInUse>;
}

/// The files that a command reads and writes. Standard output is always one of the written files.
///
/// Files are compared by device and inode, not by name: another spelling, a symbolic link, a hard
/// link and a redirection all lead to the same file.
#[derive(Default)]
pub struct FilesInUse {
    read: Vec<PathBuf>,
    /// The files of models. They may be in a folder that the command replaces.
    of_models: Vec<PathBuf>,
    written: Vec<PathBuf>,
    replaced: Vec<PathBuf>,
}

impl FilesInUse {
    /// Adds files that are read; `-` is standard input.
    pub fn reads(mut self, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned());
        self.read.extend(paths);
        self
    }

    /// Adds the files of model directories, which are read.
    pub fn reads_models(mut self, folders: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        for folder in folders {
            // A folder that is not a model is refused when it is loaded.
            self.of_models
                .extend(model_dir::files(folder.as_ref()).unwrap_or_default());
        }
        self
    }

    /// Adds the file `path`, or the files in the folder `path`, which are read.
    pub fn reads_files_of(self, path: &Path) -> Self {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        self.reads([path]).reads(entries.map(|entry| entry.path()))
    }

    /// Adds files that are written.
    pub fn writes(mut self, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned());
        self.written.extend(paths);
        self
    }

    /// Adds a folder that is replaced or removed with everything in it.
    pub fn replaces_folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.replaced.push(folder.as_ref().to_owned());
        self
    }

    /// Refuses a file that is both read and written.
    ///
    /// # Errors
    /// Returns an error of usage that names the file as it is read and as it is written.
    pub fn check(&self) -> Result<()> {
        let read: HashMap<FileId, &Path> = self
            .of_models
            .iter()
            .chain(&self.read)
            .filter_map(|path| Some((id_of(path)?, path.as_path())))
            .collect();
        for path in &self.written {
            let same = FileId::of_path(path).and_then(|id| read.get(&id));
            if let Some(read) = same {
                return Err(conflict(
                    read,
                    &path.display().to_string(),
                    "name another output",
                ));
            }
        }
        let same = FileId::of_standard_output().and_then(|id| read.get(&id));
        if let Some(read) = same {
            return Err(conflict(
                read,
                "standard output",
                "redirect it to another file",
            ));
        }
        self.check_folders()
    }

    /// Refuses a file that is read and lies in a folder that is replaced.
    fn check_folders(&self) -> Result<()> {
        for folder in &self.replaced {
            let Ok(real) = fs::canonicalize(folder) else {
                continue;
            };
            let inside = self.read.iter().find(|path| {
                let path = fs::canonicalize(path);
                path.is_ok_and(|path| path.starts_with(&real))
            });
            if let Some(path) = inside {
                return Err(wrong_usage(format_args!(
                    "{}: is both input and part of the output {}; copy it to another folder first",
                    path.display(),
                    folder.display()
                )));
            }
        }
        Ok(())
    }
}

/// The identity of the file at `path`.
fn id_of(path: &Path) -> Option<FileId> {
    if is_standard_input(path) {
        FileId::of_standard_input()
    } else {
        FileId::of_path(path)
    }
}

/// The error for the file `read` that would be written as `written`, with a remedy.
fn conflict(read: &Path, written: &str, remedy: &str) -> anyhow::Error {
    let read = shown(read);
    if read == written {
        return wrong_usage(format_args!("{read}: is both input and output; {remedy}"));
    }
    wrong_usage(format_args!(
        "{written}: is both input and output, the same file as {read}; {remedy}"
    ))
}
