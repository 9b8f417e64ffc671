//! The probability that a model assigns to given translations.

use std::borrow::Cow;

use super::Translator;
use super::options::{Languages, TranslateOptions};
use super::until_error::until_error;
use crate::batching::Batching;
use crate::error::{InferError, Result};
use crate::model::StepModel;
use crate::search::{Request, SearchContext, SentenceError, check_lengths, check_pairs, with_eos};
use crate::settings::SearchSettings;
use burnformer_data::corpus::Side;

impl Translator {
    /// Scores `targets` as translations of `sources`, in order, with the languages, penalties and
    /// batching of `options`. Sources are never truncated: the score would belong to another
    /// sentence.
    ///
    /// # Errors
    /// Returns the errors of [`score_ids`](Self::score_ids).
    pub fn score<S: AsRef<str> + Sync, T: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        targets: &[T],
        options: &TranslateOptions,
    ) -> Result<Vec<TargetScore>> {
        let sources = self.encode_sources(sources, &options.languages);
        let targets = self.tokenizers.target.encode_batch(targets);
        self.score_ids(&sources, &targets, options)
    }

    /// Scores pairs of sentences, as ids without the tokens of their languages, in order, with the
    /// languages, penalties and batching of `options`. The token of a target language is given: it
    /// is not among the scored ones.
    ///
    /// # Errors
    /// Returns the errors of [`force_score`];
    /// [`SentenceError::TooLong`](crate::SentenceError::TooLong) for a sentence of more than
    /// `options.longest` tokens.
    pub fn score_ids(
        &self,
        sources: &[Vec<u32>],
        targets: &[Vec<u32>],
        options: &TranslateOptions,
    ) -> Result<Vec<TargetScore>> {
        let Languages { source, target, .. } = &options.languages;
        let sources = with_start(source, sources);
        let targets = with_start(target, targets);
        let limit = self.source_limit(options);
        let eos = self.model.special().eos;
        check_lengths(Side::Source, &*sources, eos, limit)?;
        check_lengths(Side::Target, &*targets, eos, limit)?;
        let settings = &options.search;
        let scores = force_score(
            &*self.model,
            &sources,
            &targets,
            settings,
            &options.batching,
        )?;
        Ok(scores
            .into_iter()
            .map(|score| TargetScore::new(score.log_probs[target.len()..].to_vec(), settings))
            .collect())
    }

    /// Scores `targets` (ids) as translations of the searches `requests`, each in its context, with
    /// the penalties and batching of `options`. Both begin with the tokens of their languages.
    ///
    /// # Errors
    /// Returns the errors of [`score_ids`](Self::score_ids).
    pub(super) fn score_requests(
        &self,
        requests: &[&Request],
        targets: &[Vec<u32>],
        options: &TranslateOptions,
    ) -> Result<Vec<TargetScore>> {
        let sources: Vec<Vec<u32>> = requests.iter().map(|it| it.source.clone()).collect();
        let limit = self.source_limit(options);
        let eos = self.model.special().eos;
        check_lengths(Side::Source, &sources, eos, limit)?;
        check_lengths(Side::Target, targets, eos, limit)?;
        let contexts: Vec<&SearchContext> = requests.iter().map(|it| &it.context).collect();
        let settings = &options.search;
        let batching = &options.batching;
        score_in_contexts(
            &*self.model,
            &sources,
            targets,
            &contexts,
            settings,
            batching,
        )
    }

    /// Scores pairs of ids up to the first error, and returns it too. For streams, where finished
    /// work must not be lost.
    pub fn score_ids_until_error(
        &self,
        sources: &[Vec<u32>],
        targets: &[Vec<u32>],
        options: &TranslateOptions,
    ) -> (Vec<TargetScore>, Option<InferError>) {
        until_error(sources.len(), |count| {
            let targets = &targets[..count.min(targets.len())];
            self.score_ids(&sources[..count], targets, options)
        })
    }
}

/// Each of `sentences` after the tokens `start`.
pub(super) fn with_start<'a>(start: &[u32], sentences: &'a [Vec<u32>]) -> Cow<'a, [Vec<u32>]> {
    if start.is_empty() {
        return Cow::Borrowed(sentences);
    }
    let all = sentences.iter().map(|ids| [start, ids].concat());
    Cow::Owned(all.collect())
}

/// The probability that the model assigns to a given translation.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetScore {
    /// Natural log-probability of each token, `</s>` last.
    pub log_probs: Vec<f32>,
    /// The sum of `log_probs`: log P(target | source).
    pub total: f64,
    /// The [score](SearchSettings::score) of `total`, comparable to the score of a search.
    pub score: f64,
}

impl TargetScore {
    fn new(log_probs: Vec<f32>, settings: &SearchSettings) -> Self {
        let total: f64 = log_probs.iter().map(|&log_prob| f64::from(log_prob)).sum();
        let score = settings.score(total, log_probs.len());
        Self {
            log_probs,
            total,
            score,
        }
    }

    /// The perplexity: e to the power of −log P per token, `</s>` included; at least 1.
    pub fn perplexity(&self) -> f64 {
        perplexity(std::slice::from_ref(self))
    }
}

/// The perplexity over all tokens of all `scores`, `</s>` included; 1 if there are none.
pub fn perplexity(scores: &[TargetScore]) -> f64 {
    let total: f64 = scores.iter().map(|score| score.total).sum();
    let tokens: usize = scores.iter().map(|score| score.log_probs.len()).sum();
    perplexity_of(total, tokens)
}

/// The perplexity of a text of `tokens` tokens, `</s>` included, with the natural log-probability
/// `total`; 1 if there are no tokens.
pub fn perplexity_of(total: f64, tokens: usize) -> f64 {
    (-total / tokens.max(1) as f64).exp()
}

/// Scores `targets` as translations of `sources` by teacher forcing, in the given order. Both are
/// ids; a missing `</s>` is added. An empty target is scored as `</s>` alone. Of the `settings`,
/// only the penalties matter.
///
/// # Errors
/// Before any computation, returns a [`SettingsError`](crate::SettingsError) if a limit of
/// `batching` is 0, [`InferError::Count`] if the numbers of sources and targets differ,
/// [`SentenceError::UnknownId`] if an id is outside the vocabulary, and [`SentenceError::TooLong`] if
/// the model has too few positions for a text. Returns [`SentenceError::NotFinite`] if the model's
/// output is NaN or infinite.
pub fn force_score(
    model: &dyn StepModel,
    sources: &[Vec<u32>],
    targets: &[Vec<u32>],
    settings: &SearchSettings,
    batching: &Batching,
) -> Result<Vec<TargetScore>> {
    score_in_contexts(model, sources, targets, &[], settings, batching)
}

/// Scores `targets` like [`force_score`], each in its context, if `contexts` are given.
fn score_in_contexts(
    model: &dyn StepModel,
    sources: &[Vec<u32>],
    targets: &[Vec<u32>],
    contexts: &[&SearchContext],
    settings: &SearchSettings,
    batching: &Batching,
) -> Result<Vec<TargetScore>> {
    batching.validate()?;
    let eos = model.special().eos;
    let none = SearchContext::default();
    let context = |index: usize| contexts.get(index).copied().unwrap_or(&none);
    let sources: Vec<_> = (0..)
        .zip(sources)
        .map(|(index, ids)| context(index).before_source(&with_eos(ids, eos)))
        .collect();
    let targets: Vec<_> = (0..)
        .zip(targets)
        .map(|(index, ids)| [&context(index).target[..], &with_eos(ids, eos)].concat())
        .collect();
    check_pairs(model, &sources, &targets)?;
    let lengths = sources
        .iter()
        .zip(&targets)
        .map(|(s, t)| s.len().max(t.len()));
    let lengths: Vec<usize> = lengths.collect();
    let mut scores = vec![None; sources.len()];
    for batch in batching.group((0..sources.len()).collect(), &lengths) {
        let log_probs = model.target_log_probs(&pick(&sources, &batch), &pick(&targets, &batch));
        for (&index, mut log_probs) in batch.iter().zip(log_probs) {
            log_probs.drain(..context(index).target.len());
            if let Some(step) = log_probs.iter().position(|log_prob| !log_prob.is_finite()) {
                return Err(SentenceError::NotFinite(step).of(index + 1));
            }
            scores[index] = Some(TargetScore::new(log_probs, settings));
        }
    }
    Ok(scores
        .into_iter()
        .map(|score| score.expect("every place is in a batch"))
        .collect())
}

fn pick<'a>(all: &'a [Vec<u32>], indices: &[usize]) -> Vec<&'a [u32]> {
    indices.iter().map(|&index| &all[index][..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perplexity_is_the_inverse_of_the_mean_probability() {
        let settings = SearchSettings::greedy();
        let score = |log_probs: Vec<f32>| TargetScore::new(log_probs, &settings);
        let quarter = 0.25f32.ln();
        assert!((score(vec![quarter; 3]).perplexity() - 4.0).abs() < 1e-6);
        let both = [score(vec![quarter; 3]), score(vec![0.0; 3])];
        assert!((perplexity(&both) - 2.0).abs() < 1e-6);
        assert_eq!(perplexity(&[]), 1.0);
    }
}
