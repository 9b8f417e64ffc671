//! Signs that join words, such as `&`: models drop them together with a word.

use std::slice::from_ref;

use burnformer_text::{joining_signs, loses_joins, with_joining_words};

use super::Results;
use crate::search::{Request, check};
use crate::translator::Translator;
use crate::translator::options::TranslateOptions;
use crate::translator::request::TextRequest;

impl Translator {
    /// The number of further searches for the signs that join words of `source`.
    pub(super) fn searches_for_joins(source: &str, options: &TranslateOptions) -> usize {
        usize::from(options.protections.keep_parts && !joining_signs(source).is_empty())
    }

    /// `request` with the word for "and" in place of the signs that join words; `None` if it has no
    /// such signs, or the source language is not known.
    fn with_joining_words(
        &self,
        request: &TextRequest,
        options: &TranslateOptions,
    ) -> Option<TextRequest> {
        let text = with_joining_words(&request.text, options.languages.source()?)?;
        let ids = self.encode_source(&text, &options.languages);
        let skipped = &options.languages.source;
        let terms = self.terms(&request.wanted, &ids).ok()?;
        let source = [&skipped[..], &ids].concat();
        let shortlist = options.shortlist.as_ref();
        let search = Request {
            shortlist: shortlist.map(|shortlist| shortlist.tokens_for(&source)),
            terms: terms.moved_by(skipped.len()),
            source,
            ..request.search.clone()
        };
        Some(request.in_form(text, search))
    }
}

impl Results<'_> {
    /// Searches again, with the word for "and" in the source, for requests with a best hypothesis
    /// that lacks a joining sign and has no word for it. Samples stay.
    pub(super) fn keep_joins(&mut self) {
        let options = self.options;
        if !options.protections.keep_parts || options.search.sampling.is_some() {
            return;
        }
        let translator = self.translator;
        let codes = options.languages.codes();
        let languages = [0, 1].map(|side| codes.map(|codes| &*codes[side]));
        let mut indices = Vec::new();
        let mut forms = Vec::new();
        for (index, request) in self.requests.iter().enumerate() {
            if request.text.is_empty() || request.search.cancel.is_cancelled() {
                continue;
            }
            let text = translator.text_of(&self.hypotheses[index][0]);
            let form = loses_joins(&request.text, &text, languages)
                .then(|| translator.with_joining_words(request, options))
                .flatten();
            let form = form.filter(|form| {
                check(&*translator.model, from_ref(&form.search), &options.search).is_ok()
            });
            if let Some(form) = form {
                indices.push(index);
                forms.push(form);
            }
        }
        let found = self.search_again(&forms, &options.search);
        for (index, mut found) in indices.into_iter().zip(found) {
            let text = translator.text_of(&found[0]);
            if loses_joins(&self.requests[index].text, &text, languages) {
                continue;
            }
            found
                .iter_mut()
                .for_each(|hypothesis| hypothesis.is_second = true);
            self.hypotheses[index] = found;
        }
    }
}
