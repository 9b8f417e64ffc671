//! The attention weights of a sentence pair given as text.

use burnformer_data::Tokenizers;

use super::load::Translator;
use crate::attention::{Attention, pieces};
use crate::error::InferError;
use crate::ids::{check_pairs, closed};
use crate::model::SpecialIds;

impl Translator {
    /// The attention weights of every layer and head while the model predicts `target` as the translation of
    /// `source`.
    ///
    /// # Errors
    /// [`InferError::SourceTooLong`] or [`InferError::TargetTooLong`] if the model does not take so many tokens,
    /// [`InferError::NoAttention`] for an ensemble.
    pub fn attention(&self, source: &str, target: &str) -> Result<Attention, InferError> {
        let SpecialIds { bos, eos, .. } = self.model.special();
        let source = closed(&self.tokenizers.source.encode(source), eos);
        let target = closed(&self.tokenizers.target.encode(target), eos);
        let (sources, targets) = ([source], [target]);
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
