//! Glossaries by identifier, of versions 2 (one language pair each) and 3. They are kept only in
//! memory.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::Path;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use burnformer_terminology::{Entry, Glossary, rows};
use humantime::format_rfc3339_millis;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::body::LenientFields;
use super::super::error::{ApiError, Errors, Result};
use super::super::v1::terms;
use super::super::{Client, Shared};
use super::{DeeplRequest, languages, no_dictionary, no_glossary, one_of};
use crate::compute::{CancelWatch, Price, compute};
use crate::language::LanguagePair;
use crate::store::{StoredGlossary, unguessable};

/// A language pair of a stored glossary may have this many times the terms of the glossary of a
/// request, because stored terms are read once.
pub(super) const STORED_TERMS: usize = 20;

/// The price of listing as many glossaries as a sender may keep.
const LIST: Price = Price::from_milliseconds(20);

/// The paths of each version.
pub(crate) fn router() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(glossaries))
        .routes(routes!(glossary))
        .routes(routes!(glossary_entries))
}

/// The terms of a language pair.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(default)]
pub(crate) struct DeeplDictionary {
    /// The code of the language of the terms.
    pub(super) source_lang: String,
    /// The code of the language of the translations.
    pub(super) target_lang: String,
    /// A term and its translation on each line. Several translations are separated by `|`.
    entries: String,
    /// `tsv` or `csv`.
    entries_format: String,
}

/// A glossary: its name, and the terms of one or several language pairs.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(default)]
pub(crate) struct DeeplGlossary {
    /// The name.
    pub(super) name: String,
    /// The terms of several language pairs.
    pub(super) dictionaries: Vec<DeeplDictionary>,
    /// The terms of a single language pair.
    #[serde(flatten)]
    only: DeeplDictionary,
}

/// Creates a glossary (POST), or lists the glossaries of the sender (GET), the newest first.
///
/// A glossary is kept until the server ends or newer glossaries of its sender need its room.
#[utoipa::path(method(get, post), path = "/glossaries", tag = "DeepL", request_body = DeeplGlossary,
    responses((status = 200, body = Object), (status = 201, body = Object), Errors))]
async fn glossaries(
    method: Method,
    LenientFields(
        client,
        DeeplGlossary {
            name,
            mut dictionaries,
            only,
        },
    ): LenientFields<DeeplGlossary>,
) -> Result<Response> {
    if method == Method::GET {
        return listed(client).await;
    }
    if name.trim().is_empty() {
        return Err(ApiError::missing("name"));
    }
    if dictionaries.is_empty() {
        dictionaries.push(only);
    }
    let mut terms = Vec::new();
    let now = SystemTime::now().max(UNIX_EPOCH);
    let time = format_rfc3339_millis(now).to_string();
    for dictionary in dictionaries {
        terms.push(read(&client, dictionary).await?);
    }
    let id = unguessable();
    let new = Arc::new(StoredGlossary { name, time, terms });
    let size = new.size();
    let answer = described(&id, &new);
    let is_kept = client.glossaries.put(&client.sender, &id, new, size);
    is_kept
        .then(|| (StatusCode::CREATED, Json(answer)).into_response())
        .ok_or_else(ApiError::too_many)
}

/// Returns a glossary without its terms (GET), or deletes it (DELETE).
#[utoipa::path(method(get, delete), path = "/glossaries/{id}", tag = "DeepL", params(("id" = String, Path)),
    responses((status = 200, body = Object), (status = 204), Errors))]
async fn glossary(
    method: Method,
    Path(id): Path<String>,
    LenientFields(client, _): LenientFields<DeeplRequest>,
) -> Result<Response> {
    let stored = client.glossaries.get_for(&client.sender, &id);
    let stored = stored.ok_or_else(no_glossary)?;
    if method == Method::DELETE {
        client.glossaries.remove(&id);
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(Json(described(&id, &stored)).into_response())
}

/// Returns the terms of a glossary, a line each.
///
/// With a language pair, returns the terms of that pair in JSON.
#[utoipa::path(get, path = "/glossaries/{id}/entries", tag = "DeepL",
    params(("id" = String, Path), ("source_lang" = Option<String>, Query), ("target_lang" = Option<String>, Query)),
    responses((status = 200, body = String, content_type = "text/tab-separated-values"), Errors))]
async fn glossary_entries(
    Path(id): Path<String>,
    LenientFields(client, asked): LenientFields<DeeplDictionary>,
) -> Result<Response> {
    let is_whole = asked.source_lang.is_empty();
    let pair = (!is_whole).then(|| client.pair(&asked.source_lang, &asked.target_lang));
    let pair = pair.transpose()?;
    let glossary = client.glossaries.get_for(&client.sender, &id);
    let glossary = glossary.ok_or_else(no_glossary)?;
    let found = glossary
        .terms
        .iter()
        .find(|(other, _): &&Dictionary| pair.as_ref().is_none_or(|pair| other == pair))
        .ok_or_else(|| pair.as_ref().map_or_else(no_glossary, no_dictionary))?;
    let found = found.clone();
    let price = Price::of_bytes(found.1.size());
    Ok(compute(&client.sender, price, move |_: &CancelWatch| {
        let entries = found
            .1
            .entries()
            .map(|entry: &Entry| format!("{}\t{}", entry.source, entry.targets.join("|")))
            .collect::<Vec<_>>()
            .join("\n");
        if is_whole {
            let kind = "text/tab-separated-values; charset=utf-8";
            return ([(header::CONTENT_TYPE, kind)], entries).into_response();
        }
        let mut answer = dictionary(&found);
        answer["entries"] = entries.into();
        Json(json!({"dictionaries": [answer]})).into_response()
    })
    .await?)
}

/// Lists the glossaries of a sender, the newest first. The number of glossaries of a sender is
/// bounded, and so is the list.
async fn listed(client: Client) -> Result<Response> {
    let sender = client.sender.clone();
    let list = compute(&sender, LIST, move |_| {
        let all = client.glossaries.of(&client.sender).into_iter();
        let all: Vec<Value> = all.map(|(id, kept)| described(&id, &kept)).collect();
        Json(json!({"glossaries": all})).into_response()
    });
    Ok(list.await?)
}

/// The terms of a pair of languages.
pub(super) type Dictionary = (LanguagePair, Arc<Glossary>);

/// Describes a glossary for clients of both versions.
pub(super) fn described(id: &str, glossary: &StoredGlossary) -> Value {
    let StoredGlossary { name, time, terms } = glossary;
    let all: Vec<Value> = terms.iter().map(dictionary).collect();
    // Clients of version 2 need the fields of a pair, also of a glossary that has lost its last.
    let none = json!({"source_lang": "", "target_lang": "", "entry_count": 0});
    let mut description = all.first().cloned().unwrap_or(none);
    for (field, value) in [("glossary_id", id), ("name", name), ("creation_time", time)] {
        description[field] = value.into();
    }
    description["ready"] = true.into();
    description["dictionaries"] = all.into();
    description
}

pub(super) fn dictionary((pair, terms): &Dictionary) -> Value {
    let mut answer = languages(pair);
    answer["entry_count"] = terms.len().into();
    answer
}

/// Parses the terms of a request.
pub(super) async fn read(client: &Client, sent: DeeplDictionary) -> Result<Dictionary> {
    let pair = client.pair(&sent.source_lang, &sent.target_lang)?;
    let format = one_of(
        "entries_format",
        Some(&sent.entries_format),
        &["tsv", "csv"],
    )?;
    let price = Price::of_terms(sent.entries.len());
    let most = STORED_TERMS * client.limits.terms;
    let terms = compute(&client.sender, price, move |_| {
        terms(pairs(&sent.entries, format == "csv")?, most)
    })
    .await??;
    if terms.is_empty() || pair.source == pair.target {
        let error = "a glossary has terms, and two different languages";
        return Err(ApiError::bad(
            "entries",
            error,
            "lines of a term, a tab and its translation",
        ));
    }
    Ok((pair, terms.into()))
}

/// The first two cells of each row.
fn pairs(text: &str, is_csv: bool) -> Result<Vec<[String; 2]>> {
    let rows = rows(text, if is_csv { ',' } else { '\t' }, is_csv).into_iter();
    rows.map(|(line, mut row): (u64, Vec<String>)| {
        row.truncate(2);
        let error = format!("line {line} has no translation");
        let remedy = "tabs with entries_format tsv, commas with csv";
        row.try_into()
            .map_err(|_| ApiError::bad("entries", error, remedy))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn rows_are_read_as_rfc_4180_writes_them_and_tabs_as_they_are() {
        let pairs = |text, is_csv| super::pairs(text, is_csv).unwrap().concat().join("|");
        // The first two rows are from DeepL's tests.
        let text = "sourceEntry1,targetEntry1,en,de\n\"source\"\"Entry\",\"target,Entry\",en,de";
        assert_eq!(
            pairs(text, true),
            "sourceEntry1|targetEntry1|source\"Entry|target,Entry"
        );
        assert_eq!(pairs("a,b\r\n\r\n\"x\ny\",\"\"\r\n", true), "a|b|x\ny|");
        assert_eq!(
            pairs("a 5\" b\tc,\"d\n \n\"e\"\tf\r\n", false),
            "a 5\" b|c,\"d|\"e\"|f"
        );
        for (text, is_csv) in [
            ("a;b", true),
            ("a,b", false),
            ("a\tb\nc", false),
            ("\"a,b", true),
        ] {
            assert!(super::pairs(text, is_csv).is_err(), "{text}");
        }
    }
}
