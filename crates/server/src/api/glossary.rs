//! The glossary of a request.

use std::sync::Arc;

use burnformer_glossary::Glossary;

use super::Client;
use super::error::ApiError;
use crate::compute::compute;

/// The glossary of `pairs`, each a source term and its translation, or several separated by `|`.
pub(super) async fn read(
    client: &Client,
    pairs: Option<Vec<[String; 2]>>,
) -> Result<Arc<Glossary>, ApiError> {
    let (pairs, most) = (pairs.unwrap_or_default(), client.limits.terms);
    if pairs.len() > most {
        let message = format!("{} terms are more than the {most} allowed", pairs.len());
        return Err(ApiError::bad("glossary", message, "leave out terms"));
    }
    let size = pairs.iter().flatten().map(String::len).sum();
    let pairs = pairs.into_iter().map(|[source, target]| (source, target));
    let read = compute(&client.sender, size, |_| Glossary::from_pairs(pairs)).await?;
    read.map(Arc::new).map_err(|error| {
        let remedy = "pairs of a source term and its translation, each term once";
        ApiError::bad("glossary", error.to_string(), remedy)
    })
}
