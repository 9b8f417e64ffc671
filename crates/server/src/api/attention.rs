//! The attention weights for a translation, as JSON and as a page.

use std::slice;

use axum::http::header;
use axum::response::IntoResponse;
use burnformer_documents::Format;
use burnformer_infer::view::{SentenceAttention, linked_page};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::Fields;
use super::error::{ApiError, Errors, Result};
use super::{Client, page};
use crate::compute::{CancelWatch, Price, compute};
use crate::engine::Choice;
use crate::queue::QueueError;

/// The price of computing and writing the attention of a sentence of up to 100 tokens.
const PRICE: Price = Price::from_milliseconds(200);

/// A request to `/v1/attention`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct AttentionRequest {
    /// A sentence of up to 100 tokens.
    #[schema(example = "Guten Morgen!")]
    pub sentence: String,
    /// The translation of the sentence. If missing, the translation of `/translate` is used.
    pub translation: Option<String>,
    /// The code of the language of the sentence.
    #[schema(example = "de")]
    pub source: String,
    /// The code of the language to translate into.
    #[schema(example = "en")]
    pub target: String,
    /// The API key, if the server requires one.
    #[allow(dead_code)]
    pub api_key: Option<String>,
}

/// Returns the attention weights of every layer and head for a translation.
///
/// `source` and `target` are the texts. `alignment` has pairs of a word of the sentence and the
/// word of the translation that comes from it. Each of the `panels` is one `kind` of attention
/// (`encoder`, `decoder` or `cross`) with its `queries`, its `keys` and the weights of its `layers`
/// by head, row and column.
#[utoipa::path(post, path = "/v1/attention", tag = "v1", request_body = AttentionRequest,
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn attention(
    Fields(client, request): Fields<AttentionRequest>,
) -> Result<impl IntoResponse> {
    let sentence = look(&client, request).await?;
    let json = compute(&client.sender, PRICE, move |_: &CancelWatch| {
        serde_json::to_vec(&sentence)
    })
    .await?
    .expect("numbers and texts are JSON");
    Ok(([(header::CONTENT_TYPE, "application/json")], json))
}

/// Returns a web page that shows the attention weights for a translation.
#[utoipa::path(post, path = "/attention", tag = "v1", operation_id = "attention_page", request_body = AttentionRequest,
    responses((status = 200, body = String, content_type = "text/html"), Errors))]
pub(crate) async fn view(
    Fields(client, request): Fields<AttentionRequest>,
) -> Result<impl IntoResponse> {
    let title = format!("Attention, {} to {}", request.source, request.target);
    let sentence = look(&client, request).await?;
    Ok(page::html(
        compute(&client.sender, PRICE, move |_: &CancelWatch| {
            linked_page(&title, &[sentence], "attention.css", "attention.js")
        })
        .await?,
    ))
}

async fn look(client: &Client, request: AttentionRequest) -> Result<SentenceAttention> {
    let AttentionRequest {
        sentence,
        translation,
        source,
        target,
        ..
    } = request;
    let texts = [&sentence[..], translation.as_deref().unwrap_or_default()];
    client.check_texts("sentence", 1, texts)?;
    let pair = client.pair(&source, &target)?;
    let weights = async {
        let pipeline = client
            .pipeline(&pair, Choice::default(), Vec::new())
            .await?;
        if let Some(middle) = pipeline.through() {
            let message = format!("two models translate {pair}, through {middle}");
            return Err(ApiError::bad("target", message, "look at each of them"));
        }
        let engine = pipeline.queue().await?.engine().clone();
        let look = async |translation: String| {
            let engine = engine.clone();
            let sentence = sentence.clone();
            let found = compute(&client.sender, PRICE, move |_: &CancelWatch| {
                engine.attention(&sentence, &translation)
            })
            .await
            .map_err(QueueError::from)?;
            found.map_err(|error| ApiError::from(QueueError::from(error)))
        };
        let mut translation = translation.unwrap_or_default();
        if translation.is_empty() {
            // A sentence that is too long is refused before it is translated.
            look(String::new()).await?;
            let permit = client.permit([&*sentence], 1).await?;
            let texts = vec![sentence.clone()];
            let read = client
                .read(texts, Format::Text, Some(&pair.target), permit)
                .await?;
            let pairs = slice::from_ref(&pair);
            translation = client.translate_one(read, pairs, Vec::new()).await?;
        }
        look(translation).await
    };
    client.in_time(weights).await
}
