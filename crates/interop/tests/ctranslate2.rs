//! Models that CTranslate2's converter wrote give here what they give there (`fixtures/ctranslate2_models.py`), and models written
//! here come back as they were.

mod common;

use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_infer::{Batching, LengthPenalty, NeuralModel, Request, SearchSettings, search};
use burnformer_interop::{Format, InteropError, Package};
use burnformer_models::ModelConfig;
use common::{fixture, ids};
use serde_json::Value;

const NAMES: [&str; 4] = ["float32", "float16", "int16", "int8"];

fn package(name: &str) -> Package {
    let path = fixture("ctranslate2").join(name);
    assert_eq!(Format::find(&path).unwrap(), Format::CTranslate2);
    Format::CTranslate2.read(&path).unwrap()
}

#[test]
fn translations_and_scores_are_those_of_ctranslate2() {
    let json = std::fs::read(fixture("ctranslate2/expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&json).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let dir = folder.path().join(name);
        package(name).save(&dir).unwrap();
        let (config, model) = model_dir::load::<ModelConfig>(&dir, &Device::default()).unwrap();
        let model = NeuralModel::new(config, model, &Device::default());
        let requests: Vec<Request> =
            ids(&expected["sources"]).into_iter().map(Request::new).collect();
        let settings = SearchSettings {
            length_penalty: LengthPenalty::Power(1.0),
            max_length: Some(12),
            ..SearchSettings::greedy()
        };
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        let expected = expected["models"][name]["greedy"].as_array().unwrap();
        for (found, expected) in found.iter().zip(expected) {
            let tokens = ids(&Value::Array(vec![expected[0][0].clone()]));
            assert_eq!(found[0].tokens, tokens[0], "{name}");
            let score = expected[0][1].as_f64().unwrap();
            // In float16 its positions are rounded too, which are computed here.
            let within = if name == "float16" { 1e-3 } else { 1e-4 };
            assert!((found[0].score - score).abs() < within, "{name}: {} {score}", found[0].score);
        }
    }
}

#[test]
fn what_is_written_in_float32_is_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let own = package(name);
        let dir = folder.path().join(name);
        Format::CTranslate2.write(&own, &dir).unwrap();
        let again = Format::CTranslate2.read(&dir).unwrap();
        assert_eq!(again.config, own.config, "{name}");
        assert_eq!(again.weights, own.weights, "{name}");
        assert_eq!(again.texts, own.texts, "{name}");
    }
}

/// The int8 fixture is the converter's rounding of `wide_relu`; ours of the same weights is the same.
#[test]
fn int8_is_rounded_as_the_converter_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("int8");
    let original = Format::HuggingFace.read(&fixture("hugging_face/wide_relu")).unwrap();
    Format::CTranslate2Int8.write(&with_vocabulary(original), &dir).unwrap();
    let own = Format::CTranslate2.read(&dir).unwrap();
    let theirs = package("int8");
    // There the row of padding is left out, here it is kept.
    for (name, tensor) in &theirs.weights {
        let rows = tensor.values.len() / 24 * 23;
        let compared = if tensor.shape[0] == 24 { rows } else { tensor.values.len() };
        let pairs = tensor.values.iter().zip(&own.weights[name].values).take(compared);
        for (a, b) in pairs {
            assert!((a - b).abs() <= 1e-6 * a.abs().max(1e-3), "{name}: {a} {b}");
        }
    }
}

/// `package` with a vocabulary of `t2` and so on.
fn with_vocabulary(mut package: Package) -> Package {
    let mut tokens = vec!["</s>".to_string(), "<unk>".into()];
    tokens.extend((2..package.config.pad).map(|id| format!("t{id}")));
    tokens.push("<pad>".into());
    let ids: serde_json::Map<String, Value> =
        tokens.into_iter().zip(0..).map(|(token, id): (String, i32)| (token, id.into())).collect();
    let json = serde_json::to_vec(&ids).unwrap();
    package.texts.insert("vocab.json".into(), json);
    package
}

/// A copy of a fixture whose file `name` is `change`d.
fn damaged(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> InteropError {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture("ctranslate2/int8")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    Format::CTranslate2.read(folder.path()).unwrap_err()
}

#[test]
fn damage_is_named_and_no_cut_is_overlooked() {
    let version = damaged("model.bin", |bytes| bytes[0] = 9);
    assert!(
        matches!(&version, InteropError::Unsupported { what, .. } if what.contains("version 9")),
        "{version}"
    );
    let bin = std::fs::read(fixture("ctranslate2/int8/model.bin")).unwrap();
    for len in (0..bin.len()).step_by(97) {
        let error = damaged("model.bin", |bytes| bytes.truncate(len));
        assert!(matches!(error, InteropError::Damaged { .. }), "{len}: {error}");
    }
    let vocabulary = damaged("shared_vocabulary.json", |bytes| *bytes = b"[\"</s>\"]".to_vec());
    assert!(vocabulary.to_string().contains("1 tokens, the model 23"), "{vocabulary}");
    let source = damaged("config.json", |bytes| *bytes = b"{}".to_vec());
    assert!(source.to_string().contains("add_source_eos"), "{source}");
}
