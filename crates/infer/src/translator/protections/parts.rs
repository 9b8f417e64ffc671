//! Further searches for a sentence with a translation that loses numbers, placeholders or
//! addresses.

use std::slice::from_ref;

use burnformer_terminology::{Term, longest};
use burnformer_text::{added_placeholders, apply_edits, missing_placeables, parts};
use rayon::prelude::*;

use super::Results;
use super::lost::Losses;
use super::pairs::end_of_prefix;
use crate::hypothesis::Hypothesis;
use crate::search::{Request, Terms, check};
use crate::translator::Translator;
use crate::translator::options::TranslateOptions;
use crate::translator::request::TextRequest;

/// The largest number of constraints in the second search, which bounds its cost.
const MAX_PARTS: usize = 24;
/// The largest number of further searches for a sentence: one per part, and one for parts at
/// unknown positions.
const MAX_SEARCHES: usize = 9;

impl Results<'_> {
    /// Searches again for a request if its best hypothesis, or a sample, changes a number, loses a
    /// placeholder or an address, or invents a placeholder. The first of these searches has the
    /// numbers as terms; samples take no terms. The second translates the sentence without numbers,
    /// placeholders and addresses, and restores them by attention. If both fail, the hypotheses
    /// stay. Other hypotheses with such a fault are left out.
    pub(super) fn keep_parts(&mut self) {
        if !self.options.protections.keep_parts {
            return;
        }
        let mut lost: Vec<Losses> = (0..self.requests.len())
            .into_par_iter()
            .filter_map(|index| self.lost_by(index))
            .collect();
        if !self.is_sampled() {
            let with_numbers = |sentence: &Losses| self.with_numbers(sentence);
            let (kept, rest) = self.keep_by(lost, with_numbers, |_, text| text);
            self.replace(kept);
            lost = rest;
        }
        let gapped = |sentence: &Losses| self.gapped(sentence);
        let fill = |sentence: &Losses, text: String| self.filled(sentence, &text);
        let (kept, _) = self.keep_by(lost, gapped, fill);
        self.replace(kept);
        self.drop_lossy();
    }

    /// `translation` of the sentence without its parts, with the parts restored by attention and
    /// without other placeholders. A forced prefix stays as it is.
    fn filled(&self, lost: &Losses, translation: &str) -> String {
        let gapped = lost.gapped();
        let languages = &self.options.languages;
        let from = end_of_prefix(&lost.prefix, translation);
        let links = self.translator.links(&gapped.text, translation, languages);
        let links = links.unwrap_or_default();
        let text = gapped.fill_from(translation, &links, from).text;
        let mut added = added_placeholders(&lost.source, &text, &[]);
        added.retain(|(range, _)| range.start >= from);
        apply_edits(&text, &added)
    }

    fn replace(&mut self, new: Vec<(usize, Vec<Hypothesis>)>) {
        for (index, hypotheses) in new {
            self.hypotheses[index] = hypotheses;
        }
    }

    pub(super) fn is_sampled(&self) -> bool {
        self.options.search.sampling.is_some()
    }

    /// The request of `sentence` with its numbers as terms.
    fn with_numbers(&self, sentence: &Losses) -> Option<TextRequest> {
        let request = &self.requests[sentence.index];
        self.translator
            .with_parts(request, sentence.numbers.clone())
    }

    /// The request of `sentence` without its parts. A forced prefix stays, and the parts in it stay
    /// in the source, too.
    fn gapped(&self, sentence: &Losses) -> Option<TextRequest> {
        let translator = self.translator;
        let request = &self.requests[sentence.index];
        let text = sentence.gapped().text;
        let ids = translator.encode_source(&text, &self.options.languages);
        let terms = translator.terms(&request.wanted, &ids).ok()?;
        let skipped = self.options.languages.source.len();
        let source = [&self.options.languages.source[..], &ids].concat();
        let mut shortlist = request.search.shortlist.clone();
        if !sentence.signs.is_empty() {
            let all = 0..translator.model.target_vocab() as u32;
            // The invented placeholders must not begin again.
            let is_free = |id: &u32| {
                let token = translator.tokenizers.target.decode(&[*id]);
                !token.contains(|c| sentence.signs.contains(c) && !text.contains(c))
            };
            shortlist
                .get_or_insert_with(|| all.collect())
                .retain(is_free);
        }
        let search = Request {
            terms: terms.moved_by(skipped),
            source,
            shortlist,
            ..request.search.clone()
        };
        Some(request.in_form(text, search))
    }

    /// Searches for the request `ask` of each sentence in `lost`, and takes the text `write` of its
    /// translation if nothing is lost in it. Returns the new hypotheses of these sentences, and the
    /// other sentences.
    fn keep_by(
        &self,
        lost: Vec<Losses>,
        ask: impl Fn(&Losses) -> Option<TextRequest> + Sync,
        write: impl Fn(&Losses, String) -> String + Sync,
    ) -> (Vec<(usize, Vec<Hypothesis>)>, Vec<Losses>) {
        let model = &*self.translator.model;
        let settings = &self.options.search;
        let losses: Vec<(Losses, Option<TextRequest>)> = lost
            .into_par_iter()
            .map(|sentence| {
                let request = ask(&sentence)
                    .filter(|request| check(model, from_ref(&request.search), settings).is_ok());
                (sentence, request)
            })
            .collect();
        let requests: Vec<TextRequest> = losses
            .iter()
            .filter_map(|(_, request)| request.clone())
            .collect();
        let mut found = self.search_again(&requests, settings).into_iter();
        let mut improvements = Vec::new();
        let mut rest = Vec::new();
        for (sentence, request) in losses {
            let new = request.and_then(|_| found.next());
            match new.and_then(|new| self.merged(&sentence, new, &write)) {
                Some(all) => improvements.push((sentence.index, all)),
                None => rest.push(sentence),
            }
        }
        (improvements, rest)
    }

    /// The hypotheses `new` of a further search with their texts changed by `write`, if the best
    /// loses nothing. Of samples, the samples of the first search that lose nothing come first.
    fn merged(
        &self,
        sentence: &Losses,
        new: Vec<Hypothesis>,
        write: &impl Fn(&Losses, String) -> String,
    ) -> Option<Vec<Hypothesis>> {
        let request = &self.requests[sentence.index];
        let whole = |hypothesis: Hypothesis| {
            let first = self.translator.text_of(&hypothesis);
            let text = write(sentence, first.clone());
            let is_lossy = missing_placeables(&sentence.source, &sentence.symbols, &text).is_some();
            if is_lossy {
                return None;
            }
            let found = if text == first {
                Some(hypothesis)
            } else {
                self.translator.scored(request, &text, self.options)
            };
            found.map(|hypothesis| Hypothesis {
                is_second: true,
                ..hypothesis
            })
        };
        let mut new = new.into_iter().map(whole);
        if self.is_sampled() {
            let is_whole = |hypothesis: &&Hypothesis| {
                let lost = self
                    .translator
                    .lost_parts(request, self.options, hypothesis);
                lost.is_none()
            };
            let old = &self.hypotheses[sentence.index];
            let mut all: Vec<Hypothesis> = old.iter().filter(is_whole).cloned().collect();
            all.extend(new.flatten());
            all.truncate(old.len());
            all.sort_by(|a, b| b.score.total_cmp(&a.score));
            return (all.len() == old.len()).then_some(all);
        }
        let best = new.next().flatten()?;
        // The first translation is also the best in a longer list.
        let others = new.flatten().filter(|other| other.score <= best.score);
        let mut others: Vec<Hypothesis> = others.collect();
        others.sort_by(|a, b| b.score.total_cmp(&a.score));
        Some([vec![best], others].concat())
    }
}

impl Translator {
    /// The number of further searches to keep the numbers and placeholders of `source`.
    pub(super) fn searches_for_parts(&self, source: &str, options: &TranslateOptions) -> usize {
        if options.protections.keep_parts {
            (1 + parts(source).len()).min(MAX_SEARCHES)
        } else {
            0
        }
    }

    /// `request` with `wanted` after its own terms; `None` if nothing is wanted or can be written.
    fn with_parts(&self, request: &TextRequest, mut wanted: Vec<Term>) -> Option<TextRequest> {
        wanted.truncate(MAX_PARTS);
        let Terms {
            phrases,
            spans,
            edges,
            left_out,
        } = self.terms(&longest(wanted), &request.search.source).ok()?;
        if phrases.is_empty() {
            return None;
        }
        let mut terms = request.search.terms.clone();
        terms.spans.resize(terms.phrases.len(), 0..0);
        terms.phrases.extend(phrases);
        terms.spans.extend(spans);
        (terms.edges, terms.left_out) = (edges, terms.left_out + left_out);
        let search = Request {
            terms,
            ..request.search.clone()
        };
        Some(request.in_form(request.text.clone(), search))
    }
}
