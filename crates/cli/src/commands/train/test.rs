//! The test texts, which are scored after training.

use std::path::Path;

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_data::corpus::read_documents;
use burnformer_data::{CorpusPaths, DataError};
use burnformer_infer::{LongSources, TextContext, TranslateOptions, Translator};
use burnformer_metrics::{References, Score, WritingSystem, as_strs};
use burnformer_train::config::{Direction, corpus_paths};
use burnformer_train::{TEST_SCORE_FILE, Texts, TrainConfig, TrainError};

use crate::output;

/// A sentence and its translation.
type Pair = (String, String);

/// A test text.
pub(super) struct TestText {
    /// Its direction in a run with several pairs of languages.
    direction: Option<Direction>,
    pairs: Vec<Pair>,
    /// For each pair, whether it begins a document.
    begins: Vec<bool>,
}

/// Reads the test texts, without lines skipped by `data.utf8`. Reading them before training reports
/// mistakes at the start.
///
/// # Errors
/// Returns the errors of reading.
pub(super) fn read(config: &TrainConfig, texts: &Texts) -> Result<Vec<TestText>, TrainError> {
    let mut all = Vec::new();
    if !texts.test.is_empty() {
        let corpus = corpus_paths("data.test", &texts.test)?;
        all.push(test_text(config, corpus, None)?);
    }
    for direction in config.data.directions() {
        let paths = &texts.pairs[direction.pair].test;
        if paths.is_empty() {
            continue;
        }
        let mut corpus = corpus_paths("data.pairs.test", paths)?;
        if direction.is_reversed {
            corpus = corpus.reversed();
        }
        all.push(test_text(config, corpus, Some(direction))?);
    }
    Ok(all)
}

fn test_text(
    config: &TrainConfig,
    corpus: CorpusPaths,
    direction: Option<Direction>,
) -> Result<TestText, TrainError> {
    let corpus = config.data.in_documents(corpus);
    let read = read_documents(&corpus, config.data.utf8).map_err(DataError::from)?;
    let (pairs, begins) = read.into_iter().unzip();
    Ok(TestText {
        direction,
        pairs,
        begins,
    })
}

/// Returns whether the finished run in `folder` lacks only the score of the test text.
pub(super) fn is_missing(learned: &Result<()>, folder: &Path) -> bool {
    let error = learned
        .as_ref()
        .err()
        .and_then(|error| error.downcast_ref::<TrainError>());
    matches!(error, Some(TrainError::NothingToDo { .. })) && !folder.join(TEST_SCORE_FILE).exists()
}

/// Prints a dozen translations of each of `texts` with their references, then the scores, which it
/// also writes into the run's folder.
///
/// # Errors
/// Returns the errors of translating, and an error if the scores cannot be written.
pub(super) fn score(
    config: &TrainConfig,
    texts: &[TestText],
    folder: &Path,
    device: &Device,
) -> Result<()> {
    let model = folder.join("best");
    let translator = Translator::load(&model, device)?;
    let mut scores = String::new();
    for text in texts {
        let score = score_of(config, text, &translator)?;
        let pair = text.direction.as_ref().map(Direction::name);
        let pair = pair.map_or(String::new(), |pair| format!("{pair} "));
        scores += &format!("{pair}{score}\n");
    }
    output::print(format_args!("{scores}model: {}", model.display()))?;
    let path = folder.join(TEST_SCORE_FILE);
    burnformer_files::write(&path, scores.as_bytes())
        .with_context(|| format!("{}: cannot be written", path.display()))
}

/// Prints a dozen translations of `text` with their references, and returns its score.
fn score_of(config: &TrainConfig, text: &TestText, translator: &Translator) -> Result<Score> {
    let (source, references): (Vec<_>, Vec<_>) = text.pairs.iter().cloned().unzip();
    let long_sources = LongSources::Truncate;
    let mut options = TranslateOptions {
        long_sources,
        ..translator.options()
    };
    let pair_languages = text.direction.as_ref().map(|it| it.languages.clone());
    if let Some([from, into]) = pair_languages.or(config.data.named_languages()) {
        options.languages = translator.languages_of_pair(&from, &into)?;
    }
    let mut requests = translator.requests(&source, &options)?;
    let history = TextContext::default();
    let translations =
        translator.translate_documents(&mut requests, &text.begins, &history, &options)?;
    let hypotheses: Vec<String> = translations.into_iter().map(|t| t.text).collect();
    let streams = [as_strs(&references)];
    let metric = config
        .validation
        .metric
        .of_translations(WritingSystem::of(&references));
    let score = metric.evaluate(&as_strs(&hypotheses), &References::new(&streams))?;
    let step = source.len().div_ceil(12).max(1);
    for i in (0..source.len()).step_by(step) {
        output::print(format_args!(
            "source      {}\ntranslation {}\nreference   {}\n",
            source[i], hypotheses[i], references[i]
        ))?;
    }
    Ok(score)
}
