use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TrainError;

/// The folder of a run.
///
/// | entry | holds |
/// |---|---|
/// | `config.toml` | the resolved configuration, reusable with `--config` |
/// | `checkpoints/step-000100/` | all that a run needs to go on |
/// | `best/`, `last/`, `average/` | model directories |
/// | `metrics.jsonl`, `train.log`, `events.out.tfevents.*` | what happened |
/// | `valid/step-000100.hyp` | decoded validation text |
#[derive(Clone, Debug)]
pub struct RunDir(PathBuf);

impl RunDir {
    /// The folder `path`, made if need be.
    ///
    /// # Errors
    /// [`TrainError::Io`]; [`TrainError::RunExists`] if it holds a run and `resume` is false.
    pub fn open(path: &Path, resume: bool) -> Result<Self, TrainError> {
        let run = Self(path.to_path_buf());
        if !resume && (run.config().exists() || run.checkpoints().exists()) {
            return Err(TrainError::RunExists { path: path.into() });
        }
        if resume && !run.checkpoints().exists() {
            return Err(TrainError::NothingToResume { path: path.into() });
        }
        for folder in [run.0.clone(), run.checkpoints(), run.0.join("valid")] {
            fs::create_dir_all(&folder).map_err(|e| TrainError::io(&folder, e))?;
        }
        Ok(run)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// The folder of checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoints")
    }

    /// The checkpoint after update `step`.
    pub fn checkpoint(&self, step: u64) -> PathBuf {
        self.checkpoints().join(format!("step-{step:06}"))
    }

    /// The model directory `best`, `last` or `average`.
    pub fn model(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The decoded validation text of update `step`.
    pub fn hypotheses(&self, step: u64) -> PathBuf {
        self.0.join("valid").join(format!("step-{step:06}.hyp"))
    }

    /// Steps of the checkpoints present, oldest first.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the folder cannot be read.
    pub fn checkpoint_steps(&self) -> Result<Vec<u64>, TrainError> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).map_err(|e| TrainError::io(&folder, e))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut steps: Vec<u64> =
            names.filter_map(|name| name.strip_prefix("step-")?.parse().ok()).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// Removes all but the newest `keep` checkpoints; 0 keeps all.
    ///
    /// # Errors
    /// [`TrainError::Io`] if a folder cannot be removed.
    pub fn prune(&self, keep: usize) -> Result<(), TrainError> {
        let steps = self.checkpoint_steps()?;
        let surplus = if keep == 0 { 0 } else { steps.len().saturating_sub(keep) };
        for &step in &steps[..surplus] {
            let path = self.checkpoint(step);
            fs::remove_dir_all(&path).map_err(|e| TrainError::io(&path, e))?;
        }
        Ok(())
    }
}

/// Puts the folder `new` in the place of `path`, whatever is there.
pub(crate) fn replace_folder(new: &Path, path: &Path) -> Result<(), TrainError> {
    let old = path.with_extension("old");
    let _ = fs::remove_dir_all(&old);
    if path.exists() {
        fs::rename(path, &old).map_err(|e| TrainError::io(path, e))?;
    }
    fs::rename(new, path).map_err(|e| TrainError::io(path, e))?;
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_not_overwritten_and_an_empty_one_not_resumed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run");
        assert!(matches!(RunDir::open(&path, true), Err(TrainError::NothingToResume { .. })));
        RunDir::open(&path, false).expect("opens");
        assert!(matches!(RunDir::open(&path, false), Err(TrainError::RunExists { .. })));
        RunDir::open(&path, true).expect("opens");
    }

    #[test]
    fn pruning_keeps_the_newest() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = RunDir::open(folder.path(), false).expect("opens");
        for step in [100, 200, 1_000_000] {
            fs::create_dir(run.checkpoint(step)).expect("makes");
        }
        run.prune(0).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [100, 200, 1_000_000]);
        run.prune(2).expect("prunes");
        assert_eq!(run.checkpoint_steps().expect("reads"), [200, 1_000_000]);
    }
}
