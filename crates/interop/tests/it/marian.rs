//! Models as Marian writes them give here what NumPy computes after Marian's source
//! (`fixtures/marian_models.py`).

use std::path::Path;

use crate::common::{fixture, ids};
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{Mode, Model, ModelConfig, TargetHistory, model_dir};
use burnformer_infer::{
    Batching, LengthPenalty, NeuralModel, Request, SearchSettings, Shortlist, search,
};
use burnformer_interop::{Format, InteropError, Pretrained};
use serde_json::Value;

const NAMES: [&str; 4] = ["post_swish", "pre_relu", "student", "ssru"];

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(fixture("marian/expected.json")).unwrap()).unwrap()
}

fn package(name: &str) -> Pretrained {
    let path = fixture("marian").join(name);
    assert_eq!(Format::find(&path).unwrap(), Format::Marian);
    Format::Marian.read(&path).unwrap()
}

fn imported(name: &str) -> (ModelConfig, Model) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package(name).save(&dir).unwrap();
    model_dir::load(&dir, &Device::default()).unwrap()
}

#[test]
fn logits_match_marians_formulas() {
    let expected = expected();
    let device = Device::default();
    for name in NAMES {
        let (config, model) = imported(name);
        let pairs = ids(&expected["sources"])
            .into_iter()
            .zip(ids(&expected["targets"]));
        let results = expected["models"][name]["logits"].as_array().unwrap();
        for ((source, target), logits) in pairs.zip(results) {
            let input: Vec<u32> = [config.tokens().bos].into_iter().chain(target).collect();
            let tensor = |ids: &[u32]| {
                let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
                Tensor::<1, Int>::from_ints(&ids[..], &device).unsqueeze::<2>()
            };
            let actual = model.forward(tensor(&source), tensor(&input), Mode::Inference);
            let [_, len, vocab] = actual.dims();
            // The last is the padding that was appended.
            assert_eq!(vocab, 25, "{name}");
            let actual = actual.slice([0..1, 0..len, 0..24]).into_data();
            let logits = logits
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap());
            assert_eq!(actual.num_elements(), logits.len(), "{name}");
            let worst = actual.iter::<f64>().zip(logits).map(|(a, b)| (a - b).abs());
            let worst = worst.fold(0.0, f64::max);
            assert!(worst < 1e-4, "{name}: {worst}");
        }
    }
}

#[test]
fn greedy_translations_never_hold_the_unknown_or_padding() {
    let expected = expected();
    for name in NAMES {
        let settings = package(name).search;
        assert_eq!((settings.beam_size, &settings.suppress[..]), (1, &[1][..]));
        assert_eq!(settings.length_penalty, LengthPenalty::Power(0.6));
        let (config, model) = imported(name);
        let model = NeuralModel::new(config, model, &Device::default());
        let requests: Vec<Request> = ids(&expected["sources"])
            .into_iter()
            .map(Request::new)
            .collect();
        let settings = SearchSettings {
            max_length: Some(10),
            max_length_extra: 10,
            ..settings
        };
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        let found: Vec<&[u32]> = found.iter().map(|all| &all[0].tokens[..]).collect();
        assert_eq!(found, ids(&expected["models"][name]["greedy"]), "{name}");
    }
}

#[test]
fn vocabularies_are_closed_by_padding() {
    let package = package("student");
    let vocabulary: Value = serde_json::from_slice(&package.texts["vocab.json"]).unwrap();
    assert_eq!(vocabulary["</s>"], 0);
    assert_eq!(vocabulary["\u{2581}t23"], 23);
    assert_eq!(vocabulary["<pad>"], 24);
    assert_eq!(package.config.pad, 24);
    assert_eq!(
        package.config.conventions.target_history,
        TargetHistory::Ssru
    );
    assert!(
        !package.texts.contains_key("target_vocab.json"),
        "one for both"
    );
}

/// The error in a copy of the fixture `name` whose file `file` is changed by `change`.
fn changed(name: &str, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> InteropError {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture("marian").join(name)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    Format::Marian.read(folder.path()).unwrap_err()
}

fn replace(bytes: &mut [u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let start = bytes
        .windows(from.len())
        .position(|window| window == from.as_bytes())
        .unwrap();
    bytes[start..start + from.len()].copy_from_slice(to.as_bytes());
}

#[test]
fn options_without_a_counterpart_are_refused_by_name() {
    let message = |from, to| {
        changed("student", "model.int8.bin", |bytes| {
            replace(bytes, from, to)
        })
        .to_string()
    };
    assert!(message("dec-cell: ssru", "dec-cell: lstm").contains("dec-cell"));
    assert!(message("type: transformer", "type: multi-trans").contains("multi-trans"));
    assert!(message("ffn-activation: relu", "ffn-activation: gelu").contains("gelu"));
    assert!(message("ffn-depth: 2", "ffn-depth: 3").contains("ffn-depth"));
    assert!(message("enc-depth: 2", "enc-depth: 3").contains("encoder_l3"));
    assert!(message("enc-depth: 2", "enc-depth: 1").contains("encoder_l2"));
    // Found by fuzzing: a name for each weight of each layer filled the memory.
    let deep = message(
        "version: v1.12\nenc-depth: 2",
        "version: 1\nenc-depth: 99999",
    );
    assert!(deep.contains("100001, but there are"), "{deep}");
    assert!(message("heads: 2", "heads: 3").contains("heads 3"));
}

#[test]
fn damage_and_truncation_are_errors() {
    for (name, file) in [
        ("student", "model.int8.bin"),
        ("ssru", "model.float32.bin"),
        ("post_swish", "model.npz"),
    ] {
        let len = std::fs::metadata(fixture("marian").join(name).join(file))
            .unwrap()
            .len() as usize;
        for len in (0..len).step_by(199) {
            let error = changed(name, file, |bytes| bytes.truncate(len));
            let known = matches!(
                error,
                InteropError::Damaged(..) | InteropError::Missing { .. }
            );
            assert!(known && error.to_string().contains(file), "{len}: {error}");
        }
    }
    let vocabulary = changed("ssru", "vocab.yml", |bytes| bytes.extend(b"no token\n"));
    assert!(
        vocabulary.to_string().contains("line 25") || vocabulary.to_string().contains("line 26"),
        "{vocabulary}"
    );
    let more = changed("ssru", "vocab.yml", |bytes| bytes.extend(b"x: 24\n"));
    assert!(
        more.to_string().contains("25 tokens, the model 24"),
        "{more}"
    );
}

/// The file is written by `write_shortlist` in `fixtures/marian_models.py`, after Marian's
/// `BinaryShortlistGenerator`.
#[test]
fn a_binary_shortlist_comes_with_the_model() {
    let package = package("student");
    assert!(
        package
            .warnings
            .iter()
            .any(|warning| warning.contains("--shortlist"))
    );
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package.save(&dir).unwrap();
    model_dir::verify(&dir).unwrap();
    let shortlist = Shortlist::load(&dir.join("shortlist.safetensors")).unwrap();
    assert_eq!(Some(&shortlist), package.shortlist.as_ref());
    assert_eq!(shortlist.frequent(), [0, 1, 2, 3]);
    // Two translations of each token, and, in one vocabulary, the token itself.
    assert_eq!(shortlist.translations(5), [5, 15, 22]);
    assert_eq!(shortlist.translations(23), [4, 21, 23]);
    assert!(shortlist.translations(24).is_empty(), "padding");
    assert_eq!(shortlist.vocabularies().sizes, [25; 2]);
}

#[test]
fn a_damaged_shortlist_is_named() {
    let damaged = |change: fn(&mut Vec<u8>)| {
        let error = changed("student", "lex.s2t.bin", change);
        assert!(matches!(error, InteropError::Damaged(..)), "{error}");
        assert!(error.to_string().contains("lex.s2t.bin"), "{error}");
    };
    damaged(|bytes| bytes.truncate(30));
    damaged(|bytes| bytes.truncate(bytes.len() - 4));
    damaged(|bytes| bytes[8] ^= 1);
    damaged(|bytes| bytes[60] ^= 1);
    damaged(|bytes| *bytes.last_mut().unwrap() = 1);
    damaged(|bytes| bytes[32..40].fill(0xff));
}

#[test]
fn a_recurrent_decoder_cannot_be_exported() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::HuggingFace, Format::CTranslate2] {
        let error = format
            .write(&package("student"), &folder.path().join("out"))
            .unwrap_err();
        assert!(
            matches!(error, InteropError::CannotExport { .. }),
            "{error}"
        );
    }
    assert!(!Path::new(&folder.path().join("out")).exists());
}
