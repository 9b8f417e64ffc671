//! The probability that a model assigns to given translations.

use super::load::Translator;
use super::options::TranslateOptions;
use crate::error::{InferError, until_error};
use crate::ids::check_lengths;
use crate::score::{TargetScore, force_score};

impl Translator {
    /// Scores `targets` as translations of `sources`, in order, with the penalty and batching of
    /// `options`. Sources are never truncated, because the score would be that of another sentence.
    ///
    /// # Errors
    /// The errors of [`score_ids`](Self::score_ids).
    pub fn score<S: AsRef<str> + Sync, T: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        targets: &[T],
        options: &TranslateOptions,
    ) -> Result<Vec<TargetScore>, InferError> {
        let sources = self.tokenizers.source.encode_batch(sources);
        let targets = self.tokenizers.target.encode_batch(targets);
        self.score_ids(&sources, &targets, options)
    }

    /// Scores pairs of sentences that are given as ids, in order, with the penalty and batching of
    /// `options`.
    ///
    /// # Errors
    /// The errors of [`force_score`]; [`SentenceError::TooLong`](crate::SentenceError::TooLong) for
    /// a sentence of more than `options.longest` tokens.
    pub fn score_ids(
        &self,
        sources: &[Vec<u32>],
        targets: &[Vec<u32>],
        options: &TranslateOptions,
    ) -> Result<Vec<TargetScore>, InferError> {
        let (limit, eos) = (self.longest_source(options), self.model.special().eos);
        check_lengths("source", sources, eos, limit)?;
        check_lengths("target", targets, eos, limit)?;
        let penalty = options.search.length_penalty;
        force_score(&*self.model, sources, targets, penalty, &options.batching)
    }

    /// Scores pairs of ids up to the first that cannot be scored, and returns the error of that
    /// one. Streams use it, in which no finished work must be lost.
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
