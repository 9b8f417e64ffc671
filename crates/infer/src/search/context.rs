//! What a model reads before a source and before a translation.

use crate::attention::HeadWeights;
use crate::model::StepModel;

/// The tokens of the previous sentences of a document, which a model reads in front of a source and
/// of its translation. They are no part of either: they count in no length, score, constraint or
/// alignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchContext {
    /// The ids before the source.
    pub source: Vec<u32>,
    /// The ids that the decoder is given before the first token of the translation.
    pub target: Vec<u32>,
    /// The token behind each previous target. A translation has none.
    pub separator: Option<u32>,
}

impl SearchContext {
    /// `source` as the model reads it.
    pub(crate) fn before_source(&self, source: &[u32]) -> Vec<u32> {
        [&self.source[..], source].concat()
    }

    /// The log-probabilities of the tokens of `targets` as by
    /// [`StepModel::target_log_probs`], each as a translation of `source` in this context.
    ///
    /// # Shapes
    /// - `targets`: `[sentences][tokens]` → `[sentences][tokens]`
    pub(crate) fn target_log_probs(
        &self,
        model: &dyn StepModel,
        source: &[u32],
        targets: &[&[u32]],
    ) -> Vec<Vec<f32>> {
        let source = self.before_source(source);
        let targets: Vec<Vec<u32>> = targets
            .iter()
            .map(|target| [&self.target[..], target].concat())
            .collect();
        let targets: Vec<&[u32]> = targets.iter().map(Vec::as_slice).collect();
        let mut scored = model.target_log_probs(&vec![&source[..]; targets.len()], &targets);
        for log_probs in &mut scored {
            log_probs.drain(..self.target.len());
        }
        scored
    }

    /// The attention of the tokens of `target` to the tokens of `source` as by
    /// [`StepModel::cross_attention`], in this context. The attention to the context is left out.
    ///
    /// # Shapes
    /// - `source`: `[source tokens]`, `target`: `[target tokens]` → `[target tokens, source tokens]`
    pub(crate) fn cross_attention(
        &self,
        model: &dyn StepModel,
        source: &[u32],
        target: &[u32],
    ) -> Option<HeadWeights> {
        if self.source.is_empty() && self.target.is_empty() {
            return model.cross_attention(source, target);
        }
        let whole = [&self.target[..], target].concat();
        let weights = model.cross_attention(&self.before_source(source), &whole)?;
        let mut values = Vec::with_capacity(source.len() * target.len());
        for query in self.target.len()..whole.len() {
            values.extend_from_slice(&weights.row(query)[self.source.len()..]);
        }
        Some(HeadWeights {
            queries: target.len(),
            keys: source.len(),
            values,
        })
    }
}
