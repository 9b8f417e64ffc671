//! The attention weights of a sentence pair given as text.

use burnformer_data::Tokenizers;

use super::load::Translator;
use super::options::LONGEST_SENTENCE;
use crate::attention::{Attention, pieces};
use crate::error::InferError;
use crate::ids::{check_lengths, check_pairs, closed};
use crate::model::SpecialIds;

impl Translator {
    /// The attention weights of every layer and head while the model predicts `target` as the
    /// translation of `source`.
    ///
    /// # Errors
    /// [`SentenceError::TooLong`](crate::SentenceError::TooLong) if the model does not take so many
    /// tokens, or if there are more than [`LONGEST_SENTENCE`], since the weights grow with the
    /// product of the lengths; [`InferError::NoAttention`] for an ensemble.
    pub fn attention(&self, source: &str, target: &str) -> Result<Attention, InferError> {
        let Tokenizers { source: reader, target: writer } = &self.tokenizers;
        self.attention_of(&reader.encode(source), &writer.encode(target))
    }

    /// The same of ids, with or without their `</s>`.
    pub(super) fn attention_of(
        &self,
        source: &[u32],
        target: &[u32],
    ) -> Result<Attention, InferError> {
        let SpecialIds { bos, eos, .. } = self.model.special();
        check_lengths("source", [source], eos, LONGEST_SENTENCE)?;
        check_lengths("target", [target], eos, LONGEST_SENTENCE)?;
        let (sources, targets) = ([closed(source, eos)], [closed(target, eos)]);
        check_pairs(&*self.model, &sources, &targets)?;
        let ([source], [target]) = (sources, targets);
        let weights = self.model.attention(&source, &target).ok_or(InferError::NoAttention)?;
        let input: Vec<u32> = [bos].iter().chain(&target[..target.len() - 1]).copied().collect();
        let special = [bos, eos];
        let Tokenizers { source: reader, target: writer } = &self.tokenizers;
        Ok(Attention {
            source: pieces(reader, &source, &special),
            target_input: pieces(writer, &input, &special),
            target_output: pieces(writer, &target, &special),
            weights,
        })
    }
}
