//! A validation text, and its translations.

use std::collections::HashMap;
use std::sync::Arc;

use burnformer_data::{BatchSampler, SamplerSettings, SpecialIds, TokenizedCorpus};
use burnformer_infer::{
    InferError, Languages, TextContext, TextRequest, TranslateOptions, Translation, Translator,
};
use burnformer_metrics::{Chrf, Metric, References, WritingSystem, as_strs};

use crate::config::{Direction, TrainConfig};
use crate::error::Result;
use crate::run::ValidationText;

/// The smallest number of sentences that show a relation.
const MIN_RELATED: usize = 30;

/// How much translations depend on their sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// The chrF of the translations.
    pub own: f64,
    /// The chrF of the translations if each is exchanged with the translation of another source.
    pub exchanged: f64,
    /// The share of the most frequent translation.
    pub same: f64,
}

/// A validation text.
pub(super) struct Text {
    /// The name of the direction in a run with several pairs of languages.
    pub(super) pair: Option<String>,
    pub(super) languages: Languages,
    /// The writing system of the target text, which determines the suitable metrics.
    pub(super) writing: WritingSystem,
    pub(super) sampler: BatchSampler,
    pub(super) source: Vec<String>,
    /// For each sentence, whether it begins a document.
    pub(super) begins: Vec<bool>,
    pub(super) references: Vec<String>,
}

impl Text {
    pub(super) fn new(
        config: &TrainConfig,
        text: &ValidationText,
        special: SpecialIds,
    ) -> Result<Self> {
        let ValidationText {
            direction,
            languages,
            corpus,
            source,
            target,
        } = text;
        let decoded = match config.validation.max_sentences {
            0 => source.len(),
            most => most.min(source.len()),
        };
        Ok(Self {
            pair: direction.as_ref().map(Direction::name),
            languages: languages.clone(),
            writing: WritingSystem::of(target),
            sampler: sampler(corpus, config.training.budget, special)?,
            source: source[..decoded].to_vec(),
            begins: (0..decoded).map(|i| !corpus.continues(i)).collect(),
            references: target[..decoded].to_vec(),
        })
    }

    /// The sources as requests.
    pub(super) fn requests(
        &self,
        translator: &Translator,
        options: &TranslateOptions,
    ) -> Result<Vec<TextRequest>> {
        let requests = translator.requests(&self.source, options);
        Ok(requests.map_err(InferError::from)?)
    }

    /// Translates the requests of the sources, each in its context.
    pub(super) fn translate_requests(
        &self,
        translator: &Translator,
        requests: &mut [TextRequest],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        let history = TextContext::default();
        Ok(translator.translate_documents(requests, &self.begins, &history, options)?)
    }

    /// Translates the sources, each in its context.
    pub(super) fn translate(
        &self,
        translator: &Translator,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        let mut requests = self.requests(translator, options)?;
        self.translate_requests(translator, &mut requests, options)
    }

    /// How much the translations `texts` depend on their sources.
    pub(super) fn relation(&self, texts: &[String]) -> Result<Option<Relation>> {
        if texts.len() < MIN_RELATED {
            return Ok(None);
        }
        let mut exchanged = texts.to_vec();
        exchanged.rotate_left(texts.len() / 2);
        let mut counts = HashMap::new();
        for text in texts {
            *counts.entry(text).or_insert(0) += 1;
        }
        let most = counts.into_values().max().unwrap_or(0);
        Ok(Some(Relation {
            own: self.metric_value(&Chrf::default(), texts)?,
            exchanged: self.metric_value(&Chrf::default(), &exchanged)?,
            same: f64::from(most) / texts.len() as f64,
        }))
    }

    /// The chrF of each of `translations`.
    pub(super) fn chrf_by_segment(&self, translations: &[Translation]) -> Result<Vec<f64>> {
        let texts: Vec<&str> = translations
            .iter()
            .map(|found| found.text.as_str())
            .collect();
        let references = [as_strs(&self.references)];
        let chrf = Chrf::default();
        Ok(chrf.by_segment(&texts, &References::new(&references))?)
    }

    pub(super) fn metric_value(&self, metric: &dyn Metric, texts: &[String]) -> Result<f64> {
        let streams = [as_strs(&self.references)];
        Ok(metric
            .evaluate(&as_strs(texts), &References::new(&streams))?
            .value)
    }
}

/// Batches of all pairs, within the `budget` of training; a longer pair is a batch of its own.
fn sampler(
    corpus: &Arc<TokenizedCorpus>,
    budget: usize,
    special: SpecialIds,
) -> Result<BatchSampler> {
    let lengths = corpus.lengths(0..corpus.len())?;
    let longest = lengths.into_iter().flatten().max().unwrap_or(0) as usize + 1;
    let budget = longest.max(budget);
    let settings = SamplerSettings {
        budget,
        seed: 0,
        special,
        ..SamplerSettings::default()
    };
    Ok(BatchSampler::new(corpus.clone(), settings)?)
}
