//! A model directory damaged anywhere: a typed error, never a panic, never another model.

#[path = "../../../tests/fuzz/mod.rs"]
mod fuzz;
#[path = "it/toy/mod.rs"]
mod toy;

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use burnformer_core::model_dir::{ModelDirError, ModelDirProblem, read_tensors, seal};
use burnformer_infer::{GenerationSettings, InferError, SearchSettings, Translator};
use fuzz::{damaged, within};
use proptest::prelude::*;
use toy::{FILES, Toy};

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

fn load(dir: &Path) -> Result<Translator, InferError> {
    Translator::load(dir, &Device::default())
}

/// Every place at which a hundredth of `len` bytes ends.
fn hundredths(len: usize) -> impl Iterator<Item = usize> {
    (0..100).map(move |percent| len * percent / 100)
}

#[test]
fn truncation_at_every_hundredth_of_each_file_is_noticed() {
    let toy = Toy::new();
    for file in FILES {
        let path = toy.path().join(file);
        let good = fs::read(&path).unwrap();
        for end in hundredths(good.len()) {
            fs::write(&path, &good[..end]).unwrap();
            let error = load(toy.path()).err();
            let error = error.unwrap_or_else(|| panic!("{file} cut to {end} bytes was loaded"));
            assert!(
                matches!(error, InferError::ModelDir(_)),
                "{file} at {end}: {error:?}"
            );
            assert!(error.to_string().contains(file), "{file} at {end}: {error}");
        }
        fs::write(&path, &good).unwrap();
    }
    load(toy.path()).unwrap();
}

#[test]
fn a_flipped_bit_at_every_hundredth_of_each_file_is_noticed() {
    let toy = Toy::new();
    for file in FILES {
        let path = toy.path().join(file);
        let good = fs::read(&path).unwrap();
        for (at, bit) in hundredths(good.len()).zip((0..8).cycle()) {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            match load(toy.path()) {
                Err(error) => assert!(matches!(error, InferError::ModelDir(_)), "{error:?}"),
                // White space made other white space.
                Ok(_) => assert_eq!(file, "manifest.json", "byte {at} was flipped unnoticed"),
            }
        }
        fs::write(&path, &good).unwrap();
    }
}

#[test]
fn files_of_another_model_of_the_same_shape_are_noticed() {
    let toy = Toy::with_seed(1);
    let other = Toy::with_seed(2);
    fs::copy(
        other.path().join("model.safetensors"),
        toy.path().join("model.safetensors"),
    )
    .unwrap();
    let error = load(toy.path()).err().unwrap();
    let InferError::ModelDir(ModelDirError { problem, .. }) = error else {
        panic!("{error}")
    };
    assert!(matches!(problem, ModelDirProblem::Tampered("hash")));
}

/// `file` holds hostile bytes and the manifest vouches for them.
fn load_resealed(file: &'static str, limit: usize) -> impl FnMut(&[u8]) {
    let toy = Toy::new();
    move |bytes| {
        fs::write(toy.path().join(file), bytes).unwrap();
        seal(toy.path()).unwrap();
        if let Ok(translator) = within(limit, || load(toy.path())) {
            assert!(translator.options().search.validate().is_ok());
        }
    }
}

fn good(file: &str) -> Vec<u8> {
    fs::read(Toy::new().path().join(file)).unwrap()
}

crate::fuzz_test!(
    model_config,
    damaged(good("config.json")),
    load_resealed("config.json", 64 << 20)
);

/// A manifest that says anything, beside good files.
fn load_manifest() -> impl FnMut(&[u8]) {
    let toy = Toy::new();
    move |bytes| {
        fs::write(toy.path().join("manifest.json"), bytes).unwrap();
        let _ = within(64 << 20, || load(toy.path()));
    }
}

crate::fuzz_test!(
    model_manifest,
    damaged(good("manifest.json")),
    load_manifest()
);

/// Hostile weights, header and all.
fn read_weights(bytes: &[u8]) {
    let path = Path::new("model.safetensors");
    if let Ok(tensors) = within(1 << 20, || read_tensors(path, bytes)) {
        let values: usize = tensors.values().map(|data| data.num_elements()).sum();
        assert!(
            4 * values <= bytes.len(),
            "{values} values of {} bytes",
            bytes.len()
        );
    }
}

/// A small file of three tensors, so that most damage hits the header.
fn weights() -> Vec<u8> {
    let entry = |name: &str, from: usize| {
        let to = from + 16;
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[{from},{to}]}}")
    };
    let header = format!(
        "{{{},{},{}}}",
        entry("a", 0),
        entry("b.weight", 16),
        entry("c", 32)
    );
    [
        &(header.len() as u64).to_le_bytes()[..],
        header.as_bytes(),
        &[7; 48],
    ]
    .concat()
}

crate::fuzz_test!(
    model_weights,
    prop_oneof![
        damaged(weights()),
        prop::collection::vec(any::<u8>(), 0..64)
    ],
    read_weights
);

/// Search settings that say anything.
fn read_settings(bytes: &[u8]) {
    let path = Path::new("generation.json");
    if let Ok(settings) = within(1 << 20, || GenerationSettings::from_bytes(path, bytes)) {
        let search = settings.search;
        assert!(search.limit(1024, None) <= 1024 * 1000 + 1_000_000);
        assert!(search.limit(1024, Some(1)) >= 1);
    }
}

fn full_settings() -> Vec<u8> {
    let sampling = Some(burnformer_infer::Sampling::default());
    let search = SearchSettings {
        max_length: Some(90),
        sampling,
        ..SearchSettings::default()
    };
    serde_json::to_vec_pretty(&GenerationSettings::from(search)).unwrap()
}

crate::fuzz_test!(model_generation, damaged(full_settings()), read_settings);
