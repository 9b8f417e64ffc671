//! Training with BPE-dropout: one seed gives one model, whatever is prepared ahead and wherever the run is resumed.

use std::fs;
use std::sync::atomic::AtomicBool;

use burn::tensor::{Device, TensorData};
use burnformer_core::named_parameters;
use burnformer_train::report::Verbosity;
use burnformer_train::{Corpora, Learner, RunMode, Texts, TrainConfig, TrainError};

const SETTINGS: [&str; 17] = [
    "model.d_model=16",
    "model.heads=2",
    "model.d_ff=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "tokenizer.train.vocab_size=330",
    "tokenizer.train.allow_smaller=true",
    "data.bpe_dropout=0.2",
    "data.max_source_len=30",
    "data.max_target_len=60",
    "training.budget=128",
    "training.max_updates=24",
    "training.max_minutes=0",
    "validation.every=0",
    "checkpoints.every=9",
    "checkpoints.average=0",
    "schedule.warmup=10",
];

/// A text of sixty pairs, which is gone through about twice.
struct Toy {
    folder: tempfile::TempDir,
}

impl Toy {
    fn new() -> Self {
        let words = ["lowest", "newest", "houses", "widest", "towns", "lower", "newer", "slower"];
        let side = |i: usize, step: usize| -> String {
            let words = (0..1 + i % 6).map(|at| words[(i + step * at) % 8]);
            words.collect::<Vec<_>>().join(" ")
        };
        let text: String = (0..60).map(|i| format!("{}\t{}\n", side(i, 3), side(i, 5))).collect();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("corpus.tsv"), text).unwrap();
        Self { folder }
    }

    fn config(&self, settings: &[&str]) -> TrainConfig {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let paths = [
            format!("data.train=[{:?}]", path("corpus.tsv")),
            format!("data.cache={:?}", path("cache")),
        ];
        let settings = SETTINGS.iter().chain(settings).map(ToString::to_string).chain(paths);
        TrainConfig::resolve(Some("tiny"), None, &settings.collect::<Vec<_>>()).unwrap()
    }

    fn learner(&self, run: &str, mode: RunMode, settings: &[&str]) -> Result<Learner, TrainError> {
        let config = self.config(settings);
        let corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| {}).unwrap();
        let folder = self.folder.path().join(run);
        Learner::new(config, &corpora, &folder, mode, Verbosity::Quiet, &[Device::default()])
    }

    /// The parameters at the end of `run`, and the epoch in which it ended.
    fn trained(&self, run: &str, mode: RunMode, settings: &[&str]) -> (Vec<TensorData>, u64) {
        let learner = self.learner(run, mode, settings).unwrap();
        let outcome = learner.train(&AtomicBool::new(false)).unwrap();
        let last = self.folder.path().join(run).join("last");
        let (_, model) = burnformer_core::model_dir::load(&last, &Device::default()).unwrap();
        (named_parameters(&model).into_values().collect(), outcome.state.sampler.epoch)
    }
}

#[test]
fn one_seed_gives_the_same_bits_whatever_is_prepared_ahead_and_wherever_the_run_is_resumed() {
    let toy = Toy::new();
    let (whole, epoch) = toy.trained("whole", RunMode::New, &["training.prefetch=8"]);
    assert!(epoch > 0, "the run did not get to a second epoch");
    let (direct, _) = toy.trained("direct", RunMode::New, &["training.prefetch=0"]);
    assert!(direct == whole);
    for updates in ["training.max_updates=5", "training.max_updates=17"] {
        toy.trained(updates, RunMode::New, &[updates]);
        assert!(toy.trained(updates, RunMode::Resume, &[]).0 == whole, "{updates}");
    }
    let (other, _) = toy.trained("other", RunMode::New, &["training.seed=2"]);
    assert!(other != whole);
    let (without, _) = toy.trained("without", RunMode::New, &["data.bpe_dropout=0"]);
    assert!(without != whole);
}

#[test]
fn the_memory_of_the_longest_segmentation_is_tried_before_the_run() {
    let toy = Toy::new();
    toy.trained("run", RunMode::New, &["training.max_updates=1", "training.multiple=8"]);
    let log = fs::read_to_string(toy.folder.path().join("run/train.log")).unwrap();
    // The longest source may have 31 tokens with `</s>`, the longest target 42, one for each character. Of 128 tokens,
    // two rows of 32 and 48 columns use less than three of 32 and 40.
    let longest = |text: &str| text.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
    let shape = log.split(" sentences of ").nth(1).unwrap().split(" tokens)").next().unwrap();
    let (source, target) = shape.split_once(" and ").unwrap();
    assert_eq!((longest(source), longest(target)), (32, 40), "{log}");
}

#[test]
fn a_unigram_tokeniser_is_refused_with_the_remedy() {
    let settings = ["tokenizer.train.kind=\"unigram\"", "tokenizer.train.vocab_size=300"];
    let error = Toy::new().learner("run", RunMode::New, &settings).map(drop).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("source tokeniser") && message.contains("unigram"), "{message}");
    assert!(message.contains("data.bpe_dropout = 0"), "{message}");
}
