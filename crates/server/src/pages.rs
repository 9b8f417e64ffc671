//! The files of the pages of the paper.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use axum::body::Bytes;

/// The page that `/paper/` shows.
pub(crate) const FIRST: &str = "paper.html";
/// The depth of folders that is read: `models/de-en` and `code/CRATE/FOLDER/FOLDER`.
const MAX_DEPTH: usize = 6;

/// The files of a folder of pages, by their paths below it. They are read at the start, so that no
/// request opens a file.
#[derive(Debug, Default)]
pub(crate) struct Pages(BTreeMap<String, Bytes>);

impl Pages {
    /// Reads all files in `folder`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or if the folder has no page of the paper.
    pub fn load(folder: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        read(folder, "", MAX_DEPTH, &mut files)?;
        if !files.contains_key(FIRST) {
            let message = format!("there is no {FIRST}; cargo xtask web --only paper makes it");
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        Ok(Self(files))
    }

    /// The file with this path.
    pub fn get(&self, path: &str) -> Option<&Bytes> {
        self.0.get(path)
    }

    /// Returns whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Adds the files in `folder` and its folders to `files`. Links are left out.
fn read(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut BTreeMap<String, Bytes>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{prefix}{name}");
        if kind.is_file() {
            files.insert(path, fs::read(entry.path())?.into());
        } else if kind.is_dir() && depth > 0 {
            read(&entry.path(), &format!("{path}/"), depth - 1, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_paths_and_a_folder_without_the_page_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("models/de-en")).unwrap();
        fs::write(folder.path().join("models/de-en/config.json"), "{}").unwrap();
        let error = Pages::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cargo xtask web --only paper"), "{error}");
        fs::write(folder.path().join(FIRST), "<p>").unwrap();
        let pages = Pages::load(folder.path()).unwrap();
        let names: Vec<&String> = pages.0.keys().collect();
        assert_eq!(names, ["models/de-en/config.json", "paper.html"]);
    }
}
