//! Trains a custom convolutional translation model with Burnformer's training loop, saves it, loads
//! it and translates with it, in a few seconds.
//!
//! `cargo run --release`

mod model;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use burnformer_core::{ModelConfig, model_dir};
use burnformer_infer::{NeuralModel, Translator, load_settings, load_tokenizers};
use burnformer_train::report::Verbosity;
use burnformer_train::{Corpora, Learner, RunMode, Texts, TrainConfig};

use model::ConvolutionalConfig;

const GERMAN: [&str; 10] = [
    "null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun",
];
const ENGLISH: [&str; 10] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];

/// Overrides of the preset `tiny`. They do not change the size of the model.
const SETTINGS: [&str; 9] = [
    "tokenizer.train.vocab_size=300",
    "tokenizer.train.allow_smaller=true",
    "training.budget=1024",
    "training.max_minutes=0",
    "schedule.warmup=60",
    "schedule.factor=0.3",
    "validation.every=0",
    "checkpoints.every=50",
    "checkpoints.average=2",
];

/// Trains in the folder `folder` and translates with the trained model, like a program that knows
/// only the folder and the configuration of the model.
pub fn learn(folder: &Path, mode: RunMode, updates: u64) -> Result<ModelConfig, Box<dyn Error>> {
    let corpus = folder.join("numbers.tsv");
    fs::write(&corpus, (0..3000).map(pair).collect::<String>())?;
    let mut settings = SETTINGS.map(String::from).to_vec();
    settings.push(format!("training.max_updates={updates}"));
    settings.push(format!("data.train=[{:?}]", corpus.display().to_string()));
    settings.push(format!(
        "data.cache={:?}",
        folder.join("cache").display().to_string()
    ));
    let config = TrainConfig::resolve(Some("tiny"), None, &settings)?;
    let mut corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| {})?;
    let tokens = corpora.tokens()?;
    let model: ModelConfig = Arc::new(ConvolutionalConfig {
        tokens,
        d_model: 64,
        layers: 2,
    });
    corpora.model = Some(model.clone());
    let run = folder.join("run");
    let device = [Device::default()];
    let learner = Learner::new(config, &corpora, &run, mode, Verbosity::Quiet, &device)?;
    learner.train(&AtomicBool::new(false))?;
    Ok(model)
}

/// Loads the trained model in `dir` as a translator.
pub fn load(dir: &Path, config: ModelConfig) -> Result<Translator, Box<dyn Error>> {
    let device = Device::default();
    let model = model_dir::load_as(dir, config.as_ref(), &device)?;
    let model = NeuralModel::new(config, model, &device);
    Ok(Translator::new(
        Box::new(model),
        load_tokenizers(dir)?,
        load_settings(dir)?,
    )?)
}

/// A line of the corpus: four digits in German and in English.
fn pair(number: usize) -> String {
    let digits = format!("{:04}", number * 7_919 % 10_000);
    let words = |language: [&str; 10]| {
        let words = digits
            .bytes()
            .map(|digit| language[usize::from(digit - b'0')]);
        words.collect::<Vec<_>>().join(" ")
    };
    format!("{}\t{}\n", words(GERMAN), words(ENGLISH))
}

/// Trains the model and checks that it has learnt to translate.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder =
        std::env::temp_dir().join(format!("burnformer-convolution-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let config = learn(&folder, RunMode::New, 250)?;
    let translator = load(&folder.join("run/average"), config)?;
    let source = ["sieben null drei acht", "zwei zwei neun eins"];
    let translations = translator.translate(&source, &translator.options())?;
    fs::remove_dir_all(&folder)?;
    let found: Vec<&str> = translations.iter().map(|one| one.text.as_str()).collect();
    println!("{source:?} → {found:?}");
    let is_right = found == ["seven zero three eight", "two two nine one"];
    is_right
        .then_some(())
        .ok_or_else(|| "it has not learnt to translate".into())
}
