use burnformer_core::{ModelConfig, Precision, TransformerConfig};
use burnformer_data::SpecialIds;

use super::*;
use std::path::{Path, PathBuf};

fn preset(name: &str, settings: &[&str]) -> Result<TrainConfig, ConfigFileError> {
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    TrainConfig::resolve(Some(name), None, &settings)
}

fn set(settings: &[&str]) -> Result<TrainConfig, ConfigFileError> {
    preset("tiny", settings)
}

fn model(config: &TrainConfig) -> ModelConfig {
    config.model.over([900; 2], SpecialIds::OURS)
}

fn file(text: &str) -> Result<TrainConfig, ConfigFileError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.toml");
    std::fs::write(&path, text).expect("writes");
    TrainConfig::resolve(None, Some(&path), &[])
}

#[test]
fn every_preset_resolves_to_a_valid_model() {
    for name in preset_names() {
        model(&preset(name, &[]).unwrap()).validate().unwrap();
    }
}

#[test]
fn presets_agree_with_the_cores() {
    let cores: [(&str, ModelConfig); 4] = [
        ("base", TransformerConfig::base(900).into()),
        ("big", TransformerConfig::big(900).into()),
        ("small", TransformerConfig::small(900).into()),
        ("tiny", TransformerConfig::tiny(900).into()),
    ];
    for (name, expected) in cores {
        assert!(*model(&preset(name, &[]).unwrap()) == *expected, "{name}");
    }
}

#[test]
fn settings_override_the_file_and_the_file_the_preset() {
    let config = file("preset = \"base\"\n[model]\nd_ff = 77\n").unwrap();
    assert_eq!((config.model.d_ff, config.model.d_model), (77, 512));
    let config = set(&[
        "model.d_ff=99",
        "data.train=[\"a\", \"b\"]",
        "validation.metric=ppl",
    ])
    .unwrap();
    assert_eq!(config.model.d_ff, 99);
    assert_eq!(config.data.train, ["a", "b"].map(PathBuf::from));
    assert_eq!(config.validation.metric, EarlyStoppingMetric::Ppl);
}

#[test]
fn a_file_without_a_preset_starts_from_the_default_preset() {
    let config = file("[model]\nd_ff = 77\n").unwrap();
    let mut expected = TrainConfig::resolve(None, None, &[]).unwrap();
    assert_eq!(
        expected,
        TrainConfig::resolve(Some(DEFAULT_PRESET), None, &[]).unwrap()
    );
    expected.model.d_ff = 77;
    assert_eq!(config, expected);
    assert_eq!(
        file("").unwrap(),
        TrainConfig::resolve(None, None, &[]).unwrap()
    );
}

#[test]
fn a_resolved_configuration_reads_back_the_same() {
    for name in preset_names() {
        let config = preset(name, &["training.budget=100"]).unwrap();
        assert_eq!(file(&config.to_toml()).unwrap(), config);
    }
}

#[test]
fn an_attention_window_has_a_largest_width() {
    let message = set(&["model.attention_window=4611686018427387904"])
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("attention_window") && message.contains("at most"),
        "{message}"
    );
    assert!(set(&["model.attention_window=100000"]).is_ok());
}

#[test]
fn an_unknown_key_names_the_nearest() {
    for (setting, nearest) in [
        ("model.d_modle=3", "model.d_model"),
        ("model.seed=3", "training.seed"),
        ("trainning.seed=3", "training"),
        ("tokenizer.train.vocab=3", "tokenizer.train.vocab_size"),
        ("training.precison=float16", "training.precision"),
    ] {
        let message = set(&[setting]).unwrap_err().to_string();
        assert!(message.contains(nearest), "{setting}: {message}");
    }
    assert!(matches!(
        file("[modle]\n"),
        Err(ConfigFileError::UnknownKey { .. })
    ));
}

#[test]
fn a_wrong_type_a_wrong_value_and_bad_syntax_are_named() {
    let message = set(&["model.d_model=\"wide\""]).unwrap_err().to_string();
    assert!(message.contains("d_model"), "{message}");
    assert!(matches!(
        set(&["training.budget=0"]),
        Err(ConfigFileError::Value { .. })
    ));
    let shared = set(&["tokenizer.train.joint=false"])
        .unwrap_err()
        .to_string();
    assert!(shared.contains("model.sharing"), "{shared}");
    assert!(set(&["tokenizer.train.joint=false", "model.sharing=target"]).is_ok());
    assert!(matches!(
        set(&["schedule.warmup=0"]),
        Err(ConfigFileError::Value { .. })
    ));
    assert!(matches!(
        set(&["training.budget"]),
        Err(ConfigFileError::Setting { .. })
    ));
    assert!(matches!(
        file("[model\n"),
        Err(ConfigFileError::Syntax { .. })
    ));
    let missing = TrainConfig::resolve(None, Some(Path::new("/no/such.toml")), &[]);
    assert!(matches!(missing, Err(ConfigFileError::Unreadable { .. })));
    let unknown = TrainConfig::resolve(Some("tinny"), None, &[])
        .unwrap_err()
        .to_string();
    assert!(unknown.contains("\"tiny\""), "{unknown}");
}

#[test]
fn a_wrong_type_in_the_model_section_names_key_and_line() {
    for (text, key, line) in [
        ("[model]\nheads = 4\nd_model = \"wide\"\n", "d_model", 3),
        ("[model]\nattention_window = -1\n", "attention_window", 2),
        ("[model]\nnorm = \"middle\"\n", "norm", 2),
        ("\n[model.rnn]\nd_hidden = 1.5\n", "d_hidden", 3),
        ("model = 3\n", "model", 1),
    ] {
        let message = file(text).unwrap_err().to_string();
        assert!(
            message.contains(key) && message.contains(&format!(".toml:{line}: ")),
            "{message}"
        );
    }
}

#[test]
fn every_transformer_field_is_a_key_with_its_documentation() {
    let sections = reference::SettingsFile::Training.sections();
    let documented = |path: &str| {
        let mut keys = sections.iter().flat_map(|section| &section.keys);
        keys.any(|key| key.path == path && !key.description.is_empty() && key.default.is_some())
    };
    let fields = |config: serde_json::Value| config.as_object().unwrap().clone();
    let transformer = fields(serde_json::to_value(TransformerConfig::base(9)).unwrap());
    let tokenizer_fields = ["source_vocab", "target_vocab", "pad", "bos", "eos"];
    let keys = document::known_keys();
    for field in transformer
        .keys()
        .filter(|field| !tokenizer_fields.contains(&field.as_str()))
    {
        let key = format!("model.{field}");
        assert!(keys.contains(&key) && documented(&key), "{key}");
    }
}

#[test]
fn zero_means_none_or_the_papers_width() {
    let model = |settings: &[&str]| {
        let model = model(&set(settings).unwrap());
        model.downcast_ref::<TransformerConfig>().unwrap().clone()
    };
    let plain = model(&["model.d_k=0", "model.d_v=0", "model.attention_window=0"]);
    assert_eq!(
        (plain.d_k, plain.d_v, plain.attention_window),
        (32, 32, None)
    );
    let wide = model(&["model.d_k=8", "model.attention_window=5"]);
    assert_eq!(
        (wide.d_k, wide.d_v, wide.attention_window),
        (8, 32, Some(5))
    );
    let again = file(&set(&["model.attention_window=5"]).unwrap().to_toml()).unwrap();
    assert_eq!(again.model.attention_window, 5);
    assert!(
        set(&[])
            .unwrap()
            .to_toml()
            .contains("attention_window = 0\n")
    );
}

#[test]
fn a_precision_is_one_of_three_names_or_auto() {
    assert_eq!(
        set(&[]).unwrap().training.precision,
        PrecisionSetting::Float32
    );
    for precision in Precision::ALL {
        let setting = format!("training.precision={precision}");
        assert_eq!(
            set(&[&setting]).unwrap().training.precision,
            precision.into()
        );
    }
    let message = set(&["training.precision=fp16"]).unwrap_err().to_string();
    let names = Precision::ALL.map(Precision::name);
    assert!(
        message.contains("fp16") && names.iter().all(|n| message.contains(n)),
        "{message}"
    );
}

#[test]
fn an_architecture_without_a_name_is_refused() {
    let unknown = set(&["model.architecture=lstm"]).unwrap_err().to_string();
    assert!(
        unknown.contains("lstm") && unknown.contains("rnn"),
        "{unknown}"
    );
}

#[test]
fn a_part_that_the_architecture_lacks_is_refused_by_its_key() {
    for (name, setting, key) in [
        ("tiny", "model.rnn.d_hidden=3", "model.rnn is "),
        ("rnn", "model.heads=2", "model.heads is 2"),
        ("rnn", "model.norm=pre", "model.norm is \"pre\""),
    ] {
        let error = preset(name, &[setting]).expect_err(setting);
        assert!(
            matches!(error, ConfigFileError::NoEffect { .. }),
            "{setting}: {error}"
        );
        assert!(error.to_string().starts_with(key), "{error}");
    }
}

#[test]
fn a_start_model_that_cannot_be_read_is_named_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let setting = format!("training.from={:?}", folder.path().display().to_string());
    let error = set(&[&setting]).unwrap_err();
    assert!(matches!(error, ConfigFileError::From(_)), "{error}");
    assert!(
        error.to_string().starts_with("training.from (--from): "),
        "{error}"
    );
}

#[test]
fn a_corpus_is_one_or_two_files() {
    let paths: Vec<PathBuf> = ["a", "b", "c"].map(PathBuf::from).to_vec();
    assert!(corpus_paths("data.train", &paths[..1]).is_ok());
    assert!(corpus_paths("data.train", &paths[..2]).is_ok());
    let wrong = corpus_paths("data.train", &paths);
    let message = wrong.unwrap_err().to_string();
    assert!(
        message.contains("3 files") && message.contains("`cat a … c > all.tsv`"),
        "{message}"
    );
}

/// The error for a value of a wrong type speaks of TOML, whatever the key and the value are, and
/// names the key.
#[test]
fn no_name_of_a_rust_type_is_in_an_error() {
    let sections = reference::SettingsFile::Training.sections();
    let keys = sections
        .iter()
        .flat_map(|section| section.keys.iter().map(|key| &key.path));
    let keys: Vec<&String> = keys
        .chain(sections.iter().map(|section| &section.path))
        .collect();
    let mut refused = 0;
    for key in keys {
        for value in [
            "-1", "1.5", "\"x y\"", "true", "[true]", "[[1]]", "{a = 1}", "[{}]",
        ] {
            let setting = format!("{key}={value}");
            let Err(error) = set(&[&setting]) else {
                continue;
            };
            let text = error.to_string();
            let message = text.trim_start_matches(&format!("--set {setting}"));
            let words = message
                .split(|c: char| !c.is_alphanumeric())
                .collect::<Vec<_>>();
            for name in [
                "struct", "enum", "usize", "u64", "u32", "f64", "Vec", "Settings",
            ] {
                assert!(!words.iter().any(|word| word.ends_with(name)), "{text}");
            }
            if matches!(error, ConfigFileError::Type { .. }) {
                assert!(message.contains(key), "{text}");
                refused += 1;
            }
        }
    }
    assert!(refused > 200, "{refused}");
    let in_a_list = set(&["data.mix=[{ weight = \"x\" }]"])
        .unwrap_err()
        .to_string();
    assert!(
        in_a_list.contains("data.mix[0].weight must be a number;"),
        "{in_a_list}"
    );
    let alpha = set(&["validation.test_alphas=[0.5, true]"])
        .unwrap_err()
        .to_string();
    assert!(
        alpha.contains("validation.test_alphas[1] must be a number;"),
        "{alpha}"
    );
}
