//! Configurations and updates of the recurrent baseline.

use burn::tensor::Device;
use burnformer_core::rnn::RnnConfig;
use burnformer_core::{Model, Precision, Seq2SeqConfig, TransformerConfig};
use burnformer_data::{Batch, SpecialIds};
use burnformer_train::config::reference::SettingsFile;
use burnformer_train::{
    ConfigFileError, Optimizer, OptimizerSettings, Recipe, Replicas, TrainConfig, Updater,
    update_bytes,
};

fn preset(name: &str, settings: &[&str]) -> Result<TrainConfig, ConfigFileError> {
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    TrainConfig::resolve(Some(name), None, &settings)
}

#[test]
fn the_preset_is_the_small_model_and_reads_back_the_same() {
    let config = preset("rnn", &["training.budget=100"]).unwrap();
    let model = config.model.over([900; 2], SpecialIds::OURS);
    assert_eq!(model.downcast_ref(), Some(&RnnConfig::tiny(900)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.toml");
    std::fs::write(&path, config.to_toml()).unwrap();
    assert_eq!(
        TrainConfig::resolve(None, Some(&path), &[]).unwrap(),
        config
    );
}

#[test]
fn every_field_of_the_baseline_is_a_key_with_its_documentation() {
    let fields = |config: &dyn Seq2SeqConfig| config.to_json().as_object().unwrap().clone();
    let transformer = fields(&TransformerConfig::base(9));
    for field in fields(&RnnConfig::tiny(9))
        .keys()
        .filter(|key| !transformer.contains_key(*key))
    {
        let found = SettingsFile::Training
            .find(&format!("model.rnn.{field}"))
            .unwrap();
        assert!(!found[0].keys[0].description.is_empty(), "{field}");
    }
}

#[test]
fn a_setting_of_the_other_architecture_is_refused() {
    assert_eq!(
        preset("rnn", &["model.rnn.d_hidden=64"])
            .unwrap()
            .model
            .rnn
            .d_hidden,
        64
    );
    let message = preset("rnn", &["model.heads=4"]).unwrap_err().to_string();
    assert!(
        message.contains("model.heads is 4") && message.contains("\"rnn\""),
        "{message}"
    );
    let message = preset("tiny", &["model.rnn.d_hidden=64"])
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("model.rnn is") && message.contains("\"transformer\""),
        "{message}"
    );
    let message = preset("tiny", &["model.architecture=rnn"])
        .unwrap_err()
        .to_string();
    assert!(message.contains("model.heads is 4"), "{message}");
}

#[test]
fn memory_grows_with_the_batch_and_the_vocabulary() {
    let bytes = |rows, vocab| {
        update_bytes(
            &RnnConfig::tiny(vocab).into(),
            [rows, 100, 100],
            1,
            Precision::Float32,
        )
    };
    assert!(bytes(80, 6000) > bytes(40, 6000));
    assert!(bytes(40, 12_000) > bytes(40, 6000));
}

#[test]
fn updates_lower_the_loss() {
    let config = RnnConfig {
        dropout: 0.0,
        ..RnnConfig::tiny(12)
    };
    let mut model: Model = config
        .init(1, &Device::default().autodiff())
        .unwrap()
        .into();
    let mut updater = Updater {
        optimizer: Optimizer::new(OptimizerSettings::default(), &model),
        recipe: Recipe {
            clip_norm: 1.0,
            ..Recipe::default()
        },
        loss_scale: None,
        synchronous: true,
    };
    let pairs = [
        (vec![4, 5, 6], vec![7, 8]),
        (vec![5], vec![9, 10, 11, 4]),
        (vec![6, 7], vec![5]),
        (vec![8, 9, 10, 11], vec![4, 4, 5, 6]),
    ];
    let batch = vec![Batch::new(vec![0, 1, 2, 3], &pairs)];
    let replicas = Replicas::new(&[Device::default()]);
    let mut losses = Vec::new();
    for step in 1..=30 {
        let (next, pending, _) = updater.update(model, &batch, step, 1e-3, &replicas);
        model = next;
        losses.push(updater.read(&[pending])[0].loss);
    }
    assert!(losses[29] < 0.5 * losses[0], "{losses:?}");
}
