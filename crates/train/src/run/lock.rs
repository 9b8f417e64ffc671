//! The lock of a run's folder, which allows one process at a time.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use crate::error::TrainError;

/// Locks `run.lock` in `folder`. Returns `None` if the file system has no locks.
pub(crate) fn lock(folder: &Path) -> Result<Option<File>, TrainError> {
    let path = folder.join("run.lock");
    let io = |e| TrainError::io(&path, e);
    let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = options.map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(TrainError::RunInUse { path: folder.into(), holder });
        }
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => return Ok(None),
        Err(TryLockError::Error(e)) => return Err(io(e)),
    }
    sign(&mut file).map_err(io)?;
    Ok(Some(file))
}

/// Writes the id of this process into the lock file.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}
