//! The folder of a run.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use burnformer_files::{
    FileKind, FolderLock, create_folder, leftovers, owner_of, read_whole, remove_folder,
};
use serde::{Deserialize, Serialize};

use super::folder::write_file;
use crate::config::START;
use crate::error::{Result, TrainError};
use crate::report::{LOG_FILE, METRICS_FILE, is_event_file};
use crate::run::{CheckpointKind, RunError, ValidationState};

/// The model directories of a run.
const MODELS: [&str; 4] = ["best", "last", "average", START];
const FINISHED: &str = "finished.json";

/// The file with the score of the test text, written after the end of a run.
pub const TEST_SCORE_FILE: &str = "test-score.txt";

/// The folder of a run, locked by one process at a time.
///
/// | entry | holds |
/// |---|---|
/// | `config.toml` | the resolved configuration, reusable with `--config` |
/// | `corpus/` | text that came through a pipe |
/// | `checkpoints/step-000100/` | the state that a run resumes from |
/// | `best/`, `last/`, `average/` | model directories |
/// | `start/` | a copy of the start model (`training.from`) |
/// | `metrics.jsonl`, `train.log` | the report |
/// | `events.out.tfevents.…` | the numbers of `metrics.jsonl` for TensorBoard |
/// | `valid/step-000100.hyp` | decoded validation text; `…-average.hyp` by the average, `….de-en.hyp` of a pair of languages |
/// | `finished.json` | the update and the reason of the run's end |
/// | `test-score.txt` | the score of the test text after the end |
/// | `run.lock` | the lock, with the id of the training process |
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// The lock, which the system releases at the end of the process.
    _lock: Option<File>,
}

/// The purpose of opening a run's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// To begin a new run. The folder must not hold a run.
    New,
    /// To resume the run in the folder.
    Resume,
}

impl RunDir {
    /// Checks whether [`open`](Self::open) would succeed. Does not leave a folder behind.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn check(path: &Path, mode: RunMode) -> Result<()> {
        if path.exists() || mode == RunMode::Resume {
            return Self::claim(path, mode).map(drop);
        }
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|it| !it.as_os_str().is_empty() && !it.exists())
            .collect();
        fs::create_dir_all(path).map_err(TrainError::io(path))?;
        missing
            .iter()
            .try_for_each(fs::remove_dir)
            .map_err(TrainError::io(path))
    }

    /// Opens the folder `path`, which is created if necessary, locks it and removes incomplete
    /// files of a killed process.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the folder cannot be used, [`RunError::InUse`] while another
    /// process trains there, [`RunError::Exists`] if a new run finds a run,
    /// [`RunError::FolderTaken`] if it would overwrite something else, and
    /// [`RunError::NothingToResume`] if there is no run to resume.
    pub fn open(path: &Path, mode: RunMode) -> Result<Self> {
        if mode == RunMode::Resume && !path.exists() {
            return Err(RunError::NothingToResume(path.into()).into());
        }
        create_folder(path).map_err(TrainError::io(path))?;
        let run = Self::claim(path, mode)?;
        for folder in [run.checkpoints(), run.hypotheses_folder()] {
            create_folder(&folder).map_err(TrainError::io(&folder))?;
        }
        run.recover()?;
        Ok(run)
    }

    /// Returns the paths of the files that a run in the folder `path` writes again or extends.
    /// Models and checkpoints are not among them, because they are replaced as whole folders.
    pub fn written_files(path: &Path) -> Vec<PathBuf> {
        let run = Self::at(path);
        let names = [METRICS_FILE, LOG_FILE, FINISHED, TEST_SCORE_FILE];
        let mut files = vec![run.config()];
        files.extend(names.map(|name| path.join(name)));
        let events = fs::read_dir(path).into_iter().flatten().flatten();
        files.extend(
            events
                .filter(|entry| is_event_file(&entry.file_name().to_string_lossy()))
                .map(|entry| entry.path()),
        );
        let hypotheses = fs::read_dir(run.hypotheses_folder());
        let hypotheses = hypotheses.into_iter().flatten().flatten();
        files.extend(hypotheses.map(|entry| entry.path()));
        files
    }

    /// Opens the folder `path` for reading, without a lock.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.into(),
            _lock: None,
        }
    }

    /// Locks an existing folder and checks that it holds a run, or no run, as `mode` requires.
    fn claim(path: &Path, mode: RunMode) -> Result<Self> {
        let mut run = Self {
            path: path.into(),
            _lock: None,
        };
        if !run.holds_a_run() {
            if mode == RunMode::Resume {
                return Err(RunError::NothingToResume(path.into()).into());
            }
            if let Some(found) = run.in_the_way()? {
                return Err(RunError::FolderTaken {
                    path: path.into(),
                    found,
                }
                .into());
            }
        }
        run._lock = lock(path)?;
        if mode == RunMode::New && run.holds_a_run() {
            return Err(RunError::Exists(path.into()).into());
        }
        Ok(run)
    }

    /// Returns whether the folder holds a run. The first file of a run is its configuration.
    fn holds_a_run(&self) -> bool {
        self.config().exists() || self.checkpoint_steps().is_ok_and(|steps| !steps.is_empty())
    }

    /// The first entry of a folder without a run that a run would overwrite or extend. Empty
    /// folders of a refused start do not count.
    fn in_the_way(&self) -> Result<Option<PathBuf>> {
        let models = MODELS.map(|name| self.model(name));
        let parts: Vec<PathBuf> = models.iter().flat_map(|path| leftovers(path)).collect();
        let files =
            [METRICS_FILE, LOG_FILE, FINISHED, TEST_SCORE_FILE].map(|name| self.path.join(name));
        if let Some(found) = models
            .into_iter()
            .chain(parts)
            .chain(files)
            .find(|path| path.symlink_metadata().is_ok())
        {
            return Ok(Some(found));
        }
        for folder in [
            self.path.clone(),
            self.checkpoints(),
            self.hypotheses_folder(),
        ] {
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(TrainError::io(&folder))?,
            };
            if let Some(found) = entries.flatten().find(|entry| self.is_ours(entry, &folder)) {
                return Ok(Some(found.path()));
            }
        }
        Ok(None)
    }

    /// Returns whether a run wrote `entry` into `folder`: a step, or TensorBoard's events.
    fn is_ours(&self, entry: &fs::DirEntry, folder: &Path) -> bool {
        if folder == self.path {
            is_event_file(&entry.file_name().to_string_lossy())
        } else {
            is_named_step(entry)
        }
    }

    fn recover(&self) -> Result<()> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).map_err(TrainError::io(&folder))?;
        let owners = entries.filter_map(|entry| owner_of(&entry.ok()?.path()));
        let checkpoints = owners.filter(|path| step_of(path).is_some());
        let models = MODELS.map(|name| self.model(name));
        for path in checkpoints.chain(models) {
            FolderLock::wait(&path).map_err(TrainError::io(&path))?;
        }
        Ok(())
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// The path of the folder of checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// The path of the checkpoint after update `step`.
    pub fn checkpoint(&self, step: u64) -> PathBuf {
        self.checkpoints().join(format!("step-{step:06}"))
    }

    /// The path of the model directory `best`, `last` or `average`.
    pub fn model(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn hypotheses_folder(&self) -> PathBuf {
        self.path.join("valid")
    }

    /// The path of the decoded validation text after update `step`, by the model or, if `averaged`,
    /// by the average of the checkpoints up to it; of several pairs of languages the file of
    /// `pair`.
    pub fn hypotheses(&self, step: u64, averaged: bool, pair: Option<&str>) -> PathBuf {
        let end = if averaged { "-average" } else { "" };
        // A colon is in no file name of Windows.
        let pair = pair.map_or(String::new(), |pair| format!(".{}", pair.replace(':', "_")));
        self.hypotheses_folder()
            .join(format!("step-{step:06}{end}{pair}.hyp"))
    }

    /// The updates of the existing checkpoints, oldest first.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the folder cannot be read.
    pub fn checkpoint_steps(&self) -> Result<Vec<u64>> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).map_err(TrainError::io(&folder))?;
        let mut steps: Vec<u64> = entries
            .filter_map(|entry| step_of(&entry.ok()?.path()))
            .collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// Removes all checkpoints but the newest `keep`. If `keep` is 0, only checkpoints of
    /// interruptions are removed.
    ///
    /// `kind` returns the kind of an update's checkpoint. A checkpoint of an interruption is
    /// removed as soon as there is a newer checkpoint, and never displaces the newest scheduled
    /// one, so that an interrupted run ends with the same checkpoints as an uninterrupted one. The
    /// same holds for the checkpoint of an earlier end of the run, unless all are kept. Call it
    /// right after a checkpoint was written: the newest one is good, and is kept.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if a folder cannot be removed.
    pub fn prune(&self, keep: usize, kind: impl Fn(u64) -> CheckpointKind) -> Result<()> {
        let steps = self.checkpoint_steps()?;
        let Some((&newest, older)) = steps.split_last() else {
            return Ok(());
        };
        let (staying, going): (Vec<u64>, Vec<u64>) =
            older.iter().partition(|&&step| match kind(step) {
                CheckpointKind::Scheduled => true,
                CheckpointKind::Final => keep == 0,
                CheckpointKind::Interrupted => false,
            });
        // The newest counts. If it is not scheduled, at least one scheduled checkpoint stays.
        let beside = usize::from(kind(newest) != CheckpointKind::Scheduled);
        let stay = if keep == 0 {
            usize::MAX
        } else {
            (keep - 1).max(beside)
        };
        let surplus = staying.len().saturating_sub(stay);
        for &step in staying[..surplus].iter().chain(&going) {
            let path = self.checkpoint(step);
            FolderLock::wait(&path)
                .and_then(|lock| lock.remove())
                .map_err(TrainError::io(&path))?;
        }
        Ok(())
    }

    /// Renames the damaged checkpoint of `step` to `step-000100.damaged`.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if it cannot be moved.
    pub fn set_aside(&self, step: u64) -> Result<PathBuf> {
        let path = self.checkpoint(step);
        let aside = path.with_added_extension("damaged");
        remove_folder(&aside)
            .and_then(|()| fs::rename(&path, &aside))
            .map_err(TrainError::io(&path))?;
        Ok(aside)
    }

    /// Records that the run has ended, and removes the score of an earlier end.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if a file cannot be written or removed.
    pub fn set_finished(&self, finished: &RunEnd) -> Result<()> {
        self.remove(TEST_SCORE_FILE)?;
        let json = serde_json::to_vec(finished).expect("an end is plain data");
        write_file(&self.path.join(FINISHED), &json)
    }

    /// Returns the record of the run's end after update `step`, or `None` if the run was killed
    /// before its end.
    pub fn finished(&self, step: u64) -> Option<RunEnd> {
        let json = read_whole(&self.path.join(FINISHED), FileKind::NOTES).ok()?;
        let finished: RunEnd = serde_json::from_slice(&json).ok()?;
        (finished.step == step).then_some(finished)
    }

    /// Removes the record of the run's end, unless the run ended after update `step`. A run that
    /// resumes from an earlier update must repeat its final steps.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the file cannot be removed.
    pub(crate) fn forget_other_end(&self, step: u64) -> Result<()> {
        if self.finished(step).is_some() {
            return Ok(());
        }
        [FINISHED, TEST_SCORE_FILE]
            .into_iter()
            .try_for_each(|name| self.remove(name))
    }

    /// Removes the file `name`, if there is one.
    fn remove(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(TrainError::io(&path)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether the name of `entry` begins with `step-`, after leading dots.
fn is_named_step(entry: &fs::DirEntry) -> bool {
    entry
        .file_name()
        .to_string_lossy()
        .trim_start_matches('.')
        .starts_with("step-")
}

/// The update in the name of a checkpoint's folder.
fn step_of(path: &Path) -> Option<u64> {
    path.file_name()?
        .to_str()?
        .strip_prefix("step-")?
        .parse()
        .ok()
}

/// Locks `run.lock` in `folder`. Returns `None` if the file system has no locks.
fn lock(folder: &Path) -> Result<Option<File>> {
    let path = folder.join("run.lock");
    let mut file = burnformer_files::open_or_create(&path).map_err(TrainError::io(&path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(RunError::InUse {
                path: folder.into(),
                holder,
            }
            .into());
        }
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => return Ok(None),
        Err(TryLockError::Error(e)) => return Err(TrainError::io(&path)(e)),
    }
    sign(&mut file).map_err(TrainError::io(&path))?;
    Ok(Some(file))
}

/// Writes the id of this process into the lock file.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

/// The end of a run, in `finished.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The number of updates made.
    pub step: u64,
    /// The reason why the run ended.
    pub reason: String,
    /// The results of all validations. The checkpoint of this update lacks the last ones, as it was
    /// written before them.
    pub validation: ValidationState,
}

#[cfg(test)]
mod tests;
