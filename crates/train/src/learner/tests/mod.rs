//! Runs of a small model on a small corpus.

mod best;
mod broken;
mod devices;
mod early_validation;

use std::fs;
use std::sync::atomic::AtomicBool;

use burn::tensor::{Device, TensorData};
use burnformer_core::{model_dir, named_parameters};

use super::*;
use crate::config::TrainConfig;
use crate::error::TrainError;
use crate::report::{Record, ValidRecord, Verbosity};
use crate::run::{Corpora, RunDir, RunMode, Texts};

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
    // Gentle: at the rates of so small a model, rounding alone would grow to a tenth in twenty
    // updates.
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
        let text: String = (0..200)
            .map(|i| format!("{i} {}e\t{i} f {}\n", words(i), words(i + 2)))
            .collect();
        let corpus = folder.path().join("corpus.tsv");
        fs::write(&corpus, text).unwrap();
        let mut paths = vec![
            format!("data.train=[{:?}]", corpus.display().to_string()),
            format!(
                "data.cache={:?}",
                folder.path().join("cache").display().to_string()
            ),
        ];
        if !valid.is_empty() {
            let path = folder.path().join("valid.tsv");
            fs::write(&path, valid).unwrap();
            paths.push(format!("data.valid=[{:?}]", path.display().to_string()));
        }
        let settings = SETTINGS
            .iter()
            .chain(settings)
            .map(ToString::to_string)
            .chain(paths);
        let config =
            TrainConfig::resolve(Some("tiny"), None, &settings.collect::<Vec<_>>()).unwrap();
        let corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| {}).unwrap();
        Self {
            folder,
            config,
            corpora,
        }
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
        Learner::new(
            config,
            &self.corpora,
            &folder,
            mode,
            Verbosity::Quiet,
            &devices,
        )
    }

    /// The learner that resumes `run` under further settings.
    fn resumed(&self, run: &str, settings: &[&str]) -> Result<Learner, TrainError> {
        let folder = self.folder.path().join(run);
        let settings: Vec<_> = settings.iter().map(ToString::to_string).collect();
        let config_file = folder.join("config.toml");
        let config = TrainConfig::resolve(None, Some(&config_file), &settings).unwrap();
        let devices = [Device::default()];
        Learner::new(
            config,
            &self.corpora,
            &folder,
            RunMode::Resume,
            Verbosity::Quiet,
            &devices,
        )
    }

    fn records(&self, run: &str) -> Vec<Record> {
        let text = fs::read_to_string(self.folder.path().join(run).join("metrics.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
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
            Record::Valid(point) => Some(ValidRecord {
                seconds: 0.0,
                ..point
            }),
            _ => None,
        };
        self.records(run).into_iter().filter_map(valid).collect()
    }

    /// The updates of the checkpoints that are there.
    fn checkpoints(&self, run: &str) -> Vec<u64> {
        RunDir::at(&self.folder.path().join(run))
            .checkpoint_steps()
            .unwrap()
    }

    fn log(&self, run: &str) -> String {
        fs::read_to_string(self.folder.path().join(run).join("train.log")).unwrap()
    }

    /// The parameters of `best/`.
    fn best(&self, run: &str) -> Vec<u8> {
        self.model(run, "best")
    }

    /// The parameters of a model directory of a run.
    fn model(&self, run: &str, name: &str) -> Vec<u8> {
        fs::read(
            self.folder
                .path()
                .join(run)
                .join(name)
                .join("model.safetensors"),
        )
        .unwrap()
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
            assert!(
                (a - b).abs() < tolerance,
                "{runs:?}, update {step}: {a} {b}"
            );
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
