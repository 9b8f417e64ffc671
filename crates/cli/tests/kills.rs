//! Real training processes, killed (SIGKILL) at random moments and resumed. Their results must
//! equal the results of an unkilled process byte for byte.
//!
//! `BURNFORMER_KILLS` sets the number of kills of the opt-in test, `BURNFORMER_SEED` the seed of
//! their moments.

#[path = "it/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::{Corpus, burnformer, train_arguments};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

/// Dropout, accumulation, log lines that span checkpoints, validation, early-stopping state,
/// averaging: everything that resuming could get wrong.
const SETTINGS: [&str; 12] = [
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
enum Moment {
    /// A time drawn from the whole length of a run.
    AnyTime,
    /// A half-written checkpoint or model directory on the disk.
    WhileWriting,
    /// The line of an update that is validated: decoding comes next.
    WhileValidating,
}

/// A place for runs over one corpus.
struct Fixture {
    folder: tempfile::TempDir,
    corpus: Corpus,
    settings: Vec<String>,
}

impl Fixture {
    fn new(more: &[&'static str]) -> Self {
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
        }
    }

    fn run_dir(&self, out: &str) -> PathBuf {
        self.folder.path().join(out)
    }

    fn start(&self, out: &str) -> Child {
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
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs to the end. Returns the time.
    fn finish(&self, out: &str) -> Duration {
        let start = Instant::now();
        let output = self.start(out).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // Killed after the last file was written: there is nothing left to do.
        let done = output.status.success() || said.contains("nothing to do");
        assert!(done, "{said}");
        start.elapsed()
    }

    /// Starts or resumes the run and kills it. Returns whether it was killed before it ended.
    fn kill(
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
struct Observed {
    count: usize,
    present: bool,
    lines: Option<usize>,
}

impl Observed {
    fn look(&mut self, run: &Path, moment: Moment) {
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
fn half_written(run: &Path) -> usize {
    let folders = [run.to_path_buf(), run.join("checkpoints")];
    let names = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".partial")).count()
}

/// Log lines of updates that are validated right after them.
fn updates_before_validation(run: &Path) -> usize {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    let steps = [30, 60, 90, 120, 150].map(|step| format!("\"step\":{step},"));
    let logged = |line: &str| line.contains("\"train\"") && steps.iter().any(|s| line.contains(s));
    text.lines().filter(|line| logged(line)).count()
}

/// Every file with bytes that must not depend on kills: parameters, moments, tokenisers,
/// configurations.
fn bytes(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![run.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(run).unwrap().display().to_string();
            let timed = [
                "metrics.jsonl",
                "train.log",
                "run.lock",
                "state.json",
                "manifest.json",
                ".burnformer",
            ];
            if path.is_dir() {
                folders.push(path);
            } else if !timed.iter().any(|end| name.ends_with(end)) {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// A JSON text without the values that depend on a clock.
fn timeless(text: &str) -> Value {
    fn strip(value: &mut Value) {
        if let Value::Object(fields) = value {
            for clock in ["seconds", "tokens_per_second", "data_wait", "since"] {
                fields.remove(clock);
            }
            fields.values_mut().for_each(strip);
        }
    }
    let mut value = serde_json::from_str(text).unwrap();
    strip(&mut value);
    value
}

fn metrics(run: &Path) -> Vec<Value> {
    fs::read_to_string(run.join("metrics.jsonl"))
        .unwrap()
        .lines()
        .map(timeless)
        .collect()
}

/// The state of each checkpoint, by its name.
fn states(run: &Path) -> BTreeMap<String, Value> {
    let entries = fs::read_dir(run.join("checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap());
    entries
        .map(|entry: fs::DirEntry| {
            let state = fs::read_to_string(entry.path().join("state.json")).unwrap();
            (entry.file_name().into_string().unwrap(), timeless(&state))
        })
        .collect()
}

fn assert_same(whole: &Path, parts: &Path, case: &str) {
    let expected = bytes(whole);
    let found = bytes(parts);
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "{case}: files");
    for (name, content) in &expected {
        assert!(found[name] == *content, "{case}: {name} differs");
    }
    assert_eq!(metrics(parts), metrics(whole), "{case}: metrics");
    assert_eq!(states(parts), states(whole), "{case}: states");
    assert_eq!(half_written(parts), 0, "{case}");
}

/// Kills `kills` processes, one, two or three per run, and compares the end of each run.
fn harness(kills: usize, seed: u64, more: &[&'static str]) {
    harness_in(&Fixture::new(more), kills, seed);
}

fn harness_in(fixture: &Fixture, kills: usize, seed: u64) {
    println!("seed {seed}");
    let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
    fixture.finish("warm");
    let whole = Duration::max(fixture.finish("whole"), Duration::from_millis(500));
    assert_same(
        &fixture.run_dir("warm"),
        &fixture.run_dir("whole"),
        "two whole runs",
    );
    let moments = [
        Moment::AnyTime,
        Moment::WhileWriting,
        Moment::WhileValidating,
    ];
    let mut counts: BTreeMap<Moment, usize> = BTreeMap::new();
    let mut killed = 0;
    let mut writing = 0;
    let mut run = 0;
    while killed < kills {
        run += 1;
        let out = format!("killed-{run}");
        let mut story = Vec::new();
        let most = draw.random_range(1..4);
        while story.len() < most && killed < kills {
            let moment = moments[killed % moments.len()];
            if !fixture.kill(&out, moment, &mut draw, whole) {
                break;
            }
            let halves = half_written(&fixture.run_dir(&out));
            killed += 1;
            writing += usize::from(halves > 0);
            *counts.entry(moment).or_default() += 1;
            story.push((moment, halves));
        }
        fixture.finish(&out);
        assert_same(
            &fixture.run_dir("whole"),
            &fixture.run_dir(&out),
            &format!("{out}: {story:?}"),
        );
        println!("{out}: {story:?}: identical");
        fs::remove_dir_all(fixture.run_dir(&out)).unwrap();
    }
    println!(
        "{killed} kills {counts:?} in {run} runs of {whole:?}; {writing} left a half-written folder"
    );
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

#[test]
fn five_kills_leave_no_trace() {
    harness(5, now(), &[]);
}

/// Leaves out `--set tokenizer.train.…`.
fn without_tokenizer_settings(arguments: &mut Vec<String>) {
    while let Some(at) = arguments
        .iter()
        .position(|argument| argument.starts_with("tokenizer.train."))
    {
        arguments.drain(at - 1..=at);
    }
}

#[test]
fn killed_fine_tuning_leaves_no_trace() {
    let mut fixture = Fixture::new(&["training.freeze=[\"encoder\"]"]);
    fixture.finish("base");
    let base = fixture.run_dir("base/best").display().to_string();
    fixture.settings.extend([
        format!("training.from={base:?}"),
        "schedule.peak=1e-4".into(),
    ]);
    harness_in(&fixture, 3, now());
}

/// The first update makes the parameters so large that every later loss is NaN; going back lowers
/// the learning rate to a usual one.
const DIVERGING: [&str; 3] = [
    "schedule.factor=1e25",
    "recovery.rate=1e-25",
    "training.max_updates=150",
];

#[test]
fn a_diverging_run_rolls_back_and_kills_leave_no_trace_of_it() {
    harness(2, now(), &DIVERGING);
}

/// The end of the first part, with its average, must be kept until the second part is further.
#[test]
fn a_run_extended_after_its_end_can_be_killed_too() {
    let seed = now();
    println!("seed {seed}");
    let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut fixture = Fixture::new(&[]);
    let outs = ["whole", "killed"];
    for out in outs {
        fixture.finish(out);
    }
    assert_same(
        &fixture.run_dir("whole"),
        &fixture.run_dir("killed"),
        "before they go on",
    );
    fixture.settings.push("training.max_updates=200".into());
    let whole = Duration::max(fixture.finish("whole"), Duration::from_millis(300));
    for moment in [Moment::AnyTime, Moment::WhileWriting, Moment::AnyTime] {
        fixture.kill("killed", moment, &mut draw, whole);
    }
    fixture.finish("killed");
    let [whole, killed] = outs.map(|out| fixture.run_dir(out));
    assert_same(&whole, &killed, "after they went on");
    let records = metrics(&whole);
    let steps: Vec<_> = records
        .iter()
        .filter(|record: &&Value| record["averaged"] == true)
        .map(|record| &record["step"])
        .collect();
    assert_eq!(steps, [150, 200]);
}

#[test]
#[ignore = "minutes: BURNFORMER_KILLS processes (30 if unset) are killed and resumed"]
fn thirty_kills_leave_no_trace() {
    let number = |name: &str, default| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    harness(
        number("BURNFORMER_KILLS", 30) as usize,
        number("BURNFORMER_SEED", 1),
        &[],
    );
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !there() {
        assert!(Instant::now() < end, "no {what} within a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn ctrl_c_and_sigterm_save_between_two_updates_and_leave_no_trace_either() {
    let fixture = Fixture::new(&[]);
    fixture.finish("whole");
    let run = fixture.run_dir("stopped");
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let child = fixture.start("stopped");
        let before = updates_before_validation(&run);
        wait_for("line", || updates_before_validation(&run) > before);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(
            said.contains("interrupted; continue with --resume"),
            "{said}"
        );
    }
    fixture.finish("stopped");
    assert_same(&fixture.run_dir("whole"), &run, "stopped twice");
}

#[test]
fn ctrl_c_in_the_last_phase_is_obeyed_and_resuming_makes_the_rest() {
    // The many searches of this run take long after the last update.
    let alphas = "validation.test_alphas=[0.2, 0.4, 0.6, 0.8]";
    let fixture = Fixture::new(&[
        "training.max_updates=40",
        "validation.test_beam=100",
        alphas,
    ]);
    let run = fixture.run_dir("stopped");
    for phase in ["stopped after update 40", "averaged the checkpoints"] {
        let child = fixture.start("stopped");
        let log = || fs::read_to_string(run.join("train.log")).unwrap_or_default();
        let before = log().len();
        wait_for(phase, || {
            log().get(before..).is_some_and(|new| new.contains(phase))
        });
        std::thread::sleep(Duration::from_millis(200));
        let asked = Instant::now();
        signal(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(
            asked.elapsed() < Duration::from_secs(5),
            "{:?}",
            asked.elapsed()
        );
        assert!(
            said.contains("stopped; --resume makes the rest of the run's end"),
            "{said}"
        );
        assert!(!run.join("finished.json").exists());
    }
    fixture.finish("stopped");
    fixture.finish("whole");
    assert_same(&fixture.run_dir("whole"), &run, "stopped in its last phase");
}

#[test]
fn a_second_ctrl_c_ends_the_process_at_once() {
    // One update takes about a second.
    let slow = [
        "model.d_model=256",
        "model.d_ff=1024",
        "model.encoder_layers=6",
    ];
    let wide = [
        "training.budget=8192",
        "training.accumulate=8",
        "training.max_memory=64",
    ];
    let fixture = Fixture::new(&[&slow[..], &wide].concat());
    let mut child = fixture.start("run");
    let run = fixture.run_dir("run");
    wait_for("run", || run.join("metrics.jsonl").exists());
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-INT");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("once more to stop at once")));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(
        fs::read_dir(run.join("checkpoints")).unwrap().count(),
        0,
        "nothing was saved"
    );
}
