//! Beam search, greedy search and sampling over any [`StepModel`].

mod choices;
mod constraint;
mod parallel;
mod request;
mod sample;
mod sentence;
mod terms;

pub(crate) use request::check;
pub use request::{Cancel, Request};
pub use terms::{Edge, Phrase, Terms, WordEdges};

use std::collections::BTreeMap;

use crate::batching::Batching;
use crate::error::InferError;
use crate::hypothesis::Hypothesis;
use crate::model::{Decoding, StepModel};
use crate::settings::SearchSettings;
use choices::Choices;
use sentence::Sentence;
use terms::{Placed, behind, is_complete, placed, without_terms};

/// The most terms of a sentence that are put in their places one after the other: each takes a search.
const MOST_ROUNDS: usize = 8;

/// Translates `requests`: the best hypotheses of each, in the order of the requests.
///
/// A beam search returns up to [`n_best`](SearchSettings::n_best) different hypotheses of each sentence: first those
/// that the model ended, best first; then, if these are too few, those that the length limit cut, best first. It
/// returns fewer only if the constraints allow no more, and never none. Sampling returns exactly `n_best` hypotheses,
/// best first, some of which may be equal.
///
/// Sentences of similar length are decoded together, which changes no result. A source with no tokens but `</s>` is
/// translated by its prefix alone. Without a prefix that is the empty translation, and the model is not called.
///
/// The hypotheses of a request with [terms](Request::terms) contain all of them, also those that the limit cuts. If they
/// do not by themselves, a term is put in the place of the word that attends to its source tokens most, and the search goes
/// on after it; it may find fewer than `n_best`. If the source tokens are not known, or the model has no attention, there is
/// another search, whose beam is wider: at least twice `beam_size`, and wide enough for each token of the terms. Its length
/// limit is raised by the tokens that the terms need.
///
/// A request that is [cancelled](Request::cancel) leaves its batch before the next step and gets the empty translation.
///
/// # Errors
/// [`InferError::Setting`], [`InferError::UnknownId`], [`InferError::SourceTooLong`],
/// [`InferError::PrefixTooLong`], [`InferError::PrefixToken`], [`InferError::Terms`],
/// [`InferError::TermsTooLong`], before anything is computed;
/// [`InferError::NotFinite`] if the model's output is NaN or infinite.
pub fn search(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    batching: &Batching,
) -> Result<Vec<Vec<Hypothesis>>, InferError> {
    search_counting(model, requests, settings, batching, &|_| ())
}

/// What [`search`] does; calls `done` from any thread with the number of further requests whose search has ended.
pub(crate) fn search_counting(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    batching: &Batching,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Vec<Hypothesis>>, InferError> {
    settings.validate()?;
    batching.validate()?;
    check(model, requests, settings)?;
    let eos = model.special().eos;
    let mut results = vec![empty_translations(settings); requests.len()];
    let asks = |request: &Request| !request.is_empty(eos) || !request.prefix.is_empty();
    let filled = (0..requests.len()).filter(|&place| asks(&requests[place])).collect();
    decode(model, &without_terms(requests), filled, settings, batching, done, &mut results)?;
    search_for_terms(model, requests, settings, batching, &mut results)?;
    for (request, found) in requests.iter().zip(&mut results) {
        if request.cancel.is_cancelled() {
            *found = empty_translations(settings);
        }
    }
    Ok(results)
}

/// Searches again, with terms, for the requests whose `results` do not have them.
fn search_for_terms(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    batching: &Batching,
    results: &mut [Vec<Hypothesis>],
) -> Result<(), InferError> {
    put_terms_in_place(model, requests, settings, batching, results)?;
    let complete = |place: usize, count| {
        results[place].iter().take(count).all(|own| is_complete(&requests[place], own))
    };
    let missing: Vec<usize> =
        (0..requests.len()).filter(|&place| !complete(place, settings.n_best)).collect();
    let first: Vec<Option<Hypothesis>> = missing
        .iter()
        .map(|&place| complete(place, 1).then(|| results[place][0].clone()))
        .collect();
    decode(model, requests, missing.clone(), settings, batching, &|_| (), results)?;
    for (place, best) in missing.into_iter().zip(first) {
        if let Some(best) = best {
            results[place] = behind(best, std::mem::take(&mut results[place]), settings.n_best);
        }
    }
    Ok(())
}

/// Searches again for the requests whose best hypothesis lacks terms, with each term in the place of the word that it
/// replaces, one after the other. What cannot be done so stays without terms.
fn put_terms_in_place(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    batching: &Batching,
    results: &mut [Vec<Hypothesis>],
) -> Result<(), InferError> {
    let mut fixed = vec![0; requests.len()];
    for _ in 0..MOST_ROUNDS {
        let next = |place: usize| {
            let (request, found) = (&requests[place], &results[place][0]);
            Some((place, placed(model, request, found, fixed[place], settings)?))
        };
        let placed: Vec<(usize, Placed)> = (0..requests.len()).filter_map(next).collect();
        let own: Vec<Request> = placed.iter().map(|(_, placed)| placed.request.clone()).collect();
        let mut found = vec![Vec::new(); own.len()];
        decode(model, &own, (0..own.len()).collect(), settings, batching, &|_| (), &mut found)?;
        for ((place, placed), found) in placed.into_iter().zip(found) {
            fixed[place] = placed.request.prefix.len();
            let mut found = placed.with_old_rest(model, found, settings);
            if is_complete(&requests[place], &found[0]) {
                found.retain(|own| is_complete(&requests[place], own));
            }
            results[place] = found;
        }
    }
    Ok(())
}

/// Writes the hypotheses of the requests at `places` to `results`.
fn decode(
    model: &dyn StepModel,
    requests: &[Request],
    places: Vec<usize>,
    settings: &SearchSettings,
    batching: &Batching,
    done: &(dyn Fn(usize) + Sync),
    results: &mut [Vec<Hypothesis>],
) -> Result<(), InferError> {
    let eos = model.special().eos;
    let sources: Vec<Vec<u32>> = requests.iter().map(|request| request.closed(eos)).collect();
    let lengths: Vec<usize> = sources.iter().map(|source| source.len()).collect();
    let threads = model.parallelism();
    let batches = batches(requests, places, &lengths, settings, batching);
    let parts = parallel::divide(batches, threads.unwrap_or(1));
    let work = |part: &[usize]| {
        let found = search_batch(model, requests, &sources, part, settings);
        found.inspect(|_| done(part.len()))
    };
    parallel::run(&parts, threads, work, |found| {
        for (place, hypotheses) in found {
            results[place] = hypotheses;
        }
    })
}

/// The widest search, in hypotheses per sentence, whose batches are as large as the settings allow. Each hypothesis takes a
/// row of logits and a cache, so that the memory of wider searches is that of this one.
const FULL_ROWS: usize = 16;

/// Divides `places` into batches of requests whose searches are equally wide, so that a wide one does not make others
/// compute rows that they do not need. Batches of searches wider than [`FULL_ROWS`] have fewer sentences.
fn batches(
    requests: &[Request],
    places: Vec<usize>,
    lengths: &[usize],
    settings: &SearchSettings,
    batching: &Batching,
) -> Vec<Vec<usize>> {
    let mut by_rows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in places {
        by_rows.entry(requests[place].rows(settings)).or_default().push(place);
    }
    let group = |(rows, places): (usize, Vec<usize>)| {
        let share = |most: usize| (most.saturating_mul(FULL_ROWS) / rows.max(FULL_ROWS)).max(1);
        let Batching { max_sentences, max_tokens } = *batching;
        let batching =
            Batching { max_sentences: share(max_sentences), max_tokens: share(max_tokens) };
        batching.group(places, lengths)
    };
    by_rows.into_iter().flat_map(group).collect()
}

/// The result for an empty source without a prefix: one hypothesis, or the requested number of samples.
fn empty_translations(settings: &SearchSettings) -> Vec<Hypothesis> {
    let count = if settings.sampling.is_some() { settings.n_best } else { 1 };
    vec![Hypothesis::empty(); count]
}

/// Decodes the sentences at `places` together. Finished sentences leave the batch.
fn search_batch(
    model: &dyn StepModel,
    requests: &[Request],
    sources: &[Vec<u32>],
    places: &[usize],
    settings: &SearchSettings,
) -> Result<Vec<(usize, Vec<Hypothesis>)>, InferError> {
    let (vocab, special) = (model.target_vocab(), model.special());
    let begin = |&place: &usize| {
        let request = &requests[place];
        let choices = Choices::of(request, special, vocab);
        Sentence::new(place, request, settings, special, request.limit(settings, model), choices)
    };
    if places.iter().all(|&place| requests[place].cancel.is_cancelled()) {
        return Ok(Vec::new());
    }
    let mut active: Vec<Sentence> = places.iter().map(begin).collect();
    let batch: Vec<&[u32]> = places.iter().map(|&place| &sources[place][..]).collect();
    let mut decoding = start(model, &batch, &active);
    let mut plan = Plan::first(active.len(), special.bos);
    let mut results = Vec::with_capacity(places.len());
    loop {
        let (mut waiting, mut advanced) = (active.iter_mut(), Ok(()));
        decoding.step_in_parts(&plan.tokens, plan.width, &mut |mut logits| {
            while !logits.is_empty() && advanced.is_ok() {
                let sentence = waiting.next().expect("a sentence for each part");
                let (rows, others) = logits.split_at_mut(plan.width * sentence.choices.len());
                advanced = sentence.advance(rows);
                logits = others;
            }
        });
        advanced?;
        plan.next(&active);
        for sentence in active.extract_if(.., |sentence| sentence.is_done()) {
            results.push((sentence.place, sentence.into_hypotheses()));
        }
        if active.is_empty() {
            return Ok(results);
        }
        if let Some(sentences) = plan.moves() {
            decoding.reorder(&plan.rows, sentences);
        }
    }
}

/// Begins to decode `sources`, whose searches are `active`, with the lists of those that have one.
fn start<'a>(
    model: &'a dyn StepModel,
    sources: &[&[u32]],
    active: &[Sentence],
) -> Box<dyn Decoding + 'a> {
    if active.iter().all(|sentence| matches!(sentence.choices, Choices::All(_))) {
        return model.start(sources);
    }
    let lists: Vec<_> = active.iter().map(|sentence| sentence.choices.ids()).collect();
    let lists: Vec<&[u32]> = lists.iter().map(|list| &**list).collect();
    model.start_listed(sources, &lists)
}

/// Which row of the model each row continues, and with which token.
struct Plan {
    /// The sentences in the model's batch before the next step.
    sentences: usize,
    /// The number of rows per sentence.
    width: usize,
    rows: Vec<usize>,
    kept: Vec<usize>,
    tokens: Vec<u32>,
    /// The number of rows before the next step.
    old_rows: usize,
}

impl Plan {
    fn first(sentences: usize, bos: u32) -> Self {
        Self {
            sentences,
            width: 1,
            rows: Vec::new(),
            kept: Vec::new(),
            tokens: vec![bos; sentences],
            old_rows: sentences,
        }
    }

    /// Plans the step that follows after all `active` sentences have advanced.
    fn next(&mut self, active: &[Sentence]) {
        let lasting = || active.iter().enumerate().filter(|(_, sentence)| !sentence.is_done());
        let width = lasting().map(|(_, sentence)| sentence.rows()).max().unwrap_or(0);
        (self.sentences, self.old_rows) = (active.len(), self.tokens.len());
        self.rows.clear();
        self.kept.clear();
        self.tokens.clear();
        for (place, sentence) in lasting() {
            self.kept.push(place);
            for (row, token) in (0..width).map(|slot| sentence.continuation(slot)) {
                self.rows.push(place * self.width + row);
                self.tokens.push(token);
            }
        }
        self.width = width;
    }

    /// What the model must reorder: nothing (`None`), only rows (`Some(None)`), or also the sentences, of which some
    /// stay.
    fn moves(&self) -> Option<Option<&[usize]>> {
        let all = self.kept.len() == self.sentences;
        let same = self.rows.iter().copied().eq(0..self.old_rows);
        (!all || !same).then(|| (!all).then_some(&self.kept[..]))
    }
}

#[cfg(test)]
mod tests;
