//! Protections of a translation: what a search loses or changes is found, and restored by further
//! searches or by edits of the text. One file for each kind.

mod amounts;
mod capitals;
mod distinct;
mod joins;
mod loops;
mod lost;
mod pairs;
mod parts;
mod unknown;

use std::slice::from_ref;

use super::Translator;
use super::options::TranslateOptions;
use super::request::{TextRequest, searches};
use super::score::TargetScore;
use crate::hypothesis::Hypothesis;
use crate::search::search_counting;
use crate::settings::SearchSettings;

/// The requests and the hypotheses of a search.
pub(super) struct Results<'a> {
    pub translator: &'a Translator,
    /// The requests that gave the hypotheses: a source in capitals may be in small letters here.
    pub requests: Vec<TextRequest>,
    pub options: &'a TranslateOptions,
    /// The hypotheses for each request, the best first.
    pub hypotheses: Vec<Vec<Hypothesis>>,
}

impl Results<'_> {
    /// Applies the protections of the options. `small` are the requests in small letters, from
    /// [`Translator::in_small_letters`].
    ///
    /// The order matters: parts are compared in texts with copies of unknown text, amounts are
    /// rewritten in texts with all parts, and a text is complete before it is put in capitals.
    /// Repeated texts are removed last.
    pub fn protect(&mut self, small: &[(usize, TextRequest)]) {
        let given_requests = self.requests.clone();
        self.translator
            .copy_unknown(&given_requests, &mut self.hypotheses);
        self.try_small_letters(small);
        self.leave_loops();
        self.keep_joins();
        self.keep_parts();
        self.keep_pairs();
        self.write_amounts();
        self.put_in_capitals(&given_requests);
        self.make_distinct();
    }

    /// The hypotheses of a further search for `requests`, with copies of unknown text; empty if it
    /// fails.
    fn search_again(
        &self,
        requests: &[TextRequest],
        settings: &SearchSettings,
    ) -> Vec<Vec<Hypothesis>> {
        let model = &*self.translator.model;
        let batching = &self.options.batching;
        let found = search_counting(model, &searches(requests), settings, batching, &|_| ());
        let mut found = found.unwrap_or_default();
        self.translator.copy_unknown(requests, &mut found);
        found
    }
}

impl Translator {
    /// Returns the largest number of searches for a translation of `source`, including the searches
    /// of its protections. A loop, which few sentences have, adds one.
    pub fn searches(&self, source: &str, options: &TranslateOptions) -> usize {
        1 + Self::searches_for_capitals(source, options)
            + self.searches_for_parts(source, options)
            + Self::searches_for_joins(source, options)
            + Self::searches_for_texts(options)
    }

    /// The text of the forced prefix of `request`, without the token of a language.
    fn prefix_text(&self, request: &TextRequest, options: &TranslateOptions) -> String {
        let skipped = options.languages.target.len();
        let ids = request.search.prefix.get(skipped..).unwrap_or_default();
        self.tokenizers.target.decode(ids)
    }

    /// `text` as a translation of `request`.
    fn scored(
        &self,
        request: &TextRequest,
        text: &str,
        options: &TranslateOptions,
    ) -> Option<Hypothesis> {
        let tokens = self.tokenizers.target.encode(text);
        let tokens = [&options.languages.target[..], &tokens].concat();
        let all = self
            .score_requests(&[&request.search], from_ref(&tokens), options)
            .ok()?;
        let score = all.into_iter().next()?;
        let tokens = [tokens, vec![self.model.special().eos]].concat();
        let copies = self.tokenizers.target.unknown_texts(text);
        let TargetScore {
            log_probs, score, ..
        } = score;
        Some(Hypothesis {
            tokens,
            log_probs,
            score,
            copies,
            ..Hypothesis::default()
        })
    }
}
