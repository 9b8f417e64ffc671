use std::path::{Path, PathBuf};

use burnformer_files::{FileKind, read_whole};
use burnformer_infer::{TranslateOptions, Translator, perplexity};
use burnformer_metrics::{Bleu, Bootstrap, Metric as _, References, as_strs};
use burnformer_train::{Corpora, TrainConfig, TrainError, ValidationText};
use serde::{Deserialize, Serialize};

use super::error::{Result, StudyError};

/// The values of a row in the paper's Table 3, on newstest2013, English to German.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paper {
    /// The perplexity per token.
    pub perplexity: f64,
    /// BLEU.
    pub bleu: f64,
}

/// One variation: the configuration of a run, and the measured parts of the validation text.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name of its folder and its file.
    pub name: String,
    /// The difference from the first row.
    pub change: String,
    /// The configuration of the run.
    pub config: TrainConfig,
    /// The largest number of source tokens in each measured part of the validation text; the last
    /// part has no limit. If empty, the text is measured as a whole.
    pub lengths: Vec<usize>,
    /// The values in the paper.
    pub paper: Option<Paper>,
}

/// The result of a row, and the content of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowResult {
    /// The name of the row.
    pub name: String,
    /// The difference from the first row.
    pub change: String,
    /// The number of parameters.
    pub parameters: usize,
    /// The number of updates made.
    pub updates: u64,
    /// The number of seconds trained.
    pub seconds: f64,
    /// The validation text, or its parts by length, the shortest first.
    pub measures: Vec<Measure>,
    /// The configuration of the run, as TOML.
    pub config: String,
}

impl Row {
    pub(super) fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.name))
    }

    /// Checks the configuration. A study varies parts of a Transformer, and allows no other
    /// architecture.
    pub(super) fn check(&self) -> Result<()> {
        self.config.validate().map_err(|source| {
            let name = self.name.clone();
            let change = self.change.clone();
            StudyError::Row {
                name,
                change,
                source: Box::new(source),
            }
        })
    }

    /// The result in the row's file in `folder`; `None` if the row is not finished.
    ///
    /// # Errors
    /// Returns [`StudyError::File`] if the file is damaged or of another configuration.
    pub(super) fn result(&self, folder: &Path) -> Result<Option<RowResult>> {
        let path = self.file(folder);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = read_whole(&path, FileKind::NOTES).map_err(|error| StudyError::Io {
            path: path.clone(),
            cause: error.into_io(),
        })?;
        let result: RowResult = serde_json::from_slice(&bytes).map_err(|e| StudyError::File {
            path: path.clone(),
            what: format!("{e}; remove the file to run the row again"),
        })?;
        if is_text_of(&result.config, &self.config) {
            Ok(Some(result))
        } else {
            Err(StudyError::File {
                path: path.clone(),
                what: "the row was run with other settings; choose another --out".into(),
            })
        }
    }

    /// The non-empty parts of the validation text.
    pub(super) fn parts(&self, corpora: &Corpora) -> Vec<Part> {
        let Some(ValidationText { source, target, .. }) = corpora.valid.first() else {
            return Vec::new();
        };
        let most = match self.config.validation.max_sentences {
            0 => source.len(),
            most => most.min(source.len()),
        };
        let lengths = corpora.tokenizers.source.encode_batch(&source[..most]);
        let bounds = self.lengths.iter().copied().map(Some).chain([None]);
        let mut parts: Vec<Part> = bounds
            .map(|longest| Part {
                longest,
                ..Part::default()
            })
            .collect();
        for (index, ids) in lengths.iter().enumerate() {
            let part = self.lengths.partition_point(|&longest| longest < ids.len());
            parts[part].source.push(source[index].clone());
            parts[part].target.push(target[index].clone());
        }
        parts.retain(|part| !part.source.is_empty());
        parts
    }
}

/// The sentences of at most `longest` source tokens.
#[derive(Default)]
pub(super) struct Part {
    pub longest: Option<usize>,
    pub source: Vec<String>,
    pub target: Vec<String>,
}

/// `config` without validation, so that only the last model is measured.
pub(super) fn plain(config: &TrainConfig) -> TrainConfig {
    let mut config = config.clone();
    config.validation.every = 0;
    config.validation.bleu = false;
    config.checkpoints.average = 0;
    config.checkpoints.keep = 1;
    config
}

/// Returns whether `text` is the TOML of `config`. Settings missing in older text have their
/// defaults.
fn is_text_of(text: &str, config: &TrainConfig) -> bool {
    toml::from_str::<TrainConfig>(text).is_ok_and(|of_text| of_text == *config)
}

/// The quality of a model, measured on a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The largest number of source tokens of its sentences, if the text is divided by length;
    /// `None` for the last part or the whole text.
    pub longest: Option<usize>,
    /// The number of sentences of the text.
    pub sentences: usize,
    /// The perplexity: e to the negative log-likelihood per token of the references, `</s>`
    /// included.
    pub perplexity: f64,
    /// The BLEU of the translations with the model's search settings.
    pub bleu: f64,
    /// Half the width of the 95 % bootstrap interval of BLEU.
    pub interval: f64,
    /// The sacreBLEU signature.
    pub signature: String,
}

impl Measure {
    /// Measures `translator` with `options` on the lines `sources` and the translations
    /// `references`.
    ///
    /// # Errors
    /// Returns the errors of decoding and scoring.
    pub(super) fn of(
        translator: &Translator,
        options: &TranslateOptions,
        longest: Option<usize>,
        sources: &[String],
        references: &[String],
    ) -> Result<Self, TrainError> {
        let scores = translator.score(sources, references, options)?;
        let translations = translator.translate(sources, options)?;
        let texts: Vec<&str> = translations.iter().map(|t| t.text.as_str()).collect();
        let streams = [as_strs(references)];
        let references = References::new(&streams);
        let bootstrap = Bootstrap::default();
        let score = Bleu::default().evaluate_with_confidence(&texts, &references, bootstrap)?;
        Ok(Self {
            longest,
            sentences: sources.len(),
            perplexity: perplexity(&scores),
            bleu: score.value,
            interval: score
                .confidence
                .map_or(0.0, |confidence| confidence.interval),
            signature: score.signature.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_an_older_version_keeps_its_settings() {
        let mut config = TrainConfig::default();
        config.training.max_updates = 77;
        let text = config.to_toml();
        assert!(is_text_of(&text, &config));
        let lines = text.lines().filter(|line| !line.starts_with("log_every"));
        let older = lines.collect::<Vec<_>>().join("\n");
        assert_ne!(older.trim(), text.trim());
        assert!(is_text_of(&older, &config));
        config.training.log_every += 1;
        assert!(!is_text_of(&text, &config) && !is_text_of(&older, &config));
        assert!(!is_text_of("damaged", &config));
    }
}
