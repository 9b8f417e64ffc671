use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::TrainError;
use crate::folder::{belongs_to, beside, recover, remove, write_file};

/// The folder of a run, held by one process at a time.
///
/// | entry | holds |
/// |---|---|
/// | `config.toml` | the resolved configuration, reusable with `--config` |
/// | `checkpoints/step-000100/` | all that a run needs to go on |
/// | `best/`, `last/`, `average/` | model directories |
/// | `metrics.jsonl`, `train.log`, `events.out.tfevents.*` | what happened |
/// | `valid/step-000100.hyp` | decoded validation text |
/// | `finished.json` | where and why the run ended, once it has |
/// | `run.lock` | locked by the process that trains here, which it names |
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// The system unlocks it when the process ends, however it ends.
    _lock: Option<File>,
}

/// What is wanted of a run's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// A new run; the folder must not hold one yet.
    New,
    /// To go on with the run that the folder holds.
    Resume,
}

/// The run's end, in `finished.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Finished {
    step: u64,
    reason: String,
}

impl RunDir {
    /// Whether [`open`](Self::open) would succeed now; leaves no trace where there is no folder yet.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn check(path: &Path, mode: RunMode) -> Result<(), TrainError> {
        match (path.exists(), mode) {
            (true, _) => Self::claim(path, mode).map(drop),
            (false, RunMode::Resume) => Err(TrainError::NothingToResume { path: path.into() }),
            (false, RunMode::New) => Ok(()),
        }
    }

    /// The folder `path`, made if need be, locked against other processes and cleared of what a killed
    /// one left half done.
    ///
    /// # Errors
    /// [`TrainError::Io`]; [`TrainError::RunInUse`] while another process trains there;
    /// [`TrainError::RunExists`] if it holds a run and `mode` is new, [`TrainError::NothingToResume`]
    /// if it holds none and is to be resumed.
    pub fn open(path: &Path, mode: RunMode) -> Result<Self, TrainError> {
        if mode == RunMode::Resume && !path.exists() {
            return Err(TrainError::NothingToResume { path: path.into() });
        }
        fs::create_dir_all(path).map_err(|e| TrainError::io(path, e))?;
        let run = Self::claim(path, mode)?;
        for folder in [run.checkpoints(), run.path.join("valid")] {
            fs::create_dir_all(&folder).map_err(|e| TrainError::io(&folder, e))?;
        }
        run.recover()?;
        Ok(run)
    }

    /// The folder `path` for reading alone: without a lock.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.into(), _lock: None }
    }

    /// Locks an existing folder and checks that it holds a run, or none, as expected.
    fn claim(path: &Path, mode: RunMode) -> Result<Self, TrainError> {
        let mut run = Self { path: path.into(), _lock: None };
        if mode == RunMode::Resume && !run.holds_a_run() {
            return Err(TrainError::NothingToResume { path: path.into() });
        }
        run._lock = lock(path)?;
        if mode == RunMode::New && run.holds_a_run() {
            return Err(TrainError::RunExists { path: path.into() });
        }
        Ok(run)
    }

    /// Whether a run began here: its configuration is the first thing it writes.
    fn holds_a_run(&self) -> bool {
        self.config().exists() || self.checkpoint_steps().is_ok_and(|steps| !steps.is_empty())
    }

    fn recover(&self) -> Result<(), TrainError> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).map_err(|e| TrainError::io(&folder, e))?;
        let leftovers = entries.filter_map(|entry| belongs_to(&entry.ok()?.path()));
        let checkpoints = leftovers.filter(|path| step_of(path).is_some());
        let models = ["best", "last", "average"].map(|name| self.model(name));
        for path in checkpoints.chain(models) {
            recover(&path).map_err(|e| TrainError::io(&path, e))?;
        }
        Ok(())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// The folder of checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// The checkpoint after update `step`.
    pub fn checkpoint(&self, step: u64) -> PathBuf {
        self.checkpoints().join(format!("step-{step:06}"))
    }

    /// The model directory `best`, `last` or `average`.
    pub fn model(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The decoded validation text of update `step`.
    pub fn hypotheses(&self, step: u64) -> PathBuf {
        self.path.join("valid").join(format!("step-{step:06}.hyp"))
    }

    /// Steps of the checkpoints present, oldest first.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the folder cannot be read.
    pub fn checkpoint_steps(&self) -> Result<Vec<u64>, TrainError> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).map_err(|e| TrainError::io(&folder, e))?;
        let mut steps: Vec<u64> =
            entries.filter_map(|entry| step_of(&entry.ok()?.path())).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// Removes all but the newest `keep` checkpoints; 0 keeps all.
    ///
    /// `regular` tells the checkpoints that the configuration asks for from those that an interruption
    /// left. The latter go as soon as there is a newer one, and never displace the newest regular one,
    /// so that a run that was interrupted ends with the same checkpoints as one that was not. Call it
    /// right after a checkpoint was written: that one is good, and is kept.
    ///
    /// # Errors
    /// [`TrainError::Io`] if a folder cannot be removed.
    pub fn prune(&self, keep: usize, regular: impl Fn(u64) -> bool) -> Result<(), TrainError> {
        let steps = self.checkpoint_steps()?;
        let Some((_, older)) = steps.split_last() else { return Ok(()) };
        let (kept, interrupted): (Vec<u64>, Vec<u64>) =
            older.iter().partition(|step| regular(**step));
        let newest_is_regular = steps.last().is_some_and(|&step| regular(step));
        // The newest counts as one; an irregular one leaves at least one regular beside it.
        let places = if newest_is_regular { keep.max(1) - 1 } else { (keep.max(1) - 1).max(1) };
        let surplus = if keep == 0 { 0 } else { kept.len().saturating_sub(places) };
        for &step in kept[..surplus].iter().chain(&interrupted) {
            let path = self.checkpoint(step);
            remove(&path).map_err(|e| TrainError::io(&path, e))?;
        }
        Ok(())
    }

    /// Moves the damaged checkpoint of `step` out of the way, to `step-000100.damaged`.
    ///
    /// # Errors
    /// [`TrainError::Io`] if it cannot be moved.
    pub fn set_aside(&self, step: u64) -> Result<PathBuf, TrainError> {
        let path = self.checkpoint(step);
        let aside = beside(&path, "damaged");
        remove(&aside)
            .and_then(|()| fs::rename(&path, &aside))
            .map_err(|e| TrainError::io(&path, e))?;
        Ok(aside)
    }

    /// Records that the run ended for good after update `step`.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the file cannot be written.
    pub fn set_finished(&self, step: u64, reason: &str) -> Result<(), TrainError> {
        let finished = Finished { step, reason: reason.into() };
        let json = serde_json::to_vec(&finished).expect("an end is plain data");
        write_file(&self.path.join("finished.json"), &json)
    }

    /// The update after which the run ended for good; `None` for one that was killed or goes on.
    pub fn finished(&self) -> Option<u64> {
        let json = fs::read(self.path.join("finished.json")).ok()?;
        serde_json::from_slice(&json).ok().map(|finished: Finished| finished.step)
    }
}

/// The step that a checkpoint's folder is named after.
fn step_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("step-")?.parse().ok()
}

/// Locks `run.lock` in `folder`; `None` where the file system knows no locks.
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

/// Writes this process's id into the lock's file.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_with(folder: &Path, steps: &[u64]) -> RunDir {
        let run = RunDir::open(folder, RunMode::New).expect("opens");
        steps.iter().for_each(|&step| fs::create_dir(run.checkpoint(step)).expect("makes"));
        run
    }

    #[test]
    fn a_run_is_not_overwritten_and_an_empty_one_not_resumed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run");
        assert!(matches!(
            RunDir::open(&path, RunMode::Resume),
            Err(TrainError::NothingToResume { .. })
        ));
        assert!(!path.exists());
        let run = RunDir::open(&path, RunMode::New).expect("opens");
        fs::write(run.config(), "").expect("writes");
        drop(run);
        assert!(matches!(RunDir::open(&path, RunMode::New), Err(TrainError::RunExists { .. })));
        RunDir::open(&path, RunMode::Resume).expect("opens");
    }

    #[test]
    fn a_folder_has_one_run_at_a_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = run_with(folder.path(), &[100]);
        let second = RunDir::open(folder.path(), RunMode::Resume).unwrap_err();
        let process = std::process::id().to_string();
        assert!(matches!(&second, TrainError::RunInUse { holder, .. } if *holder == process));
        assert!(RunDir::check(folder.path(), RunMode::Resume).is_err());
        drop(run);
        RunDir::open(folder.path(), RunMode::Resume).expect("opens");
    }

    #[test]
    fn pruning_keeps_the_newest() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = run_with(folder.path(), &[100, 200, 1_000_000]);
        run.prune(0, |_| true).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [100, 200, 1_000_000]);
        run.prune(2, |_| true).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [200, 1_000_000]);
        run.prune(1, |_| true).expect("prunes");
        run.prune(1, |_| true).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [1_000_000]);
    }

    #[test]
    fn an_interruption_leaves_no_trace_among_the_checkpoints() {
        let left = |steps: &[u64], keep| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let run = run_with(folder.path(), steps);
            run.prune(keep, |step| step % 100 == 0).expect("prunes");
            run.checkpoint_steps().expect("reads")
        };
        assert_eq!(left(&[100, 200, 250], 3), [100, 200, 250]);
        assert_eq!(left(&[100, 200, 250, 300], 3), [100, 200, 300]);
        assert_eq!(left(&[100, 200, 250], 1), [200, 250]);
        assert_eq!(left(&[200, 250, 300], 1), [300]);
        assert_eq!(left(&[250, 260], 0), [260]);
    }

    #[test]
    fn what_a_killed_process_left_is_put_right() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = run_with(folder.path(), &[100]);
        let make = |path: PathBuf| fs::create_dir(path).expect("makes");
        make(run.checkpoints().join("step-000200.partial"));
        make(run.checkpoints().join("step-000300.old"));
        make(run.checkpoints().join("mine.partial"));
        make(folder.path().join("best.partial"));
        make(folder.path().join("last.old"));
        drop(run);
        let run = RunDir::open(folder.path(), RunMode::Resume).expect("opens");
        assert_eq!(run.checkpoint_steps().expect("reads"), [100, 300]);
        assert!(run.model("last").exists() && !folder.path().join("best.partial").exists());
        let names = fs::read_dir(run.checkpoints()).expect("reads").count();
        assert_eq!(names, 3, "a folder of the user's is left alone");
    }

    #[test]
    fn the_end_is_remembered() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = run_with(folder.path(), &[]);
        assert_eq!(run.finished(), None);
        run.set_finished(800, "training.max_updates reached").expect("writes");
        assert_eq!(run.finished(), Some(800));
    }
}
