//! Hostile configurations and checkpoint states: errors, never a panic, never memory by claim.

#[path = "../../../tests/fuzz/mod.rs"]
mod fuzz;

use std::fs;

use burn::tensor::Device;
use burnformer_core::ModelConfig;
use burnformer_core::model_dir::seal;
use burnformer_data::{SpecialIds, Tokenizer, TokenizerSettings, Tokenizers};
use burnformer_infer::GenerationSettings;
use burnformer_train::checkpoint::{self, CheckpointKind, RunState, Saved, TrainerState};
use burnformer_train::{Optimizer, Origin, TrainConfig, update_bytes};
use fuzz::{damaged, within};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

/// Asserts that a configuration which resolves is a model whose size is a number, and survives
/// being written and read.
fn check(config: &TrainConfig) {
    let vocab = config.tokenizer.train.vocab_size;
    let shape = config.model.over([vocab; 2], SpecialIds::OURS);
    shape.validate().unwrap();
    let training = &config.training;
    let longest = config.data.max_source_len;
    let batch = [training.budget / longest.max(1), longest, longest];
    update_bytes(&shape, batch, 1, training.precision.number_type());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.toml");
    fs::write(&path, config.to_toml()).unwrap();
    let again = TrainConfig::resolve(None, Some(&path), &[]).unwrap();
    assert_eq!(&again, config);
}

fn resolve_file() -> impl FnMut(&[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.toml");
    move |bytes| {
        // The folder lives as long as this closure.
        assert!(folder.path().is_dir());
        fs::write(&path, bytes).unwrap();
        let resolved = within(16 << 20, || TrainConfig::resolve(None, Some(&path), &[]));
        match resolved {
            Ok(config) => check(&config),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn whole() -> Vec<u8> {
    TrainConfig::resolve(Some("multi30k"), None, &[])
        .unwrap()
        .to_toml()
        .into_bytes()
}

crate::fuzz_test!(
    config_file,
    prop_oneof![
        damaged(whole()),
        damaged(include_bytes!("../presets/tiny.toml").to_vec()),
        prop::collection::vec(any::<u8>(), 0..100)
    ],
    resolve_file()
);

fn resolve_setting(bytes: &[u8]) {
    let setting = String::from_utf8_lossy(bytes).into_owned();
    let resolved = within(16 << 20, || {
        TrainConfig::resolve(Some("tiny"), None, &[setting])
    });
    if let Ok(config) = resolved {
        check(&config);
    }
}

fn settings() -> impl Strategy<Value = Vec<u8>> {
    let good = [
        "model.d_model=256",
        "data.train=[\"a\", \"b\"]",
        "validation.metric=ppl",
    ];
    let [a, b, c] = good.map(|setting| damaged(setting.into()));
    prop_oneof![a, b, c, prop::collection::vec(any::<u8>(), 0..60)]
}

crate::fuzz_test!(config_setting, settings(), resolve_setting);

struct Checkpoint {
    folder: tempfile::TempDir,
    config: TrainConfig,
    shape: ModelConfig,
    origin: Origin,
}

impl Checkpoint {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = [
            "model.d_model=8",
            "model.heads=2",
            "model.d_ff=16",
            "model.encoder_layers=1",
            "model.decoder_layers=1",
        ];
        let settings = settings.map(String::from);
        let config = TrainConfig::resolve(Some("tiny"), None, &settings).unwrap();
        let training = TokenizerSettings {
            allow_smaller: true,
            ..TokenizerSettings::bpe(280)
        };
        let tokenizer = Tokenizer::train(["the house is small", "the dog sees it"], &training);
        let tokenizers = Tokenizers::joint(tokenizer.unwrap());
        let vocab = tokenizers.source.vocab_size();
        let shape = config.model.over([vocab; 2], SpecialIds::OURS);
        let model = shape.build(1, &Device::default().autodiff()).unwrap();
        let generation = GenerationSettings::default();
        let saved = Saved {
            config: &shape,
            model: &model,
            tokenizers: &tokenizers,
            generation: &generation,
        };
        let hash = tokenizers.source.hash();
        let origin = Origin {
            train: hash.clone(),
            valid: None,
            tokenizers: [hash.clone(), hash],
        };
        let optimizer = Optimizer::new(config.optimizer, &model);
        let state = RunState::default();
        let kind = CheckpointKind::Scheduled;
        let trainer = TrainerState {
            kind,
            optimizer: &optimizer,
            state: &state,
            config: &config,
            origin: &origin,
        };
        checkpoint::save(&folder.path().join("step"), &saved, &trainer).unwrap();
        Self {
            folder,
            config,
            shape,
            origin,
        }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("step")
    }
}

/// `file` of a checkpoint holds hostile bytes and the manifest vouches for them.
fn load_checkpoint(file: &'static str) -> impl FnMut(&[u8]) {
    let checkpoint = Checkpoint::new();
    move |bytes| {
        let path = checkpoint.path();
        fs::write(path.join(file), bytes).unwrap();
        seal(&path).unwrap();
        let device = Device::default().autodiff();
        let Checkpoint {
            config,
            shape,
            origin,
            ..
        } = &checkpoint;
        let _ = within(64 << 20, || {
            checkpoint::load(&path, config, shape, origin, &device)
        });
    }
}

fn good(file: &str) -> Vec<u8> {
    fs::read(Checkpoint::new().path().join(file)).unwrap()
}

crate::fuzz_test!(
    checkpoint_state,
    damaged(good("state.json")),
    load_checkpoint("state.json")
);

crate::fuzz_test!(
    checkpoint_moments,
    damaged(good("optimizer.safetensors")),
    load_checkpoint("optimizer.safetensors")
);
