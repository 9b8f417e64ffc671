//! The division of texts into sentences.

use axum::Json;
use burnformer_text::character_offsets;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::Fields;
use super::error::{Errors, Result};
use super::v1::in_characters;
use crate::engine::Choice;

/// A request to `/v1/divide`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DivideRequest {
    /// A plain text.
    #[schema(example = "Das ist Dr. Müller. Es ist spät.")]
    pub text: String,
    /// The code of the language of the text.
    #[schema(example = "de")]
    pub source: String,
    /// The code of the language into which the sentences will be translated.
    #[schema(example = "en")]
    pub target: String,
    /// The API key, if the server requires one.
    #[allow(dead_code)]
    pub api_key: Option<String>,
}

/// The answer to `/v1/divide`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DivideResponse {
    /// The beginning and the end of each sentence in the text, in characters.
    pub sentences: Vec<[usize; 2]>,
}

/// Divides a plain text into sentences, as `/v1/translate` does: at line breaks and at the ends of
/// sentences. A sentence that is too long for the model is divided into clauses.
#[utoipa::path(post, path = "/v1/divide", operation_id = "divide_text", tag = "v1", request_body = DivideRequest,
    responses((status = 200, body = DivideResponse), Errors))]
pub(crate) async fn divide(
    Fields(client, request): Fields<DivideRequest>,
) -> Result<Json<DivideResponse>> {
    let DivideRequest {
        text,
        source,
        target,
        ..
    } = request;
    client.check_texts("text", 1, [&*text])?;
    let pair = client.pair(&source, &target)?;
    let offsets = character_offsets(&text);
    if pair.source == pair.target {
        // Nothing will be translated.
        let sentences = vec![in_characters(0..text.len(), &offsets)];
        return Ok(Json(DivideResponse { sentences }));
    }
    let divided = async {
        let _permit = client.permit([&*text], 1).await?;
        let pipeline = client
            .pipeline(&pair, Choice::default(), Vec::new())
            .await?;
        pipeline.sentence_places(text.clone()).await
    };
    let places = client.in_time(divided).await?;
    let sentences = places
        .into_iter()
        .map(|place| in_characters(place, &offsets))
        .collect();
    Ok(Json(DivideResponse { sentences }))
}
