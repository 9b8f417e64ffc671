//! Folders that exist completely or not at all, even after a crash.
//!
//! A folder is first written beside its final place, under a hidden name that patterns such as
//! `step-*` do not match. Every file is flushed to the disk, and the manifest is written last. Then
//! the folder is renamed to its place (or exchanged with the old one, atomically if the system can),
//! and the parent folder is flushed too. [`recover`] repairs the leftovers of a killed process.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use burnformer_core::model_dir::{self, ModelDirError};
use burnformer_files::{sync_folder_of, with_retries};

use crate::error::{Result, SaveError, TrainError};

/// The suffix of a folder that is being written.
pub(crate) const PARTIAL: &str = "partial";
/// The suffix of a folder that is being replaced, on systems without an atomic exchange.
pub(crate) const OLD: &str = "old";

/// Returns the leftover of `path` with `suffix`, such as `.step-000100.partial`.
pub(crate) fn leftover(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(
        path.with_added_extension(suffix)
            .file_name()
            .unwrap_or_default(),
    );
    path.with_file_name(name)
}

fn write_sealed(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<()>,
    seal: impl FnOnce(&Path) -> Result<(), ModelDirError>,
) -> Result<()> {
    let partial = leftover(path, PARTIAL);
    let written = remove(&partial)
        .and_then(|()| fs::create_dir(&partial))
        .map_err(TrainError::io(&partial))
        .and_then(|()| fill(&partial))
        .and_then(|()| sync_files(&partial).map_err(TrainError::io(&partial)))
        .and_then(|()| Ok(seal(&partial)?))
        .and_then(|()| put_in_place(&partial, path).map_err(TrainError::io(path)));
    if written.is_err() {
        // On a full disk, others need the space of the incomplete folder.
        let _ = remove(&partial);
    }
    written
}

/// Tries to create files of `sizes` bytes in the folder `path`, and removes them, so that a full
/// disk or a quota is noticed before any computation.
///
/// # Errors
/// Returns a [`SaveError`] if a file cannot be created or removed.
pub(crate) fn try_sizes(path: &Path, sizes: [u64; 2]) -> Result<()> {
    let partial = leftover(path, PARTIAL);
    let made = remove(&partial)
        .and_then(|()| fs::create_dir(&partial))
        .map_err(TrainError::io(&partial));
    let made = made.and_then(|()| {
        ["weights", "moments"]
            .into_iter()
            .zip(sizes)
            .try_for_each(|(name, size)| {
                let path = partial.join(name);
                File::create(&path)
                    .and_then(|file| reserve(&file, size))
                    .map_err(TrainError::io(&path))
            })
    });
    made.and(remove(&partial).map_err(TrainError::io(&partial)))
        .map_err(|cause| not_saved(path, cause))
}

fn not_saved(path: &Path, cause: TrainError) -> TrainError {
    SaveError {
        path: path.into(),
        cause: Box::new(cause),
    }
    .into()
}

/// Reserves `size` bytes for `file`, if the file system can.
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
/// replacing an old folder.
///
/// # Errors
/// Returns a [`SaveError`] with a remedy. An old folder is left unchanged.
pub(crate) fn save_folder(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    write_sealed(path, fill, model_dir::seal).map_err(|cause| not_saved(path, cause))
}

/// Replaces the file `name` of the model directory `path` by the file that `write` writes. Other
/// files stay; folders are lost.
///
/// # Errors
/// Returns an error if `path` cannot be replaced, or a file cannot be copied or written. `path` is
/// left unchanged then.
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

/// Copies the files in `from` to the folder `to`, except the names in `but`.
///
/// # Errors
/// Returns [`TrainError::Io`] if a file cannot be copied.
pub fn copy_files(from: &Path, to: &Path, but: &[&str]) -> Result<()> {
    for entry in fs::read_dir(from).map_err(TrainError::io(from))? {
        let path = entry.map_err(TrainError::io(from))?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_file() && !but.iter().any(|kept| name == *kept) {
            fs::copy(&path, to.join(name)).map_err(TrainError::io(&path))?;
        }
    }
    Ok(())
}

/// Replaces the file at `path` atomically, even in a crash.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    burnformer_files::write(path, bytes).map_err(TrainError::io(path))
}

/// Repairs the folder `path` after a killed process: removes incomplete folders, and restores a
/// folder that was moved aside but not replaced.
pub(crate) fn recover(path: &Path) -> io::Result<()> {
    remove(&leftover(path, PARTIAL))?;
    let old = leftover(path, OLD);
    if old.exists() && !path.exists() {
        with_retries(|| fs::rename(&old, path))
    } else {
        remove(&old)
    }
}

/// Returns the folder of a leftover such as `.step-000100.partial`, or `None` for another name.
pub(crate) fn belongs_to(leftover: &Path) -> Option<PathBuf> {
    let kind = leftover.extension()?;
    let name = leftover.file_stem()?.to_str()?.strip_prefix('.')?;
    (kind == PARTIAL || kind == OLD).then(|| leftover.with_file_name(name))
}

/// Removes the folder at `path`. It is renamed first, so that `path` is never incomplete.
pub(crate) fn discard(path: &Path) -> io::Result<()> {
    let partial = leftover(path, PARTIAL);
    with_retries(|| fs::rename(path, &partial))?;
    remove(&partial)
}

/// Removes the folder at `path` if there is one.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match with_retries(|| fs::remove_dir_all(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn sync_files(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        // Windows flushes only files opened for writing.
        File::options()
            .append(true)
            .open(entry?.path())?
            .sync_all()?;
    }
    Ok(())
}

/// Moves the folder `new` to `path` and removes the old one.
fn put_in_place(new: &Path, path: &Path) -> io::Result<()> {
    if path.exists() {
        exchange(new, path)?
    } else {
        with_retries(|| fs::rename(new, path))?
    }
    sync_folder_of(path)?;
    remove(new)
}

/// Exchanges two folders, atomically if the system can.
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

/// Replaces a folder in two steps. After a crash between them, [`recover`] undoes the first.
fn exchange_in_steps(new: &Path, path: &Path) -> io::Result<()> {
    let old = leftover(path, OLD);
    remove(&old)?;
    for (from, to) in [(path, &*old), (new, path), (&old, new)] {
        with_retries(|| fs::rename(from, to))?;
    }
    Ok(())
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
    fn a_folder_replaces_another_and_nothing_is_left_beside_it() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("best.v2");
        for round in ["one", "two", "three"] {
            save_folder(&path, |folder| {
                // A shell's `*` does not match it.
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
            let full = |folder: &Path| {
                Err(TrainError::io(folder)(io::Error::from(
                    io::ErrorKind::StorageFull,
                )))
            };
            let error = save_folder(&run.join(folder), full)
                .unwrap_err()
                .to_string();
            let remedy = format!("then continue with --out {} --resume;", run.display());
            assert!(error.contains(&remedy), "{folder}: {error}");
        }
    }

    #[test]
    fn exchanging_in_steps_ends_the_same_and_can_stop_after_any_of_them() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("best");
        let [new, old] = [PARTIAL, OLD].map(|suffix| leftover(&path, suffix));
        let fresh = || {
            let _ = (remove(&path), remove(&new), remove(&old));
            write(&path, "one").expect("writes");
            fs::create_dir(&new).expect("makes");
            fs::write(new.join("text"), "two").expect("writes");
        };
        fresh();
        exchange_in_steps(&new, &path).expect("exchanges");
        assert_eq!((text(&path), text(&new)), ("two".into(), "one".into()));
        for (steps, expected) in [(0, "one"), (1, "one"), (2, "two"), (3, "two")] {
            fresh();
            let renames = [(&path, &old), (&new, &path), (&old, &new)];
            renames[..steps]
                .iter()
                .for_each(|(a, b)| fs::rename(a, b).expect("renames"));
            recover(&path).expect("recovers");
            assert_eq!(text(&path), expected, "after {steps} steps");
            assert_eq!(
                fs::read_dir(home.path()).expect("reads").count(),
                1,
                "after {steps} steps"
            );
        }
    }

    #[test]
    fn sizes_are_tried_and_leave_nothing() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("step-1");
        fs::create_dir(leftover(&path, PARTIAL)).expect("a leftover");
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
    fn a_vanished_folder_is_an_error_and_not_made_again() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("gone/checkpoints/step-1");
        assert!(matches!(write(&path, "one"), Err(TrainError::Save(_))));
        assert!(!home.path().join("gone").exists());
    }
}
