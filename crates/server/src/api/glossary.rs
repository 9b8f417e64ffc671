//! The glossary of a request.

use burnformer_glossary::Glossary;

use super::error::ApiError;
use crate::settings::Limits;

/// The glossary of `pairs`, each a source term and its translation, or several separated by `|`.
pub(super) fn read(pairs: Option<Vec<[String; 2]>>, limits: &Limits) -> Result<Glossary, ApiError> {
    let pairs = pairs.unwrap_or_default();
    if pairs.len() > limits.terms {
        let message = format!("{} terms are more than the {} allowed", pairs.len(), limits.terms);
        return Err(ApiError::bad("glossary", message, "leave out terms".into()));
    }
    let pairs = pairs.into_iter().map(|[source, target]| (source, target));
    Glossary::from_pairs(pairs).map_err(|error| {
        let remedy = "pairs of a source term and its translation, each term once";
        ApiError::bad("glossary", error.to_string(), remedy.into())
    })
}
