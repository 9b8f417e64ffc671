//! What transformers 5 does with matrices, shards and search settings
//! (`fixtures/transformers5.py`).

use std::fs;
use std::path::Path;

use crate::common::{fixture, ids};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_infer::{Batching, NeuralModel, Request, SearchSettings, search};
use burnformer_interop::{Format, InteropError, Pretrained};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

const NAMES: [(char, &str); 4] = [
    ('S', "model.shared.weight"),
    ('E', "model.encoder.embed_tokens.weight"),
    ('D', "model.decoder.embed_tokens.weight"),
    ('L', "lm_head.weight"),
];

fn expected(key: &str) -> Vec<Value> {
    let json = fs::read(fixture("transformers5/expected.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    json[key].as_array().unwrap().clone()
}

fn read(dir: &Path) -> Result<Pretrained, InteropError> {
    Format::find(dir)?.read(dir)
}

/// A copy of the fixture `name`.
fn copy(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture("transformers5").join(name)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// Changes keys of a JSON file; null removes a key.
fn change(path: &Path, keys: &Value) {
    let mut json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for (key, value) in keys.as_object().unwrap() {
        match value {
            Value::Null => drop(json.as_object_mut().unwrap().remove(key)),
            value => json[key] = value.clone(),
        }
    }
    fs::write(path, json.to_string()).unwrap();
}

/// A tensor of a file, by its name: type, shape, bytes.
type Stored = (String, Dtype, Vec<usize>, Vec<u8>);

/// Replaces the tensors in `dir` by what `with` makes of them.
fn rewrite(dir: &Path, with: impl FnOnce(Vec<Stored>) -> Vec<Stored>) {
    let path = dir.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let stored = file.tensors().into_iter().map(|(name, view)| {
        let shape = view.shape().to_vec();
        (name, view.dtype(), shape, view.data().to_vec())
    });
    let tensors = with(stored.collect());
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        let view = TensorView::new(*dtype, shape.clone(), bytes).unwrap();
        (name.as_str(), view)
    });
    fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
}

/// The letters of the matrices that encoder, decoder and output use.
fn used(package: &Pretrained) -> String {
    let of = |names: &[&str]| {
        let found = names.iter().find_map(|name| package.weights.get(*name));
        let value = found.unwrap().values[43] as usize;
        NAMES[value - 1].0
    };
    let (source, target) = ("source_embedding.weight", "target_embedding.weight");
    [
        of(&[source, "embedding.weight"]),
        of(&[target, "embedding.weight"]),
        of(&["generator.weight", target, "embedding.weight"]),
    ]
    .iter()
    .collect()
}

/// Where transformers 5 draws a random matrix, the file is refused, or has the one meaning of
/// transformers 4: the embeddings of both sides are `shared`.
#[test]
fn every_set_of_matrices_is_used_as_in_transformers_or_refused() {
    let mut refused = 0;
    for case in expected("ties") {
        let family = case["family"].as_str().unwrap();
        let folder = copy(family);
        let flags = json!({
            "tie_word_embeddings": case["tie"],
            "share_encoder_decoder_embeddings": case["share"],
        });
        change(&folder.path().join("config.json"), &flags);
        let in_file = case["file"].as_str().unwrap();
        rewrite(folder.path(), |mut stored| {
            stored.retain(|(name, ..)| NAMES.iter().all(|(_, other)| name != other));
            for (value, (letter, name)) in (1..).zip(NAMES) {
                if in_file.contains(letter) {
                    let bytes = (value as f32).to_le_bytes().repeat(24 * 8);
                    stored.push((name.into(), Dtype::F32, vec![24, 8], bytes));
                }
            }
            stored
        });
        let theirs = case["used"].as_str().unwrap();
        let shares = case["share"] != json!(false) && in_file.contains('S');
        let meant: String = theirs
            .chars()
            .enumerate()
            .map(|(role, letter)| match letter {
                '?' if shares && role < 2 => 'S',
                letter => letter,
            })
            .collect();
        match read(folder.path()) {
            Ok(package) => assert_eq!(used(&package), meant, "{case}"),
            Err(InteropError::MissingTensor(_, name)) => {
                let role = meant.find('?').unwrap_or_else(|| panic!("{case}: {name}"));
                assert_eq!(NAMES[role + 1].1, name, "{case}");
                refused += 1;
            }
            Err(error) => panic!("{case}: {error}"),
        }
    }
    assert!(refused > 20, "{refused}");
}

/// The best translations by the settings of the imported model.
fn translations(package: &Pretrained, sources: &Value) -> Vec<Vec<Vec<u32>>> {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package.save(&dir).unwrap();
    let device = Device::default();
    let (config, model) = model_dir::load(&dir, &device).unwrap();
    let model = NeuralModel::new(config, model, &device);
    let settings = burnformer_infer::load_settings(&dir).unwrap().search;
    let settings = SearchSettings {
        n_best: settings.beam_size,
        ..settings
    };
    let requests: Vec<Request> = ids(sources).into_iter().map(Request::new).collect();
    let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
    let tokens = |found: Vec<_>| {
        found
            .into_iter()
            .map(|it: burnformer_infer::Hypothesis| it.tokens)
    };
    found
        .into_iter()
        .map(|found| tokens(found).collect())
        .collect()
}

/// Through the keys of `generation_config.json` alone, and through those in `config.json`, from
/// which transformers reads the same in old models.
#[test]
fn keys_of_the_generation_config_act_as_in_transformers() {
    for case in [expected("searches"), expected("sequences")].concat() {
        let folder = copy(case["family"].as_str().unwrap());
        let path = folder.path().join("generation_config.json");
        fs::write(&path, case["settings"].to_string()).unwrap();
        let package = read(folder.path()).unwrap();
        assert_eq!(package.warnings, [""; 0], "{case}");
        let found = translations(&package, &case["sources"]);
        let theirs: Vec<_> = case["found"].as_array().unwrap().iter().map(ids).collect();
        assert_eq!(found, theirs, "{}", case["settings"]);

        // The export has the same keys.
        let out = tempfile::tempdir().unwrap();
        if Format::HuggingFace.check(&package.config).is_ok() {
            let dir = out.path().join("out");
            Format::HuggingFace.write(&package, &dir).unwrap();
            fs::remove_file(dir.join("generation.json")).unwrap();
            let again = read(&dir).unwrap();
            assert_eq!(again.generation, package.generation, "{case}");
        }

        // An old model.
        fs::remove_file(&path).unwrap();
        let path = folder.path().join("config.json");
        change(&path, &json!({ "forced_eos_token_id": null }));
        change(&path, &case["settings"]);
        let old = read(folder.path()).unwrap();
        assert_eq!(old.generation, package.generation, "{case}");
        assert_eq!(old.config, package.config, "{case}");
    }
}

#[test]
fn shards_and_float64_are_the_whole_model() {
    let whole = read(&fixture("transformers5/marian")).unwrap();
    for name in ["sharded", "shards_of_pickles", "double"] {
        let package = read(&fixture("transformers5").join(name)).unwrap();
        assert_eq!(package.weights, whole.weights, "{name}");
    }
}

#[test]
fn a_shard_outside_of_the_folder_or_missing_is_an_error() {
    let folder = copy("sharded");
    let path = folder.path().join("model.safetensors.index.json");
    let index = fs::read_to_string(&path).unwrap();
    let mut index: Value = serde_json::from_str(&index).unwrap();
    for name in ["../model.safetensors", "/etc/hosts", "a/b", "..", ""] {
        index["weight_map"]["lm_head.weight"] = name.into();
        fs::write(&path, index.to_string()).unwrap();
        let error = read(folder.path()).unwrap_err();
        assert!(matches!(error, InteropError::Damaged(..)), "{error}");
    }
    index["weight_map"]["lm_head.weight"] = "model-9.safetensors".into();
    fs::write(&path, index.to_string()).unwrap();
    let error = read(folder.path()).unwrap_err();
    assert!(error.to_string().contains("model-9.safetensors"), "{error}");
}

#[test]
fn a_weight_of_integers_is_named_with_its_type() {
    let folder = copy("marian");
    let name = "model.decoder.layers.0.fc1.weight";
    rewrite(folder.path(), |mut stored| {
        for (other, dtype, shape, bytes) in &mut stored {
            if other == name {
                *dtype = Dtype::I8;
                bytes.truncate(shape.iter().product());
            }
        }
        stored
    });
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(error.contains(name) && error.contains("I8"), "{error}");
}

#[test]
fn keys_without_a_counterpart_are_named() {
    let long = json!([
        [[1, 2], 0.5],
        [
            [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
            0.5
        ]
    ]);
    let cases = [
        ("constraints", json!([[5]]), json!(null)),
        ("diversity_penalty", json!(0.5), json!(0.0)),
        ("do_sample", json!(true), json!(false)),
        ("early_stopping", json!("sometimes"), json!("never")),
        ("encoder_repetition_penalty", json!(1.2), json!(1.0)),
        ("eos_token_id", json!(5), json!([0, 5])),
        (
            "exponential_decay_length_penalty",
            json!([3, 1.1]),
            json!(null),
        ),
        ("force_bos_token_to_be_generated", json!(true), json!(false)),
        ("force_words_ids", json!([[5]]), json!([])),
        ("forced_bos_token_id", json!([5, 6]), json!([5])),
        ("forced_eos_token_id", json!(5), json!([0])),
        ("guidance_scale", json!(1.5), json!(1)),
        ("length_penalty", json!(-1.0), json!(0.0)),
        ("max_length", json!(null), json!(30)),
        ("max_time", json!(2.0), json!(null)),
        ("num_beam_groups", json!(2), json!(1)),
        ("penalty_alpha", json!(0.6), json!(0.0)),
        ("renormalize_logits", json!(true), json!(false)),
        ("repetition_penalty", json!(0.5), json!(1.0)),
        ("sequence_bias", long, json!({})),
        ("stop_strings", json!("x"), json!(null)),
        ("watermarking_config", json!({"bias": 2.5}), json!(null)),
    ];
    for (key, other, neutral) in cases {
        let notes = |value: Value| {
            let folder = copy("marian");
            let path = folder.path().join("generation_config.json");
            change(&path, &json!({ "max_length": 30, key: value }));
            read(folder.path()).unwrap().warnings
        };
        let found = notes(other);
        assert_eq!(found.len(), 1, "{key}: {found:?}");
        assert!(found[0].contains(key) && found[0].len() < 200, "{found:?}");
        assert_eq!(notes(neutral), [""; 0], "{key}");
    }
}

#[test]
fn missing_keys_of_m2m100_have_the_defaults_of_its_class() {
    let whole = read(&fixture("transformers5/m2m100")).unwrap();
    let folder = copy("m2m100");
    let defaults = json!({
        "activation_function": null, "scale_embedding": null, "pad_token_id": null,
        "eos_token_id": null, "decoder_start_token_id": null, "attention_dropout": null,
    });
    change(&folder.path().join("config.json"), &defaults);
    let package = read(folder.path()).unwrap();
    assert_eq!(package.config, whole.config);
}

#[test]
fn a_model_without_an_output_bias_has_none() {
    let folder = copy("marian");
    rewrite(folder.path(), |mut stored| {
        stored.retain(|(name, ..)| name != "final_logits_bias");
        stored
    });
    let package = read(folder.path()).unwrap();
    assert!(!package.weights.contains_key("output_bias"));
}

#[test]
fn an_eos_that_is_no_token_is_an_error() {
    for value in [json!([]), json!(-1), json!("0"), json!([null])] {
        let folder = copy("marian");
        change(
            &folder.path().join("config.json"),
            &json!({ "eos_token_id": value }),
        );
        let error = read(folder.path()).unwrap_err();
        assert!(matches!(error, InteropError::Damaged(..)), "{error}");
    }
}
