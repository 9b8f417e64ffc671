//! What search needs of a model, and the models that give it.

mod ensemble;
mod neural;
#[cfg(test)]
pub(crate) mod table;

pub use ensemble::Ensemble;
pub use neural::NeuralModel;

use burnformer_kernels::log_sum_exp;

use crate::attention::AttentionWeights;

/// The ids that structure a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialIds {
    /// Fills the short rows of a batch.
    pub pad: u32,
    /// The decoder's first input.
    pub bos: u32,
    /// Closes every source and every target.
    pub eos: u32,
}

/// A model that predicts a target one token at a time.
///
/// Search, sampling and ensembles are written against this trait alone: any architecture that can
/// encode a source and continue several hypotheses for it can be decoded by this crate.
pub trait StepModel: Send + Sync {
    /// Tokens in the source vocabulary.
    fn source_vocab(&self) -> usize;

    /// Tokens in the target vocabulary.
    fn target_vocab(&self) -> usize;

    /// The ids of padding, start and end.
    fn special(&self) -> SpecialIds;

    /// The longest sequence that either side accepts, `</s>` counted; `None` if any length goes.
    fn max_positions(&self) -> Option<usize> {
        None
    }

    /// How many batches are best decoded at once, each on a thread of its own: the processors, where
    /// they compute; 1 where another device does.
    fn lanes(&self) -> usize {
        1
    }

    /// Encodes `sources` (ids, each closed by `</s>`, none empty) and stands before the first target
    /// token, with one row a sentence.
    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_>;

    /// Natural log-probabilities of given targets (ids, each closed by `</s>`), token by token.
    ///
    /// This default steps through the targets; a model that can score all positions at once should.
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
                // Rows that have ended are fed `</s>` on; nobody reads what they predict.
                input[row] = token.unwrap_or(eos);
            }
        }
        scored
    }

    /// The attention weights of every layer and head over `source` and `target` (ids, each closed by
    /// `</s>`); `None` if this kind of model has no single answer.
    fn attention(&self, _source: &[u32], _target: &[u32]) -> Option<AttentionWeights> {
        None
    }
}

/// A batch of hypotheses under way: its rows are sentence-major, the same number for each sentence.
pub trait Decoding {
    /// Continues each row by its token of `tokens` (`[rows]`) and gives the logits after it,
    /// `[rows, target_vocab]`: numbers whose softmax is the next token's distribution.
    fn step(&mut self, tokens: &[u32]) -> Vec<f32>;

    /// Continues from the old rows `rows` (`[new_rows]`, repeats allowed), which belong to the
    /// sentences `sentences` of the old batch, in that order; `None` if all sentences stay.
    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>);
}

#[cfg(test)]
mod tests;
