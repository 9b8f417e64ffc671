//! Runs on several devices, and runs whose updates the device decides about: on the CPU, beside the run on
//! one device whose updates the host decides about.

use std::fs;
use std::sync::atomic::AtomicBool;

use burn::tensor::{Device, TensorData};
use burnformer_core::named_parameters;

use super::*;
use crate::corpora::Corpora;
use crate::report::{Record, Verbosity};
use crate::run_dir::RunMode;

const SETTINGS: [&str; 17] = [
    "model.d_model=16",
    "model.heads=2",
    "model.d_ff=32",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.dropout=0.2",
    "tokenizer.train.vocab_size=300",
    "tokenizer.train.allow_smaller=true",
    "training.budget=64",
    "training.max_updates=20",
    "training.max_minutes=0",
    "optimizer.clip_norm=0.5",
    "validation.every=0",
    "checkpoints.every=10",
    "checkpoints.average=0",
    "schedule.warmup=10",
    // Gentle: at the rates of so small a model, rounding alone would grow to a tenth in twenty updates.
    "schedule.factor=0.05",
];

/// A small corpus, whose sentences differ in length, and runs on it.
struct Toy {
    folder: tempfile::TempDir,
    config: TrainConfig,
    corpora: Corpora,
}

impl Toy {
    fn new(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let words = |i: usize| "a b c d ".repeat(i % 5);
        let text: String =
            (0..200).map(|i| format!("{i} {}e\t{i} f {}\n", words(i), words(i + 2))).collect();
        let corpus = folder.path().join("corpus.tsv");
        fs::write(&corpus, text).unwrap();
        let paths = [
            format!("data.train=[{:?}]", corpus.display().to_string()),
            format!("data.cache={:?}", folder.path().join("cache").display().to_string()),
        ];
        let settings = SETTINGS.iter().chain(settings).map(ToString::to_string).chain(paths);
        let config =
            TrainConfig::resolve(Some("tiny"), None, &settings.collect::<Vec<_>>()).unwrap();
        let corpora = Corpora::prepare(&config, &mut |_| {}).unwrap();
        Self { folder, config, corpora }
    }

    fn start(&self, run: &str, devices: usize) -> Learner {
        self.learner(run, RunMode::New, devices, 20).unwrap()
    }

    /// The learner of a run of `updates`, on as many CPU devices.
    fn learner(
        &self,
        run: &str,
        mode: RunMode,
        devices: usize,
        updates: u64,
    ) -> Result<Learner, TrainError> {
        let mut config = self.config.clone();
        config.training.max_updates = updates;
        let devices = vec![Device::default(); devices];
        let folder = self.folder.path().join(run);
        Learner::new(config, &self.corpora, &folder, mode, Verbosity::Quiet, &devices)
    }

    fn records(&self, run: &str) -> Vec<Record> {
        let text = fs::read_to_string(self.folder.path().join(run).join("metrics.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Update and loss of each log line.
    fn losses(&self, run: &str) -> Vec<(u64, f64)> {
        let loss = |record| match record {
            Record::Train(point) => Some((point.step, point.loss)),
            _ => None,
        };
        self.records(run).into_iter().filter_map(loss).collect()
    }

    /// The parameters and moments of a checkpoint.
    fn saved(&self, run: &str, step: &str) -> [Vec<u8>; 2] {
        let folder = self.folder.path().join(run).join("checkpoints").join(step);
        ["model.safetensors", "optimizer.safetensors"]
            .map(|file| fs::read(folder.join(file)).unwrap())
    }

    fn assert_same_losses(&self, runs: [&str; 2], tolerance: f64) {
        let [one, other] = runs.map(|run| self.losses(run));
        assert_eq!(one.len(), other.len());
        for ((step, a), (other_step, b)) in one.iter().zip(&other) {
            assert_eq!(step, other_step);
            assert!((a - b).abs() < tolerance, "{runs:?}, update {step}: {a} {b}");
        }
    }
}

fn train(learner: Learner) -> Outcome {
    learner.train(&AtomicBool::new(false)).unwrap()
}

/// The same run, with its updates left to the device.
fn on_device(mut learner: Learner) -> Learner {
    learner.updater.synchronous = false;
    learner
}

#[test]
fn two_devices_train_as_one_and_a_run_goes_on_with_another_number() {
    let toy = Toy::new(&["training.accumulate=4", "training.log_every=1"]);
    train(toy.start("one", 1));
    train(toy.start("two", 2));
    train(toy.learner("both", RunMode::New, 2, 10).unwrap());
    train(toy.learner("both", RunMode::Resume, 1, 20).unwrap());
    assert_eq!(toy.losses("one").len(), 20);
    toy.assert_same_losses(["one", "two"], 1e-4);
    toy.assert_same_losses(["one", "both"], 1e-4);
    let losses = toy.losses("one");
    assert!(losses[19].1 < losses[0].1 - 0.1, "nothing was learned: {losses:?}");
    let refused = toy.learner("both", RunMode::Resume, 5, 30);
    assert!(matches!(refused, Err(TrainError::TooManyDevices { devices: 5, batches: 4 })));
    train(toy.learner("both", RunMode::Resume, 3, 21).unwrap());
}

#[test]
fn two_devices_train_in_16_bits_as_one_does() {
    let toy = |precision: &str| {
        let precision = format!("training.precision={precision}");
        Toy::new(&["training.accumulate=4", "training.log_every=1", &precision])
    };
    let exact = toy("float32");
    train(exact.start("one", 1));
    // In float16 the order in which gradients are added shows from update 6 on (4e-4 in the loss by update 20).
    for (precision, same, least_apart) in [("bfloat16", 20, 4e-4), ("float16", 5, 5e-5)] {
        let half = toy(precision);
        train(half.start("one", 1));
        train(half.start("two", 2));
        assert_eq!(half.losses("one").len(), 20);
        let (one, two) = (half.losses("one"), half.losses("two"));
        for ((step, a), (_, b)) in one.iter().zip(&two).take(same) {
            assert!((a - b).abs() < 1e-5, "{precision}, update {step}: {a} {b}");
        }
        // Of a scaled loss the host decides.
        if precision == "bfloat16" {
            train(on_device(half.start("device", 1)));
            half.assert_same_losses(["one", "device"], 1e-4);
        }
        // The test could tell if a device multiplied in float32.
        let pairs = exact.losses("one").into_iter().zip(one).take(same);
        let apart = pairs.map(|((_, a), (_, b))| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart > least_apart, "{precision}: {apart}");
    }
}

#[test]
fn a_new_run_on_several_devices_takes_a_batch_for_each_and_writes_so_down() {
    let toy = Toy::new(&["training.accumulate=3"]);
    drop(toy.start("run", 2));
    let folder = toy.folder.path().join("run");
    let config = fs::read_to_string(folder.join("config.toml")).unwrap();
    assert!(config.contains("accumulate = 4"), "{config}");
    let log = fs::read_to_string(folder.join("train.log")).unwrap();
    assert!(log.contains("2 devices: an update is 4 batches instead of 3"), "{log}");
}

#[test]
fn a_run_whose_updates_the_device_decides_about_is_the_one_of_the_host() {
    let toy = Toy::new(&["training.accumulate=2", "training.log_every=4"]);
    let host = train(toy.start("host", 1));
    let device = train(on_device(toy.start("device", 1)));
    train(on_device(toy.start("devices", 2)));
    toy.assert_same_losses(["host", "device"], 1e-5);
    toy.assert_same_losses(["host", "devices"], 1e-5);
    let without_clock =
        |state: RunState| RunState { seconds: 0.0, interval: LogInterval::default(), ..state };
    assert_eq!(without_clock(host.state), without_clock(device.state));
    assert_eq!(device.state.optimizer_steps, 20);
    // Stopped between two readings of the run that was not.
    train(on_device(toy.learner("resumed", RunMode::New, 1, 7).unwrap()));
    train(on_device(toy.learner("resumed", RunMode::Resume, 1, 20).unwrap()));
    assert_eq!(toy.saved("device", "step-000020"), toy.saved("resumed", "step-000020"));
}

#[test]
fn an_interrupted_run_reads_what_the_device_did_and_saves_it() {
    let toy = Toy::new(&[]);
    let outcome = on_device(toy.start("run", 1)).train(&AtomicBool::new(true)).unwrap();
    assert_eq!((outcome.reason, outcome.state.step), (StopReason::Interrupted, 1));
    assert_eq!(outcome.state.optimizer_steps, 1);
    assert_eq!(toy.learner("run", RunMode::Resume, 1, 20).unwrap().state().step, 1);
}

#[test]
fn divergence_on_the_device_sends_a_run_back_as_on_the_host() {
    let recovers = ["schedule.factor=1e25", "recovery.rate=1e-27", "training.log_every=7"];
    let toy = Toy::new(&recovers);
    let host = train(toy.start("host", 1)).state;
    let device = train(on_device(toy.start("device", 1))).state;
    assert_eq!((host.step, host.recovery.rollbacks), (20, 1));
    assert_eq!((device.step, device.optimizer_steps, device.recovery), (20, 20, host.recovery));
    let divergences = |run| {
        let told = |record| match record {
            Record::Divergence(point) => {
                Some((point.number, point.step, point.answer, point.back_to))
            }
            _ => None,
        };
        toy.records(run).into_iter().filter_map(told).collect::<Vec<_>>()
    };
    assert_eq!(divergences("host"), divergences("device"));
    assert_eq!(divergences("host").len(), 6);
    toy.assert_same_losses(["host", "device"], 1e-5);
}

#[test]
fn a_run_that_diverges_on_the_device_for_good_stops_and_saves_nothing_of_it() {
    let toy = Toy::new(&["schedule.factor=1e25", "recovery.rollbacks=0", "training.log_every=999"]);
    let learner = on_device(toy.start("run", 1));
    let before: Vec<(String, TensorData)> = named_parameters(learner.model()).into_iter().collect();
    let error = learner.train(&AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { step: 6, rollbacks: 0, .. }), "{error}");
    assert!(fs::read_dir(toy.folder.path().join("run/checkpoints")).unwrap().next().is_none());
    let again = toy.learner("run", RunMode::Resume, 1, 20).unwrap();
    for (name, value) in before {
        value.assert_eq(&named_parameters(again.model())[&name], true);
    }
}
