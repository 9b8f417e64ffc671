//! A model that no crate of the workspace knows, with weights of three dimensions.

use std::fs;

use burn::tensor::Device;
use burnformer_core::model_dir::{self, ModelDirProblem};
use burnformer_core::{TransformerConfig, named_parameters};
use burnformer_train::RunMode;

use self::main::{learn, load};

#[path = "../../../../examples/convolution/src/main.rs"]
mod main;

#[test]
fn it_learns_and_translates() {
    main::main().unwrap();
}

#[test]
fn a_resumed_run_has_the_weights_of_an_uninterrupted_one() {
    let weights = |parts: &[u64]| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = learn(folder.path(), RunMode::New, parts[0]).unwrap();
        for &updates in &parts[1..] {
            config = learn(folder.path(), RunMode::Resume, updates).unwrap();
        }
        let dir = folder.path().join("run/last");
        let model = model_dir::load_as(&dir, config.as_ref(), &Device::default()).unwrap();
        named_parameters(&model)
    };
    let whole = weights(&[100]);
    assert!(whole.values().any(|value| value.shape().len() == 3));
    assert_eq!(weights(&[50, 100]), whole);
}

#[test]
fn its_folder_is_loaded_with_its_configuration_alone() {
    let folder = tempfile::tempdir().unwrap();
    let config = learn(folder.path(), RunMode::New, 2).unwrap();
    let dir = folder.path().join("run/last");
    let device = Device::default();
    load(&dir, config.clone()).unwrap();
    let unknown = model_dir::load(&dir, &device).unwrap_err();
    assert!(
        unknown.to_string().contains("\"convolutional\" is unknown"),
        "{unknown}"
    );
    let other = model_dir::load_as(&dir, &TransformerConfig::tiny(9), &device).unwrap_err();
    assert!(
        matches!(other.problem, ModelDirProblem::Architecture(_)),
        "{other}"
    );
    let path = dir.join("config.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"layers\": 2", "\"layers\": 3")).unwrap();
    model_dir::seal(&dir).unwrap();
    let other = model_dir::load_as(&dir, config.as_ref(), &device).unwrap_err();
    assert!(matches!(other.problem, ModelDirProblem::Other), "{other}");
}
