//! The languages that are served.

use std::collections::BTreeMap;

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::super::Client;
use super::super::body::LenientFields;
use super::super::error::{ApiError, Errors, Result};
use super::{DeeplRequest, capitals, one_of};
use crate::language::name;

/// Lists the source languages or the target languages.
///
/// English and Portuguese are listed as their variants, since DeepL's clients refuse `EN` and `PT`
/// as a target.
#[utoipa::path(get, path = "/v2/languages", tag = "DeepL",
    params(("type" = Option<String>, Query, description = "`source` (the default) or `target`")),
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_languages(
    LenientFields(client, request): LenientFields<DeeplRequest>,
) -> Result<Json<Value>> {
    let is_target = one_of("type", request.r#type.as_deref(), &["source", "target"])? == "target";
    let codes = if is_target {
        target_codes(&client)
    } else {
        client.codes(|pair| &pair.source)
    };
    let languages = codes.into_iter().map(
        |code| json!({"language": capitals(code), "name": name(code), "supports_formality": false}),
    );
    Ok(Json(languages.collect()))
}

/// The codes of the target languages, with the variants of English and Portuguese.
fn target_codes(client: &Client) -> Vec<&str> {
    let codes = client.codes(|pair| &pair.target);
    codes.into_iter().flat_map(variants).collect()
}

/// The variants of a language that DeepL's clients expect, or the language itself.
fn variants(code: &str) -> Vec<&str> {
    match code {
        "en" => vec!["en-GB", "en-US"],
        "pt" => vec!["pt-BR", "pt-PT"],
        code => vec![code],
    }
}

/// A request to `/v3/languages`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplResourceRequest {
    /// What the languages are for: `translate_text`, `translate_document`, `glossary` or
    /// `translation_memory`. There are none for `voice`, `write` and `style_rules`.
    resource: String,
}

/// The resources of DeepL.
const RESOURCES: [&str; 7] = [
    "translate_text",
    "translate_document",
    "glossary",
    "translation_memory",
    "voice",
    "write",
    "style_rules",
];

/// Lists the languages of a resource of DeepL.
///
/// All of them are stable, so `include` changes nothing.
#[utoipa::path(get, path = "/v3/languages", tag = "DeepL",
    params(("resource" = String, Query, description = "`translate_text`, `translate_document`, `glossary` or `translation_memory`")),
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_resource_languages(
    LenientFields(client, request): LenientFields<DeeplResourceRequest>,
) -> Result<Json<Value>> {
    let resource = one_of("resource", Some(&request.resource), &RESOURCES)?;
    let features: &[&str] = match &*resource {
        "" => return Err(ApiError::missing("resource")),
        "translate_text" => &["tag_handling", "glossary"],
        "translate_document" => &["glossary"],
        _ => &[],
    };
    let mut sides = BTreeMap::<&str, [bool; 2]>::new();
    for (side, codes) in codes_of(&client, &resource).into_iter().enumerate() {
        for code in codes {
            sides.entry(code).or_default()[side] = true;
        }
    }
    let languages = sides
        .into_iter()
        .map(|(code, sides)| described(code, sides, features));
    Ok(Json(languages.collect()))
}

/// Describes a language with the `features` of a resource.
fn described(code: &str, [is_source, is_target]: [bool; 2], features: &[&str]) -> Value {
    let detected = (is_source && !features.is_empty()).then_some("auto_detection");
    let features: serde_json::Map<_, _> = features
        .iter()
        .copied()
        .chain(detected)
        .map(|feature| (feature.to_owned(), json!({"status": "stable"})))
        .collect();
    json!({
        "lang": code.replace('_', "-"), "name": name(code), "status": "stable",
        "usable_as_source": is_source, "usable_as_target": is_target, "features": features,
    })
}

/// The codes of the source and the target languages of a resource.
fn codes_of<'a>(client: &'a Client, resource: &str) -> [Vec<&'a str>; 2] {
    let sources = client.codes(|pair| &pair.source);
    match resource {
        "translate_text" | "translate_document" => [sources, target_codes(client)],
        // Glossaries are for languages, not for their variants.
        "glossary" => [sources, client.codes(|pair| &pair.target)],
        "translation_memory" => {
            let pairs = client.models.memories().map(|(pair, _)| pair);
            pairs
                .map(|pair| (pair.source.as_str(), pair.target.as_str()))
                .unzip::<_, _, Vec<_>, Vec<_>>()
                .into()
        }
        _ => Default::default(),
    }
}
