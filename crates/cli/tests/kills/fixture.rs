//! Processes that train, and are killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use crate::common::{Corpus, burnformer, train_arguments};
use crate::without_tokenizer_settings;

/// Dropout, accumulation, log lines that span checkpoints, validation, early-stopping state,
/// averaging: everything that resuming could get wrong.
pub const SETTINGS: [&str; 12] = [
    "model.dropout=0.1",
    "training.accumulate=2",
    "training.max_updates=150",
    "training.log_every=6",
    "training.budget=256",
    "validation.every=30",
    "validation.max_sentences=30",
    "validation.patience=50",
    "checkpoints.every=10",
    "checkpoints.keep=3",
    "checkpoints.average=3",
    "optimizer.clip_norm=1.0",
];

/// The event that a kill waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A time drawn from the whole length of a run.
    AnyTime,
    /// A half-written checkpoint or model directory on the disk.
    WhileWriting,
    /// The line of an update that is validated: decoding comes next.
    WhileValidating,
}

/// A place for runs over one corpus.
pub struct Fixture {
    folder: tempfile::TempDir,
    corpus: Corpus,
    pub settings: Vec<String>,
    /// The number of threads of a process; `None` for one a processor.
    pub threads: Option<usize>,
}

impl Fixture {
    pub fn new(more: &[&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::write(folder.path());
        let settings = SETTINGS
            .iter()
            .chain(more)
            .map(ToString::to_string)
            .collect();
        Self {
            folder,
            corpus,
            settings,
            threads: None,
        }
    }

    pub fn run_dir(&self, out: &str) -> PathBuf {
        self.folder.path().join(out)
    }

    pub fn start(&self, out: &str) -> Child {
        let mut arguments = train_arguments(self.folder.path(), &self.corpus, out, &[]);
        arguments.retain(|argument| argument != "--test");
        let is_fine_tuning = self
            .settings
            .iter()
            .any(|set| set.starts_with("training.from="));
        if is_fine_tuning {
            // The tokeniser comes from the start model.
            without_tokenizer_settings(&mut arguments);
        }
        let test = self
            .corpus
            .test
            .each_ref()
            .map(|path| path.display().to_string());
        arguments.retain(|argument| !test.contains(argument));
        arguments.extend(
            self.settings
                .iter()
                .flat_map(|s| ["--set".to_string(), s.clone()]),
        );
        if self.run_dir(out).join("config.toml").exists() {
            arguments.push("--resume".into());
        }
        let mut command = burnformer(&arguments);
        if let Some(threads) = self.threads {
            command.env("RAYON_NUM_THREADS", threads.to_string());
        }
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs to the end. Returns the time.
    pub fn finish(&self, out: &str) -> Duration {
        let start = Instant::now();
        let output = self.start(out).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // Killed after the last file was written: there is nothing left to do.
        let done = output.status.success() || said.contains("nothing to do");
        assert!(done, "{said}");
        start.elapsed()
    }

    /// Starts or resumes the run and kills it. Returns whether it was killed before it ended.
    pub fn kill(
        &self,
        out: &str,
        moment: Moment,
        draw: &mut Xoshiro256PlusPlus,
        whole: Duration,
    ) -> bool {
        let mut child = self.start(out);
        let run = self.run_dir(out);
        let wait = match moment {
            Moment::AnyTime => draw.random_range(0..(whole.as_micros() as u64).max(1)),
            _ => draw.random_range(0..2_000),
        };
        // The number of the writing or of the validation.
        let nth = draw.random_range(1..5);
        let end = Instant::now() + 2 * whole;
        let mut seen = Observed::default();
        while moment != Moment::AnyTime && seen.count < nth && Instant::now() < end {
            seen.look(&run, moment);
            if child.try_wait().unwrap().is_some() {
                return false;
            }
        }
        std::thread::sleep(Duration::from_micros(wait));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        status.code().is_none()
    }
}

/// The numbers of the events so far.
#[derive(Default)]
pub struct Observed {
    count: usize,
    present: bool,
    lines: Option<usize>,
}

impl Observed {
    pub fn look(&mut self, run: &Path, moment: Moment) {
        match moment {
            Moment::AnyTime => {}
            Moment::WhileWriting => {
                let now = half_written(run) > 0;
                self.count += usize::from(now && !self.present);
                self.present = now;
            }
            Moment::WhileValidating => {
                let lines = updates_before_validation(run);
                self.count = lines.saturating_sub(*self.lines.get_or_insert(lines));
            }
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Folders that a process is writing, or was when it was killed.
pub fn half_written(run: &Path) -> usize {
    let folders = [run.to_path_buf(), run.join("checkpoints")];
    let names = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".partial")).count()
}

/// Log lines of updates that are validated right after them.
pub fn updates_before_validation(run: &Path) -> usize {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    let steps = [30, 60, 90, 120, 150].map(|step| format!("\"step\":{step},"));
    let logged = |line: &str| line.contains("\"train\"") && steps.iter().any(|s| line.contains(s));
    text.lines().filter(|line| logged(line)).count()
}

pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}
