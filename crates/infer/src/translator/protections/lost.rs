//! The numbers, placeholders, addresses and symbols that a translation loses.

use std::collections::HashMap;
use std::ops::Range;

use burnformer_terminology::Term;
use burnformer_text::{
    Cloze, Number, Part, PartKind, added_placeholders, is_emoji, may_have_parts,
    missing_placeables, parts,
};
use rayon::prelude::*;

use super::Results;
use super::loops::is_loop;
use crate::generation::Protections;
use crate::hypothesis::Hypothesis;
use crate::translator::Translator;
use crate::translator::options::TranslateOptions;
use crate::translator::request::TextRequest;

/// A sentence with lost parts or invented placeholders in its translation.
pub(super) struct Losses {
    /// The index of the request.
    pub(super) index: usize,
    pub(super) source: String,
    /// The forced beginning of the translation.
    pub(super) prefix: String,
    /// The symbols in `source` that words cannot replace: emoji, and all of them if some are
    /// unknown to the tokeniser.
    pub(super) symbols: Vec<Range<usize>>,
    /// The first signs of invented placeholders.
    pub(super) signs: String,
    /// The terms to search for if numbers alone are lost.
    pub(super) numbers: Vec<Term>,
}

impl Losses {
    /// The sentence without its parts, except those that are in the prefix.
    pub(super) fn gapped(&self) -> Cloze<'_> {
        let known_parts = parts(&self.source)
            .into_iter()
            .filter(|part| part.kind != PartKind::Symbol);
        let mut all: Vec<_> = known_parts
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

impl Results<'_> {
    /// What the hypotheses for the request `index` lose: the best, or any of several samples.
    pub(super) fn lost_by(&self, index: usize) -> Option<Losses> {
        let request = &self.requests[index];
        let found = self.hypotheses.get(index)?;
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
        let pairs = self.hypotheses.par_iter_mut().zip(&self.requests);
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
}

impl Translator {
    /// The parts of the source of `request` that `found` loses, if any.
    pub(super) fn lost_parts(
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
        // Words can replace other symbols, such as currency signs.
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
