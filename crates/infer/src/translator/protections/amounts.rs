//! Amounts in the number format of the target language.

use burnformer_text::apply_edits;
use rayon::prelude::*;

use super::Results;
use super::distinct::sort;
use crate::hypothesis::{FinishReason, Hypothesis};

impl Results<'_> {
    /// Rewrites amounts in all hypotheses in the number format of the target language.
    pub(super) fn write_amounts(&mut self) {
        let Self {
            translator,
            options,
            ..
        } = *self;
        let writing = options
            .languages
            .writing()
            .filter(|_| options.protections.keep_parts);
        let Some(writing) = writing else {
            return;
        };
        let pairs = self.hypotheses.par_iter_mut().zip(&self.requests);
        pairs.for_each(|(found, request)| {
            let source = translator.source_text(request, options.languages.source.len());
            let is_whole =
                |hypothesis: &&mut Hypothesis| hypothesis.finish == FinishReason::EndOfSentence;
            for hypothesis in found.iter_mut().filter(is_whole) {
                let text = translator.text_of(hypothesis);
                let changes = writing.changes(&source, &text);
                if changes.is_empty() {
                    continue;
                }
                let text = apply_edits(&text, &changes);
                if let Some(new) = translator.scored(request, &text, options) {
                    let Hypothesis { is_second, .. } = *hypothesis;
                    *hypothesis = Hypothesis { is_second, ..new };
                }
            }
            if let Some((_, others)) = found.split_first_mut() {
                sort(others);
            }
        });
    }
}
