//! Runs that start from a model directory: our own, and one with the conventions of Marian.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use burn::tensor::{Device, TensorData};
use burnformer_core::model_dir::{self, read_tensors};
use burnformer_core::{
    Conventions, DecoderStart, OutputBias, Sinusoids, SourceEnd, TargetHistory, TransformerConfig,
};
use burnformer_data::{Tokenizer, Tokenizers};
use burnformer_infer::{SearchSettings, Translator, save_text_files};
use burnformer_train::report::{Record, Verbosity, read_metrics};
use burnformer_train::{
    CheckpointError, ConfigFileError, Corpora, Learner, RunMode, StartModel, Texts, TrainConfig,
    TrainError,
};

/// Settings of the run only; the preset's section [model] is another than that of the directories.
const SETTINGS: [&str; 10] = [
    "training.budget=128",
    "training.max_minutes=0",
    "training.log_every=5",
    "schedule.peak=0.002",
    "schedule.warmup=4",
    "validation.every=10",
    "validation.metric=loss",
    "checkpoints.every=10",
    "checkpoints.keep=0",
    "checkpoints.average=2",
];

/// The shape of our own model.
const SHAPE: [&str; 7] = [
    "model.d_model=16",
    "model.heads=2",
    "model.d_ff=32",
    "model.encoder_layers=2",
    "model.decoder_layers=1",
    "tokenizer.train.vocab_size=300",
    "tokenizer.train.allow_smaller=true",
];

/// A folder with two small corpora.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        let write = |name: &str, words: &[&str]| {
            let text = (0..120usize).map(|i| {
                let word = |k: usize| words[(i * k + k) % words.len()];
                format!(
                    "{} {} {}\t{} {}\n",
                    word(1),
                    word(2),
                    word(3),
                    word(5),
                    word(7)
                )
            });
            fs::write(fixture.path(name), text.collect::<String>()).unwrap();
        };
        write("general.tsv", &["the", "house", "small", "is", "red"]);
        write("special.tsv", &["the", "house", "s", "small"]);
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn config(&self, corpus: &str, updates: u64, more: &[&str]) -> Vec<String> {
        let text = |name: &str| format!("[{:?}]", self.path(name).display().to_string());
        let defaults = [
            format!("data.train={}", text(corpus)),
            format!("data.valid={}", text(corpus)),
            format!("data.cache={:?}", self.path("cache").display().to_string()),
            format!("training.max_updates={updates}"),
        ];
        SETTINGS
            .iter()
            .chain(more)
            .map(ToString::to_string)
            .chain(defaults)
            .collect()
    }

    fn from(&self, dir: &str) -> String {
        format!("training.from={:?}", self.path(dir).display().to_string())
    }

    /// Trains the run `out`; resumes it if it exists.
    fn train(&self, out: &str, settings: &[String]) -> Result<(), TrainError> {
        let run = self.path(out);
        let config_path = Some(run.join("config.toml")).filter(|path| path.exists());
        let mode = if config_path.is_some() {
            RunMode::Resume
        } else {
            RunMode::New
        };
        let kept = config_path.as_ref().map(|_| run.as_path());
        let preset = config_path.is_none().then_some("tiny");
        let config = TrainConfig::resolve_in(preset, config_path.as_deref(), settings, kept)?;
        let start = StartModel::of_run(&config, kept)?;
        let texts = Texts::files(&config.data);
        let corpora = Corpora::prepare_for(&config, start, texts, &mut |_| {})?;
        let devices = [Device::default()];
        let learner = Learner::new(config, &corpora, &run, mode, Verbosity::Quiet, &devices)?;
        learner.train(&AtomicBool::new(false)).map(drop)
    }

    /// A run of our own model, whose `last/` others start from.
    fn own_model(&self) {
        self.train("base", &self.config("general.tsv", 20, &SHAPE))
            .unwrap();
    }

    fn weights(&self, dir: &str) -> BTreeMap<String, TensorData> {
        weights(&self.path(dir))
    }

    fn valid_nll(&self, run: &str) -> f64 {
        let records = read_metrics(self.path(run).join("metrics.jsonl")).unwrap();
        let valid = |record| match record {
            Record::Valid(point) if !point.averaged => Some(point.nll),
            _ => None,
        };
        records.into_iter().filter_map(valid).next_back().unwrap()
    }
}

fn weights(dir: &Path) -> BTreeMap<String, TensorData> {
    let path = dir.join("model.safetensors");
    read_tensors(&path, &fs::read(&path).unwrap()).unwrap()
}

/// Every file of a run but those with times in them.
fn bytes(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in [
        "best",
        "last",
        "average",
        "start",
        "checkpoints/step-000010",
        "checkpoints/step-000020",
    ] {
        for entry in fs::read_dir(run.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            if name != "state.json" && name != "manifest.json" && name != "config.toml" {
                files.insert(
                    path.strip_prefix(run).unwrap().into(),
                    fs::read(&path).unwrap(),
                );
            }
        }
    }
    files
}

#[test]
fn a_run_fine_tunes_a_model_directory() {
    let fixture = Fixture::new();
    fixture.own_model();
    let settings = fixture.config(
        "special.tsv",
        10,
        &[&fixture.from("base/last"), "model.dropout=0.3"],
    );
    fixture.train("tuned", &settings).unwrap();
    let file = |dir: &str, name: &str| fs::read_to_string(fixture.path(dir).join(name)).unwrap();
    assert_eq!(
        file("tuned/last", "tokenizer.json"),
        file("base/last", "tokenizer.json")
    );
    let shape = |dir: &str| {
        let config = file(dir, "config.json");
        let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
        (config["model"]["dropout"].take(), config)
    };
    assert_eq!(shape("tuned/last").1, shape("base/last").1);
    assert_eq!(shape("tuned/last").0, 0.3);
    // Ten small steps away, where random weights would be far.
    let before = fixture.weights("base/last");
    let after = fixture.weights("tuned/last");
    for (name, value) in &before {
        let moved = value
            .iter::<f32>()
            .zip(after[name].iter::<f32>())
            .map(|(a, b)| (a - b).abs());
        let moved = moved.fold(0.0, f32::max);
        assert!(moved > 0.0 && moved < 0.05, "{name} moved by {moved}");
    }
    // The resolved configuration says where it came from, and has the directory's sizes.
    let config = file("tuned", "config.toml");
    assert!(
        config.contains(&fixture.path("base/last").display().to_string()),
        "{config}"
    );
    assert!(
        config.contains("d_model = 16") && config.contains("dropout = 0.3"),
        "{config}"
    );
}

#[test]
fn a_resumed_run_needs_no_original_start_model() {
    let fixture = Fixture::new();
    fixture.own_model();
    let general = fixture.path("general.tsv").display().to_string();
    let mix = format!("data.mix=[{{train=[{general:?}], weight=0.5}}]");
    let more = [
        &mix,
        &fixture.from("base/last"),
        "model.dropout=0.2",
        "training.freeze=[\"encoder.layers.0\"]",
    ];
    fixture
        .train("whole", &fixture.config("special.tsv", 20, &more))
        .unwrap();
    fixture
        .train("parts", &fixture.config("special.tsv", 10, &more))
        .unwrap();
    fixture
        .train("first", &fixture.config("special.tsv", 10, &more))
        .unwrap();
    fs::remove_dir_all(fixture.path("base")).unwrap();
    // The folder looks like that of a run that was killed before its first checkpoint.
    for name in ["checkpoints/step-000010", "best", "last", "average"] {
        fs::remove_dir_all(fixture.path("first").join(name)).unwrap();
    }
    fs::remove_file(fixture.path("first/finished.json")).unwrap();
    let config = fs::read_to_string(fixture.path("whole/config.toml")).unwrap();
    assert!(
        config.contains("[[data.mix]]") && config.contains("weight = 0.5"),
        "{config}"
    );
    let heavier = [mix.replace("0.5", "0.7"), "training.max_updates=20".into()];
    let refused = fixture.train("parts", &heavier);
    assert!(
        matches!(
            refused,
            Err(TrainError::Checkpoint(CheckpointError::OtherRun { .. }))
        ),
        "{refused:?}"
    );
    for run in ["parts", "first"] {
        fixture
            .train(run, &["training.max_updates=20".into()])
            .unwrap();
        assert_eq!(
            bytes(&fixture.path(run)),
            bytes(&fixture.path("whole")),
            "{run}"
        );
    }
}

#[test]
fn frozen_parameters_stay_bit_for_bit_and_have_no_moments() {
    let fixture = Fixture::new();
    fixture.own_model();
    let freeze = "training.freeze=[\"embedding\", \"encoder.layers.*.self_attention\"]";
    let settings = fixture.config("special.tsv", 20, &[&fixture.from("base/last"), freeze]);
    fixture.train("tuned", &settings).unwrap();
    let is_frozen = |name: &str| {
        let attention =
            name.starts_with("encoder.layers.") && name.split('.').nth(3) == Some("self_attention");
        name.starts_with("embedding.") || attention
    };
    let before = fixture.weights("base/last");
    assert!(before.keys().filter(|name| is_frozen(name)).count() > 8);
    for dir in ["tuned/last", "tuned/average", "tuned/best"] {
        for (name, value) in fixture.weights(dir) {
            assert_eq!(value == before[&name], is_frozen(&name), "{dir}: {name}");
        }
    }
    let path = fixture.path("tuned/checkpoints/step-000020/optimizer.safetensors");
    let moments = read_tensors(&path, &fs::read(&path).unwrap()).unwrap();
    let trained: Vec<_> = before.keys().filter(|name| !is_frozen(name)).collect();
    let first: Vec<_> = moments
        .keys()
        .filter_map(|name| name.strip_prefix("first."))
        .collect();
    assert_eq!(first, trained);
    let refused = fixture.train(
        "tuned",
        &[
            "training.freeze=[]".into(),
            "training.max_updates=30".into(),
        ],
    );
    assert!(
        matches!(
            refused,
            Err(TrainError::Checkpoint(CheckpointError::OtherRun { .. }))
        ),
        "{refused:?}"
    );
}

#[test]
fn a_pattern_that_names_no_parameter_stops_the_run_before_it_begins() {
    let fixture = Fixture::new();
    let settings = fixture.config(
        "general.tsv",
        20,
        &[&SHAPE[..], &["training.freeze=[\"decodr\"]"]].concat(),
    );
    let error = fixture.train("run", &settings).unwrap_err();
    assert!(
        matches!(error, TrainError::Config(ConfigFileError::Freeze { .. })),
        "{error}"
    );
    assert!(
        error.to_string().contains("did you mean \"decoder\""),
        "{error}"
    );
    assert!(!fixture.path("run/config.toml").exists());
}

#[test]
fn a_setting_that_contradicts_the_directory_is_named() {
    let fixture = Fixture::new();
    fixture.own_model();
    let resolved = |setting: &str| {
        let settings = fixture.config("special.tsv", 10, &[&fixture.from("base/last"), setting]);
        TrainConfig::resolve(Some("base"), None, &settings)
    };
    for (setting, key, found) in [
        ("model.d_model=512", "model.d_model is 512", "has 16"),
        ("model.norm=pre", "model.norm is \"pre\"", "has \"post\""),
        (
            "model.architecture=rnn",
            "model.architecture is \"rnn\"",
            "has \"transformer\"",
        ),
    ] {
        let error = resolved(setting).unwrap_err();
        assert!(
            matches!(error, ConfigFileError::OtherModel { .. }),
            "{error}"
        );
        let message = error.to_string();
        assert!(
            message.contains(key) && message.contains(found),
            "{message}"
        );
    }
    for setting in [
        "model.d_model=16",
        "model.d_k=0",
        "model.layer_norm_eps=1e-5",
        "model.attention_dropout=0",
    ] {
        let config = resolved(setting).unwrap();
        assert_eq!(config.model.encoder_layers, 2);
    }
    let message = resolved("tokenizer.files=[\"x.json\"]")
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("tokenizer.files") && message.contains("training.from"),
        "{message}"
    );
    let error = resolved("tokenizer.train.vocab_size=400").unwrap_err();
    let message = error.to_string();
    assert!(
        matches!(error, ConfigFileError::OtherTokenizer { .. })
            && message
                .starts_with("tokenizer.train.vocab_size is 400, but no tokeniser is trained"),
        "{message}"
    );
    // The whole configuration of such a run is accepted again.
    let whole = resolved("tokenizer.train.vocab_size=8000").unwrap();
    let file = fixture.path("whole.toml");
    fs::write(&file, whole.to_toml()).unwrap();
    assert_eq!(TrainConfig::resolve(None, Some(&file), &[]).unwrap(), whole);
    let settings = ["training.from=nowhere".to_string()];
    let message = TrainConfig::resolve(None, None, &settings)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("--from") && message.contains("nowhere"),
        "{message}"
    );
}

/// A model as imports make them: `</s>` is 0, `<unk>` 1, padding the last id; pieces have the ids
/// of a `vocab.json`.
fn imported(fixture: &Fixture, dir: &str, conventions: Conventions) {
    const MODEL: &[u8] = include_bytes!("../../../data/tests/fixtures/ten.spm");
    const VOCABULARY: &[u8] = include_bytes!("../../../data/tests/fixtures/ten.json");
    let vocabulary = Some((Path::new("vocab.json"), VOCABULARY.to_vec()));
    let tokenizer =
        Tokenizer::from_sentencepiece(Path::new("source.spm"), MODEL.to_vec(), vocabulary);
    let config = TransformerConfig {
        pad: 10,
        bos: 10,
        eos: 0,
        d_model: 16,
        heads: 2,
        d_k: 8,
        d_v: 8,
        d_ff: 32,
        dropout: 0.1,
        conventions: Conventions {
            sinusoids: Sinusoids::HalvesToEnd,
            output_bias: OutputBias::PerPiece,
            ..conventions
        },
        ..TransformerConfig::tiny(11)
    };
    let dir = fixture.path(dir);
    let model = config.init(3, &Device::default()).unwrap();
    model_dir::save(&dir, &config, &model).unwrap();
    let search = SearchSettings {
        suppress: vec![10],
        ..SearchSettings::default()
    };
    save_text_files(&dir, &Tokenizers::joint(tokenizer.unwrap()), &search.into()).unwrap();
    model_dir::seal(&dir).unwrap();
}

/// The mean negative log-likelihood of a token of a corpus, as `score` computes it.
fn nll_by_score(fixture: &Fixture, dir: &str, corpus: &str) -> f64 {
    let translator = Translator::load(fixture.path(dir), &Device::default()).unwrap();
    let text = fs::read_to_string(fixture.path(corpus)).unwrap();
    let (source, target): (Vec<_>, Vec<_>) = text
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .unzip();
    let scores = translator
        .score(&source, &target, &translator.options())
        .unwrap();
    let tokens: Vec<f32> = scores
        .iter()
        .flat_map(|score| score.log_probs.clone())
        .collect();
    -tokens.iter().map(|&x| f64::from(x)).sum::<f64>() / tokens.len() as f64
}

#[test]
fn a_model_with_other_special_ids_and_another_start_learns_what_search_reads() {
    let fixture = Fixture::new();
    let row = Conventions::default();
    let zero = Conventions {
        decoder_start: DecoderStart::Zero,
        ..row
    };
    for (dir, conventions) in [
        ("zero", zero),
        ("pad-row", row),
        (
            "ssru",
            Conventions {
                target_history: TargetHistory::Ssru,
                ..zero
            },
        ),
        (
            "no-end",
            Conventions {
                source_end: SourceEnd::Hidden,
                ..row
            },
        ),
    ] {
        imported(&fixture, dir, conventions);
        let run = format!("{dir}-tuned");
        fixture
            .train(
                &run,
                &fixture.config("special.tsv", 30, &[&fixture.from(dir)]),
            )
            .unwrap();
        // Training's loss and the scores of the saved model are of the same ids, masks and first
        // input.
        let in_training = fixture.valid_nll(&run);
        let score = nll_by_score(&fixture, &format!("{run}/last"), "special.tsv");
        assert!(
            (in_training - score).abs() < 1e-4,
            "{dir}: {in_training} in training, {score} by score"
        );
        let before = nll_by_score(&fixture, dir, "special.tsv");
        assert!(
            score < 0.8 * before,
            "{dir}: {before} before, {score} after"
        );
        let file = |name: &str| fs::read(fixture.path(&run).join("best").join(name)).unwrap();
        let given = |name: &str| fs::read(fixture.path(dir).join(name)).unwrap();
        for name in ["source.spm", "vocab.json", "generation.json"] {
            assert_eq!(file(name), given(name), "{name}");
        }
    }
}
