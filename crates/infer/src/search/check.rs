//! The checks of sentences before anything is computed.

use burnformer_glossary::MOST_TERMS;

use super::error::SentenceError;
use super::request::{Request, len_with_eos};
use crate::error::{InferError, Result};
use crate::model::{SpecialIds, StepModel};
use crate::settings::{self, SearchSettings};

/// Checks all `requests`, so that a bad one is reported before any is translated.
pub(crate) fn check(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
) -> Result<()> {
    let vocab = model.target_vocab();
    for id in &settings.suppress {
        let remedy = "every id must lie inside the target vocabulary";
        settings::check((*id as usize) < vocab, "suppress", id, remedy)?;
    }
    let check = |request: &Request| {
        check_text(model, "source", &request.source_with_eos(model.special().eos))?;
        check_prefix(model, request, settings)?;
        check_terms(model, request, settings)?;
        check_ids(model, "target", request.shortlist.as_deref().unwrap_or_default())
    };
    let mut requests = (1..).zip(requests);
    requests.try_for_each(|(sentence, request)| check(request).map_err(|error| error.of(sentence)))
}

fn check_prefix(
    model: &dyn StepModel,
    request: &Request,
    settings: &SearchSettings,
) -> Result<(), SentenceError> {
    check_ids(model, "target", &request.prefix)?;
    if let Some(&id) = request.prefix.iter().find(|&&id| is_reserved(model, id)) {
        return Err(SentenceError::PrefixToken(id));
    }
    let source_len = len_with_eos(&request.source, model.special().eos);
    let limit = settings.limit(source_len, model.max_positions());
    match request.prefix.len() {
        length if length > limit => Err(SentenceError::PrefixTooLong { length, limit }),
        _ => Ok(()),
    }
}

/// Returns whether no part of a translation but its end has this id.
fn is_reserved(model: &dyn StepModel, id: u32) -> bool {
    let SpecialIds { pad, bos, eos } = model.special();
    [pad, bos, eos].contains(&id)
}

/// Checks the terms of a request whose prefix has been checked.
///
/// # Errors
/// Returns [`SentenceError::Terms`] if a translation cannot be made to contain the terms,
/// [`SentenceError::TermsTooLong`] if they do not fit into it, and [`SentenceError::UnknownId`] if
/// the vocabulary lacks one of their tokens.
fn check_terms(
    model: &dyn StepModel,
    request: &Request,
    settings: &SearchSettings,
) -> Result<(), SentenceError> {
    let terms = &request.terms;
    if terms.is_empty() {
        return Ok(());
    }
    let refuse = |what| Err(SentenceError::Terms(what));
    if settings.sampling.is_some() {
        return refuse("samples cannot be made to contain terms; search instead of sampling");
    }
    if request.is_empty(model.special().eos) {
        return refuse("an empty source has no terms; leave them out");
    }
    if terms.phrases.len() > MOST_TERMS {
        return refuse("at most 64 terms are possible; leave out the others or split the sentence");
    }
    for phrase in terms.phrases.iter().flatten() {
        check_ids(model, "target", &phrase.tokens)?;
        let banned = |&id: &u32| is_reserved(model, id) || settings.suppress.contains(&id);
        if phrase.tokens.is_empty() || phrase.tokens.iter().any(banned) {
            return refuse(
                "a term has a phrase that is empty or holds a special or suppressed token; leave it out",
            );
        }
    }
    if terms.phrases.iter().any(|phrases| terms.cost(phrases).is_none()) {
        return refuse(
            "a term has no phrase that can follow any token; add one that begins a word",
        );
    }
    let limit = request.limit(settings, model);
    match request.prefix.len() + terms.tokens() + 1 {
        length if length > limit => Err(SentenceError::TermsTooLong { length, limit }),
        _ => Ok(()),
    }
}

/// Checks that none of the texts of a `side` is longer than `limit`, `</s>` included.
///
/// # Errors
/// Returns [`SentenceError::TooLong`] for the first text that is longer.
pub(crate) fn check_lengths<T: AsRef<[u32]>>(
    side: &'static str,
    texts: impl IntoIterator<Item = T>,
    eos: u32,
    limit: usize,
) -> Result<()> {
    let check = |ids: T| check_length(side, len_with_eos(ids.as_ref(), eos), limit);
    (1..).zip(texts).try_for_each(|(sentence, ids)| check(ids).map_err(|error| error.of(sentence)))
}

fn check_length(side: &'static str, length: usize, limit: usize) -> Result<(), SentenceError> {
    if length > limit { Err(SentenceError::TooLong { side, length, limit }) } else { Ok(()) }
}

/// Checks that the numbers of sources and targets are equal, and that the model accepts each of
/// them. All of them must end with `</s>`.
///
/// # Errors
/// Returns [`InferError::Count`] if the numbers differ, [`SentenceError::UnknownId`] if an id is
/// outside the vocabulary, and [`SentenceError::TooLong`] if the model has too few positions.
pub(crate) fn check_pairs(
    model: &dyn StepModel,
    sources: &[Vec<u32>],
    targets: &[Vec<u32>],
) -> Result<()> {
    if sources.len() != targets.len() {
        let (sources, others) = (sources.len(), targets.len());
        return Err(InferError::Count { sources, others, what: "targets" });
    }
    let check = |(source, target): (&Vec<u32>, &Vec<u32>)| {
        check_text(model, "source", source).and_then(|()| check_text(model, "target", target))
    };
    let mut pairs = (1..).zip(sources.iter().zip(targets));
    pairs.try_for_each(|(sentence, pair)| check(pair).map_err(|error| error.of(sentence)))
}

/// Checks a text of a `side` that ends with `</s>`.
///
/// # Errors
/// Returns [`SentenceError::UnknownId`] if an id is outside the vocabulary, and
/// [`SentenceError::TooLong`] if the model has too few positions.
fn check_text(model: &dyn StepModel, side: &'static str, ids: &[u32]) -> Result<(), SentenceError> {
    check_ids(model, side, ids)?;
    check_length(side, ids.len(), model.max_positions().unwrap_or(usize::MAX))
}

/// Checks that all ids of a `side` are in its vocabulary.
///
/// # Errors
/// Returns [`SentenceError::UnknownId`] for the first id that is outside the vocabulary.
fn check_ids(model: &dyn StepModel, side: &'static str, ids: &[u32]) -> Result<(), SentenceError> {
    let vocab = if side == "source" { model.source_vocab() } else { model.target_vocab() };
    match ids.iter().find(|&&id| id as usize >= vocab) {
        Some(&id) => Err(SentenceError::UnknownId { side, id, vocab }),
        None => Ok(()),
    }
}
