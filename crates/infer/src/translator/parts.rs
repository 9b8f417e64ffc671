//! Preservation of numbers, placeholders and addresses.

use std::ops::Range;
use std::slice::from_ref;

use burnformer_terminology::{Term, longest};
use burnformer_text::{
    Cloze, Number, PartKind, added_placeholders, apply_edits, may_have_parts, missing_placeables,
    parts,
};
use rayon::prelude::*;

use super::load::Translator;
use super::options::TranslateOptions;
use super::results::{Results, is_loop, sort};
use super::score::TargetScore;
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::search::{Request, Terms, check};
use crate::settings::SearchSettings;

/// The largest number of constraints in the second search, which bounds its cost.
const MAX_PARTS: usize = 24;
/// The largest number of further searches for a sentence: one per part, and one for parts at unknown
/// positions.
const MAX_SEARCHES: usize = 9;

impl Results<'_> {
    /// Searches again for a request if its best hypothesis changes a number, loses a placeholder or
    /// an address, or invents a placeholder. The first of these searches has the numbers as terms.
    /// The second translates the sentence without numbers, placeholders and addresses, and restores
    /// them by attention. If both fail, the hypotheses stay.
    pub(super) fn keep_parts(&mut self) {
        let Self {
            translator,
            requests,
            options,
            ..
        } = *self;
        if !options.search.keep_parts || options.search.sampling.is_some() {
            return;
        }
        let again = |(index, found): (usize, &Vec<Hypothesis>)| {
            let request = requests
                .get(index)
                .filter(|request| !request.cancel.is_cancelled())?;
            Some(Losses {
                index,
                ..translator.lost_parts(request, options.languages.source.len(), &found[0])?
            })
        };
        let again: Vec<Losses> = self.all.par_iter().enumerate().filter_map(again).collect();
        let again = self.keep_by(
            again,
            |sentence: &Losses| {
                translator.with_parts(&requests[sentence.index], sentence.numbers.clone())
            },
            |_, text| text,
        );
        let gapped = |sentence: &Losses| {
            let Request {
                terms,
                prefix,
                shortlist,
                ..
            } = &requests[sentence.index];
            // Required words have their places in the whole sentence.
            if !terms.phrases.is_empty() || !prefix.is_empty() {
                return None;
            }
            let text = sentence.gapped().text;
            let source = translator.tokenizers.source.encode(&text);
            let source = [&options.languages.source[..], &source].concat();
            // The invented placeholders must not begin again.
            let is_free = |id: &u32| {
                let token = translator.tokenizers.target.decode(&[*id]);
                !token.contains(|c| sentence.signs.contains(c) && !text.contains(c))
            };
            let all = 0..translator.model.target_vocab() as u32;
            let mut shortlist = shortlist.clone();
            if !sentence.signs.is_empty() {
                shortlist
                    .get_or_insert_with(|| all.collect())
                    .retain(is_free);
            }
            let terms = Terms::default();
            Some(Request {
                terms,
                source,
                text,
                shortlist,
                ..requests[sentence.index].clone()
            })
        };
        self.keep_by(again, gapped, |sentence, text| {
            translator.filled(sentence, &text)
        });
    }

    /// Rewrites amounts in all hypotheses in the number format of the target language.
    pub(super) fn write_amounts(&mut self) {
        let Self {
            translator,
            requests,
            options,
            ..
        } = *self;
        let writing = options
            .languages
            .writing()
            .filter(|_| options.search.keep_parts);
        let Some(writing) = writing.filter(|_| options.search.sampling.is_none()) else {
            return;
        };
        self.all
            .par_iter_mut()
            .zip(requests)
            .for_each(|(found, request)| {
                let source = translator.source_text(request, options.languages.source.len());
                let is_whole =
                    |hypothesis: &&mut Hypothesis| hypothesis.finish == FinishReason::EndOfSentence;
                for hypothesis in found.iter_mut().filter(is_whole) {
                    let is_uppercased = std::mem::take(&mut hypothesis.is_uppercased);
                    let text = translator.text_of(hypothesis);
                    hypothesis.is_uppercased = is_uppercased;
                    let changes = writing.changes(&source, &text);
                    let text = (!changes.is_empty()).then(|| apply_edits(&text, &changes));
                    if let Some(new) =
                        text.and_then(|text| translator.scored(request, &text, options))
                    {
                        let score = if is_uppercased {
                            hypothesis.score
                        } else {
                            new.score
                        };
                        let Hypothesis { is_second, .. } = *hypothesis;
                        *hypothesis = Hypothesis {
                            score,
                            is_second,
                            is_uppercased,
                            ..new
                        };
                    }
                }
                sort(&mut found[1..]);
            });
    }

    /// Searches for the request `ask` of each sentence in `again`, and takes the text `write` of its
    /// translation if nothing is lost in it. Returns the other sentences.
    fn keep_by(
        &mut self,
        again: Vec<Losses>,
        ask: impl Fn(&Losses) -> Option<Request> + Sync,
        write: impl Fn(&Losses, String) -> String + Sync,
    ) -> Vec<Losses> {
        let Self {
            translator,
            requests,
            options,
            ..
        } = *self;
        let model = &*translator.model;
        let settings = &options.search;
        let (asked, mut rest): (Vec<_>, Vec<_>) = again
            .into_par_iter()
            .map(|sentence| {
                (
                    ask(&sentence)
                        .filter(|request| check(model, from_ref(request), settings).is_ok()),
                    sentence,
                )
            })
            .partition(|(request, _)| request.is_some());
        let asks: Vec<Request> = asked
            .iter()
            .filter_map(|(request, _)| request.clone())
            .collect();
        let mut found = self.again(&asks, settings).all;
        translator.copy_unknown(&asks, &mut found);
        let mut found = found.into_iter();
        for (_, sentence) in asked {
            let Some(found) = found.next() else { break };
            let request = &requests[sentence.index];
            let mut kept = found.into_iter().map(|hypothesis| {
                let first = translator.text_of(&hypothesis);
                let text = write(&sentence, first.clone());
                match missing_placeables(&sentence.source, &sentence.symbols, &text) {
                    None if text == first => Some(hypothesis),
                    None => translator.scored(request, &text, options),
                    Some(_) => None,
                }
            });
            let Some(best) = kept.next().flatten() else {
                rest.push((None, sentence));
                continue;
            };
            // The first translation is also the best in a longer list.
            let mut others: Vec<Hypothesis> = kept
                .flatten()
                .filter(|other| other.score <= best.score)
                .collect();
            others.sort_by(|a, b| b.score.total_cmp(&a.score));
            let mut found = [vec![best], others].concat();
            found
                .iter_mut()
                .for_each(|hypothesis| hypothesis.is_second = true);
            self.all[sentence.index] = found;
        }
        rest.into_iter().map(|(_, sentence)| sentence).collect()
    }
}

impl Translator {
    /// The number of further searches to keep the numbers and placeholders of `source`.
    pub(super) fn searches_for_parts(&self, source: &str, options: &TranslateOptions) -> usize {
        options
            .search
            .keep_parts
            .then_some(())
            .map_or(0, |_| (1 + parts(source).len()).min(MAX_SEARCHES))
    }

    /// The parts of the source of `request`, after its first `skipped` tokens, if `best` has lost
    /// some.
    fn lost_parts(&self, request: &Request, skipped: usize, best: &Hypothesis) -> Option<Losses> {
        let is_known = self.unknown_texts(request).is_empty();
        let text = self.text_of(best);
        if is_known && is_plain(&request.text) && is_plain(&text) {
            return None;
        }
        let source = self.source_text(request, skipped);
        let all = if is_known { Vec::new() } else { parts(&source) };
        let symbols = all.into_iter().filter(|part| part.kind == PartKind::Symbol);
        let symbols: Vec<_> = symbols.map(|part| part.range).collect();
        let numbers = missing_placeables(&source, &symbols, &text)?;
        let numbers = numbers.into_iter().map(required).collect();
        let signs = added_placeholders(&source, &text, &[]).into_iter();
        let signs = signs.filter_map(|(it, _)| text[it].trim_start().chars().next());
        Some(Losses {
            index: 0,
            signs: signs.collect(),
            source,
            symbols,
            numbers,
        })
    }

    /// Returns whether the settings `by` need a further search after the hypothesis `best` for
    /// `request`, because it is a loop or has lost a part.
    pub fn asks_again(&self, request: &Request, best: &Hypothesis, by: &SearchSettings) -> bool {
        by.second_search && is_loop(request, best)
            || by.keep_parts && self.lost_parts(request, 0, best).is_some()
    }

    /// `translation` of the sentence without its parts, with the parts restored by attention and
    /// without other placeholders.
    fn filled(&self, lost: &Losses, translation: &str) -> String {
        let gapped = lost.gapped();
        let links = self.links(&gapped.text, translation).unwrap_or_default();
        let text = gapped.fill(translation, &links).text;
        apply_edits(&text, &added_placeholders(&lost.source, &text, &[]))
    }

    /// `text` as a translation of `request`.
    fn scored(
        &self,
        request: &Request,
        text: &str,
        options: &TranslateOptions,
    ) -> Option<Hypothesis> {
        let tokens = self.tokenizers.target.encode(text);
        let tokens = [&options.languages.target[..], &tokens].concat();
        let all = self
            .score_ids(from_ref(&request.source), from_ref(&tokens), options)
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
    fn with_parts(&self, request: &Request, mut wanted: Vec<Term>) -> Option<Request> {
        wanted.truncate(MAX_PARTS);
        let Terms {
            phrases,
            spans,
            edges,
            left_out,
        } = self.terms(&longest(wanted), &request.source).ok()?;
        if phrases.is_empty() {
            return None;
        }
        let mut terms = request.terms.clone();
        terms.spans.resize(terms.phrases.len(), 0..0);
        terms.phrases.extend(phrases);
        terms.spans.extend(spans);
        (terms.edges, terms.left_out) = (edges, terms.left_out + left_out);
        Some(Request {
            terms,
            ..request.clone()
        })
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
    /// The symbols in `source`, if some are unknown to the tokeniser: the model cannot replace an
    /// unknown symbol by words.
    symbols: Vec<Range<usize>>,
    /// The first signs of invented placeholders.
    signs: String,
    /// The terms to search for if numbers alone are lost.
    numbers: Vec<Term>,
}

impl Losses {
    /// The sentence without its parts.
    fn gapped(&self) -> Cloze<'_> {
        let known = parts(&self.source)
            .into_iter()
            .filter(|part| part.kind != PartKind::Symbol);
        let mut all: Vec<_> = known
            .map(|part| part.range)
            .chain(self.symbols.clone())
            .collect();
        all.sort_by_key(|range| range.start);
        Cloze::without(&self.source, all.into_iter())
    }
}
