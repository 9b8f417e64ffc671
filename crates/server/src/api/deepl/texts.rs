//! Texts.

use std::sync::Arc;

use axum::Json;
use burnformer_documents::Format;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::super::body::{Fields, MOST_FIELDS, Texts};
use super::super::error::{ApiError, Refused};
use super::super::{AUTO, Client};
use super::capitals;
use super::options::{check_formality, items, known, refused};
use crate::engine::Choice;
use crate::text::best;

/// A request to `/v2/translate`. Other fields of DeepL's (`context`, `preserve_formatting`,
/// `splitting_tags`) change nothing.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplTextsRequest {
    /// The texts.
    text: Texts,
    /// The code of their language; without it, that of each is found out.
    source_lang: Option<String>,
    /// The code of the language to translate into.
    target_lang: String,
    /// `xml` or `html`; without it, texts are plain.
    tag_handling: Option<String>,
    /// Names of XML elements that are not translated, in a list or with commas.
    ignore_tags: Option<Texts>,
    /// `0`, `1` or `nonewlines`, which change nothing: sentences are translated one by one.
    split_sentences: Option<String>,
    /// `default`, `prefer_less` or `prefer_more`, which change nothing.
    formality: Option<String>,
    /// A name of DeepL's models, which is told back.
    model_type: Option<String>,
    /// Refused, as `glossary_id`, `custom_instructions` and `translation_memory_id` are.
    #[serde(default, deserialize_with = "refused")]
    #[serde(alias = "glossary_id", alias = "custom_instructions", alias = "translation_memory_id")]
    #[schema(value_type = Option<String>)]
    #[allow(dead_code)]
    style_id: (),
}

/// Translates texts.
#[utoipa::path(post, path = "/v2/translate", tag = "DeepL",
    request_body(content(
        (DeeplTextsRequest = "application/json"), (DeeplTextsRequest = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = Object), Refused))]
pub(crate) async fn deepl_translate(
    Fields(client, mut request): Fields<DeeplTextsRequest, true>,
) -> Result<Json<Value>, ApiError> {
    let models = ["quality_optimized", "latency_optimized", "prefer_quality_optimized"];
    let model = known("model_type", request.model_type.as_deref(), &models)?;
    check_formality(request.formality.as_deref(), &request.target_lang)?;
    let texts = std::mem::replace(&mut request.text, Texts::Many(Vec::new())).into_list().0;
    if texts.is_empty() {
        return Err(ApiError::missing("text"));
    }
    client.check_texts("text", texts.len(), texts.iter().map(String::as_str))?;
    let counts: Vec<usize> = texts.iter().map(|text| text.chars().count()).collect();
    let (languages, texts) = translated(&client, request, texts).await?;
    let translation = |((language, text), count): ((String, String), usize)| {
        let mut answer = json!({
            "detected_source_language": capitals(&language), "text": text, "billed_characters": count
        });
        if !model.is_empty() {
            answer["model_type_used"] = model.trim_start_matches("prefer_").into();
        }
        answer
    };
    let all = languages.into_iter().zip(texts).zip(counts).map(translation);
    Ok(Json(json!({"translations": all.collect::<Vec<_>>()})))
}

/// The mark of an element that stays as it is. It is taken away again.
const STAYS: &str = " translate=\"no\"";
/// A tag that divides text, and that no text has by chance. It is taken away again.
const BLOCK: &str = "<hr translate=\"/\">";

/// The language of each of `texts` and its translation.
async fn translated(
    client: &Client,
    request: DeeplTextsRequest,
    texts: Vec<String>,
) -> Result<(Vec<String>, Vec<String>), ApiError> {
    let markup = known("tag_handling", request.tag_handling.as_deref(), &["xml", "html"])?;
    known("split_sentences", request.split_sentences.as_deref(), &["0", "1", "nonewlines"])?;
    let format = if markup.is_empty() { Format::Text } else { Format::Html };
    let tags = if markup == "xml" { items(request.ignore_tags) } else { Vec::new() };
    if tags.len() > MOST_FIELDS {
        let error = format!("more than {MOST_FIELDS} ignore_tags");
        return Err(ApiError::bad("ignore_tags", error, "name fewer"));
    }
    let is_xml = markup == "xml" && !texts.iter().any(|text| text.contains(BLOCK));
    let prepared = |text: &String| if is_xml { marked(text, &tags) } else { text.clone() };
    let texts: Vec<String> = texts.iter().map(prepared).collect();
    let source = request.source_lang.as_deref().filter(|source| !source.is_empty());
    let target = &request.target_lang;
    let (pairs, _) = client.sourced(source.unwrap_or(AUTO), target, &texts, format).await?;
    let choice = Choice { n_best: 1, ..Choice::default() };
    let all = best(client.translate(texts, &pairs, format, choice, Arc::default()).await?);
    let languages = pairs.into_iter().map(|pair| pair.source).collect();
    let plain =
        |text: String, tag: &String| text.replace(&format!("<{tag}{STAYS}"), &format!("<{tag}"));
    let unmarked = |text: String| match is_xml {
        true => tags.iter().fold(text.replace(BLOCK, ""), plain),
        false => text,
    };
    Ok((languages, all.into_iter().map(unmarked).collect()))
}

/// `text`, XML in which start tags of these names have a mark behind their name, and lines of tags
/// alone begin with [`BLOCK`].
fn marked(text: &str, tags: &[String]) -> String {
    let mut parts = text.split('<');
    let mut marked = parts.next().unwrap_or_default().to_owned();
    let mut between = "";
    for part in parts {
        let is_end = |c: char| c.is_whitespace() || c == '>' || c == '/';
        let (name, rest) = part.split_at(part.find(is_end).unwrap_or(part.len()));
        let stays = if tags.iter().any(|tag| tag == name) { STAYS } else { "" };
        let is_line = between.trim().is_empty() && between.contains('\n');
        marked += &[if is_line { BLOCK } else { "" }, "<", name, stays, rest].concat();
        between = part.split_once('>').map_or("", |(_, after)| after);
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_elements_are_marked_as_html_marks_them() {
        let tags = ["x", "raw"].map(String::from);
        let text = "a <x id=\"1\"></x> <xy/> <raw>b</raw> <x translate=\"no\"> < x> <x";
        let expected = "a <x! id=\"1\"></x> <xy/> <raw!>b</raw> <x!!> < x> <x!";
        assert_eq!(marked(text, &tags).replace(STAYS, "!"), expected);
        let text = "<a>\n<b>c\n</b>\n\t</a> <b>\n";
        let expected = "<a>\n#<b>c\n</b>\n\t#</a> <b>\n";
        assert_eq!(marked(text, &tags).replace(BLOCK, "#"), expected);
    }
}
