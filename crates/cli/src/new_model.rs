//! New model directories, written atomically.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use burnformer_files::{FolderLock, NewFolder, create_folder, folder_of, leftovers};

/// The text between a path and the cause.
const NOT_WRITTEN: &str = ": cannot be written";

/// Takes the lock of the model directory `out`. It need not exist, and missing parents are created.
///
/// # Errors
/// Returns an error if another process has the lock, or the folder cannot be written.
pub fn lock(out: &Path) -> Result<FolderLock> {
    let locked = create_folder(folder_of(out)).and_then(|()| FolderLock::try_new(out));
    locked.map_err(|cause| not_written(out, &cause))
}

/// Removes what a killed process left beside the model directory `out`.
///
/// # Errors
/// Returns an error if another process is at work on `out`, or the folder cannot be written.
pub fn recover(out: &Path) -> Result<()> {
    if folder_of(out).is_dir() {
        lock(out)?;
    }
    Ok(())
}

/// Creates the model directory `out` with `fill`, which gets the path of an empty folder. The
/// directory appears after `fill` has succeeded and everything is on the disk.
///
/// # Errors
/// Returns the error of `fill`, and an error if there is something at `out` or it cannot be
/// written.
pub fn write_new(out: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let lock = lock(out)?;
    let new = filled(&lock, out, fill)?;
    new.publish_new().map_err(|cause| not_written(out, &cause))
}

/// Replaces the model directory `out` with a new one from `fill`. `lock` is the lock of `out`.
///
/// # Errors
/// Returns the error of `fill`, and an error if `out` cannot be written.
pub fn replace(
    lock: &FolderLock,
    out: &Path,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let new = filled(lock, out, fill)?;
    new.replace().map_err(|cause| not_written(out, &cause))
}

/// Creates a folder with `fill` that can take the place of `out`. `lock` is the lock of `out`.
///
/// # Errors
/// Returns the error of `fill`, and an error if the folder cannot be made.
pub fn filled<'a>(
    lock: &'a FolderLock,
    out: &Path,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<NewFolder<'a>> {
    let new = lock
        .new_folder()
        .map_err(|cause| not_written(out, &cause))?;
    fill(new.path()).map_err(|error| at_final_place(error, out))?;
    Ok(new)
}

/// If `error` is an error of the system about a file of the unfinished folder `out`, returns an
/// error that calls the file by its final name, with a remedy. Returns other errors as they are.
pub fn at_final_place(error: Error, out: &Path) -> Error {
    let real = fs::canonicalize(out).unwrap_or_else(|_| out.into());
    let [made, _] = leftovers(&real);
    named(error, &made, out)
}

/// If `error` is an error of the system about a file in the folder `work`, returns an error with
/// the remedy of a command that resumes from `work`. Returns other errors as they are.
pub fn in_work(error: Error, work: &Path) -> Error {
    named(error, work, work)
}

/// Finds the file in the folder `made` that `error` is about, and calls that folder `out`. Errors
/// about files have the form `FILE: CAUSE (os error CODE)` in all crates.
fn named(error: Error, made: &Path, out: &Path) -> Error {
    let text = format!("{error:#}");
    let made_path = made.display().to_string();
    let Some((file, cause)) = failed_file(&text, &made_path) else {
        return error;
    };
    // Joining an empty name would add a slash.
    let path = match file.trim_start_matches('/') {
        "" => out.into(),
        file => out.join(file),
    };
    not_written(&path, &cause)
}

/// The file of `text` in the folder `made`, without the name of the folder, and the error.
fn failed_file<'a>(text: &'a str, made: &str) -> Option<(&'a str, io::Error)> {
    let (message, code) = text.split_once(" (os error ")?;
    let (code, _) = code.split_once(')')?;
    let (path, _) = message.rsplit_once(": ")?;
    let path = path.trim_end_matches(NOT_WRITTEN);
    let (_, file) = path.rsplit_once(made)?;
    Some((file, io::Error::from_raw_os_error(code.parse().ok()?)))
}

/// The error that the output `path` cannot be written.
pub fn not_written(path: &Path, cause: &io::Error) -> Error {
    let path = path.display();
    let remedy = match cause.kind() {
        ErrorKind::WouldBlock => {
            return anyhow!("{path}: {cause}; wait for its end, or choose another --out");
        }
        ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => {
            return anyhow!("{path}: exists already; choose another --out");
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space on its disk (`df -h` and `df -i` show it)"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "make the folder writable",
        ErrorKind::ResourceBusy | ErrorKind::CrossesDevices => "name a folder within that disk",
        ErrorKind::NotFound => "the folder was moved or removed: put it back",
        _ => "check the disk",
    };
    anyhow!("{path}{NOT_WRITTEN}: {cause}; {remedy}, then run the same command again")
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use burnformer_core::model_dir::ModelDirProblem;
    use burnformer_train::{SaveError, TrainError};

    use super::*;

    /// The error of a full disk.
    fn full() -> io::Error {
        ErrorKind::StorageFull.into()
    }

    /// The same error with its number on Linux.
    #[cfg(target_os = "linux")]
    fn full_on_linux() -> io::Error {
        io::Error::from_raw_os_error(28)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn errors_of_all_crates_name_the_final_file_and_a_remedy() {
        let file = Path::new("a/.new.partial/model.safetensors");
        let of_train = || TrainError::Io {
            path: file.into(),
            cause: full_on_linux(),
        };
        let saved = SaveError {
            path: "a/.new.partial/run/last".into(),
            cause: Box::new(of_train()),
        };
        let errors = [
            ModelDirProblem::Io(full_on_linux()).at(file).into(),
            of_train().into(),
            TrainError::from(saved).into(),
            burnformer_interop::InteropError::Io(file.into(), full_on_linux()).into(),
            Err::<(), _>(full_on_linux())
                .context(file.display())
                .unwrap_err(),
        ];
        for error in errors {
            let message = at_final_place(error, Path::new("a/new")).to_string();
            assert_eq!(
                message,
                "a/new/model.safetensors: cannot be written: No space left on device (os error 28); free some \
                 space on its disk (`df -h` and `df -i` show it), then run the same command again"
            );
        }
        let of_source = ModelDirProblem::Io(full_on_linux()).at("a/old/config.json");
        let message = at_final_place(of_source.into(), Path::new("a/new")).to_string();
        assert!(
            message.starts_with("a/old/config.json: No space"),
            "{message}"
        );
    }

    #[test]
    fn a_failed_fill_leaves_nothing_and_an_existing_folder_stays() {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("above/new");
        write_new(&out, |folder| {
            fs::write(folder.join("text"), "half").unwrap();
            Err(full().into())
        })
        .unwrap_err();
        assert_eq!(fs::read_dir(home.path().join("above")).unwrap().count(), 0);
        let write =
            |content: &str| write_new(&out, |folder| Ok(fs::write(folder.join("text"), content)?));
        write("one").unwrap();
        let message = write("two").unwrap_err().to_string();
        assert!(message.contains("new: exists already"), "{message}");
        assert_eq!(fs::read_to_string(out.join("text")).unwrap(), "one");
        let _held = lock(&out).unwrap();
        let message = write("two").unwrap_err().to_string();
        assert!(message.contains("is at work on it; wait"), "{message}");
    }
}
