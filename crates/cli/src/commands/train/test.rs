//! The test text, which is scored after training.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_data::DataError;
use burnformer_data::corpus::read_pairs;
use burnformer_infer::{LongSources, TranslateOptions, Translator};
use burnformer_metrics::{References, WritingSystem, as_strs};
use burnformer_train::config::corpus_paths;
use burnformer_train::{TEST_SCORE_FILE, TrainConfig, TrainError};

use crate::output;

/// A sentence and its translation.
type Pair = (String, String);

/// Reads the pairs of the test text, without lines skipped by `data.utf8`. Reading it before
/// training reports mistakes at the start.
///
/// # Errors
/// Returns the errors of reading.
pub(super) fn read(config: &TrainConfig, text: &[PathBuf]) -> Result<Vec<Pair>, TrainError> {
    if text.is_empty() {
        return Ok(vec![]);
    }
    let corpus = corpus_paths("data.test", text)?;
    Ok(read_pairs(&corpus, config.data.utf8).map_err(DataError::from)?)
}

/// Returns whether the finished run in `folder` lacks only the score of the test text.
pub(super) fn is_missing(learned: &Result<()>, folder: &Path) -> bool {
    let error = learned
        .as_ref()
        .err()
        .and_then(|error| error.downcast_ref::<TrainError>());
    matches!(error, Some(TrainError::NothingToDo { .. })) && !folder.join(TEST_SCORE_FILE).exists()
}

/// Prints a dozen translations of `text` with their references, then its score, which it also
/// writes into the run's folder.
///
/// # Errors
/// Returns the errors of translating, and an error if the score cannot be written.
pub(super) fn score(
    config: &TrainConfig,
    text: &[Pair],
    folder: &Path,
    device: &Device,
) -> Result<()> {
    let (source, references): (Vec<_>, Vec<_>) = text.iter().cloned().unzip();
    let model = folder.join("best");
    let translator = Translator::load(&model, device)?;
    let long_sources = LongSources::Truncate;
    let options = TranslateOptions {
        long_sources,
        ..translator.options()
    };
    let translations = translator.translate(&source, &options)?;
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
    output::print(format_args!("{score}\nmodel: {}", model.display()))?;
    let path = folder.join(TEST_SCORE_FILE);
    burnformer_files::write(&path, format!("{score}\n").as_bytes())
        .with_context(|| format!("{}: cannot be written", path.display()))
}
