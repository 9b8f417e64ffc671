//! The trait that search needs of a model.

pub use burnformer_data::SpecialIds;
use burnformer_kernels::log_sum_exp;

use super::decoding::Decoding;
use super::listed::Listed;
use crate::attention::{AttentionWeights, HeadWeights};

/// A model that predicts a target one token at a time.
///
/// Search, sampling and ensembles use this trait alone. This crate can decode with any architecture
/// that can encode a source and continue several hypotheses for it.
pub trait StepModel: Send + Sync {
    /// The number of tokens in the source vocabulary.
    fn source_vocab(&self) -> usize;

    /// The number of tokens in the target vocabulary.
    fn target_vocab(&self) -> usize;

    /// The ids of padding, `<s>` and `</s>`.
    fn special(&self) -> SpecialIds;

    /// The longest sequence that either side accepts, in tokens with `</s>`; `None` if there is no
    /// limit.
    fn max_positions(&self) -> Option<usize> {
        None
    }

    /// Into how many parts a batch is best divided, each of which is decoded by a thread of its
    /// own: the number of threads of rayon's pool if they compute; `None` if another device does,
    /// to which the caller's thread gives its work.
    fn parallelism(&self) -> Option<usize> {
        None
    }

    /// Encodes `sources` (ids, each ending with `</s>`, none empty) and begins one target for each,
    /// with one row per sentence.
    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_>;

    /// Like [`start`](Self::start), but the steps give for each sentence only the logits of the
    /// tokens of its list.
    ///
    /// `lists` has one list of ids per sentence, in ascending order and not empty. The logits of a
    /// row do not depend on the lists of other sentences.
    ///
    /// This default computes all logits and picks from them. A model that can compute fewer should
    /// do that instead.
    fn start_listed(&self, sources: &[&[u32]], lists: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let columns = lists.iter().map(|list| list.to_vec()).collect();
        Box::new(Listed::new(self.start(sources), self.target_vocab(), columns))
    }

    /// The natural log-probabilities of the tokens of given targets (ids, each ending with `</s>`).
    ///
    /// # Shapes
    /// - `sources`, `targets`: `[sentences][tokens]` → `[sentences][target tokens]`
    ///
    /// This default decodes the targets step by step. A model that can score all positions in one
    /// pass should do that instead.
    fn force(&self, sources: &[&[u32]], targets: &[&[u32]]) -> Vec<Vec<f32>> {
        let SpecialIds { bos, eos, .. } = self.special();
        let mut decoding = self.start(sources);
        let mut input = vec![bos; targets.len()];
        let mut scored: Vec<Vec<f32>> = vec![Vec::new(); targets.len()];
        for step in 0..targets.iter().map(|target| target.len()).max().unwrap_or(0) {
            let logits = decoding.step(&input);
            for (row, logits) in logits.chunks_exact(self.target_vocab()).enumerate() {
                let token = targets[row].get(step).copied();
                if let Some(token) = token {
                    let log_prob = f64::from(logits[token as usize]) - log_sum_exp(logits);
                    scored[row].push(log_prob as f32);
                }
                // Rows that have ended go on with `</s>`; nobody reads what they predict.
                input[row] = token.unwrap_or(eos);
            }
        }
        scored
    }

    /// The attention weights of every layer and head for `source` and `target` (ids, each ending
    /// with `</s>`). `None` if the model has none, or if it has several sets of weights, as an
    /// ensemble has.
    fn attention(&self, _source: &[u32], _target: &[u32]) -> Option<AttentionWeights> {
        None
    }

    /// The mean cross-attention of the last layer's heads, which links the tokens of `target` to
    /// those of `source`; an ensemble gives that of its first member. `None` if there is none.
    fn cross_attention(&self, source: &[u32], target: &[u32]) -> Option<HeadWeights> {
        Some(HeadWeights::mean(self.attention(source, target)?.cross.last()?))
    }
}
