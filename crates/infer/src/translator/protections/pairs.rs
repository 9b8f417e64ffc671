//! Quotation marks, brackets and the dashes of speeches, which stand around words.

use burnformer_text::{missing_dash, missing_pairs, with_pairs};
use rayon::prelude::*;

use super::Results;
use crate::hypothesis::Hypothesis;
use crate::translator::Translator;
use crate::translator::options::TranslateOptions;
use crate::translator::request::TextRequest;

impl Results<'_> {
    /// Adds the quotation marks, brackets and dashes of a speech that a hypothesis lacks, around
    /// the words that are aligned with those between them in the source.
    pub(super) fn keep_pairs(&mut self) {
        let Self {
            translator,
            options,
            ..
        } = *self;
        if !options.protections.keep_parts {
            return;
        }
        let pairs = self.hypotheses.par_iter_mut().zip(&self.requests);
        pairs.for_each(|(found, request)| {
            if request.search.cancel.is_cancelled() || request.text.is_empty() {
                return;
            }
            let prefix = translator.prefix_text(request, options);
            for hypothesis in found.iter_mut() {
                let new = translator.with_pairs(request, &prefix, hypothesis, options);
                *hypothesis = new.unwrap_or_else(|| std::mem::take(hypothesis));
            }
        });
    }
}

impl Translator {
    /// `hypothesis` for `request` with the paired signs that it lacks; `None` if it lacks none.
    fn with_pairs(
        &self,
        request: &TextRequest,
        prefix: &str,
        hypothesis: &Hypothesis,
        options: &TranslateOptions,
    ) -> Option<Hypothesis> {
        let text = self.text_of(hypothesis);
        let source = &*request.text;
        if missing_pairs(source, &text).is_empty() && missing_dash(source, &text).is_none() {
            return None;
        }
        let align = |text: &str| {
            self.links(source, text, &options.languages)
                .unwrap_or_default()
        };
        let new = with_pairs(source, &text, align, end_of_prefix(prefix, &text))?;
        let scored = self.scored(request, &new, options)?;
        Some(Hypothesis {
            finish: hypothesis.finish,
            is_second: true,
            ..scored
        })
    }
}

/// Returns the end of `prefix` in `translation`, which was forced to begin with it.
pub(super) fn end_of_prefix(prefix: &str, translation: &str) -> usize {
    if translation.starts_with(prefix) {
        prefix.len()
    } else {
        0
    }
}
