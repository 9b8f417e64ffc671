use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointKind, ValidationState};
use crate::error::TrainError;
use crate::folder::{OLD, PARTIAL, belongs_to, beside, recover, remove, write_file};
use crate::report::{LOG_FILE, METRICS_FILE};
use crate::run_lock::lock;

/// The model directories of a run.
const MODELS: [&str; 4] = ["best", "last", "average", START];
/// The copy of the model that the run started from.
const START: &str = "start";
const FINISHED: &str = "finished.json";

/// The folder of a run, held by one process at a time.
///
/// | entry | holds |
/// |---|---|
/// | `config.toml` | the resolved configuration, reusable with `--config` |
/// | `corpus/` | text that came through a pipe |
/// | `checkpoints/step-000100/` | all that a run needs to go on |
/// | `best/`, `last/`, `average/` | model directories |
/// | `start/` | a copy of the model directory that the run started from, if it did (`training.from`) |
/// | `metrics.jsonl`, `train.log`, `events.out.tfevents.*` | what happened |
/// | `valid/step-000100.hyp` | decoded validation text; `…-average.hyp` is the average's |
/// | `finished.json` | where and why the run ended, once it has |
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

/// The end of a run, in `finished.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The number of updates made.
    pub step: u64,
    /// The reason why the run ended.
    pub reason: String,
    /// The results of the validations, including those at the end: the checkpoint of this update was written before
    /// them. `None` in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationState>,
}

impl RunDir {
    /// Checks whether [`open`](Self::open) would succeed now. Leaves no trace if the folder does not exist yet.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn check(path: &Path, mode: RunMode) -> Result<(), TrainError> {
        match (path.exists(), mode) {
            (true, _) => Self::claim(path, mode).map(drop),
            (false, RunMode::Resume) => Err(TrainError::NothingToResume { path: path.into() }),
            (false, RunMode::New) => Ok(()),
        }
    }

    /// Opens the folder `path`, which is created if necessary, locks it against other processes and removes what a
    /// killed process left incomplete.
    ///
    /// # Errors
    /// [`TrainError::Io`]; [`TrainError::RunInUse`] while another process trains there;
    /// [`TrainError::RunExists`] if it holds a run and `mode` is new, [`TrainError::FolderTaken`] if it holds
    /// something else that a run would overwrite; [`TrainError::NothingToResume`] if it holds no run and is to be
    /// resumed.
    pub fn open(path: &Path, mode: RunMode) -> Result<Self, TrainError> {
        if mode == RunMode::Resume && !path.exists() {
            return Err(TrainError::NothingToResume { path: path.into() });
        }
        fs::create_dir_all(path).map_err(|e| TrainError::io(path, e))?;
        let run = Self::claim(path, mode)?;
        for folder in [run.checkpoints(), run.hypotheses_folder()] {
            fs::create_dir_all(&folder).map_err(|e| TrainError::io(&folder, e))?;
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
                return Err(TrainError::NothingToResume { path: path.into() });
            }
            if let Some(found) = run.in_the_way()? {
                return Err(TrainError::FolderTaken { path: path.into(), found });
            }
        }
        run._lock = lock(path)?;
        if mode == RunMode::New && run.holds_a_run() {
            return Err(TrainError::RunExists { path: path.into() });
        }
        Ok(run)
    }

    /// Whether a run began here. The first thing that a run writes is its configuration.
    fn holds_a_run(&self) -> bool {
        self.config().exists() || self.checkpoint_steps().is_ok_and(|steps| !steps.is_empty())
    }

    /// What a folder without a run contains that a run would overwrite or add to. The folders that a start leaves if it
    /// is refused before its run begins are empty and do not count.
    fn in_the_way(&self) -> Result<Option<PathBuf>, TrainError> {
        let models = MODELS.map(|name| self.model(name));
        let models =
            models.iter().flat_map(|path| [path.clone(), beside(path, PARTIAL), beside(path, OLD)]);
        let files = [METRICS_FILE, LOG_FILE, FINISHED].map(|name| self.path.join(name));
        if let Some(found) = models.chain(files).find(|path| path.symlink_metadata().is_ok()) {
            return Ok(Some(found));
        }
        for folder in [self.checkpoints(), self.hypotheses_folder()] {
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(|e| TrainError::io(&folder, e))?,
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
        let entries = fs::read_dir(&folder).map_err(|e| TrainError::io(&folder, e))?;
        let leftovers = entries.filter_map(|entry| belongs_to(&entry.ok()?.path()));
        let checkpoints = leftovers.filter(|path| step_of(path).is_some());
        let models = MODELS.map(|name| self.model(name));
        for path in checkpoints.chain(models) {
            recover(&path).map_err(|e| TrainError::io(&path, e))?;
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

    /// The copy of the model that the run in the folder `run` started from, if there is one.
    pub(crate) fn start_model_in(run: &Path) -> Option<PathBuf> {
        let own = run.join(START);
        (own.is_dir() && run.join("config.toml").exists()).then_some(own)
    }

    fn hypotheses_folder(&self) -> PathBuf {
        self.path.join("valid")
    }

    /// The path of the validation text decoded by the model after update `step`.
    pub fn hypotheses(&self, step: u64) -> PathBuf {
        self.hypotheses_folder().join(format!("step-{step:06}.hyp"))
    }

    /// The path of the validation text decoded by the average of the checkpoints up to update `step`.
    pub fn hypotheses_of_average(&self, step: u64) -> PathBuf {
        self.hypotheses_folder().join(format!("step-{step:06}-average.hyp"))
    }

    /// The updates of the existing checkpoints, oldest first.
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

    /// Removes all checkpoints but the newest `keep`; with 0, only those that interruptions left.
    ///
    /// `kind` returns the reason why the checkpoint of an update was written. A checkpoint of an interruption is
    /// removed as soon as there is a newer checkpoint, and never displaces the newest scheduled one, so that a run that
    /// was interrupted ends with the same checkpoints as one that was not. The same holds for that of an earlier end of
    /// the run, unless all are kept. Must be called right after a checkpoint was written: that one is good, and is
    /// kept.
    ///
    /// # Errors
    /// [`TrainError::Io`] if a folder cannot be removed.
    pub fn prune(
        &self,
        keep: usize,
        kind: impl Fn(u64) -> CheckpointKind,
    ) -> Result<(), TrainError> {
        let steps = self.checkpoint_steps()?;
        let Some((&newest, older)) = steps.split_last() else { return Ok(()) };
        let stays = |step: &u64| match kind(*step) {
            CheckpointKind::Scheduled => true,
            CheckpointKind::Final => keep == 0,
            CheckpointKind::Interrupted => false,
        };
        let (staying, going): (Vec<u64>, Vec<u64>) = older.iter().partition(|step| stays(step));
        // The newest counts as one; if it is not scheduled, at least one scheduled stays beside it.
        let beside = usize::from(kind(newest) != CheckpointKind::Scheduled);
        let places = if keep == 0 { usize::MAX } else { (keep - 1).max(beside) };
        let surplus = staying.len().saturating_sub(places);
        for &step in staying[..surplus].iter().chain(&going) {
            let path = self.checkpoint(step);
            remove(&path).map_err(|e| TrainError::io(&path, e))?;
        }
        Ok(())
    }

    /// Renames the damaged checkpoint of `step` to `step-000100.damaged`.
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

    /// Records that the run has ended.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the file cannot be written.
    pub fn set_finished(&self, finished: &Finished) -> Result<(), TrainError> {
        let json = serde_json::to_vec(finished).expect("an end is plain data");
        write_file(&self.path.join(FINISHED), &json)
    }

    /// The end of the run, if it ended after update `step`; `None` if it was killed before.
    pub fn finished(&self, step: u64) -> Option<Finished> {
        let json = fs::read(self.path.join(FINISHED)).ok()?;
        let finished: Finished = serde_json::from_slice(&json).ok()?;
        (finished.step == step).then_some(finished)
    }

    /// Removes the record of the run's end, unless that was after update `step`, from which the run goes on: when it
    /// arrives there again, it has to make its end again.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the file cannot be removed.
    pub(crate) fn forget_other_end(&self, step: u64) -> Result<(), TrainError> {
        let path = self.path.join(FINISHED);
        if self.finished(step).is_some() {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(TrainError::io(&path, error))
            }
            _ => Ok(()),
        }
    }
}

/// The update in the name of a checkpoint's folder.
fn step_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("step-")?.parse().ok()
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
        let scheduled = |_| CheckpointKind::Scheduled;
        run.prune(0, scheduled).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [100, 200, 1_000_000]);
        run.prune(2, scheduled).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [200, 1_000_000]);
        run.prune(1, scheduled).expect("prunes");
        run.prune(1, scheduled).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [1_000_000]);
    }

    /// What pruning leaves where those of whole hundreds are scheduled, the others of this kind.
    fn left(steps: &[u64], keep: usize, others: CheckpointKind) -> Vec<u64> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = run_with(folder.path(), steps);
        let kind = |step| if step % 100 == 0 { CheckpointKind::Scheduled } else { others };
        run.prune(keep, kind).expect("prunes");
        run.checkpoint_steps().expect("reads")
    }

    #[test]
    fn the_end_of_a_run_that_goes_on_is_kept_where_all_are() {
        let left = |steps: &[u64], keep| left(steps, keep, CheckpointKind::Final);
        assert_eq!(left(&[100, 150, 200, 250], 0), [100, 150, 200, 250]);
        assert_eq!(left(&[100, 150, 200], 3), [100, 200]);
        assert_eq!(left(&[100, 200, 250], 2), [200, 250]);
    }

    #[test]
    fn an_interruption_leaves_no_trace_among_the_checkpoints() {
        let left = |steps: &[u64], keep| left(steps, keep, CheckpointKind::Interrupted);
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
    fn the_end_is_remembered_until_the_run_goes_on_from_elsewhere() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = run_with(folder.path(), &[]);
        assert_eq!(run.finished(800), None);
        let validation = Some(ValidationState { validated: 800, ..ValidationState::default() });
        let end = Finished { step: 800, reason: "max_updates reached".into(), validation };
        run.set_finished(&end).expect("writes");
        run.forget_other_end(800).expect("stays");
        assert_eq!((run.finished(800), run.finished(700)), (Some(end), None));
        run.forget_other_end(700).expect("removes");
        assert_eq!(run.finished(800), None);
        run.forget_other_end(700).expect("nothing to remove");
    }

    #[test]
    fn a_folder_of_something_else_is_refused_and_left_as_it_is() {
        for name in [
            "best/model.safetensors",
            "last.old/model.safetensors",
            "average.partial/notes.txt",
            "metrics.jsonl",
            "train.log",
            "finished.json",
            "valid/step-000100.hyp",
            "checkpoints/step-000100.partial/config.json",
        ] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("lies in a folder")).expect("makes");
            fs::write(&file, "mine").expect("writes");
            for error in [
                RunDir::check(folder.path(), RunMode::New).expect_err("is refused"),
                RunDir::open(folder.path(), RunMode::New).expect_err("is refused"),
            ] {
                assert!(
                    matches!(&error, TrainError::FolderTaken { found, .. } if file.starts_with(found))
                );
                assert!(error.to_string().contains("choose another --out"), "{error}");
            }
            assert_eq!(fs::read_to_string(&file).expect("reads"), "mine");
        }
    }

    #[test]
    fn text_beside_a_run_and_what_a_refused_start_left_are_in_nobodys_way() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        drop(RunDir::open(folder.path(), RunMode::New).expect("opens"));
        for name in ["train.de", "valid/newstest.de", "checkpoints/of-another-program.pt"] {
            fs::write(folder.path().join(name), "text").expect("writes");
        }
        drop(RunDir::open(folder.path(), RunMode::New).expect("opens again"));
    }
}
