//! Runs on several devices, and runs whose updates the device decides about: on the CPU, beside the run on
//! one device whose updates the host decides about.

use std::fs;
use std::sync::atomic::AtomicBool;

use burn::tensor::{Device, TensorData};
use burnformer_core::{model_dir, named_parameters};

use super::save::kind_of;
use super::*;
use crate::corpora::Corpora;
use crate::report::{Record, ValidRecord, Verbosity};
use crate::run_dir::RunMode;
use crate::texts::Texts;

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
        Self::with_validation(settings, "")
    }

    /// With a validation text, if it is not empty: lines of source, tab, target.
    fn with_validation(settings: &[&str], valid: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let words = |i: usize| "a b c d ".repeat(i % 5);
        let text: String =
            (0..200).map(|i| format!("{i} {}e\t{i} f {}\n", words(i), words(i + 2))).collect();
        let corpus = folder.path().join("corpus.tsv");
        fs::write(&corpus, text).unwrap();
        let mut paths = vec![
            format!("data.train=[{:?}]", corpus.display().to_string()),
            format!("data.cache={:?}", folder.path().join("cache").display().to_string()),
        ];
        if !valid.is_empty() {
            let path = folder.path().join("valid.tsv");
            fs::write(&path, valid).unwrap();
            paths.push(format!("data.valid=[{:?}]", path.display().to_string()));
        }
        let settings = SETTINGS.iter().chain(settings).map(ToString::to_string).chain(paths);
        let config =
            TrainConfig::resolve(Some("tiny"), None, &settings.collect::<Vec<_>>()).unwrap();
        let corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| {}).unwrap();
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

    /// The learner that goes on with `run` under further settings.
    fn resumed(&self, run: &str, settings: &[&str]) -> Result<Learner, TrainError> {
        let folder = self.folder.path().join(run);
        let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
        let own = folder.join("config.toml");
        let config = TrainConfig::resolve(None, Some(&own), &settings).unwrap();
        let devices = [Device::default()];
        Learner::new(config, &self.corpora, &folder, RunMode::Resume, Verbosity::Quiet, &devices)
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

    /// The validations recorded in `metrics.jsonl`, in its order.
    fn validations(&self, run: &str) -> Vec<ValidRecord> {
        let valid = |record| match record {
            Record::Valid(point) => Some(ValidRecord { seconds: 0.0, ..point }),
            _ => None,
        };
        self.records(run).into_iter().filter_map(valid).collect()
    }

    /// The updates of the checkpoints that are there.
    fn checkpoints(&self, run: &str) -> Vec<u64> {
        RunDir::at(&self.folder.path().join(run)).checkpoint_steps().unwrap()
    }

    fn log(&self, run: &str) -> String {
        fs::read_to_string(self.folder.path().join(run).join("train.log")).unwrap()
    }

    /// The parameters of `best/`.
    fn best(&self, run: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(run).join("best/model.safetensors")).unwrap()
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
    // The order in which gradients are added shows after a few updates: over 16 seeds from update 5 on, by 4e-4 in the loss.
    let same = 4;
    let apart = |a: &[(u64, f64)], b: &[(u64, f64)]| {
        let pairs = a.iter().zip(b).take(same);
        pairs.map(|((_, a), (_, b))| (a - b).abs()).fold(0.0, f64::max)
    };
    for (precision, least_apart) in [("bfloat16", 1e-4), ("float16", 5e-5)] {
        let half = toy(precision);
        train(half.start("one", 1));
        train(half.start("two", 2));
        let (one, two) = (half.losses("one"), half.losses("two"));
        assert_eq!(one.len(), 20);
        assert!(apart(&one, &two) < 1e-5, "{precision}: {one:?} {two:?}");
        // Of a scaled loss the host decides.
        if precision == "bfloat16" {
            train(on_device(half.start("device", 1)));
            let device = half.losses("device");
            assert!(apart(&one, &device) < 1e-4, "{one:?} {device:?}");
        }
        // The test could tell if a device multiplied in float32.
        let rounded = apart(&exact.losses("one"), &one);
        assert!(rounded > least_apart, "{precision}: {rounded}");
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

/// Two sentences of the training text's kind.
const VALID: &str = "1 a b c d e\t1 f a b c d a b c d \n7 a b e\t7 f a b c\n";
/// Validates by the loss, which is quick, every five updates.
const BY_LOSS: [&str; 3] =
    ["validation.every=5", "validation.metric=loss", "validation.bleu=false"];

fn by_loss(settings: &[&str]) -> Toy {
    Toy::with_validation(&[&BY_LOSS[..], settings].concat(), VALID)
}

#[test]
fn the_average_finds_the_checkpoints_that_it_takes_whatever_keep_says() {
    let toy = Toy::new(&["checkpoints.every=5", "checkpoints.keep=1", "checkpoints.average=3"]);
    train(toy.start("run", 1));
    assert_eq!(toy.checkpoints("run"), [10, 15, 20]);
    let log = toy.log("run");
    assert!(log.contains("averaged the checkpoints of updates [10, 15, 20]"), "{log}");
    assert!(log.contains("checkpoints.keep is 1") && log.contains("3 are kept"), "{log}");
}

#[test]
fn a_run_that_goes_on_after_its_end_keeps_a_better_average_in_best() {
    // At this rate and seed the loss jumps about, and the mean of three models has a better one than any.
    let seed = "training.seed=7";
    let rough = ["schedule.factor=2", "checkpoints.every=5", "checkpoints.average=3", seed];
    let toy = by_loss(&rough);
    train(toy.start("run", 1));
    let ended = toy.validations("run");
    let average = ended.last().unwrap();
    assert!(average.averaged && average.best, "{ended:?}");
    let (best, last) = (toy.best("run"), &ended[ended.len() - 2]);
    // Hardly a step further: better than the last model, worse than the average.
    train(toy.resumed("run", &["training.max_updates=25", "schedule.factor=0.01"]).unwrap());
    let all = toy.validations("run");
    assert_eq!(all[..ended.len()], ended, "no record is lost");
    let next = &all[ended.len()];
    assert_eq!((next.step, next.averaged), (25, false));
    assert!(next.loss < last.loss && next.loss > average.loss, "{all:?}");
    assert!(!next.best, "{all:?}");
    let newest = all.last().unwrap();
    assert!(newest.averaged && newest.step == 25);
    assert_eq!(toy.best("run") == best, newest.loss >= average.loss);
    // Early stopping looks at the models alone: this one was better than those before.
    let state = toy.resumed("run", &["training.max_updates=30"]).unwrap().state;
    assert_eq!(
        (state.validation.early_stopping.step, state.validation.early_stopping.waited),
        (25, 0)
    );
}

#[test]
fn an_end_that_was_killed_is_made_again_and_one_that_was_not_is_remembered() {
    let rough = ["schedule.factor=2", "checkpoints.every=10", "checkpoints.average=2"];
    let toy = by_loss(&rough);
    train(toy.learner("run", RunMode::New, 1, 17).unwrap());
    let (ended, best) = (toy.validations("run"), toy.best("run"));
    assert_eq!(ended.iter().filter(|point| point.step == 17).count(), 2, "{ended:?}");
    let folder = toy.folder.path().join("run");
    let finished = fs::read(folder.join("finished.json")).unwrap();
    fs::remove_file(folder.join("finished.json")).unwrap();
    train(toy.resumed("run", &[]).unwrap());
    assert_eq!((toy.validations("run"), toy.best("run")), (ended, best));
    assert_eq!(fs::read(folder.join("finished.json")).unwrap(), finished);
}

#[test]
fn going_back_keeps_a_better_best_model_and_its_record() {
    let toy = by_loss(&["validation.every=6", "checkpoints.every=5", "validation.patience=9"]);
    let mut learner = toy.learner("run", RunMode::New, 1, 12).unwrap();
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    let (best, known) = (toy.best("run"), learner.state.validation.best_model.unwrap());
    assert_eq!(known.step, 12, "{:?}", toy.validations("run"));
    learner.go_back(f64::NAN, f64::NAN).unwrap();
    assert_eq!((learner.state.step, learner.state.validation.validated), (10, 6));
    assert_eq!(learner.state.validation.best_model, Some(known));
    assert_eq!(learner.state.validation.early_stopping.waited, 0);
    // The model that it went back to is better than the one of update 6, and worse than that of 12.
    assert!(learner.validate().unwrap());
    assert!(toy.best("run") == best, "a better model was overwritten");
    let steps: Vec<_> =
        toy.validations("run").iter().map(|point| (point.step, point.best)).collect();
    assert_eq!(steps, [(6, true), (12, true), (10, false)]);
}

#[test]
fn a_best_model_of_an_abandoned_continuation_is_replaced_by_a_better_one_alone() {
    let toy = by_loss(&["checkpoints.every=10"]);
    train(toy.learner("run", RunMode::New, 1, 15).unwrap());
    let (best, all) = (toy.best("run"), toy.validations("run"));
    // As if it had been killed between this validation and the next checkpoint.
    let run = toy.folder.path().join("run");
    let killed = || {
        fs::remove_dir_all(run.join("checkpoints/step-000015")).unwrap();
        fs::remove_file(run.join("finished.json")).unwrap();
    };
    killed();
    train(toy.resumed("run", &[]).unwrap());
    assert!(toy.best("run") == best && toy.validations("run") == all, "the same again");
    killed();
    train(toy.resumed("run", &["schedule.factor=0.001"]).unwrap());
    let again = toy.validations("run");
    assert!(again[2].loss > all[2].loss && again[2].loss < all[1].loss, "{again:?}");
    assert!(toy.best("run") == best, "a better model was overwritten");
    let log = toy.log("run");
    assert!(log.contains("best/ stays as it is: it holds the model of update 15 ("), "{log}");
}

#[test]
fn another_interval_of_checkpoints_leaves_those_that_are_there() {
    let toy = Toy::new(&["checkpoints.every=5", "checkpoints.keep=0"]);
    train(toy.start("run", 1));
    assert_eq!(toy.checkpoints("run"), [5, 10, 15, 20]);
    let wider = ["checkpoints.every=15", "training.max_updates=35"];
    train(toy.resumed("run", &wider).unwrap());
    assert_eq!(toy.checkpoints("run"), [5, 10, 15, 20, 30, 35]);
    train(toy.resumed("run", &["training.max_updates=45", "checkpoints.keep=3"]).unwrap());
    assert_eq!(toy.checkpoints("run"), [20, 30, 45]);
}

#[test]
fn a_run_with_another_interval_goes_back_to_the_checkpoint_before() {
    let toy = Toy::new(&["checkpoints.every=5"]);
    train(toy.start("run", 1));
    let wider = ["checkpoints.every=100", "training.max_updates=25"];
    let mut learner = toy.resumed("run", &wider).unwrap();
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    learner.go_back(f64::NAN, f64::NAN).unwrap();
    assert_eq!(learner.state.step, 20);
}

#[test]
fn a_checkpoint_that_does_not_say_why_it_was_written_is_judged_by_its_own_configuration() {
    let toy = by_loss(&["checkpoints.every=5", "checkpoints.keep=0"]);
    train(toy.learner("run", RunMode::New, 1, 12).unwrap());
    let run = RunDir::at(&toy.folder.path().join("run"));
    for step in [5, 10, 12] {
        as_written_before(&run.checkpoint(step));
    }
    use CheckpointKind::{Interrupted, Scheduled};
    assert_eq!([5, 10, 12].map(|step| kind_of(&run, step)), [Scheduled, Scheduled, Interrupted]);
    let learner = toy.resumed("run", &["checkpoints.every=7", "training.max_updates=14"]).unwrap();
    let best = learner.state.validation.best_model.unwrap();
    assert_eq!((learner.state.step, best.step, best.averaged), (12, 12, false));
    train(learner);
    assert_eq!(toy.checkpoints("run"), [5, 10, 14]);
}

/// Takes out of a checkpoint what earlier versions did not write.
fn as_written_before(checkpoint: &std::path::Path) {
    let path = checkpoint.join("state.json");
    let mut file: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    file.as_object_mut().unwrap().remove("kind").unwrap();
    let state = file["state"].as_object_mut().unwrap();
    let best = state.remove("early_stopping").unwrap();
    state.insert("best".into(), best);
    for new in ["averaged", "best_model"] {
        state.remove(new).unwrap();
    }
    fs::write(&path, serde_json::to_vec_pretty(&file).unwrap()).unwrap();
    model_dir::seal(checkpoint).unwrap();
}

#[test]
fn an_end_made_again_has_the_reason_of_the_first() {
    let toy = by_loss(&["validation.patience=1"]);
    let mut state = RunState { step: 20, ..RunState::default() };
    assert_eq!(limit_reached(&toy.config, &state), Some(StopReason::MaxUpdates));
    state.validation.early_stopping.waited = 1;
    assert_eq!(limit_reached(&toy.config, &state), Some(StopReason::MaxUpdates));
    state.step = 19;
    assert_eq!(limit_reached(&toy.config, &state), Some(StopReason::Patience));
}

#[test]
fn a_text_that_the_model_cannot_be_measured_on_as_a_whole_is_told_with_a_count() {
    let long = format!("1 {}\t1 f a b\n", "a b c d ".repeat(40));
    let settings = [
        "model.positions=learned",
        "model.max_positions=33",
        "data.max_source_len=32",
        "data.max_target_len=32",
    ];
    let toy = Toy::with_validation(&[&BY_LOSS[..], &settings].concat(), &format!("{VALID}{long}"));
    drop(toy.start("run", 1));
    let log = toy.log("run");
    assert!(
        log.contains("validation text: 3 pairs read, 2 kept, 1 dropped: 1 source too long"),
        "{log}"
    );
    assert!(log.contains("more than 32 tokens"), "{log}");
    let (source, target) = toy.corpora.valid_text.as_ref().unwrap();
    assert_eq!((source.len(), target.len(), toy.corpora.valid.as_ref().unwrap().len()), (2, 2, 2));
}
