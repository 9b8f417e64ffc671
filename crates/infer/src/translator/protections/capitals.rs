//! Sources all in capitals, which are rare in training texts, are also translated in small letters.

use std::collections::HashSet;

use burnformer_text::{in_capitals, in_small_letters, is_in_capitals, may_be_in_capitals, visible};
use rayon::prelude::*;

use super::Results;
use crate::calibration::probability;
use crate::quality_warning::repeats;
use crate::search::Request;
use crate::translator::Translator;
use crate::translator::options::{LongSources, TranslateOptions};
use crate::translator::request::TextRequest;
use crate::translator::score::with_start;
use crate::translator::until_error::until_error;

impl Translator {
    /// The number of further searches for a source in capitals: one for each form in small letters.
    pub(super) fn searches_for_capitals(source: &str, options: &TranslateOptions) -> usize {
        let has_forms = options.protections.small_letters && is_in_capitals(&visible(source));
        if has_forms { 2 } else { 0 }
    }

    /// For each request with a source all in capitals, its index with the source in small letters,
    /// and again with a first capital, if `options` allow it. A prefix in capitals changes with the
    /// source; placeholders and addresses stay.
    pub(in crate::translator) fn in_small_letters(
        &self,
        requests: &[TextRequest],
        options: &TranslateOptions,
    ) -> Vec<(usize, TextRequest)> {
        if !options.protections.small_letters {
            return Vec::new();
        }
        requests
            .par_iter()
            .enumerate()
            .filter_map(|(index, request)| {
                let forms = self.small_forms(request, options)?;
                Some(forms.map(|request| (index, request)))
            })
            .flatten_iter()
            .collect()
    }

    /// The two forms of `request` in small letters, if its source is all in capitals.
    fn small_forms(
        &self,
        request: &TextRequest,
        options: &TranslateOptions,
    ) -> Option<[TextRequest; 2]> {
        if !request.text.is_empty() && !may_be_in_capitals(&request.text) {
            return None;
        }
        let text = self.source_text(request, 0);
        if !is_in_capitals(&text) {
            return None;
        }
        let prefix = self.tokenizers.target.decode(&request.search.prefix);
        let prefixes = if is_in_capitals(&prefix) {
            in_small_letters(&prefix)
        } else {
            [prefix.clone(), prefix]
        };
        let [small, sentence] = in_small_letters(&text);
        let [small_prefix, sentence_prefix] = prefixes;
        let form = |text, prefix: &str| self.form(request, text, prefix, options);
        let small = form(small, &small_prefix)?;
        let sentence = form(sentence, &sentence_prefix)?;
        Some([small, sentence])
    }

    /// `request` for the source `text` with the forced `prefix`.
    fn form(
        &self,
        request: &TextRequest,
        text: String,
        prefix: &str,
        options: &TranslateOptions,
    ) -> Option<TextRequest> {
        let source = self.encode_source(&text, &options.languages);
        let prefix = if request.search.prefix.is_empty() {
            Vec::new()
        } else {
            self.tokenizers.target.encode(prefix)
        };
        let search = Request {
            terms: self.terms(&request.wanted, &source).ok()?,
            source,
            prefix,
            ..request.search.clone()
        };
        Some(request.in_form(text, search))
    }
}

impl Results<'_> {
    /// Searches for the `small` requests, and takes their hypotheses if they are more probable than
    /// the original ones. They stand for the original requests from then on. If the search fails,
    /// nothing changes.
    pub(super) fn try_small_letters(&mut self, small: &[(usize, TextRequest)]) {
        let options = self.options;
        let small = small
            .iter()
            .filter(|(index, _)| *index < self.hypotheses.len())
            .cloned();
        let (indices, mut forms): (Vec<usize>, Vec<TextRequest>) = small.unzip();
        let truncated = TranslateOptions {
            long_sources: LongSources::Truncate,
            ..options.clone()
        };
        self.translator.prepare(&mut forms, &truncated);
        let found = self.search_again(&forms, &options.search);
        let mut improved = HashSet::new();
        for ((index, form), found) in indices.into_iter().zip(forms).zip(found) {
            let small = &found[0];
            let current = &self.hypotheses[index][0];
            let is_loop = repeats(&small.tokens) && !repeats(&form.search.source);
            let is_first = !improved.contains(&index);
            let is_better = probability(small) > probability(current);
            if (is_better || is_first && self.is_forced(index)) && !is_loop {
                improved.insert(index);
                self.hypotheses[index] = found;
                self.requests[index] = form;
            }
        }
    }

    /// Returns whether the request `index` forces tokens. Their probabilities say nothing about the
    /// form of the source, so small letters are taken then.
    fn is_forced(&self, index: usize) -> bool {
        let request = &self.requests[index].search;
        let has_prefix = request.prefix.len() > self.options.languages.target.len();
        has_prefix || !request.terms.is_empty()
    }

    /// Puts the translations of sources that were in capitals in `requests` in capitals again,
    /// after the given prefixes, and scores their texts.
    pub(super) fn put_in_capitals(&mut self, requests: &[TextRequest]) {
        let translator = self.translator;
        let options = self.options;
        let changed: Vec<usize> = (0..requests.len().min(self.hypotheses.len()))
            .filter(|&index| self.requests[index].text != requests[index].text)
            .collect();
        let mut scored = Vec::new();
        let mut texts = Vec::new();
        let mut places = Vec::new();
        for index in changed {
            let given_prefix = translator.prefix_text(&requests[index], options);
            let small = translator.prefix_text(&self.requests[index], options);
            for (rank, hypothesis) in self.hypotheses[index].iter_mut().enumerate() {
                let text = translator.text_of(hypothesis);
                let text = match text.strip_prefix(&small) {
                    Some(rest) => given_prefix.clone() + &in_capitals(rest),
                    None => in_capitals(&text),
                };
                scored.push(&requests[index].search);
                texts.push(text.clone());
                hypothesis.text = Some(text);
                hypothesis.is_uppercased = true;
                places.push((index, rank));
            }
            self.requests[index] = requests[index].clone();
        }
        let targets = translator.tokenizers.target.encode_batch(&texts);
        let targets = with_start(&options.languages.target, &targets);
        let (scores, _) = until_error(scored.len(), |count| {
            translator.score_requests(&scored[..count], &targets[..count], options)
        });
        for ((index, rank), score) in places.into_iter().zip(scores) {
            self.hypotheses[index][rank].score = score.score;
        }
    }
}
