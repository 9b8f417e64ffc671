//! Replacement of words by terms.
//!
//! If the translation without terms has another word for a term, attention to the source finds this
//! word. The translation is kept up to it, then comes the term, and the search continues from
//! there. The result is compared with the rest of the translation without terms: after an
//! unexpected term, a model may produce unrelated text.

use std::ops::Range;

use super::{Phrase, Terms};
use crate::attention::{HeadWeights, MAX_LINKED_TOKENS};
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::model::StepModel;
use crate::search::Request;
use crate::settings::SearchSettings;

/// A search that continues after a term.
pub(crate) struct AfterTerm {
    /// The request. Its prefix ends with the term.
    pub request: Request,
    /// The tokens of the translation without the term, after the replaced word, with `</s>`.
    rest: Vec<u32>,
}

impl AfterTerm {
    /// The hypotheses `found` for the request, after the hypothesis with the old rest if that is
    /// more probable or nothing was found.
    pub fn with_old_rest(
        &self,
        model: &dyn StepModel,
        mut found: Vec<Hypothesis>,
        settings: &SearchSettings,
    ) -> Vec<Hypothesis> {
        let prefix = self.request.prefix.len();
        let tokens = [&self.request.prefix[..], &self.rest].concat();
        let source = self.request.source_with_eos(model.special().eos);
        let context = &self.request.context;
        let scored = context.target_log_probs(model, &source, &[&tokens]);
        let scored = &scored[0];
        let is_better = found.first().is_none_or(|best| {
            let better = total(&scored[prefix..]) > total(&best.log_probs[prefix..]);
            better && settings.no_repeat_ngram == 0
        });
        if is_better {
            // The forced tokens of the prefix have probability 1 in transformers.
            let before = found.first().map_or(scored, |best| &best.log_probs);
            let log_probs = [&before[..prefix], &scored[prefix..]].concat();
            let score = settings.score(total(&log_probs), tokens.len());
            let finish = FinishReason::EndOfSentence;
            found.retain(|hypothesis| {
                let is_better = hypothesis.finish == finish && hypothesis.score > score;
                hypothesis.tokens != tokens && !is_better
            });
            found.insert(
                0,
                Hypothesis {
                    tokens,
                    log_probs,
                    score,
                    finish,
                    ..Hypothesis::default()
                },
            );
            found.truncate(settings.n_best);
        }
        found
    }
}

/// The sum of `log_probs` in float64.
fn total(log_probs: &[f32]) -> f64 {
    log_probs.iter().map(|&log_prob| f64::from(log_prob)).sum()
}

/// The continued search for `request`: its prefix is the translation `found` up to the first word
/// that a missing term replaces, and the term. The first `fixed` tokens stay.
///
/// Without attention, the replaced word is at the term's relative position in the source. If this
/// position is unknown, the term goes before the signs that end the sentence. `None` if no term is
/// missing.
pub(crate) fn after_term(
    model: &dyn StepModel,
    request: &Request,
    found: &Hypothesis,
    fixed: usize,
    settings: &SearchSettings,
) -> Option<AfterTerm> {
    let terms = &request.terms;
    let eos = model.special().eos;
    let tokens = found.tokens.strip_suffix(&[eos]).unwrap_or(&found.tokens);
    let missing = terms.missing(tokens);
    if missing.is_empty() || request.cancel.is_cancelled() {
        return None;
    }
    let fixed = fixed.max(request.prefix.len());
    let source = request.source_with_eos(eos);
    let words = Words::new(model, request, &source, tokens, fixed);
    let (word, term) = missing
        .iter()
        .map(|&term| (words.replaced(terms.spans.get(term)), term))
        .min_by_key(|(word, _)| word.start)?;
    // The terms outside of the fixed tokens and `</s>` must fit as well.
    let limit = request.limit(settings, model);
    let others = terms
        .missing_before(fixed, tokens)
        .into_iter()
        .filter(|&other| other != term);
    let others: usize = others
        .filter_map(|other| terms.cost(&terms.phrases[other]))
        .sum();
    let room = limit.saturating_sub(others + 1);
    let start = room
        .saturating_sub(terms.cost(&terms.phrases[term])?)
        .min(word.start)
        .max(fixed);
    let phrases = terms.phrases[term]
        .iter()
        .filter(|phrase| {
            let glued =
                start == fixed && phrase.tokens.first().is_some_and(|&id| terms.continues(id));
            let begins = terms.can_begin(phrase.begin, &tokens[..start]);
            begins && !glued && start + phrase.tokens.len() <= room
        })
        .collect();
    let phrase = likeliest(model, request, &tokens[..start], phrases, settings)?;
    let prefix = [&tokens[..start], &phrase.tokens].concat();
    let mut rest = tokens[word.end..].to_vec();
    rest.truncate(limit.saturating_sub(prefix.len() + 1));
    rest.push(eos);
    let prefix_edges = terms.edges.clone();
    Some(AfterTerm {
        request: Request {
            prefix,
            prefix_edges,
            ..request.clone()
        },
        rest,
    })
}

/// The words of a translation that terms can replace.
struct Words {
    words: Vec<Range<usize>>,
    /// The index of a term that replaces no word.
    end: usize,
    /// The attention of the tokens to the source tokens, if the model has attention.
    weights: Option<HeadWeights>,
    /// The numbers of tokens of the source and of the translation.
    lengths: [usize; 2],
}

impl Words {
    /// The words of `tokens`, a translation of `source` for `request`, from the token `first` on.
    fn new(
        model: &dyn StepModel,
        request: &Request,
        source: &[u32],
        tokens: &[u32],
        first: usize,
    ) -> Self {
        let terms = &request.terms;
        let target = [tokens, &[model.special().eos]].concat();
        let is_short = source.len().max(target.len()) <= MAX_LINKED_TOKENS;
        let weights = is_short
            .then(|| request.context.cross_attention(model, source, &target))
            .flatten();
        let closing = terms
            .edges
            .as_deref()
            .map_or(&[][..], |edges| &edges.closing);
        let signs = tokens[first..]
            .iter()
            .rev()
            .take_while(|id| closing.contains(id) && !terms.continues(**id))
            .count();
        let end = tokens.len() - signs;
        let lengths = [source.len(), tokens.len()];
        Self {
            words: words(terms, tokens, first),
            end,
            weights,
            lengths,
        }
    }

    /// The word to replace by the term with the source tokens `span`. Without such a word, the
    /// range is empty, before the end of the sentence.
    fn replaced(&self, span: Option<&Range<usize>>) -> Range<usize> {
        let Some(span) = span.filter(|span| !span.is_empty()) else {
            return self.end..self.end;
        };
        let word = match &self.weights {
            Some(weights) => attending(weights, &self.words, span),
            None => {
                let [source, target] = self.lengths;
                let expected = span.start * target / source;
                self.words
                    .iter()
                    .min_by_key(|word| word.start.abs_diff(expected))
                    .cloned()
            }
        };
        word.unwrap_or(self.end..self.end)
    }
}

/// The words of `tokens` from `first` on, without punctuation.
fn words(terms: &Terms, tokens: &[u32], first: usize) -> Vec<Range<usize>> {
    let edges = terms.edges.as_deref();
    let mut begins: Vec<usize> = (first..tokens.len())
        .filter(|&position| edges.is_none_or(|edges| !edges.continues(tokens[position])))
        .collect();
    begins.push(tokens.len());
    begins
        .windows(2)
        .map(|bounds| bounds[0]..bounds[1])
        .filter(|word| {
            tokens[word.clone()].iter().any(|&token| {
                edges.is_none_or(|edges| edges.is_open(token) || edges.continues(token))
            })
        })
        .collect()
}

/// The word with the most attention to the source tokens `span`, as a mean over its tokens.
fn attending(
    weights: &HeadWeights,
    words: &[Range<usize>],
    span: &Range<usize>,
) -> Option<Range<usize>> {
    let mut best: Option<(f32, &Range<usize>)> = None;
    for word in words {
        let rows = word
            .clone()
            .filter_map(|query| weights.row(query).get(span.clone()));
        let share = rows.flatten().sum::<f32>() / word.len() as f32;
        if best.is_none_or(|best| share > best.0) {
            best = Some((share, word));
        }
    }
    best.map(|(_, word)| word.clone())
}

/// The phrase with the highest score after `prefix`.
fn likeliest<'a>(
    model: &dyn StepModel,
    request: &Request,
    prefix: &[u32],
    phrases: Vec<&'a Phrase>,
    settings: &SearchSettings,
) -> Option<&'a Phrase> {
    if phrases.len() < 2 {
        return phrases.first().copied();
    }
    let eos = model.special().eos;
    let source = request.source_with_eos(eos);
    let targets: Vec<Vec<u32>> = phrases
        .iter()
        .map(|phrase| [prefix, &phrase.tokens, &[eos]].concat())
        .collect();
    let targets: Vec<&[u32]> = targets.iter().map(|target| &target[..]).collect();
    let log_probs = request.context.target_log_probs(model, &source, &targets);
    let scored = phrases.into_iter().zip(log_probs).map(|(phrase, scored)| {
        let phrase_log_probs = &scored[prefix.len()..prefix.len() + phrase.tokens.len()];
        let total = f64::from(phrase_log_probs.iter().sum::<f32>());
        (settings.score(total, phrase_log_probs.len()), phrase)
    });
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, phrase)| phrase)
}
