//! The folder of a run.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use burnformer_files::{FileKind, read_whole};
use serde::{Deserialize, Serialize};

use super::folder::{OLD, PARTIAL, belongs_to, discard, leftover, recover, remove, write_file};
use crate::config::START;
use crate::error::{Result, TrainError};
use crate::report::{LOG_FILE, METRICS_FILE};
use crate::run::{CheckpointKind, RunError, ValidationState};

/// The model directories of a run.
const MODELS: [&str; 4] = ["best", "last", "average", START];
const FINISHED: &str = "finished.json";

/// The file with the score of the test text in the folder of a run, once that has been scored after
/// the run's end.
pub const TEST_SCORE_FILE: &str = "test-score.txt";

/// The folder of a run, held by one process at a time.
///
/// | entry | holds |
/// |---|---|
/// | `config.toml` | the resolved configuration, reusable with `--config` |
/// | `corpus/` | text that came through a pipe |
/// | `checkpoints/step-000100/` | all that a run needs to resume |
/// | `best/`, `last/`, `average/` | model directories |
/// | `start/` | a copy of the model directory that the run started from, if it did (`training.from`) |
/// | `metrics.jsonl`, `train.log` | what happened |
/// | `valid/step-000100.hyp` | decoded validation text; `…-average.hyp` is the average's |
/// | `finished.json` | where and why the run ended, once it has |
/// | `test-score.txt` | the score of the test text, once it has been translated after the end |
/// | `run.lock` | locked by the process that trains here, which it names |
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// The system unlocks it when the process ends, however it ends.
    _lock: Option<File>,
}

/// The purpose for which a run's folder is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// To begin a new run. The folder must not hold one yet.
    New,
    /// To continue the run that the folder holds.
    Resume,
}

impl RunDir {
    /// Checks whether [`open`](Self::open) would succeed now. Leaves no trace if the folder does
    /// not exist yet.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn check(path: &Path, mode: RunMode) -> Result<()> {
        if path.exists() || mode == RunMode::Resume {
            return Self::claim(path, mode).map(drop);
        }
        let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
        let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        fs::create_dir_all(path).map_err(TrainError::io(path))?;
        missing
            .iter()
            .try_for_each(fs::remove_dir)
            .map_err(TrainError::io(path))
    }

    /// Opens the folder `path`, which is created if necessary, locks it against other processes and
    /// removes incomplete files of a killed process.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the folder cannot be used, [`RunError::InUse`] while
    /// another process trains there, [`RunError::Exists`] if the folder holds a run and `mode`
    /// is [`RunMode::New`], [`RunError::FolderTaken`] if it holds something else that a run would
    /// overwrite, and [`RunError::NothingToResume`] if `mode` is [`RunMode::Resume`] and it holds
    /// no run.
    pub fn open(path: &Path, mode: RunMode) -> Result<Self> {
        if mode == RunMode::Resume && !path.exists() {
            return Err(RunError::NothingToResume(path.into()).into());
        }
        fs::create_dir_all(path).map_err(TrainError::io(path))?;
        let run = Self::claim(path, mode)?;
        for folder in [run.checkpoints(), run.hypotheses_folder()] {
            fs::create_dir_all(&folder).map_err(TrainError::io(&folder))?;
        }
        run.recover()?;
        Ok(run)
    }

    /// Returns the paths of the files that a run in the folder `path` writes again or extends.
    /// Models and checkpoints are not among them, because they are replaced as whole folders.
    pub fn written_files(path: &Path) -> Vec<PathBuf> {
        let run = Self::at(path);
        let names = [METRICS_FILE, LOG_FILE, FINISHED, TEST_SCORE_FILE];
        let hypotheses = fs::read_dir(run.hypotheses_folder());
        let mut files = vec![run.config()];
        files.extend(names.map(|name| path.join(name)));
        files.extend(
            hypotheses
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path()),
        );
        files
    }

    /// Opens the folder `path` only for reading, without a lock.
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

    /// Returns whether a run began here. The first file that a run writes is its configuration.
    fn holds_a_run(&self) -> bool {
        self.config().exists() || self.checkpoint_steps().is_ok_and(|steps| !steps.is_empty())
    }

    /// The first entry of a folder without a run that a run would overwrite or extend. The empty
    /// folders that remain of a refused start do not count.
    fn in_the_way(&self) -> Result<Option<PathBuf>> {
        let names = |path: PathBuf| [leftover(&path, PARTIAL), leftover(&path, OLD), path];
        let models = MODELS.into_iter().flat_map(|name| names(self.model(name)));
        let files =
            [METRICS_FILE, LOG_FILE, FINISHED, TEST_SCORE_FILE].map(|name| self.path.join(name));
        if let Some(found) = models
            .chain(files)
            .find(|path| path.symlink_metadata().is_ok())
        {
            return Ok(Some(found));
        }
        for folder in [self.checkpoints(), self.hypotheses_folder()] {
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(TrainError::io(&folder))?,
            };
            let ours = |entry: &fs::DirEntry| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .trim_start_matches('.')
                    .starts_with("step-")
            };
            if let Some(found) = entries.flatten().find(ours) {
                return Ok(Some(found.path()));
            }
        }
        Ok(None)
    }

    fn recover(&self) -> Result<()> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).map_err(TrainError::io(&folder))?;
        let leftovers = entries.filter_map(|entry| belongs_to(&entry.ok()?.path()));
        let checkpoints = leftovers.filter(|path| step_of(path).is_some());
        let models = MODELS.map(|name| self.model(name));
        for path in checkpoints.chain(models) {
            recover(&path).map_err(TrainError::io(&path))?;
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

    /// The path of the validation text decoded by the model after update `step`, or by the average
    /// of the checkpoints up to it.
    pub fn hypotheses(&self, step: u64, averaged: bool) -> PathBuf {
        let end = if averaged { "-average" } else { "" };
        self.hypotheses_folder()
            .join(format!("step-{step:06}{end}.hyp"))
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

    /// Removes all checkpoints but the newest `keep`. If `keep` is 0, only checkpoints that
    /// interruptions left are removed.
    ///
    /// `kind` returns the reason why the checkpoint of an update was written. A checkpoint of an
    /// interruption is removed as soon as there is a newer checkpoint, and never displaces the
    /// newest scheduled one, so that a run that was interrupted ends with the same checkpoints as
    /// one that was not. The same holds for the checkpoint of an earlier end of the run, unless all
    /// are kept. Call it right after a checkpoint was written: the newest one is good, and is kept.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if a folder cannot be removed.
    pub fn prune(&self, keep: usize, kind: impl Fn(u64) -> CheckpointKind) -> Result<()> {
        let steps = self.checkpoint_steps()?;
        let Some((&newest, older)) = steps.split_last() else {
            return Ok(());
        };
        let stays = |step: &u64| match kind(*step) {
            CheckpointKind::Scheduled => true,
            CheckpointKind::Final => keep == 0,
            CheckpointKind::Interrupted => false,
        };
        let (staying, going): (Vec<u64>, Vec<u64>) = older.iter().partition(|step| stays(step));
        // The newest counts as one; if it is not scheduled, at least one scheduled stays beside it.
        let beside = usize::from(kind(newest) != CheckpointKind::Scheduled);
        let stay = if keep == 0 {
            usize::MAX
        } else {
            (keep - 1).max(beside)
        };
        let surplus = staying.len().saturating_sub(stay);
        for &step in staying[..surplus].iter().chain(&going) {
            let path = self.checkpoint(step);
            discard(&path).map_err(TrainError::io(&path))?;
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
        remove(&aside)
            .and_then(|()| fs::rename(&path, &aside))
            .map_err(TrainError::io(&path))?;
        Ok(aside)
    }

    /// Records that the run has ended.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the file cannot be written.
    pub fn set_finished(&self, finished: &RunEnd) -> Result<()> {
        let json = serde_json::to_vec(finished).expect("an end is plain data");
        write_file(&self.path.join(FINISHED), &json)
    }

    /// Returns the record of the run's end if the run ended after update `step`, or `None` if it
    /// was killed before its end.
    pub fn finished(&self, step: u64) -> Option<RunEnd> {
        let json = read_whole(&self.path.join(FINISHED), FileKind::NOTES).ok()?;
        let finished: RunEnd = serde_json::from_slice(&json).ok()?;
        (finished.step == step).then_some(finished)
    }

    /// Removes the record of the run's end, unless the run ended after update `step`, from which it
    /// continues. A run that continues from an earlier update has to repeat its final steps.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the file cannot be removed.
    pub(crate) fn forget_other_end(&self, step: u64) -> Result<()> {
        if self.finished(step).is_some() {
            return Ok(());
        }
        [FINISHED, TEST_SCORE_FILE].iter().try_for_each(|name| {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(TrainError::io(&path)(error))
                }
                _ => Ok(()),
            }
        })
    }
}

/// The update in the name of a checkpoint's folder.
fn step_of(path: &Path) -> Option<u64> {
    path.file_name()?
        .to_str()?
        .strip_prefix("step-")?
        .parse()
        .ok()
}

/// Locks `run.lock` in `folder`, which allows one process at a time. Returns `None` if the file
/// system has no locks.
fn lock(folder: &Path) -> Result<Option<File>> {
    let path = folder.join("run.lock");
    let io = |e| TrainError::io(&path)(e);
    let mut file = burnformer_files::open_or_create(&path).map_err(io)?;
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

/// The end of a run, in `finished.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// The number of updates made.
    pub step: u64,
    /// The reason why the run ended.
    pub reason: String,
    /// The results of the validations, including those at the end: the checkpoint of this update
    /// was written before them.
    pub validation: ValidationState,
}

#[cfg(test)]
mod tests;
