//! The folder of a run without `--out`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use burnformer_train::RunMode;
use burnformer_train::config::DEFAULT_PRESET;

/// Returns the folder of the run. A new run gets `runs/NAME`, with a number appended if that folder
/// exists. A resumed run is the most recently written one under `runs`, with the name `name` if it
/// is given.
///
/// # Errors
/// Returns an error if there is no run to resume.
pub fn choose(runs: &Path, name: Option<&str>, mode: RunMode) -> Result<PathBuf> {
    match mode {
        RunMode::New => Ok(free(runs, name.unwrap_or(DEFAULT_PRESET))),
        RunMode::Resume => newest(runs, name).with_context(|| {
            let under = runs.join(name.unwrap_or_default());
            format!(
                "no run under {} to resume; name its folder with --out",
                under.display()
            )
        }),
    }
}

fn free(runs: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|number| runs.join(format!("{name}-{number}")));
    let mut folders = std::iter::once(runs.join(name)).chain(numbered);
    folders
        .find(|folder| !folder.exists())
        .expect("some number is free")
}

/// The run that was written last. Ties go to the last by name.
fn newest(runs: &Path, name: Option<&str>) -> Option<PathBuf> {
    let folders = fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path());
    let runs = folders.filter(|folder| name.is_none_or(|name| is_called(folder, name)));
    runs.filter_map(|folder| Some((last_write(&folder)?, folder)))
        .max()
        .map(|(_, folder)| folder)
}

/// Returns whether the folder is called `name`, or `name` with a number.
fn is_called(folder: &Path, name: &str) -> bool {
    let rest = folder
        .file_name()
        .and_then(|found| found.to_str()?.strip_prefix(name));
    rest.is_some_and(|rest| rest.is_empty() || is_number(rest))
}

/// Returns whether `rest` is the suffix that [`free`] adds to a name.
fn is_number(rest: &str) -> bool {
    rest.strip_prefix('-')
        .is_some_and(|number| number.parse::<u64>().is_ok())
}

/// The time of the last write to the run in `folder`; `None` if there is no run. The lock file does
/// not count, because looking at a run writes it.
fn last_write(folder: &Path) -> Option<SystemTime> {
    folder.join("config.toml").exists().then_some(())?;
    let entries = fs::read_dir(folder).ok()?.flatten();
    let written = entries.filter(|entry| entry.file_name() != "run.lock");
    written
        .filter_map(|entry| entry.metadata().ok()?.modified().ok())
        .max()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    /// Folders with one run each. The file `name` was written `age` seconds ago.
    fn runs(all: &[(&str, &str, u64)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (run, name, age) in all {
            let run = folder.path().join(run);
            fs::create_dir_all(&run).unwrap();
            let file = File::create(run.join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(*age))
                .unwrap();
        }
        folder
    }

    fn resumed(folder: &tempfile::TempDir, name: Option<&str>) -> Option<String> {
        let chosen = choose(folder.path(), name, RunMode::Resume).ok()?;
        Some(chosen.file_name()?.to_str()?.to_owned())
    }

    #[test]
    fn the_newest_run_is_the_one_written_last() {
        let folder = runs(&[
            ("tiny", "config.toml", 100),
            ("tiny", "train.log", 10),
            ("tiny-2", "config.toml", 50),
            ("small", "config.toml", 20),
            ("small", "run.lock", 1),
            ("notes", "train.log", 0),
        ]);
        assert_eq!(resumed(&folder, None).as_deref(), Some("tiny"));
    }

    #[test]
    fn a_name_selects_among_runs_of_that_name() {
        let folder = runs(&[
            ("tiny", "config.toml", 30),
            ("tiny-2", "config.toml", 20),
            ("tiny-long", "config.toml", 10),
            ("small", "config.toml", 0),
        ]);
        assert_eq!(resumed(&folder, Some("tiny")).as_deref(), Some("tiny-2"));
        let none = choose(folder.path(), Some("base"), RunMode::Resume)
            .unwrap_err()
            .to_string();
        assert!(none.contains("base") && none.contains("--out"), "{none}");
        assert_eq!(resumed(&runs(&[]), None), None);
    }

    #[test]
    fn a_new_run_has_the_first_free_number() {
        let folder = runs(&[("tiny", "config.toml", 0), ("tiny-3", "config.toml", 0)]);
        let chosen = |name| choose(folder.path(), name, RunMode::New).unwrap();
        assert_eq!(chosen(Some("tiny")), folder.path().join("tiny-2"));
        assert_eq!(chosen(None), folder.path().join(DEFAULT_PRESET));
        assert_eq!(chosen(Some("small")), folder.path().join("small"));
    }
}
