//! Beam search, greedy search and sampling over any [`StepModel`].

mod batch;
mod beam;
mod constraints;
mod context;
mod coverage;
mod error;
mod request;
mod rule;
mod sampling;
mod task;
mod terms;

pub use context::SearchContext;
pub use error::SentenceError;
pub use request::{Cancel, Request, Watch};
pub(crate) use request::{check, check_lengths, check_pairs, len_with_eos, with_eos};
pub use terms::{Edge, Phrase, Terms, WordEdges};

use std::borrow::Cow;

use burnformer_terminology::MAX_TERMS;

use crate::batching::{self, Batching, divide};
use crate::error::Result;
use crate::hypothesis::Hypothesis;
use crate::model::StepModel;
use crate::settings::SearchSettings;
use batch::search_batch;
use terms::{AfterTerm, after_term};

/// Translates `requests` and returns the best hypotheses of each, in the order of the requests.
///
/// A beam search returns up to [`n_best`](SearchSettings::n_best) different hypotheses of each
/// sentence, best first: hypotheses ended by the model, and if these are too few, hypotheses cut by
/// the length limit. The rules of transformers, Marian and CTranslate2
/// ([`BeamRule`](crate::BeamRule)) rank both together. A search returns at least one hypothesis, and
/// fewer than `n_best` only if the constraints allow no more. Sampling returns exactly `n_best`
/// hypotheses, best first; some may be equal.
///
/// Sentences of similar length are decoded together, which changes at most the last bits of scores
/// (see [`Batching`]). The translation of an empty source (no token but `</s>`) is its prefix, and
/// the model is not called without a prefix.
///
/// All hypotheses of a request with [terms](Request::terms) contain the terms. A term that the
/// model does not generate replaces the word with the most attention to its source tokens, and the
/// search continues after it; there may be fewer than `n_best` hypotheses then. The length limit is
/// raised by the tokens of the terms.
///
/// A [cancelled](Request::cancel) request leaves its batch before the next step with the empty
/// translation.
///
/// # Errors
/// Returns a [`SettingsError`](crate::SettingsError) if a setting is out of its range, and the
/// [`SentenceError`] of the first bad request, both before any computation. Returns
/// [`SentenceError::NotFinite`] if the model's output is NaN or infinite.
pub fn search(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    batching: &Batching,
) -> Result<Vec<Vec<Hypothesis>>> {
    search_counting(model, requests, settings, batching, &|_| ())
}

/// Like [`search`], but calls `done`, from any thread, with the number of further finished
/// requests.
pub(crate) fn search_counting(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    batching: &Batching,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Vec<Hypothesis>>> {
    settings.validate()?;
    batching.validate()?;
    check(model, requests, settings)?;
    if settings.coverage_penalty == 0.0 {
        return search_checked(model, requests, settings, batching, done);
    }
    let all_closed = SearchSettings {
        n_best: settings.width(),
        ..settings.clone()
    };
    let mut results = search_checked(model, requests, &all_closed, batching, done)?;
    coverage::rank(model, requests, settings, &mut results)?;
    Ok(results)
}

/// Searches for checked requests without the coverage penalty.
fn search_checked(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    batching: &Batching,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Vec<Hypothesis>>> {
    let eos = model.special().eos;
    let mut results = vec![empty_translations(settings); requests.len()];
    let searcher = Searcher {
        model,
        settings,
        batching,
    };
    let filled = (0..requests.len())
        .filter(|&index| !requests[index].is_empty(eos) || !requests[index].prefix.is_empty())
        .collect();
    let free = if requests.iter().any(|request| !request.terms.is_empty()) {
        requests.iter().map(Request::without_terms).collect()
    } else {
        Cow::Borrowed(requests)
    };
    searcher.decode(&free, filled, done, &mut results)?;
    searcher.put_terms_in_place(requests, &mut results)?;
    for (request, found) in requests.iter().zip(&mut results) {
        if request.cancel.is_cancelled() {
            *found = empty_translations(settings);
        }
    }
    Ok(results)
}

/// The widest search, in hypotheses per sentence, with batches as large as the settings allow.
/// Wider searches have smaller batches, because each hypothesis takes a row of logits and a cache.
const FULL_ROWS: usize = 16;

/// Searches with one model and one kind of settings.
struct Searcher<'a> {
    model: &'a dyn StepModel,
    settings: &'a SearchSettings,
    batching: &'a Batching,
}

impl Searcher<'_> {
    /// Searches again for the requests whose best hypothesis lacks terms, with each term in place
    /// of the word that it replaces, one after the other. Other hypotheses without all terms are
    /// left out.
    fn put_terms_in_place(
        &self,
        requests: &[Request],
        results: &mut [Vec<Hypothesis>],
    ) -> Result<()> {
        let Self {
            model, settings, ..
        } = *self;
        let with_terms: Vec<usize> = (0..requests.len())
            .filter(|&index| !requests[index].terms.is_empty())
            .collect();
        let mut fixed = vec![0; requests.len()];
        for round in 0..MAX_TERMS {
            let next = |&index: &usize| {
                let request = &requests[index];
                let best = &results[index][0];
                Some((
                    index,
                    after_term(model, request, best, fixed[index], settings)?,
                ))
            };
            let next: Vec<(usize, AfterTerm)> = with_terms.iter().filter_map(next).collect();
            if next.is_empty() {
                break;
            }
            let again: Vec<Request> = next.iter().map(|(_, next)| next.request.clone()).collect();
            let mut found = vec![Vec::new(); again.len()];
            if round < request::MAX_ROUNDS {
                self.decode(&again, (0..again.len()).collect(), &|_| (), &mut found)?;
            }
            for ((index, next), found) in next.into_iter().zip(found) {
                fixed[index] = next.request.prefix.len();
                results[index] = next.with_old_rest(model, found, settings);
            }
        }
        let eos = model.special().eos;
        for index in with_terms {
            results[index].retain(|found| {
                let tokens = found.tokens.strip_suffix(&[eos]).unwrap_or(&found.tokens);
                requests[index].terms.missing(tokens).is_empty()
            });
        }
        Ok(())
    }

    /// Writes the hypotheses of the requests at `indices` to `results`.
    fn decode(
        &self,
        requests: &[Request],
        indices: Vec<usize>,
        done: &(dyn Fn(usize) + Sync),
        results: &mut [Vec<Hypothesis>],
    ) -> Result<()> {
        let Self {
            model, settings, ..
        } = *self;
        let eos = model.special().eos;
        let sources: Vec<Vec<u32>> = requests.iter().map(|it| it.read_source(eos)).collect();
        let threads = model.parallelism();
        let mut parts = self.batches(indices, &sources);
        if let Some(threads) = threads {
            parts = divide(parts, threads);
        }
        batching::run(
            &parts,
            threads,
            |part: &[usize]| {
                let part_results = search_batch(model, requests, &sources, part, settings);
                part_results.inspect(|_| done(part.len()))
            },
            |found| {
                for (index, hypotheses) in found {
                    results[index] = hypotheses;
                }
            },
        )
    }

    /// Divides `indices` into batches, with fewer sentences for searches wider than [`FULL_ROWS`].
    fn batches(&self, indices: Vec<usize>, sources: &[Vec<u32>]) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = sources.iter().map(Vec::len).collect();
        let rows = self.settings.width();
        let Batching {
            max_sentences,
            max_tokens,
        } = *self.batching;
        let batching = Batching {
            max_sentences: share(max_sentences, rows),
            max_tokens: share(max_tokens, rows),
        };
        batching.group(indices, &lengths)
    }
}

/// The limit `most` of a batch for searches of `rows` hypotheses per sentence.
fn share(most: usize, rows: usize) -> usize {
    (most.saturating_mul(FULL_ROWS) / rows.max(FULL_ROWS)).max(1)
}

/// The result for an empty source without a prefix: one hypothesis, or the requested number of
/// samples.
fn empty_translations(settings: &SearchSettings) -> Vec<Hypothesis> {
    let count = if settings.sampling.is_some() {
        settings.n_best
    } else {
        1
    };
    vec![Hypothesis::default(); count]
}

#[cfg(test)]
mod tests;
