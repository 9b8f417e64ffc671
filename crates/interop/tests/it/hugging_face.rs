//! Models that transformers wrote give here what they give there (`fixtures/hugging_face.py`).

use crate::common::{fixture, ids};
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{Mode, Model, ModelConfig, TransformerConfig, model_dir, named_parameters};
use burnformer_infer::{
    Batching, LengthPenalty, NeuralModel, Request, SearchSettings, Translator, search,
};
use burnformer_interop::{Format, InteropError, Pretrained, Tensor as Tensor32};
use serde_json::Value;

fn expected() -> Value {
    let json = std::fs::read(fixture("hugging_face/expected.json")).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// The model directory made of the fixture `name`, loaded as every command loads it.
fn imported(name: &str) -> (ModelConfig, Model, SearchSettings) {
    let path = fixture("hugging_face").join(name);
    let package = Format::find(&path).unwrap().read(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package.save(&dir).unwrap();
    let (config, model) = model_dir::load(&dir, &Device::default()).unwrap();
    (
        config,
        model,
        burnformer_infer::load_settings(&dir).unwrap().search,
    )
}

#[test]
fn logits_match_transformers() {
    let expected = expected();
    let device = Device::default();
    for (name, results) in expected["models"].as_object().unwrap() {
        let (config, model, _) = imported(name);
        let pairs = ids(&expected["sources"])
            .into_iter()
            .zip(ids(&expected["targets"]));
        for ((source, target), logits) in pairs.zip(results["logits"].as_array().unwrap()) {
            let input: Vec<u32> = [config.tokens().bos].into_iter().chain(target).collect();
            let tensor = |ids: &[u32]| {
                let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
                Tensor::<1, Int>::from_ints(&ids[..], &device).unsqueeze::<2>()
            };
            let actual = model
                .forward(tensor(&source), tensor(&input), Mode::Inference)
                .into_data();
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

/// The settings that are the arguments of `generate`.
fn settings(json: &Value, model: &SearchSettings) -> SearchSettings {
    let beam_size = json["num_beams"].as_u64().unwrap() as usize;
    let limit = json["max_length"].as_u64().unwrap() as usize - 1;
    SearchSettings {
        beam_size,
        n_best: beam_size,
        max_length: Some(limit),
        max_length_extra: limit,
        length_penalty: LengthPenalty::Power(json["length_penalty"].as_f64().unwrap_or(1.0)),
        ..model.clone()
    }
}

#[test]
fn beam_search_matches_transformers_token_for_token() {
    let expected = expected();
    for (name, results) in expected["models"].as_object().unwrap() {
        let (config, model, defaults) = imported(name);
        let model = NeuralModel::new(config, model, &Device::default());
        let all = expected["settings"].as_array().unwrap().iter();
        for (json, results) in all.zip(results["searches"].as_array().unwrap()) {
            let requests = ids(&expected["sources"]).into_iter().map(Request::new);
            let requests: Vec<Request> = requests.collect();
            let found = search(
                &model,
                &requests,
                &settings(json, &defaults),
                &Batching::default(),
            )
            .unwrap();
            for (found, expected) in found.iter().zip(results.as_array().unwrap()) {
                let found: Vec<&[u32]> = found
                    .iter()
                    .map(|hypothesis| &hypothesis.tokens[..])
                    .collect();
                assert_eq!(found, ids(expected), "{name} {json}");
            }
        }
    }
}

/// Through the translator, which may search again for a translation that is a loop: 11 of these 72
/// are loops.
#[test]
fn imported_models_make_no_second_search_by_default() {
    let expected = expected();
    let folder = tempfile::tempdir().unwrap();
    let spm = std::fs::read(fixture("m2m100/relu/sentencepiece.bpe.model")).unwrap();
    let mut second = 0;
    let mut other = 0;
    for (name, results) in expected["models"].as_object().unwrap() {
        let path = fixture("hugging_face").join(name);
        let mut package = Format::HuggingFace.read(&path).unwrap();
        let token = |id: usize| match id {
            0 => "</s>".to_string(),
            1 => "<unk>".into(),
            id if id == package.config.pad as usize => "<pad>".into(),
            id => format!("t{id}"),
        };
        for (name, rows) in [
            ("vocab.json", package.config.source_vocab),
            ("target_vocab.json", package.config.target_vocab),
        ] {
            let ids: serde_json::Map<String, Value> =
                (0..rows).map(|id| (token(id), id.into())).collect();
            package
                .texts
                .insert(name.into(), serde_json::to_vec(&ids).unwrap());
        }
        for name in ["source.spm", "target.spm"] {
            package.texts.insert(name.into(), spm.clone());
        }
        let dir = folder.path().join(name);
        package.save(&dir).unwrap();
        let translator = Translator::load(&dir, &Device::default()).unwrap();
        let all = expected["settings"].as_array().unwrap().iter();
        for (json, results) in all.zip(results["searches"].as_array().unwrap()) {
            let mut options = translator.options();
            options.search = settings(json, &options.search);
            let mut translate = |again: bool| {
                options.protections.second_search = again;
                let requests = ids(&expected["sources"]).into_iter().map(Request::new);
                translator
                    .translate_ids(requests.map(Into::into).collect(), &options)
                    .unwrap()
            };
            for (found, expected) in translate(false).iter().zip(results.as_array().unwrap()) {
                let found: Vec<&[u32]> = found
                    .iter()
                    .map(|hypothesis| &hypothesis.tokens[..])
                    .collect();
                assert_eq!(found, ids(expected), "{name} {json}");
            }
            for (found, expected) in translate(true).iter().zip(results.as_array().unwrap()) {
                second += usize::from(found[0].is_second);
                other += usize::from(found[0].tokens != ids(expected)[0]);
            }
        }
    }
    assert!(second > 4 && other == second, "{second} {other}");
}

#[test]
fn the_search_follows_the_generation_config() {
    let (.., settings) = imported("shared_swish");
    let json = serde_json::to_value(&settings).unwrap();
    assert_eq!(json["beam_size"], 4);
    assert_eq!(json["length_penalty"], serde_json::json!({"power": 1.0}));
    assert_eq!(json["max_length"], 13);
    assert_eq!(json["beam_rule"], "transformers");
    assert_eq!(json["at_limit"], "close");
}

/// A copy of a fixture's folder in which the text `from` of `config.json` became `to`.
fn changed(from: &str, to: &str) -> InteropError {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "generation_config.json", "model.safetensors"] {
        let source = fixture("hugging_face/shared_swish").join(file);
        std::fs::copy(source, folder.path().join(file)).unwrap();
    }
    let path = folder.path().join("config.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
    Format::HuggingFace.read(folder.path()).unwrap_err()
}

#[test]
fn settings_without_a_counterpart_are_refused_by_name() {
    let message = |from, to| changed(from, to).to_string();
    assert!(message("\"swish\"", "\"gelu_new\"").contains("gelu_new"));
    assert!(message("\"marian\"", "\"bart\"").contains("model_type \"bart\""));
    let heads = message(
        "\"decoder_attention_heads\": 2",
        "\"decoder_attention_heads\": 3",
    );
    assert!(heads.contains("attention heads do not divide"), "{heads}");
    let shape = changed("\"vocab_size\": 24", "\"vocab_size\": 25");
    assert!(
        matches!(shape, InteropError::Shape { .. } | InteropError::Config(..)),
        "{shape}"
    );
    let more = changed("\"encoder_layers\": 2", "\"encoder_layers\": 3");
    assert!(
        matches!(&more, InteropError::MissingTensor(_, name) if name.contains("layers.2")),
        "{more}"
    );
    let fewer = changed("\"encoder_layers\": 2", "\"encoder_layers\": 1");
    assert!(
        matches!(&fewer, InteropError::UnknownTensor { name, .. } if name.contains("layers.1")),
        "{fewer}"
    );
    let absurd = changed("\"d_model\": 8", "\"d_model\": 9223372036854775800");
    assert!(
        matches!(
            absurd,
            InteropError::Config(..) | InteropError::Unsupported { .. }
        ),
        "{absurd}"
    );
    let damaged = changed("{", "[");
    assert!(matches!(damaged, InteropError::Damaged(..)), "{damaged}");
}

/// The result of reading a fixture's folder with `bytes` as its `pytorch_model.bin`.
fn with_pickle(name: &str, bytes: &[u8]) -> Result<Pretrained, InteropError> {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "generation_config.json"] {
        let source = fixture("hugging_face").join(name).join(file);
        std::fs::copy(source, folder.path().join(file)).unwrap();
    }
    std::fs::write(folder.path().join("pytorch_model.bin"), bytes).unwrap();
    Format::HuggingFace.read(folder.path())
}

#[test]
fn code_in_a_pickle_is_not_executed() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let command = format!("touch {}", made.display());
    let len = [command.len() as u8, 0, 0, 0];
    // The call alone, and as a value of a dictionary.
    let call = [b"cos\nsystem\nX", &len[..], command.as_bytes(), b"\x85R"].concat();
    for (before, after) in [("\u{2}", "."), ("\u{2}}X\u{1}\0\0\0a", "s.")] {
        let pickle = [b"\x80", before.as_bytes(), &call, after.as_bytes()].concat();
        let error = with_pickle("gelu_unscaled", &pickle).unwrap_err();
        assert!(error.to_string().contains("pytorch_model.bin"), "{error}");
        assert!(!made.exists());
    }
}

#[test]
fn truncated_weights_are_refused() {
    for name in ["gelu_unscaled", "wide_relu"] {
        let whole =
            std::fs::read(fixture("hugging_face").join(name).join("pytorch_model.bin")).unwrap();
        assert!(with_pickle(name, &whole).is_ok());
        for len in (0..whole.len()).step_by(1 + whole.len() / 300) {
            assert!(with_pickle(name, &whole[..len]).is_err(), "{name} {len}");
        }
    }
}

#[test]
fn a_folder_that_is_not_empty_is_not_overwritten() {
    let path = fixture("hugging_face/half");
    let package = Format::HuggingFace.read(&path).unwrap();
    let error = package.save(&path).unwrap_err();
    assert!(matches!(error, InteropError::Occupied(_)), "{error}");
}

#[test]
fn a_written_model_is_read_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "shared_swish",
        "separate_relu",
        "gelu_unscaled",
        "wide_relu",
        "uneven_relu",
    ] {
        let package = Format::HuggingFace
            .read(&fixture("hugging_face").join(name))
            .unwrap();
        let dir = folder.path().join(name);
        Format::HuggingFace.write(&package, &dir).unwrap();
        let again = Format::HuggingFace.read(&dir).unwrap();
        assert_eq!(again.weights, package.weights, "{name}");
        let positions = |config: &TransformerConfig| TransformerConfig {
            max_positions: 0,
            ..config.clone()
        };
        assert_eq!(
            positions(&again.config),
            positions(&package.config),
            "{name}"
        );
        assert_eq!(
            again.generation.search.length_penalty,
            package.generation.search.length_penalty
        );
        assert_eq!(
            again.generation.search.max_length,
            package.generation.search.max_length
        );
    }
}

/// The logits of `model` after `target` for `source`, one row per position.
fn logits(package: &Pretrained, source: &[u32], target: &[u32]) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package.save(&dir).unwrap();
    let device = Device::default();
    let (config, model) = model_dir::load(&dir, &device).unwrap();
    let tensor = |ids: &[u32]| {
        let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        Tensor::<1, Int>::from_ints(&ids[..], &device).unsqueeze::<2>()
    };
    let input = [&[config.tokens().bos], target].concat();
    model
        .forward(tensor(source), tensor(&input), Mode::Inference)
        .into_data()
        .iter()
        .collect()
}

/// `<pad>` is token 20 of 24 in the source and 21 of 30 in the target, and 23 in the configuration,
/// as where vocabularies have different sizes.
#[test]
fn separate_vocabularies_have_special_tokens_at_the_configured_ids() {
    let folder = tempfile::tempdir().unwrap();
    let original = fixture("hugging_face/separate_relu");
    for entry in std::fs::read_dir(&original).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    for (name, rows, pad) in [("vocab.json", 24, 20), ("target_vocab.json", 30, 21)] {
        let token = |id| match id {
            0 => "</s>".to_string(),
            1 => "<unk>".into(),
            id if id == pad => "<pad>".into(),
            id => format!("t{id}"),
        };
        let ids: serde_json::Map<String, Value> =
            (0..rows).map(|id: u64| (token(id), id.into())).collect();
        std::fs::write(folder.path().join(name), serde_json::to_vec(&ids).unwrap()).unwrap();
    }
    let plain = Format::HuggingFace.read(&original).unwrap();
    let package = Format::HuggingFace.read(folder.path()).unwrap();
    let id = |name: &str, token: &str| {
        let ids: Value = serde_json::from_slice(&package.texts[name]).unwrap();
        ids[token].as_u64().unwrap() as u32
    };
    for name in ["vocab.json", "target_vocab.json"] {
        assert_eq!(
            (id(name, "<pad>"), id(name, "</s>")),
            (package.config.pad, package.config.eos)
        );
    }
    assert_eq!(package.config.bos, id("target_vocab.json", "t23"));
    // The same tokens by their new ids.
    let moved = |ids: &[u32], free: u32| -> Vec<u32> {
        let one = |&id: &u32| match id {
            23 => free,
            id if id == free => 23,
            id => id,
        };
        ids.iter().map(one).collect()
    };
    let source = [7, 23, 9, 0];
    let target = [5, 23, 27, 11];
    let expected = logits(
        &Pretrained {
            config: TransformerConfig {
                pad: 20,
                ..plain.config
            },
            ..plain
        },
        &source,
        &target,
    );
    let found = logits(&package, &moved(&source, 20), &moved(&target, 21));
    for (expected, found) in expected.chunks(30).zip(found.chunks(30)) {
        for (id, value) in (0..).zip(expected) {
            let index = moved(&[id], 21)[0] as usize;
            assert!(
                (found[index] - value).abs() < 1e-5,
                "{id}: {} {value}",
                found[index]
            );
        }
    }
}

/// A model of this project: other positions, no bias, an embedding before the first token.
#[test]
fn a_model_round_trips_with_its_positions_and_without_a_bias() {
    let config = TransformerConfig {
        d_ff: 16,
        ..TransformerConfig::tiny(24).with_width(8, 2)
    };
    let model = config.init(1, &Device::default()).unwrap();
    let weights = named_parameters(&model);
    let weights = weights
        .iter()
        .map(|(name, data)| (name.clone(), Tensor32::from(data)))
        .collect();
    let package = Pretrained {
        config,
        weights,
        generation: SearchSettings::default().into(),
        texts: Default::default(),
        shortlist: None,
        warnings: vec![],
    };
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    Format::HuggingFace.write(&package, &dir).unwrap();
    let again = Format::HuggingFace.read(&dir).unwrap();
    assert_eq!(
        (&again.config, &again.weights),
        (&package.config, &package.weights)
    );
}
