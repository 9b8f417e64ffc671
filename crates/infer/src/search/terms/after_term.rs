//! Terms in place of the words that they replace.
//!
//! If the translation without terms has another word for a term, its attention to the source finds
//! this word. The translation is kept up to it, then comes the term, and the search continues from
//! there. The result is compared with the rest of the translation without terms: after a term that
//! it did not expect, a model may produce unrelated text.

use std::ops::Range;

use super::{Phrase, Terms};
use crate::attention::{HeadWeights, MAX_LINKED_TOKENS};
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::model::StepModel;
use crate::search::Request;
use crate::settings::SearchSettings;

/// A search that continues after a term.
pub(crate) struct AfterTerm {
    /// The request with a prefix that ends with the term.
    pub request: Request,
    /// The tokens of the translation without the term after the word that it replaces, with
    /// `</s>`.
    rest: Vec<u32>,
}

impl AfterTerm {
    /// The hypotheses `found` for the request. The hypothesis with the old rest comes first if it
    /// is more probable, or if nothing was found.
    pub fn with_old_rest(
        &self,
        model: &dyn StepModel,
        mut found: Vec<Hypothesis>,
        settings: &SearchSettings,
    ) -> Vec<Hypothesis> {
        let prefix = self.request.prefix.len();
        let tokens = [&self.request.prefix[..], &self.rest].concat();
        let source = self.request.source_with_eos(model.special().eos);
        let scored = model.target_log_probs(&[&source], &[&tokens]).remove(0);
        let total = |log_probs: &[f32]| {
            log_probs
                .iter()
                .map(|&log_prob| f64::from(log_prob))
                .sum::<f64>()
        };
        let is_better = |best: &Hypothesis| {
            let better = total(&scored[prefix..]) > total(&best.log_probs[prefix..]);
            better && settings.no_repeat_ngram == 0
        };
        if found.first().is_none_or(is_better) {
            // Transformers takes forced tokens for certain: those of the prefix that was searched.
            let before = found.first().map_or(&scored[..], |best| &best.log_probs);
            let log_probs = [&before[..prefix], &scored[prefix..]].concat();
            let score = total(&log_probs) / settings.length_penalty.divisor(tokens.len());
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

/// The search for `request` that continues after `found`, a translation of it, up to the first word
/// that a missing term replaces, and the term. The first `fixed` tokens stay.
///
/// Without attention, the replaced word is the one at the term's relative position in the source;
/// if the position in the source is unknown, the term is put before the signs that end the
/// sentence. `None` if no term is missing.
pub(crate) fn after_term(
    model: &dyn StepModel,
    request: &Request,
    found: &Hypothesis,
    fixed: usize,
    settings: &SearchSettings,
) -> Option<AfterTerm> {
    let (terms, eos) = (&request.terms, model.special().eos);
    let tokens = found.tokens.strip_suffix(&[eos]).unwrap_or(&found.tokens);
    let missing = terms.missing(tokens);
    if missing.is_empty() || request.cancel.is_cancelled() {
        return None;
    }
    let fixed = fixed.max(request.prefix.len());
    let source = request.source_with_eos(eos);
    let words = Words::new(model, terms, &source, tokens, fixed);
    let replaced = |&term: &usize| (words.replaced(terms.spans.get(term)), term);
    let (word, term) = missing
        .iter()
        .map(replaced)
        .min_by_key(|(word, _)| word.start)?;
    // The terms that are not among the fixed tokens, and `</s>`, have to fit as well.
    let limit = request.limit(settings, model);
    let others = terms
        .missing(&tokens[..fixed])
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
    let fits = |phrase: &&Phrase| {
        let glued = start == fixed && phrase.tokens.first().is_some_and(|&id| terms.continues(id));
        let begins = terms.can_begin(phrase.begin, &tokens[..start]);
        begins && !glued && start + phrase.tokens.len() <= room
    };
    let phrases = terms.phrases[term].iter().filter(fits).collect();
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
    /// The index of the token before which a term stands that replaces no word.
    end: usize,
    /// The attention of the tokens to those of the source, where the model has any.
    weights: Option<HeadWeights>,
    /// The numbers of tokens of the source and of the translation.
    lengths: [usize; 2],
}

impl Words {
    /// The words of `tokens`, a translation of `source`, from the token `first` on.
    fn new(
        model: &dyn StepModel,
        terms: &Terms,
        source: &[u32],
        tokens: &[u32],
        first: usize,
    ) -> Self {
        let target = [tokens, &[model.special().eos]].concat();
        let is_short = source.len().max(target.len()) <= MAX_LINKED_TOKENS;
        let weights = is_short
            .then(|| model.cross_attention(source, &target))
            .flatten();
        let closing = terms
            .edges
            .as_deref()
            .map_or(&[][..], |edges| &edges.closing);
        let is_closing = |id: &&u32| closing.contains(id) && !terms.continues(**id);
        let signs = tokens[first..].iter().rev().take_while(is_closing).count();
        let (end, lengths) = (tokens.len() - signs, [source.len(), tokens.len()]);
        Self {
            words: words(terms, tokens, first),
            end,
            weights,
            lengths,
        }
    }

    /// The word that is replaced by the term whose source tokens are `span`. If there is no such
    /// word, the range is empty and lies before the end of the sentence.
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
    let continues = |position: usize| edges.is_some_and(|edges| edges.continues(tokens[position]));
    let in_word = |position: usize| {
        edges.is_none_or(|edges| {
            edges.is_open(tokens[position]) || edges.continues(tokens[position])
        })
    };
    let begins = (first..tokens.len()).filter(|&position| !continues(position));
    begins
        .map(|begin| {
            let end = (begin + 1..tokens.len()).find(|&position| !continues(position));
            begin..end.unwrap_or(tokens.len())
        })
        .filter(|word| word.clone().any(in_word))
        .collect()
}

/// The word that attends to the source tokens `span` most, by the mean of its tokens.
fn attending(
    weights: &HeadWeights,
    words: &[Range<usize>],
    span: &Range<usize>,
) -> Option<Range<usize>> {
    let share = |word: &Range<usize>| {
        let rows = word
            .clone()
            .filter_map(|query| weights.row(query).get(span.clone()));
        rows.flatten().sum::<f32>() / word.len() as f32
    };
    let shares = words.iter().map(|word| (share(word), word));
    let best = shares.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, word)| word.clone())
}

/// The one of `phrases` that the model finds most probable after `prefix`, as the search scores it.
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
    let target = |phrase: &&Phrase| [prefix, &phrase.tokens, &[eos]].concat();
    let targets: Vec<Vec<u32>> = phrases.iter().map(target).collect();
    let targets: Vec<&[u32]> = targets.iter().map(|target| &target[..]).collect();
    let scored = model.target_log_probs(&vec![&source[..]; targets.len()], &targets);
    let score = |(phrase, log_probs): (&Phrase, Vec<f32>)| {
        let of_phrase = &log_probs[prefix.len()..prefix.len() + phrase.tokens.len()];
        f64::from(of_phrase.iter().sum::<f32>()) / settings.length_penalty.divisor(of_phrase.len())
    };
    let scored = phrases
        .into_iter()
        .zip(scored)
        .map(|(phrase, scored)| (score((phrase, scored)), phrase));
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, phrase)| phrase)
}
