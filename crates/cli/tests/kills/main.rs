//! Real training processes, killed (SIGKILL) at random moments and resumed. Their results must
//! equal the results of an unkilled process byte for byte.
//!
//! `BURNFORMER_KILLS` sets the number of kills of the opt-in test, `BURNFORMER_SEED` the seed of
//! their moments.

#[path = "../it/common/mod.rs"]
mod common;
mod compare;
mod fixture;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use compare::{assert_same, metrics};
use fixture::{Fixture, Moment, half_written, now, signal, updates_before_validation};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

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

#[test]
fn five_kills_leave_no_trace() {
    harness(5, now(), &[]);
}

/// A run on one thread, on two, on three, and killed on one and continued on two.
#[test]
fn the_number_of_threads_leaves_no_trace() {
    let seed = now();
    println!("seed {seed}");
    let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
    for precision in ["training.precision=float32", "training.precision=bfloat16"] {
        let mut fixture = Fixture::new(&[precision]);
        fixture.threads = Some(1);
        fixture.finish("one");
        let whole = fixture.finish("again");
        fixture.kill("mixed", Moment::AnyTime, &mut draw, whole);
        for (threads, out) in [(2, "two"), (3, "three"), (2, "mixed")] {
            fixture.threads = Some(threads);
            fixture.finish(out);
            let [one, other] = ["one", out].map(|out| fixture.run_dir(out));
            assert_same(&one, &other, &format!("{precision}, {out}"));
        }
    }
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
