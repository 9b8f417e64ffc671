//! Terms in the place of the words that they replace.
//!
//! Where the translation without terms has another word for a term, its attention to the source
//! tells which word that is. Up to that word the translation is kept, then comes the term, and the
//! search goes on from there. Its result is compared with the rest of the translation without
//! terms: after a term that it did not expect, a model may lose its way.

use std::ops::Range;

use super::tracker::Tracker;
use super::{Phrase, Terms};
use crate::attention::{HeadWeights, MOST_LINKED};
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::model::StepModel;
use crate::search::Request;
use crate::settings::SearchSettings;

/// A search that goes on after a term.
pub(crate) struct AfterTerm {
    /// The request without its terms, whose prefix ends with the term.
    pub request: Request,
    /// What the translation without the term has after the word that it replaces, with `</s>`.
    rest: Vec<u32>,
}

impl AfterTerm {
    /// The hypotheses `found` for the request, after the one with the old rest if that is more
    /// probable.
    pub fn with_old_rest(
        &self,
        model: &dyn StepModel,
        mut found: Vec<Hypothesis>,
        settings: &SearchSettings,
    ) -> Vec<Hypothesis> {
        let prefix = self.request.prefix.len();
        let tokens = [&self.request.prefix[..], &self.rest].concat();
        let source = self.request.closed(model.special().eos);
        let scored = model.force(&[&source], &[&tokens]).remove(0);
        let total = |log_probs: &[f32]| log_probs.iter().map(|&own| f64::from(own)).sum::<f64>();
        let better = total(&scored[prefix..]) > total(&found[0].log_probs[prefix..]);
        if better && settings.no_repeat_ngram == 0 {
            let log_probs = [&found[0].log_probs[..prefix], &scored[prefix..]].concat();
            let score = total(&log_probs) / settings.length_penalty.divisor(tokens.len());
            found.retain(|own| own.tokens != tokens);
            let finish = FinishReason::EndOfSentence;
            found.insert(0, Hypothesis { tokens, log_probs, score, finish, ..Hypothesis::empty() });
            found.truncate(settings.n_best);
        }
        found
    }
}

/// The search for `request` that goes on after `found`, a translation of it, up to the first word
/// that a missing term replaces, and the term. The first `fixed` tokens stay.
///
/// `None` if no term is missing, if the model has no attention to go by or a side has more than
/// [`MOST_LINKED`] tokens, or the source tokens of the missing terms are not known.
pub(crate) fn after_term(
    model: &dyn StepModel,
    request: &Request,
    found: &Hypothesis,
    fixed: usize,
    settings: &SearchSettings,
) -> Option<AfterTerm> {
    let (_, tokens) = found.tokens.split_last()?;
    let places = &request.terms.places;
    let tracker = Tracker::new(&request.terms)?;
    let missing = tracker.missing(tracker.along(tokens)).into_iter();
    let known: Vec<usize> =
        missing.filter(|&term| places.get(term).is_some_and(|place| !place.is_empty())).collect();
    if known.is_empty() || found.finish != FinishReason::EndOfSentence {
        return None;
    }
    let source = request.closed(model.special().eos);
    if source.len().max(found.tokens.len()) > MOST_LINKED {
        return None;
    }
    let attention = model.attention(&source, &found.tokens)?;
    let weights = HeadWeights::mean(attention.cross.last()?);
    let words = words(&request.terms, tokens, fixed.max(request.prefix.len()));
    let word = |&term: &usize| Some((replaced(&weights, &words, &places[term])?, term));
    let (word, term) = known.iter().filter_map(word).min_by_key(|(word, _)| word.start)?;
    let phrase = likeliest(model, request, &tokens[..word.start], term, settings)?;
    let prefix = [&tokens[..word.start], &phrase.tokens].concat();
    let prefix_edges = request.terms.edges.clone();
    let request = Request { prefix, prefix_edges, ..request.without_terms() };
    Some(AfterTerm { request, rest: found.tokens[word.end..].to_vec() })
}

/// The words of `tokens` from `first` on; signs are none.
fn words(terms: &Terms, tokens: &[u32], first: usize) -> Vec<Range<usize>> {
    let edges = terms.edges.as_deref();
    let continues = |place: usize| edges.is_some_and(|edges| edges.continues(tokens[place]));
    let in_word = |place: usize| {
        edges.is_none_or(|edges| edges.is_open(tokens[place]) || edges.continues(tokens[place]))
    };
    let begins = (first..tokens.len()).filter(|&place| !continues(place));
    begins
        .map(|begin| {
            let end = (begin + 1..tokens.len()).find(|&place| !continues(place));
            begin..end.unwrap_or(tokens.len())
        })
        .filter(|word| word.clone().any(in_word))
        .collect()
}

/// The word that attends to the source tokens `place` most, by the mean of its tokens.
fn replaced(
    weights: &HeadWeights,
    words: &[Range<usize>],
    place: &Range<usize>,
) -> Option<Range<usize>> {
    let share = |word: &Range<usize>| {
        let rows = word.clone().filter_map(|query| weights.row(query).get(place.clone()));
        rows.flatten().sum::<f32>() / word.len() as f32
    };
    let shares = words.iter().map(|word| (share(word), word));
    let best = shares.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, word)| word.clone())
}

/// The phrase of `term` that the model finds most probable after `prefix`, as the search scores it.
fn likeliest<'a>(
    model: &dyn StepModel,
    request: &'a Request,
    prefix: &[u32],
    term: usize,
    settings: &SearchSettings,
) -> Option<&'a Phrase> {
    let eos = model.special().eos;
    let fits = |phrase: &&Phrase| request.terms.can_begin(phrase.begin, prefix);
    let phrases: Vec<&Phrase> = request.terms.phrases[term].iter().filter(fits).collect();
    if phrases.len() < 2 {
        return phrases.first().copied();
    }
    let source = request.closed(eos);
    let target = |phrase: &&Phrase| [prefix, &phrase.tokens, &[eos]].concat();
    let targets: Vec<Vec<u32>> = phrases.iter().map(target).collect();
    let targets: Vec<&[u32]> = targets.iter().map(|target| &target[..]).collect();
    let scored = model.force(&vec![&source[..]; targets.len()], &targets);
    let score = |(phrase, log_probs): (&Phrase, Vec<f32>)| {
        let own = &log_probs[prefix.len()..prefix.len() + phrase.tokens.len()];
        f64::from(own.iter().sum::<f32>()) / settings.length_penalty.divisor(own.len())
    };
    let scored = phrases.into_iter().zip(scored).map(|(own, scored)| (score((own, scored)), own));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, phrase)| phrase)
}
