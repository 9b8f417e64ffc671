//! Changes to the glossaries of version 3.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use burnformer_terminology::Glossary;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::body::LenientFields;
use super::super::error::{ApiError, Errors, Result};
use super::super::{Client, Shared};
use super::glossaries::{
    DeeplDictionary, DeeplGlossary, Dictionary, STORED_TERMS, described, dictionary, read,
};
use super::{no_dictionary, no_glossary};
use crate::compute::{CancelWatch, Price, compute};
use crate::store::{Replaced, StoredGlossary};

/// The paths, in version 3 only.
pub(crate) fn router() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(deepl_glossary_changes))
        .routes(routes!(deepl_dictionary))
}

/// Gives a glossary another name, or adds terms to its dictionaries.
///
/// A term that a dictionary has already gets its new translations. Other terms stay.
#[utoipa::path(patch, path = "/glossaries/{id}", tag = "DeepL", params(("id" = String, Path)), request_body = DeeplGlossary,
    responses((status = 200, body = Object), Errors))]
async fn deepl_glossary_changes(
    Path(id): Path<String>,
    LenientFields(client, sent): LenientFields<DeeplGlossary>,
) -> Result<Json<Value>> {
    let mut added = Vec::new();
    for dictionary in sent.dictionaries {
        added.push(read(&client, dictionary).await?);
    }
    let name = sent.name;
    let most = STORED_TERMS * client.limits.terms;
    let changed = changed(&client, &id, move |glossary| {
        if !name.trim().is_empty() {
            glossary.name.clone_from(&name);
        }
        let mut added = added.iter();
        added.try_for_each(|dictionary| add(glossary, dictionary, most))
    })
    .await?;
    Ok(Json(described(&id, &changed)))
}

/// Replaces or creates the dictionary of a pair of languages (PUT), or deletes it (DELETE).
#[utoipa::path(method(put, delete), path = "/glossaries/{id}/dictionaries", tag = "DeepL",
    params(("id" = String, Path), ("source_lang" = Option<String>, Query), ("target_lang" = Option<String>, Query)),
    request_body = DeeplDictionary,
    responses((status = 200, body = Object), (status = 204), Errors))]
async fn deepl_dictionary(
    method: Method,
    Path(id): Path<String>,
    LenientFields(client, sent): LenientFields<DeeplDictionary>,
) -> Result<Response> {
    if method == Method::DELETE {
        let pair = client.pair(&sent.source_lang, &sent.target_lang)?;
        changed(&client, &id, move |glossary| {
            let place = glossary.terms.iter().position(|(other, _)| *other == pair);
            glossary
                .terms
                .remove(place.ok_or_else(|| no_dictionary(&pair))?);
            Ok(())
        })
        .await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let new = read(&client, sent).await?;
    let answer = dictionary(&new);
    changed(&client, &id, move |glossary| {
        *terms_of(glossary, &new) = new.1.clone();
        Ok(())
    })
    .await?;
    Ok(Json(answer).into_response())
}

/// Changes a glossary, once more if another request changes it meanwhile.
///
/// # Errors
/// Returns the error of `change`, and errors if there is no such glossary or no room for the
/// changed one.
async fn changed(
    client: &Client,
    id: &str,
    change: impl Fn(&mut StoredGlossary) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<StoredGlossary>> {
    let change = Arc::new(change);
    loop {
        let old = client.glossaries.get_for(&client.sender, id);
        let old = old.ok_or_else(no_glossary)?;
        let price = Price::of_terms(old.size());
        let copied = old.clone();
        let change = change.clone();
        let new = compute(&client.sender, price, move |_: &CancelWatch| {
            let mut new = StoredGlossary::clone(&copied);
            change(&mut new).map(|()| Arc::new(new))
        })
        .await??;
        match client.glossaries.replace(id, &old, new.clone(), new.size()) {
            Replaced::Done => return Ok(new),
            Replaced::NoRoom => return Err(ApiError::too_many()),
            Replaced::Changed => {}
        }
    }
}

/// The terms in `glossary` for the languages of `new`, which are created if there are none.
fn terms_of<'a>(glossary: &'a mut StoredGlossary, new: &Dictionary) -> &'a mut Arc<Glossary> {
    let all = &mut glossary.terms;
    let place = all.iter().position(|(other, _)| *other == new.0);
    let place = place.unwrap_or_else(|| {
        all.push((new.0.clone(), Arc::default()));
        all.len() - 1
    });
    &mut all[place].1
}

/// Adds the terms of `new` to its dictionary in `glossary`, which may have `most` terms.
///
/// # Errors
/// Returns an error if there are more.
fn add(glossary: &mut StoredGlossary, new: &Dictionary, most: usize) -> Result<()> {
    let terms = terms_of(glossary, new);
    let mut merged = Glossary::clone(&new.1);
    for entry in terms.entries() {
        // The only error is that the new terms have the entry's term.
        let _ = merged.add(entry.clone());
    }
    let count = merged.len();
    if count > most {
        let error = format!("{count} terms are more than the {most} allowed");
        return Err(ApiError::bad("dictionaries", error, "leave out terms"));
    }
    *terms = merged.into();
    Ok(())
}
