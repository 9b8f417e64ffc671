use burnformer_core::Seq2SeqConfig;

use super::*;

fn set(settings: &[&str]) -> Result<TrainConfig, ConfigFileError> {
    let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
    TrainConfig::resolve(Some("tiny"), None, &settings)
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
        let config = TrainConfig::resolve(Some(name), None, &[]).unwrap();
        config.model.over(8000, 8000).validate().unwrap();
    }
}

#[test]
fn presets_agree_with_the_cores() {
    use burnformer_core::TransformerConfig;
    use burnformer_rnn::RnnConfig;
    let preset = |name| TrainConfig::resolve(Some(name), None, &[]).unwrap().model.over(900, 900);
    assert_eq!(preset("base"), TransformerConfig::base(900).into());
    assert_eq!(preset("big"), TransformerConfig::big(900).into());
    assert_eq!(preset("small"), TransformerConfig::small(900).into());
    assert_eq!(preset("tiny"), TransformerConfig::tiny(900).into());
    assert_eq!(preset("rnn"), RnnConfig::tiny(900).into());
}

#[test]
fn settings_override_the_file_and_the_file_the_preset() {
    let config = file("preset = \"base\"\n[model]\nd_ff = 77\n").unwrap();
    assert_eq!((config.model.d_ff, config.model.d_model), (77, 512));
    let config =
        set(&["model.d_ff=99", "data.train=[\"a\", \"b\"]", "validation.metric=ppl"]).unwrap();
    assert_eq!(config.model.d_ff, 99);
    assert_eq!(config.data.train, ["a", "b"].map(PathBuf::from));
    assert_eq!(config.validation.metric, EarlyStoppingMetric::Ppl);
}

#[test]
fn a_file_without_a_preset_starts_from_the_default_preset() {
    let config = file("[model]\nd_ff = 77\n").unwrap();
    let mut expected = TrainConfig::resolve(None, None, &[]).unwrap();
    assert_eq!(expected, TrainConfig::resolve(Some(DEFAULT_PRESET), None, &[]).unwrap());
    expected.model.d_ff = 77;
    assert_eq!(config, expected);
    assert_eq!(file("").unwrap(), set(&[]).unwrap());
}

#[test]
fn a_resolved_configuration_reads_back_the_same() {
    for preset in preset_names() {
        let settings = ["training.budget=100".to_string()];
        let config = TrainConfig::resolve(Some(preset), None, &settings).unwrap();
        assert_eq!(file(&config.to_toml()).unwrap(), config);
    }
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
    assert!(matches!(file("[modle]\n"), Err(ConfigFileError::UnknownKey { .. })));
}

#[test]
fn a_wrong_type_a_wrong_value_and_bad_syntax_are_named() {
    let message = set(&["model.d_model=\"wide\""]).unwrap_err().to_string();
    assert!(message.contains("d_model"), "{message}");
    assert!(matches!(set(&["training.budget=0"]), Err(ConfigFileError::Value { .. })));
    let shared = set(&["tokenizer.train.joint=false"]).unwrap_err().to_string();
    assert!(shared.contains("model.sharing"), "{shared}");
    assert!(set(&["tokenizer.train.joint=false", "model.sharing=target"]).is_ok());
    assert!(matches!(set(&["schedule.warmup=0"]), Err(ConfigFileError::Value { .. })));
    assert!(matches!(set(&["training.budget"]), Err(ConfigFileError::Setting { .. })));
    assert!(matches!(file("[model\n"), Err(ConfigFileError::Syntax { .. })));
    let missing = TrainConfig::resolve(None, Some(Path::new("/no/such.toml")), &[]);
    assert!(matches!(missing, Err(ConfigFileError::Unreadable { .. })));
    let unknown = TrainConfig::resolve(Some("tinny"), None, &[]).unwrap_err().to_string();
    assert!(unknown.contains("\"tiny\""), "{unknown}");
}

#[test]
fn a_precision_is_one_of_three_names() {
    assert_eq!(set(&[]).unwrap().training.precision, Precision::Float32);
    for precision in Precision::ALL {
        let setting = format!("training.precision={precision}");
        assert_eq!(set(&[&setting]).unwrap().training.precision, precision);
    }
    let message = set(&["training.precision=fp16"]).unwrap_err().to_string();
    let names = Precision::ALL.map(Precision::name);
    assert!(message.contains("fp16") && names.iter().all(|n| message.contains(n)), "{message}");
}

#[test]
fn a_setting_of_the_other_architecture_is_refused() {
    let rnn = |setting: &str| TrainConfig::resolve(Some("rnn"), None, &[setting.to_string()]);
    assert_eq!(rnn("model.rnn.d_hidden=64").unwrap().model.rnn.d_hidden, 64);
    let message = rnn("model.heads=4").unwrap_err().to_string();
    assert!(message.contains("model.heads is 4") && message.contains("\"rnn\""), "{message}");
    let message = set(&["model.rnn.d_hidden=64"]).unwrap_err().to_string();
    assert!(message.contains("model.rnn is") && message.contains("\"transformer\""), "{message}");
    let message = set(&["model.architecture=rnn"]).unwrap_err().to_string();
    assert!(message.contains("model.d_ff is 512"), "{message}");
    let unknown = set(&["model.architecture=lstm"]).unwrap_err().to_string();
    assert!(unknown.contains("lstm") && unknown.contains("rnn"), "{unknown}");
}

#[test]
fn a_corpus_is_one_or_two_files() {
    let paths: Vec<PathBuf> = ["a", "b", "c"].map(PathBuf::from).to_vec();
    assert!(corpus_paths("data.train", &paths[..1]).is_ok());
    assert!(corpus_paths("data.train", &paths[..2]).is_ok());
    let wrong = corpus_paths("data.train", &paths);
    assert!(matches!(wrong, Err(ConfigFileError::Paths { found: 3, .. })));
}
