//! Checks of requests, before anything is computed.

use burnformer_glossary::MOST_TERMS;

use super::request::Request;
use super::terms::Terms;
use crate::error::InferError;
use crate::ids::{check_ids, check_source};
use crate::model::StepModel;
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
    for (place, request) in requests.iter().enumerate() {
        check_source(model, place + 1, &request.closed(model.special().eos))?;
        check_prefix(model, place + 1, request, settings)?;
        check_terms(model, place + 1, request, settings)?;
        check_ids(place + 1, "target", request.shortlist.as_deref().unwrap_or_default(), vocab)?;
    }
    Ok(())
}

fn check_prefix(
    model: &dyn StepModel,
    sentence: usize,
    request: &Request,
    settings: &SearchSettings,
) -> Result<(), InferError> {
    check_ids(sentence, "target", &request.prefix, model.target_vocab())?;
    let special = model.special();
    let reserved = [special.pad, special.bos, special.eos];
    if let Some(&id) = request.prefix.iter().find(|id| reserved.contains(id)) {
        return Err(InferError::PrefixToken { sentence, id });
    }
    let source_len = request.closed(special.eos).len();
    let limit = settings.limit(source_len, model.max_positions());
    match request.prefix.len() {
        length if length > limit => Err(InferError::PrefixTooLong { sentence, length, limit }),
        _ => Ok(()),
    }
}

/// Checks the terms of the request with the number `sentence`, from 1, whose prefix has been
/// checked.
///
/// # Errors
/// [`InferError::Terms`], [`InferError::TermsTooLong`], [`InferError::UnknownId`].
fn check_terms(
    model: &dyn StepModel,
    sentence: usize,
    request: &Request,
    settings: &SearchSettings,
) -> Result<(), InferError> {
    let terms = &request.terms;
    if terms.is_empty() {
        return Ok(());
    }
    let refuse = |what| Err(InferError::Terms { sentence, what });
    if settings.sampling.is_some() {
        return refuse("samples cannot be made to contain terms; search instead of sampling");
    }
    if request.is_empty(model.special().eos) {
        return refuse("an empty source has no terms; leave them out");
    }
    if terms.phrases.len() > MOST_TERMS {
        return refuse("at most 64 terms are possible; leave out the others or split the sentence");
    }
    check_phrases(model, sentence, terms, settings)?;
    if terms.phrases.iter().any(|phrases| terms.cost(phrases).is_none()) {
        return refuse(
            "a term has no phrase that can follow any token; add one that begins a word",
        );
    }
    let limit = request.limit(settings, model);
    match request.prefix.len() + terms.tokens() + 1 {
        length if length > limit => Err(InferError::TermsTooLong { sentence, length, limit }),
        _ => Ok(()),
    }
}

fn check_phrases(
    model: &dyn StepModel,
    sentence: usize,
    terms: &Terms,
    settings: &SearchSettings,
) -> Result<(), InferError> {
    let special = model.special();
    let reserved = [special.pad, special.bos, special.eos];
    for phrase in terms.phrases.iter().flatten() {
        check_ids(sentence, "target", &phrase.tokens, model.target_vocab())?;
        let banned = |id: &u32| reserved.contains(id) || settings.suppress.contains(id);
        if phrase.tokens.is_empty() || phrase.tokens.iter().any(banned) {
            let what = "a term has a phrase that is empty or holds a special or suppressed token; leave it out";
            return Err(InferError::Terms { sentence, what });
        }
    }
    Ok(())
}
