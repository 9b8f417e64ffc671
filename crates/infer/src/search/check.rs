//! Checks of requests, before anything is computed.

use burnformer_glossary::MOST_TERMS;

use super::request::Request;
use crate::error::{InferError, SentenceError};
use crate::ids::{check_ids, check_text};
use crate::model::{SpecialIds, StepModel};
use crate::settings::{self, SearchSettings};

/// Checks all `requests`, so that a bad one is reported before any is translated.
pub(crate) fn check(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
) -> Result<(), InferError> {
    let vocab = model.target_vocab();
    for id in &settings.suppress {
        let remedy = "every id must lie inside the target vocabulary";
        settings::check((*id as usize) < vocab, "suppress", id, remedy)?;
    }
    let check = |request: &Request| {
        check_text(model, "source", &request.closed(model.special().eos))?;
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
    let source_len = request.closed(model.special().eos).len();
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
/// [`SentenceError::Terms`], [`SentenceError::TermsTooLong`], [`SentenceError::UnknownId`].
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
