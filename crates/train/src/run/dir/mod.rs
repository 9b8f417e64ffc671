//! The folder of a run.

pub(crate) mod checkpoints;

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::folder::{OLD, PARTIAL, belongs_to, recover};
use crate::config::START;
use crate::error::{At, TrainError};
use crate::report::{LOG_FILE, METRICS_FILE};

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
/// | `checkpoints/step-000100/` | all that a run needs to go on |
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
    /// The errors of [`open`](Self::open).
    pub fn check(path: &Path, mode: RunMode) -> Result<(), TrainError> {
        match (path.exists(), mode) {
            (true, _) => Self::claim(path, mode).map(drop),
            (false, RunMode::Resume) => Err(TrainError::NothingToResume(path.into())),
            (false, RunMode::New) => {
                let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
                let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
                fs::create_dir_all(path).at(path)?;
                missing.iter().try_for_each(fs::remove_dir).at(path)
            }
        }
    }

    /// Opens the folder `path`, which is created if necessary, locks it against other processes and
    /// removes what a killed process left incomplete.
    ///
    /// # Errors
    /// [`TrainError::Io`]; [`TrainError::RunInUse`] while another process trains there;
    /// [`TrainError::RunExists`] if it holds a run and `mode` is new, [`TrainError::FolderTaken`]
    /// if it holds something else that a run would overwrite; [`TrainError::NothingToResume`] if it
    /// holds no run and is to be resumed.
    pub fn open(path: &Path, mode: RunMode) -> Result<Self, TrainError> {
        if mode == RunMode::Resume && !path.exists() {
            return Err(TrainError::NothingToResume(path.into()));
        }
        fs::create_dir_all(path).at(path)?;
        let run = Self::claim(path, mode)?;
        for folder in [run.checkpoints(), run.hypotheses_folder()] {
            fs::create_dir_all(&folder).at(&folder)?;
        }
        run.recover()?;
        Ok(run)
    }

    /// Opens the folder `path` only for reading, without a lock.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.into(), _lock: None }
    }

    /// Locks an existing folder and checks that it holds a run, or none, as `mode` requires.
    fn claim(path: &Path, mode: RunMode) -> Result<Self, TrainError> {
        let mut run = Self { path: path.into(), _lock: None };
        if !run.holds_a_run() {
            if mode == RunMode::Resume {
                return Err(TrainError::NothingToResume(path.into()));
            }
            if let Some(found) = run.in_the_way()? {
                return Err(TrainError::FolderTaken { path: path.into(), found });
            }
        }
        run._lock = lock(path)?;
        if mode == RunMode::New && run.holds_a_run() {
            return Err(TrainError::RunExists(path.into()));
        }
        Ok(run)
    }

    /// Returns whether a run began here. The first file that a run writes is its configuration.
    fn holds_a_run(&self) -> bool {
        self.config().exists() || self.checkpoint_steps().is_ok_and(|steps| !steps.is_empty())
    }

    /// The first entry of a folder without a run that a run would overwrite or extend. The empty
    /// folders that remain of a refused start do not count.
    fn in_the_way(&self) -> Result<Option<PathBuf>, TrainError> {
        let models = MODELS.map(|name| self.model(name));
        let models = models.iter().flat_map(|path| {
            [path.clone(), path.with_added_extension(PARTIAL), path.with_added_extension(OLD)]
        });
        let files =
            [METRICS_FILE, LOG_FILE, FINISHED, TEST_SCORE_FILE].map(|name| self.path.join(name));
        if let Some(found) = models.chain(files).find(|path| path.symlink_metadata().is_ok()) {
            return Ok(Some(found));
        }
        for folder in [self.checkpoints(), self.hypotheses_folder()] {
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.at(&folder)?,
            };
            let ours = |path: &PathBuf| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| name.starts_with("step-"))
            };
            if let Some(found) = entries.filter_map(|e| Some(e.ok()?.path())).find(ours) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn recover(&self) -> Result<(), TrainError> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).at(&folder)?;
        let leftovers = entries.filter_map(|entry| belongs_to(&entry.ok()?.path()));
        let checkpoints = leftovers.filter(|path| step_of(path).is_some());
        let models = MODELS.map(|name| self.model(name));
        for path in checkpoints.chain(models) {
            recover(&path).at(&path)?;
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

    /// The copy of the model that the run started from.
    pub fn start_model(&self) -> PathBuf {
        self.model(START)
    }

    fn hypotheses_folder(&self) -> PathBuf {
        self.path.join("valid")
    }

    /// The path of the validation text decoded by the model after update `step`, or by the average
    /// of the checkpoints up to it.
    pub fn hypotheses(&self, step: u64, averaged: bool) -> PathBuf {
        let end = if averaged { "-average" } else { "" };
        self.hypotheses_folder().join(format!("step-{step:06}{end}.hyp"))
    }
}

/// The update in the name of a checkpoint's folder.
fn step_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("step-")?.parse().ok()
}

/// Locks `run.lock` in `folder`, which allows one process at a time. Returns `None` if the file
/// system has no locks.
fn lock(folder: &Path) -> Result<Option<File>, TrainError> {
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

#[cfg(test)]
mod tests;
