//! The coverage penalty, by which the hypotheses of a search are ranked again.

use super::request::{Request, with_eos};
use crate::attention::HeadWeights;
use crate::error::{InferError, Result};
use crate::hypothesis::Hypothesis;
use crate::model::StepModel;
use crate::settings::SearchSettings;

/// Adds the penalty to the scores of `all`, the hypotheses of `requests`, and keeps the best.
///
/// # Errors
/// Returns [`InferError::NoAttention`] for a model without cross-attention.
pub(super) fn rank(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
    all: &mut [Vec<Hypothesis>],
) -> Result<()> {
    let eos = model.special().eos;
    for (request, found) in requests.iter().zip(all) {
        let source = request.source_with_eos(eos);
        let is_ranked = !request.is_empty(eos) && !request.cancel.is_cancelled();
        for hypothesis in found.iter_mut().filter(|_| is_ranked) {
            let target = with_eos(&hypothesis.tokens, eos);
            let attention = request
                .context
                .cross_attention(model, &source, &target)
                .ok_or(InferError::NoAttention)?;
            let count = hypothesis.tokens.len();
            hypothesis.score += settings.coverage_penalty * coverage(&attention, count);
        }
        // Stable: of equal scores, finished hypotheses come first.
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(settings.n_best);
    }
    Ok(())
}

/// Σ log(min(Σ attention, 1)) over the source tokens, where the inner sum goes over the first
/// `queries` target tokens (Wu et al., 2016, equation 14). As in CTranslate2, a source token
/// without any attention counts nothing.
fn coverage(attention: &HeadWeights, queries: usize) -> f64 {
    (0..attention.keys)
        .map(|key| {
            (0..queries)
                .map(|query| f64::from(attention.row(query)[key]))
                .sum()
        })
        .filter(|&sum: &f64| sum > 0.0)
        .map(|sum| sum.min(1.0).ln())
        .sum()
}
