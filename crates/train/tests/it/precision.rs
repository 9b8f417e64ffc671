//! Runs in 16 bits: what they learn, what they keep in 32, and that they resume.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use burn::tensor::{DType, Device};
use burnformer_core::model_dir::read_tensors;
use burnformer_data::SpecialIds;
use burnformer_infer::GenerationSettings;
use burnformer_train::checkpoint::{self, CheckpointKind, RunState, Saved, Start, TrainerState};
use burnformer_train::report::{Record, Verbosity, read_metrics};
use burnformer_train::{
    Corpora, Learner, Origin, Recovery, RunMode, Texts, TrainConfig, WorkersError,
};

const SETTINGS: [&str; 16] = [
    "model.d_model=32",
    "model.heads=2",
    "model.d_ff=32",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "tokenizer.train.vocab_size=300",
    "tokenizer.train.allow_smaller=true",
    "training.budget=256",
    "training.max_minutes=0",
    "training.log_every=10",
    "validation.every=0",
    "checkpoints.every=0",
    "checkpoints.average=0",
    "schedule.warmup=40",
    // At a higher rate two runs that differ by rounding part ways, as two seeds do.
    "schedule.factor=0.2",
    "model.dropout=0.1",
];

struct Toy {
    folder: tempfile::TempDir,
}

impl Toy {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (0..200).map(|i| format!("{i} a b\t{i} c d\n")).collect();
        fs::write(folder.path().join("corpus.tsv"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self, precision: &str, updates: u64) -> TrainConfig {
        let defaults = [
            format!(
                "data.train=[{:?}]",
                self.path("corpus.tsv").display().to_string()
            ),
            format!("data.cache={:?}", self.path("cache").display().to_string()),
            format!("training.precision={precision}"),
            format!("training.max_updates={updates}"),
        ];
        let settings: Vec<_> = SETTINGS
            .iter()
            .map(ToString::to_string)
            .chain(defaults)
            .collect();
        TrainConfig::resolve(Some("tiny"), None, &settings).unwrap()
    }

    fn train(&self, out: &str, precision: &str, updates: u64, mode: RunMode) -> RunState {
        let config = self.config(precision, updates);
        let corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| {}).unwrap();
        let devices = [Device::default()];
        let learner = Learner::new(
            config,
            &corpora,
            &self.path(out),
            mode,
            Verbosity::Quiet,
            &devices,
        );
        learner
            .unwrap()
            .train(&AtomicBool::new(false))
            .unwrap()
            .state
    }

    /// Sets the loss scale with which the float16 run `out` resumes after update `step`.
    fn set_loss_scale(&self, out: &str, step: u64, factor: f64) {
        let config = self.config("float16", step);
        let corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| {}).unwrap();
        let origin = Origin::of(&corpora);
        let tokenizers = &corpora.tokenizers;
        let path = self.path(out).join(format!("checkpoints/step-{step:06}"));
        let device = Device::default().autodiff();
        let vocab = tokenizers.target.vocab_size();
        let (shape, generation) = (
            config.model.over([vocab; 2], SpecialIds::OURS),
            GenerationSettings::default(),
        );
        let Start {
            model,
            optimizer,
            mut state,
            ..
        } = checkpoint::load(&path, &config, &shape, &origin, &device).unwrap();
        let scale = serde_json::json!({ "factor": factor.to_string(), "good": 0 });
        state.loss_scale = Some(serde_json::from_value(scale).unwrap());
        let saved = Saved {
            config: &shape,
            model: &model,
            tokenizers,
            generation: &generation,
        };
        let kind = CheckpointKind::Scheduled;
        let trainer = TrainerState {
            kind,
            optimizer: &optimizer,
            state: &state,
            config: &config,
            origin: &origin,
        };
        checkpoint::save(&path, &saved, &trainer).unwrap();
    }

    /// The loss of each log line.
    fn losses(&self, out: &str) -> Vec<f64> {
        let records = read_metrics(self.path(out).join("metrics.jsonl")).unwrap();
        let loss = |record| match record {
            Record::Train(point) => Some(point.loss),
            _ => None,
        };
        records.into_iter().filter_map(loss).collect()
    }
}

/// The float32 values of a file, as bits.
fn bits(path: &Path) -> Vec<u32> {
    let tensors = read_tensors(path, &fs::read(path).unwrap()).unwrap();
    assert!(
        tensors.values().all(|data| data.dtype() == DType::F32),
        "{}",
        path.display()
    );
    tensors
        .values()
        .flat_map(|data| data.iter::<f32>().map(f32::to_bits))
        .collect()
}

#[test]
fn a_run_in_16_bits_reaches_the_loss_of_float32() {
    let toy = Toy::new();
    let names = ["float32", "bfloat16", "float16"];
    for name in names {
        toy.train(name, name, 150, RunMode::New);
    }
    let [exact, brain, half] = names.map(|name| toy.losses(name));
    let first = exact[0];
    let last = exact[exact.len() - 1];
    assert!(last < 0.6 * first, "the run learned something: {exact:?}");
    for losses in [brain, half] {
        assert_ne!(losses, exact, "it was not computed in float32");
        let pairs = losses.iter().zip(&exact);
        let worst = pairs
            .map(|(rounded, exact)| (rounded / exact - 1.0).abs())
            .fold(0.0, f64::max);
        assert!(worst < 0.02, "{worst}: {losses:?} beside {exact:?}");
    }
    for name in &names[1..] {
        for file in ["model.safetensors", "optimizer.safetensors"] {
            let path = toy.path(name).join("checkpoints/step-000150").join(file);
            // bfloat16 is float32 without the low half, float16 has 10 of its 23 bits of fraction.
            let fine = bits(&path)
                .into_iter()
                .filter(|bits| bits & 0x1fff != 0)
                .count();
            assert!(
                fine > 1000,
                "{name} {file}: {fine} values that need float32"
            );
        }
    }
}

#[test]
fn a_resumed_float16_run_matches_an_uninterrupted_one() {
    let toy = Toy::new();
    let whole = toy.train("whole", "float16", 60, RunMode::New);
    let stopped = toy.train("parts", "float16", 30, RunMode::New);
    let parts = toy.train("parts", "float16", 60, RunMode::Resume);
    assert!(stopped.loss_scale.is_some());
    assert_ne!(stopped.loss_scale, whole.loss_scale, "the scale counted on");
    assert_eq!(parts.loss_scale, whole.loss_scale);
    assert_eq!(parts.optimizer_steps, whole.optimizer_steps);
    for file in ["model.safetensors", "optimizer.safetensors"] {
        let [whole, parts] = ["whole", "parts"]
            .map(|run| fs::read(toy.path(run).join("checkpoints/step-000060").join(file)).unwrap());
        assert!(whole == parts, "{file}");
    }
}

#[test]
fn a_gradient_beyond_the_range_of_float16_is_no_divergence() {
    let toy = Toy::new();
    toy.train("run", "float16", 4, RunMode::New);
    let high = 2f64.powi(36);
    toy.set_loss_scale("run", 4, high);
    let state = toy.train("run", "float16", 40, RunMode::Resume);
    let skipped = state.step - state.optimizer_steps;
    // There are more skips in a row than recovery.skips, after which a diverged run goes back.
    assert!((6..36).contains(&skipped), "{state:?}");
    assert_eq!(
        state.loss_scale.unwrap().factor(),
        high / 2f64.powi(skipped as i32)
    );
    assert_eq!(state.recovery, Recovery::default());
    let log = fs::read_to_string(toy.path("run/train.log")).unwrap();
    assert_eq!(
        log.matches("left float16's range").count() as u64,
        skipped,
        "{log}"
    );
}

#[test]
fn a_run_may_resume_in_another_precision() {
    let toy = Toy::new();
    assert_eq!(
        toy.train("run", "float32", 4, RunMode::New).loss_scale,
        None
    );
    assert!(
        toy.train("run", "float16", 8, RunMode::Resume)
            .loss_scale
            .is_some()
    );
    assert_eq!(
        toy.train("run", "bfloat16", 12, RunMode::Resume).loss_scale,
        None
    );
    let log = fs::read_to_string(toy.path("run/train.log")).unwrap();
    let note = "training.precision was \"float32\" and is \"float16\"";
    assert!(log.contains(note), "{log}");
}

#[test]
fn the_chosen_number_type_is_in_the_runs_folder() {
    let toy = Toy::new();
    toy.train("auto", "auto", 2, RunMode::New);
    let written = fs::read_to_string(toy.path("auto/config.toml")).unwrap();
    let chosen = if burnformer_kernels::is_bfloat16_fast_on(&Device::default()) {
        "bfloat16"
    } else {
        "float32"
    };
    assert!(
        written.contains(&format!("precision = \"{chosen}\"")),
        "{written}"
    );
    // The same command continues in the same type.
    toy.train("auto", "auto", 4, RunMode::Resume);
    let log = fs::read_to_string(toy.path("auto/train.log")).unwrap();
    assert!(!log.contains("training.precision was"), "{log}");
}

#[test]
fn a_device_that_lacks_the_type_is_named_with_the_remedy() {
    let precision = burnformer_core::Precision::BFloat16;
    let error = WorkersError::Precision {
        precision,
        device: "Device<Wgpu(0)>".into(),
    }
    .to_string();
    for part in [
        "bfloat16",
        "Device<Wgpu(0)>",
        "training.precision",
        "float32",
        "--device",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_cpu_run_names_a_faster_precision() {
    let toy = Toy::new();
    let fastest = if burnformer_kernels::is_bfloat16_fast_on(&Device::default()) {
        "bfloat16"
    } else {
        "float32"
    };
    let mut silent = Vec::new();
    for precision in ["float32", "bfloat16", "float16"] {
        toy.train(precision, precision, 1, RunMode::New);
        let log = fs::read_to_string(toy.path(precision).join("train.log")).unwrap();
        let note = format!("this processor multiplies faster in {fastest}");
        if !log.contains(&note) {
            silent.push(precision);
        }
    }
    assert_eq!(silent, [fastest]);
}
