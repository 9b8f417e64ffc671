//! Translations that are reported while they are searched for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burnformer_text::{
    is_emoji, is_in_capitals, joining_signs, may_have_parts, missing_dash, pairs,
};

use super::Translator;
use super::options::TranslateOptions;
use super::request::{Report, TextRequest};
use crate::error::Result;
use crate::hypothesis::{Translation, one_line};
use crate::search::Watch;

/// The part of a translation that is reported.
#[derive(Clone, Default)]
struct Reported(Arc<Mutex<Settled>>);

/// Settled tokens and their text.
#[derive(Default)]
struct Settled {
    tokens: Vec<u32>,
    text: String,
}

impl Reported {
    fn lock(&self) -> MutexGuard<'_, Settled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Settled {
    /// Reports `text` if it continues the reported text.
    fn extend(&mut self, text: &str, report: &Report) {
        if text.len() > self.text.len() && text.starts_with(&self.text) {
            report.call(text);
            self.text = text.into();
        }
    }
}

impl Translator {
    /// Translates `requests`, and reports the settled beginning of each text as it grows.
    pub(super) fn translate_reporting(
        &self,
        requests: Vec<TextRequest>,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        let reported: Vec<Reported> = requests.iter().map(|_| Reported::default()).collect();
        let mut watched = requests.clone();
        for (request, reported) in watched.iter_mut().zip(&reported) {
            if self.is_settled_by_search(request, options) {
                request.search.watch = self.watch(request, options, reported);
            }
        }
        let mut translations = self.translate_unreported(watched, options)?;
        let mut changed = Vec::new();
        let mut again = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let settled = reported[index].lock();
            if !translations[index].text.starts_with(&settled.text) {
                let mut request = request.clone();
                request.search.prefix = settled.tokens.clone();
                changed.push(index);
                again.push(request);
            }
        }
        let translations_again = self.translate_unreported(again, options)?;
        for (index, translation) in changed.into_iter().zip(translations_again) {
            translations[index] = translation;
        }
        for ((request, reported), translation) in requests.iter().zip(&reported).zip(&translations)
        {
            if let Some(report) = &request.report {
                reported.lock().extend(&translation.text, report);
            }
        }
        Ok(translations)
    }

    /// Returns whether no protection is expected to change what the search finds for `request`.
    fn is_settled_by_search(&self, request: &TextRequest, options: &TranslateOptions) -> bool {
        let TextRequest { text, search, .. } = request;
        let is_ranked_later = options.search.coverage_penalty != 0.0;
        if text.is_empty() || !search.terms.is_empty() || is_ranked_later {
            return false;
        }
        let unk = self.tokenizers.source.special_ids().unk;
        let has_signs = may_have_parts(text)
            || text.contains(is_emoji)
            || !joining_signs(text).is_empty()
            || !pairs(text).is_empty()
            || missing_dash(text, "").is_some();
        !has_signs && !is_in_capitals(text) && !search.source.contains(&unk)
    }

    /// The watch that reports the text of settled tokens of `request`, if it is to be reported.
    fn watch(
        &self,
        request: &TextRequest,
        options: &TranslateOptions,
        reported: &Reported,
    ) -> Option<Watch> {
        let report = request.report.clone()?;
        let tokenizer = self.tokenizers.target.clone();
        let reported = reported.clone();
        let skipped = options.languages.target.len();
        let eos = self.model.special().eos;
        Some(Watch::new(move |tokens| {
            let tokens = tokens.strip_suffix(&[eos]).unwrap_or(tokens);
            let tokens = tokens.get(skipped..).unwrap_or_default();
            let mut settled = reported.lock();
            if tokens.len() <= settled.tokens.len() {
                return;
            }
            let text = one_line(&tokenizer.decode(tokens));
            // The bytes of its last character may be incomplete.
            if text.ends_with(char::REPLACEMENT_CHARACTER) {
                return;
            }
            settled.extend(&text, &report);
            if settled.text == text {
                settled.tokens = tokens.to_vec();
            }
        }))
    }
}
