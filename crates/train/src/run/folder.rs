//! The folders of a run: each is replaced completely or not at all ([`FolderLock`]), after a
//! manifest was written into it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use burnformer_core::model_dir::{self, ModelDirError};
use burnformer_files::FolderLock;

use crate::error::{Result, SaveError, TrainError};

/// The number of bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 18;

/// Writes the folder `path` by `fill`, and then its manifest by `seal`. Another process that
/// replaces the same folder is waited for.
fn write_sealed(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<()>,
    seal: impl FnOnce(&Path) -> Result<(), ModelDirError>,
) -> Result<()> {
    let lock = FolderLock::wait(path).map_err(TrainError::io(path))?;
    let new = lock.new_folder().map_err(TrainError::io(path))?;
    fill(new.path())?;
    seal(new.path())?;
    new.replace().map_err(TrainError::io(path))
}

/// Makes a file of each of `sizes` in bytes for the folder `path`, and removes them: a disk or a
/// limit that is too small is noticed before anything is computed for it.
///
/// # Errors
/// Returns a [`SaveError`] if a file cannot be made or removed.
pub(crate) fn try_sizes(path: &Path, sizes: [u64; 2]) -> Result<()> {
    make_sizes(path, sizes).map_err(|cause| not_saved(path, cause))
}

fn make_sizes(path: &Path, sizes: [u64; 2]) -> Result<()> {
    let lock = FolderLock::wait(path).map_err(TrainError::io(path))?;
    let new = lock.new_folder().map_err(TrainError::io(path))?;
    for (name, size) in ["weights", "moments"].into_iter().zip(sizes) {
        let path = new.path().join(name);
        File::create(&path)
            .and_then(|file| reserve(&file, size))
            .map_err(TrainError::io(&path))?;
    }
    Ok(())
}

/// The error that the folder `path` could not be saved.
fn not_saved(path: &Path, cause: TrainError) -> TrainError {
    let path = path.into();
    let cause = Box::new(cause);
    SaveError { path, cause }.into()
}

/// Reserves `size` bytes for `file`, where the file system can do so.
fn reserve(file: &File, size: u64) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        match fallocate(file, FallocateFlags::empty(), 0, size) {
            Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => {}
            done => return Ok(done?),
        }
    }
    file.set_len(size)
}

/// Writes a folder beside `path`, seals it with a manifest, flushes it, and moves it to `path`,
/// replacing what is there. The error names a remedy.
///
/// # Errors
/// Returns a [`SaveError`]; what was there is left unchanged.
pub(crate) fn save_folder(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    write_sealed(path, fill, model_dir::seal).map_err(|cause| not_saved(path, cause))
}

/// Replaces the file `name` of the model directory `path` as `write` does, and keeps its other
/// files; folders in it are lost.
///
/// # Errors
/// Returns an error if `path` is not a folder that can be replaced, or a file cannot be copied or
/// written; what was there is left unchanged.
pub(crate) fn replace_file(
    path: &Path,
    name: &str,
    write: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let path = fs::canonicalize(path).map_err(TrainError::io(path))?;
    write_sealed(
        &path,
        |folder| {
            copy_files(&path, folder, &[])?;
            write(&folder.join(name))
        },
        |folder| model_dir::seal_again(folder, name),
    )
}

/// Copies the files in `from` to the folder `to`, except those named in `but`.
///
/// # Errors
/// Returns [`TrainError::Io`] if a file cannot be read or written. It names the file that is at
/// fault, the source or the copy.
pub fn copy_files(from: &Path, to: &Path, but: &[&str]) -> Result<()> {
    for entry in fs::read_dir(from).map_err(TrainError::io(from))? {
        let path = entry.map_err(TrainError::io(from))?.path();
        let name = path.file_name().unwrap_or_default();
        let is_file = burnformer_files::is_file(&path).map_err(TrainError::io(&path))?;
        if is_file && !but.iter().any(|kept| name == *kept) {
            copy_file(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Copies the file `from` to `to`. `fs::copy` does not tell which of the two an error belongs to.
///
/// # Errors
/// Returns [`TrainError::Io`] with the file that cannot be read or written.
pub fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(TrainError::io(from))?;
    let mut copy = File::create(to).map_err(TrainError::io(to))?;
    let mut piece = vec![0; COPY_BYTES];
    loop {
        match source.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => copy
                .write_all(&piece[..count])
                .map_err(TrainError::io(to))?,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(TrainError::io(from)(cause)),
        }
    }
}

/// Replaces the file at `path`. Whoever opens it, even after a crash, finds either the old or the
/// new file, complete.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    burnformer_files::write(path, bytes).map_err(TrainError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) -> Result<(), TrainError> {
        save_folder(path, |folder| {
            fs::write(folder.join("text"), text).map_err(TrainError::io(folder))
        })
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path.join("text")).expect("reads")
    }

    #[test]
    fn replacing_a_folder_leaves_nothing_behind() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("best.v2");
        for round in ["one", "two", "three"] {
            save_folder(&path, |folder| {
                // A shell's `*` does not name it.
                assert!(
                    folder
                        .file_name()
                        .expect("a name")
                        .as_encoded_bytes()
                        .starts_with(b".")
                );
                fs::write(folder.join("text"), round).map_err(TrainError::io(folder))
            })
            .expect("writes");
            assert_eq!(text(&path), round);
            model_dir::verify(&path).expect("is sealed");
        }
        assert_eq!(fs::read_dir(home.path()).expect("reads").count(), 1);
    }

    #[test]
    fn a_failure_leaves_the_old_folder_and_frees_the_new_one() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("best");
        write(&path, "one").expect("writes");
        let failed = save_folder(&path, |folder| {
            fs::write(folder.join("text"), "two").expect("writes");
            Err(TrainError::io(folder)(io::Error::from(
                io::ErrorKind::StorageFull,
            )))
        });
        assert!(matches!(failed, Err(TrainError::Save(_))));
        assert_eq!(text(&path), "one");
        assert_eq!(fs::read_dir(home.path()).expect("reads").count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_saved_names_the_run_to_continue() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let run = home.path().join("runs/best");
        fs::create_dir_all(run.join("checkpoints")).expect("makes");
        for folder in [
            "checkpoints/step-000100",
            "best",
            "last",
            "average",
            "start",
        ] {
            let saved = save_folder(&run.join(folder), |folder| {
                let full = io::Error::from(io::ErrorKind::StorageFull);
                Err(TrainError::io(folder)(full))
            });
            let error = saved.unwrap_err().to_string();
            let remedy = format!("then continue with --out {} --resume;", run.display());
            assert!(error.contains(&remedy), "{folder}: {error}");
        }
    }

    #[test]
    fn sizes_are_tried_and_leave_nothing() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("step-1");
        let [partial, _] = burnformer_files::leftovers(&path);
        fs::create_dir(partial).expect("a leftover");
        try_sizes(&path, [1 << 20, 0]).expect("there is room");
        // No file system holds an exabyte.
        let error = try_sizes(&path, [1, 1 << 60])
            .expect_err("too large")
            .to_string();
        assert!(
            error.contains("moments") && error.contains("--resume"),
            "{error}"
        );
        assert_eq!(fs::read_dir(home.path()).expect("reads").count(), 0);
    }

    #[test]
    fn a_vanished_folder_is_an_error() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("gone/checkpoints/step-1");
        assert!(matches!(write(&path, "one"), Err(TrainError::Save(_))));
        assert!(!home.path().join("gone").exists());
    }
}
