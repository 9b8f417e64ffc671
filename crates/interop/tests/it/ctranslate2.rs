//! Models that CTranslate2's converter wrote give here what they give there
//! (`fixtures/ctranslate2_models.py`), and models written here come back as they were.

use std::path::Path;

use crate::common::{fixture, ids};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_infer::{Batching, LengthPenalty, NeuralModel, Request, SearchSettings, search};
use burnformer_interop::{Format, InteropError, Pretrained};
use serde_json::Value;

const NAMES: [&str; 5] = ["float32", "float16", "int16", "int8", "query_norm"];

fn package(name: &str) -> Pretrained {
    let path = fixture("ctranslate2").join(name);
    assert_eq!(Format::find(&path).unwrap(), Format::CTranslate2);
    Format::CTranslate2.read(&path).unwrap()
}

#[test]
fn translations_and_scores_match_ctranslate2() {
    let json = std::fs::read(fixture("ctranslate2/expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&json).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let dir = folder.path().join(name);
        package(name).save(&dir).unwrap();
        let (config, model) = model_dir::load(&dir, &Device::default()).unwrap();
        let model = NeuralModel::new(config, model, &Device::default());
        let requests: Vec<Request> = ids(&expected["sources"])
            .into_iter()
            .map(Request::new)
            .collect();
        let settings = SearchSettings {
            length_penalty: LengthPenalty::Power(1.0),
            max_length: Some(12),
            ..SearchSettings::greedy()
        };
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        let expected = expected["models"][name]["greedy"].as_array().unwrap();
        assert_eq!(expected.len(), 200);
        for (found, expected) in found.iter().zip(expected) {
            let tokens = ids(&Value::Array(vec![expected[0][0].clone()]));
            assert_eq!(found[0].tokens, tokens[0], "{name}");
            let score = expected[0][1].as_f64().unwrap();
            // The positions of the float16 file are rounded too; ours are computed.
            let within = if name == "float16" { 1e-2 } else { 1e-4 };
            assert!(
                (found[0].score - score).abs() < within,
                "{name}: {} {score}",
                found[0].score
            );
        }
    }
}

/// Asserts that `original` is the same after it was written to the folder `dir` and read again.
fn assert_comes_back(original: &Pretrained, dir: &Path) {
    Format::CTranslate2.write(original, dir).unwrap();
    let again = Format::CTranslate2.read(dir).unwrap();
    assert_eq!(again.config, original.config, "{}", dir.display());
    assert_eq!(again.weights, original.weights, "{}", dir.display());
    assert_eq!(again.texts, original.texts, "{}", dir.display());
}

#[test]
fn a_model_written_in_float32_is_read_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let original = package(name);
        assert_comes_back(&original, &folder.path().join(name));
    }
}

#[test]
fn a_decoder_with_other_heads_and_widths_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let original = Format::HuggingFace
        .read(&fixture("hugging_face/uneven_relu"))
        .unwrap();
    let conventions = original.config.conventions;
    assert_eq!(
        (conventions.decoder_heads, conventions.decoder_d_ff),
        (Some(2), Some(12))
    );
    let mut original = with_vocabulary(original);
    let source: Value = serde_json::from_slice(&original.texts["vocab.json"]).unwrap();
    let mut target = source.as_object().unwrap().clone();
    target.extend((24..30).map(|id| (format!("u{id}"), id.into())));
    original.texts.insert(
        "target_vocab.json".into(),
        serde_json::to_vec(&target).unwrap(),
    );
    let dir = folder.path().join("model");
    Format::CTranslate2.write(&original, &dir).unwrap();
    let mut again = Format::CTranslate2.read(&dir).unwrap();
    assert_eq!(again.config.conventions.decoder_heads, Some(2));
    assert_eq!(again.config.conventions.decoder_d_ff, Some(12));
    assert_eq!((again.config.heads, again.config.d_ff), (4, 16));
    // The bias of padding is written so that it is never chosen.
    let biases = [&mut again, &mut original].map(|package| package.weights.remove("output_bias"));
    assert!(biases.iter().all(Option::is_some) && again.weights == original.weights);
    let error = Format::Marian
        .write(&original, &folder.path().join("npz"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("export to CTranslate2"), "{error}");
}

/// The int8 fixture is the converter's rounding of `wide_relu`; ours of the same weights is the
/// same.
#[test]
fn int8_is_rounded_like_the_converter() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("int8");
    let original = Format::HuggingFace
        .read(&fixture("hugging_face/wide_relu"))
        .unwrap();
    Format::CTranslate2Int8
        .write(&with_vocabulary(original), &dir)
        .unwrap();
    let original = Format::CTranslate2.read(&dir).unwrap();
    let theirs = package("int8");
    // The fixture leaves out the row of padding, which our file keeps.
    for (name, tensor) in &theirs.weights {
        let rows = tensor.values.len() / 24 * 23;
        let compared = if tensor.shape[0] == 24 {
            rows
        } else {
            tensor.values.len()
        };
        let pairs = tensor
            .values
            .iter()
            .zip(&original.weights[name].values)
            .take(compared);
        for (a, b) in pairs {
            assert!((a - b).abs() <= 1e-6 * a.abs().max(1e-3), "{name}: {a} {b}");
        }
    }
}

/// `package` with a vocabulary of `t2` and so on.
fn with_vocabulary(mut package: Pretrained) -> Pretrained {
    let mut tokens = vec!["</s>".to_string(), "<unk>".into()];
    tokens.extend((2..package.config.pad).map(|id| format!("t{id}")));
    tokens.push("<pad>".into());
    let ids: serde_json::Map<String, Value> = tokens
        .into_iter()
        .zip(0..)
        .map(|(token, id): (String, i32)| (token, id.into()))
        .collect();
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
fn damage_and_truncation_are_errors() {
    let version = damaged("model.bin", |bytes| bytes[0] = 9);
    assert!(
        matches!(&version, InteropError::Unsupported { what, .. } if what.contains("version 9")),
        "{version}"
    );
    let bin = std::fs::read(fixture("ctranslate2/int8/model.bin")).unwrap();
    for len in (0..bin.len()).step_by(97) {
        let error = damaged("model.bin", |bytes| bytes.truncate(len));
        assert!(matches!(error, InteropError::Damaged(..)), "{len}: {error}");
    }
    let vocabulary = damaged("shared_vocabulary.json", |bytes| {
        *bytes = b"[\"</s>\"]".to_vec()
    });
    assert!(
        vocabulary.to_string().contains("1 tokens, the model 23"),
        "{vocabulary}"
    );
    let begun = br#"{"add_source_bos": true}"#;
    let source = damaged("config.json", |bytes| *bytes = begun.to_vec());
    assert!(source.to_string().contains("add_source_bos"), "{source}");
}

/// Without `add_source_eos`, the caller of a model that was converted from transformers adds
/// `</s>`, that of one of OpenNMT does not.
#[test]
fn eos_of_the_source_is_seen_hidden_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["model.bin", "shared_vocabulary.json"] {
        std::fs::copy(
            fixture("ctranslate2/int8").join(name),
            folder.path().join(name),
        )
        .unwrap();
    }
    let read = |json: &str| {
        std::fs::write(folder.path().join("config.json"), json).unwrap();
        Format::CTranslate2.read(folder.path())
    };
    let of_caller = read(r#"{"decoder_start_token": "</s>", "add_source_eos": false}"#).unwrap();
    let added = read(r#"{"decoder_start_token": "</s>", "add_source_eos": true}"#).unwrap();
    assert_eq!(of_caller.config, added.config);
    assert!(of_caller.warnings[0].contains("</s>") && added.warnings.is_empty());
    // The same without the start from zeros, which tells that a model was Marian's.
    let path = folder.path().join("model.bin");
    let mut bin = std::fs::read(&path).unwrap();
    let flag = b"decoder/start_from_zero_embedding\0";
    let start = bin
        .windows(flag.len())
        .position(|bytes| bytes == flag)
        .unwrap()
        + flag.len();
    // No dimension, a type, a size of four bytes, and the value.
    assert_eq!(bin[start..start + 7], [0, 1, 1, 0, 0, 0, 1]);
    bin[start + 6] = 0;
    std::fs::write(&path, bin).unwrap();
    for (json, named) in [
        (
            r#"{"decoder_start_token": "</s>"}"#,
            "add_source_eos = false",
        ),
        (
            r#"{"decoder_start_token": null, "add_source_eos": true}"#,
            "decoder_start_token = null",
        ),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

/// CTranslate2 4.8.5 never ends a translation with `disable_unk` if `</s>` is its unknown token.
#[test]
fn the_unknown_token_of_an_export_is_never_eos() {
    let mut package = Format::HuggingFace
        .read(&fixture("hugging_face/shared_swish"))
        .unwrap();
    for (unknown, expected) in [("<unk>", "<unk>"), ("t1", "<pad>")] {
        let token = |id: u64| match id {
            0 => "</s>".to_string(),
            1 => unknown.into(),
            23 => "<pad>".into(),
            id => format!("t{id}"),
        };
        let ids: serde_json::Map<String, serde_json::Value> =
            (0..24).map(|id| (token(id), id.into())).collect();
        let vocabulary = serde_json::to_vec(&ids).unwrap();
        package.texts.insert("vocab.json".into(), vocabulary);
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("out");
        Format::CTranslate2.write(&package, &dir).unwrap();
        let config = std::fs::read(dir.join("config.json")).unwrap();
        let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
        assert_eq!(config["unk_token"], expected);
        Format::CTranslate2.read(&dir).unwrap();
    }
}
