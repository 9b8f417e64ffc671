//! Preservation of numbers, placeholders, addresses and paired signs.

use std::collections::HashMap;
use std::ops::Range;
use std::slice::from_ref;

use burnformer_terminology::{Term, longest};
use burnformer_text::{
    Cloze, Number, Part, PartKind, added_placeholders, apply_edits, is_emoji, may_have_parts,
    missing_dash, missing_pairs, missing_placeables, parts, with_pairs,
};
use rayon::prelude::*;

use super::load::Translator;
use super::options::TranslateOptions;
use super::request::TextRequest;
use super::results::{Results, is_loop, sort};
use super::score::TargetScore;
use crate::generation::Protections;
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::search::{Request, Terms, check};

/// The largest number of constraints in the second search, which bounds its cost.
const MAX_PARTS: usize = 24;
/// The largest number of further searches for a sentence: one per part, and one for parts at unknown
/// positions.
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
        let fill = |sentence: &Losses, text: String| self.translator.filled(sentence, &text);
        let (kept, _) = self.keep_by(lost, gapped, fill);
        self.replace(kept);
        self.drop_lossy();
    }

    fn replace(&mut self, new: Vec<(usize, Vec<Hypothesis>)>) {
        for (index, hypotheses) in new {
            self.all[index] = hypotheses;
        }
    }

    fn is_sampled(&self) -> bool {
        self.options.search.sampling.is_some()
    }

    /// What the hypotheses for the request `index` lose: the best, or any of several samples.
    fn lost_by(&self, index: usize) -> Option<Losses> {
        let request = &self.requests[index];
        let found = self.all.get(index)?;
        if request.search.cancel.is_cancelled() {
            return None;
        }
        let count = if self.is_sampled() { found.len() } else { 1 };
        let lost = found[..count].iter().find_map(|hypothesis| {
            self.translator
                .lost_parts(request, self.options, hypothesis)
        })?;
        Some(Losses { index, ..lost })
    }

    /// Leaves out hypotheses that lose a part, after the best.
    pub(super) fn drop_lossy(&mut self) {
        let Self {
            translator,
            options,
            ..
        } = *self;
        if !options.protections.keep_parts || self.is_sampled() {
            return;
        }
        let pairs = self.all.par_iter_mut().zip(&self.requests);
        pairs.for_each(|(found, request)| {
            let mut is_best = true;
            found.retain(|hypothesis| {
                std::mem::take(&mut is_best)
                    || translator
                        .lost_parts(request, options, hypothesis)
                        .is_none()
            });
        });
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
        let ids = translator.encode_source(&text, self.options);
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

    /// Adds the quotation marks, brackets and dashes of a speech that a hypothesis lacks, around the
    /// words that are aligned with those between them in the source.
    pub(super) fn keep_pairs(&mut self) {
        let Self {
            translator,
            options,
            ..
        } = *self;
        if !options.protections.keep_parts {
            return;
        }
        let pairs = self.all.par_iter_mut().zip(&self.requests);
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
        let pairs = self.all.par_iter_mut().zip(&self.requests);
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
        let asked: Vec<(Losses, Option<TextRequest>)> = lost
            .into_par_iter()
            .map(|sentence| {
                let request = ask(&sentence)
                    .filter(|request| check(model, from_ref(&request.search), settings).is_ok());
                (sentence, request)
            })
            .collect();
        let requests: Vec<TextRequest> = asked
            .iter()
            .filter_map(|(_, request)| request.clone())
            .collect();
        let mut found = self.again(&requests, settings).into_iter();
        let mut kept = Vec::new();
        let mut rest = Vec::new();
        for (sentence, request) in asked {
            let new = request.and_then(|_| found.next());
            match new.and_then(|new| self.merged(&sentence, new, &write)) {
                Some(all) => kept.push((sentence.index, all)),
                None => rest.push(sentence),
            }
        }
        (kept, rest)
    }

    /// The hypotheses `new` of a further search with their texts changed by `write`, if the best
    /// loses nothing. Of samples, those of the first search that lose nothing come first.
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
            let old = &self.all[sentence.index];
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

    /// The parts of the source of `request` that `found` loses, if any.
    fn lost_parts(
        &self,
        request: &TextRequest,
        options: &TranslateOptions,
        found: &Hypothesis,
    ) -> Option<Losses> {
        let is_known = self.unknown_texts(request).is_empty();
        let text = self.text_of(found);
        let has_emoji = request.text.contains(is_emoji);
        if is_known && !has_emoji && is_plain(&request.text) && is_plain(&text) {
            return None;
        }
        let source = self.source_text(request, options.languages.source.len());
        let may_have_symbols = !is_known || has_emoji;
        let all = if may_have_symbols {
            parts(&source)
        } else {
            Vec::new()
        };
        // Words can replace other symbols, such as those of currencies.
        let is_symbol = |part: &Part| {
            let is_picture = source[part.range.clone()].contains(is_emoji);
            part.kind == PartKind::Symbol && (!is_known || is_picture)
        };
        let symbols: Vec<_> = all
            .into_iter()
            .filter(is_symbol)
            .map(|part| part.range)
            .collect();
        let numbers = missing_placeables(&source, &symbols, &text)?;
        let numbers = numbers.into_iter().map(required).collect();
        let signs = added_placeholders(&source, &text, &[]).into_iter();
        let signs = signs.filter_map(|(it, _)| text[it].trim_start().chars().next());
        Some(Losses {
            index: 0,
            signs: signs.collect(),
            prefix: self.prefix_text(request, options),
            source,
            symbols,
            numbers,
        })
    }

    /// Returns whether the protections `by` need a further search after the hypothesis `best` for
    /// `request`, because it is a loop or has lost a part.
    pub fn asks_again(&self, request: &TextRequest, best: &Hypothesis, by: Protections) -> bool {
        let is_loop = by.second_search && is_loop(request, best);
        let options = TranslateOptions::default();
        is_loop || by.keep_parts && self.lost_parts(request, &options, best).is_some()
    }

    /// The text of the forced prefix of `request`, without the token of a language.
    pub(super) fn prefix_text(&self, request: &TextRequest, options: &TranslateOptions) -> String {
        let skipped = options.languages.target.len();
        let ids = request.search.prefix.get(skipped..).unwrap_or_default();
        self.tokenizers.target.decode(ids)
    }

    /// `translation` of the sentence without its parts, with the parts restored by attention and
    /// without other placeholders. A forced prefix stays as it is.
    fn filled(&self, lost: &Losses, translation: &str) -> String {
        let gapped = lost.gapped();
        let from = end_of_prefix(&lost.prefix, translation);
        let links = self.links(&gapped.text, translation).unwrap_or_default();
        let text = gapped.fill_from(translation, &links, from).text;
        let mut added = added_placeholders(&lost.source, &text, &[]);
        added.retain(|(range, _)| range.start >= from);
        apply_edits(&text, &added)
    }

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
        let align = |text: &str| self.links(source, text).unwrap_or_default();
        let new = with_pairs(source, &text, align, end_of_prefix(prefix, &text))?;
        let scored = self.scored(request, &new, options)?;
        Some(Hypothesis {
            finish: hypothesis.finish,
            is_second: true,
            ..scored
        })
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
            .score_ids(from_ref(&request.search.source), from_ref(&tokens), options)
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

/// Returns the end of `prefix` in `translation`, which was forced to begin with it.
fn end_of_prefix(prefix: &str, translation: &str) -> usize {
    if translation.starts_with(prefix) {
        prefix.len()
    } else {
        0
    }
}

/// The number as a term, with each of its forms as a translation.
fn required(number: Number) -> Term {
    Term {
        source: number.text,
        targets: number.forms,
    }
}

/// Returns whether `text` is not empty and has no parts.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !may_have_parts(text)
}

/// A sentence with lost parts or invented placeholders in its translation.
pub(super) struct Losses {
    /// The index of the request.
    index: usize,
    source: String,
    /// The forced beginning of the translation.
    prefix: String,
    /// The symbols in `source` that words cannot replace: emoji, and all of them if some are unknown
    /// to the tokeniser.
    symbols: Vec<Range<usize>>,
    /// The first signs of invented placeholders.
    signs: String,
    /// The terms to search for if numbers alone are lost.
    numbers: Vec<Term>,
}

impl Losses {
    /// The sentence without its parts, except those that are in the prefix.
    fn gapped(&self) -> Cloze<'_> {
        let known = parts(&self.source)
            .into_iter()
            .filter(|part| part.kind != PartKind::Symbol);
        let mut all: Vec<_> = known
            .map(|part| part.range)
            .chain(self.symbols.clone())
            .collect();
        all.sort_by_key(|range| range.start);
        let mut in_prefix: HashMap<&str, usize> = HashMap::new();
        all.retain(|range| {
            let text = &self.source[range.clone()];
            let left = in_prefix
                .entry(text)
                .or_insert_with(|| self.prefix.matches(text).count());
            let is_there = *left > 0;
            *left = left.saturating_sub(1);
            !is_there
        });
        Cloze::without(&self.source, all.into_iter())
    }
}
