//! The interface between search and models, decoding with shortlists, and the models.

mod ensemble;
mod neural;

pub use ensemble::{Ensemble, EnsembleError};
pub use neural::NeuralModel;

pub use burnformer_data::SpecialIds;
use burnformer_kernels::log_sum_exp;

use crate::attention::{AttentionWeights, HeadWeights};

/// A model that predicts a target one token at a time.
///
/// Search, sampling and ensembles use only this trait, and therefore work with any architecture
/// that can encode a source and continue several hypotheses.
pub trait StepModel: Send + Sync {
    /// The number of tokens in the source vocabulary.
    fn source_vocab(&self) -> usize;

    /// The number of tokens in the target vocabulary.
    fn target_vocab(&self) -> usize;

    /// The ids of padding, `<s>` and `</s>`.
    fn special(&self) -> SpecialIds;

    /// The longest sequence of either side, in tokens with `</s>`; `None` without a limit.
    fn max_positions(&self) -> Option<usize> {
        None
    }

    /// Returns the best number of parts of a batch, one per thread: on a CPU, the number of threads
    /// in rayon's pool; `None` on other devices, because only the caller's thread submits work.
    fn parallelism(&self) -> Option<usize> {
        None
    }

    /// Encodes `sources` (ids, each ending with `</s>`, none empty) and begins one target for each,
    /// with one row per sentence.
    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_>;

    /// Starts decoding like [`start`](Self::start), but each step returns only the logits of the
    /// tokens in the list of each sentence.
    ///
    /// `lists` has one list of ids per sentence, in ascending order and not empty. The logits of a
    /// row do not depend on the lists of other sentences.
    ///
    /// This default computes all logits and selects from them. A model that can compute fewer
    /// should override it.
    fn start_listed(&self, sources: &[&[u32]], lists: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let columns = lists.iter().map(|list| list.to_vec()).collect();
        Box::new(ListDecoding {
            inner: self.start(sources),
            width: self.target_vocab(),
            columns,
        })
    }

    /// Computes the natural log-probabilities of the tokens of given targets (ids, each ending with
    /// `</s>`).
    ///
    /// # Shapes
    /// - `sources`, `targets`: `[sentences][tokens]` → `[sentences][target tokens]`
    ///
    /// This default decodes the targets step by step. A model that can score all positions in one
    /// pass should override it.
    fn target_log_probs(&self, sources: &[&[u32]], targets: &[&[u32]]) -> Vec<Vec<f32>> {
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
                // Rows that have ended continue with `</s>`; their predictions are ignored.
                input[row] = token.unwrap_or(eos);
            }
        }
        scored
    }

    /// Computes the attention weights of every layer and head for `source` and `target` (ids, each
    /// ending with `</s>`). Returns `None` for a model without attention weights and for an
    /// ensemble.
    fn attention(&self, _source: &[u32], _target: &[u32]) -> Option<AttentionWeights> {
        None
    }

    /// Computes the mean cross-attention of the last layer's heads, from the tokens of `target` to
    /// the tokens of `source`. An ensemble returns the mean of its members. Returns
    /// `None` if the model has no cross-attention.
    fn cross_attention(&self, source: &[u32], target: &[u32]) -> Option<HeadWeights> {
        Some(HeadWeights::mean(
            self.attention(source, target)?.cross.last()?,
        ))
    }
}

/// A batch of hypotheses during decoding. The rows of a sentence are adjacent, and every sentence
/// has the same number of rows.
pub trait Decoding {
    /// Appends one token of `tokens` to each row. Returns the logits of the next token.
    ///
    /// # Shapes
    /// - `tokens`: `[rows]` → `[rows, target_vocab]`, row by row;
    ///   `[rows, tokens of the sentence's list]` after
    ///   [`start_listed`](StepModel::start_listed), where rows of several sentences
    ///   differ in length
    fn step(&mut self, tokens: &[u32]) -> Vec<f32>;

    /// Makes a step like [`step`](Self::step), but passes the logits to `take` a few rows at a
    /// time, in order. Each part consists of whole sentences of `width` rows each.
    ///
    /// This default passes all rows at once. A model may compute few rows at a time for the sake of
    /// the processor's caches.
    fn step_in_parts(&mut self, tokens: &[u32], _width: usize, take: &mut dyn FnMut(&mut [f32])) {
        take(&mut self.step(tokens));
    }

    /// Replaces the rows by copies of the old rows `rows` (`[new_rows]`; a row may be repeated or
    /// left out).
    ///
    /// `sentences` are the remaining sentences of the old batch, in ascending order, with the new
    /// rows; `None` if all remain.
    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>);
}

/// A decoding with shortlists: selects the logits of each sentence's list from an inner decoding.
struct ListDecoding<'a> {
    pub inner: Box<dyn Decoding + 'a>,
    /// The number of logits of a row of `inner`.
    pub width: usize,
    /// For each sentence, the columns of its list in a row, in ascending order.
    pub columns: Vec<Vec<u32>>,
}

impl Decoding for ListDecoding<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        let all = self.inner.step(tokens);
        // Columns are distinct, so a list of the full length has every column.
        if self
            .columns
            .iter()
            .all(|columns| columns.len() == self.width)
        {
            return all;
        }
        let rows = tokens.len() / self.columns.len();
        let lengths = self.columns.iter().map(|columns| rows * columns.len());
        let mut picked = Vec::with_capacity(lengths.sum());
        for (row, logits) in all.chunks_exact(self.width).enumerate() {
            let columns = self.columns[row / rows].iter();
            picked.extend(columns.map(|&column| logits[column as usize]));
        }
        picked
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.inner.reorder(rows, sentences);
        if let Some(sentences) = sentences {
            let kept_columns = sentences
                .iter()
                .map(|&sentence| std::mem::take(&mut self.columns[sentence]));
            self.columns = kept_columns.collect();
        }
    }
}

/// The union of `lists`, in ascending order, and for each list the positions of its tokens in it.
fn union(lists: &[&[u32]], vocab: usize) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut is_in = vec![false; vocab];
    lists
        .iter()
        .copied()
        .flatten()
        .for_each(|&id| is_in[id as usize] = true);
    let all: Vec<u32> = (0..vocab as u32).filter(|&id| is_in[id as usize]).collect();
    let mut positions = vec![0; vocab];
    for (position, &id) in (0..).zip(&all) {
        positions[id as usize] = position;
    }
    (
        all,
        lists
            .iter()
            .map(|list| list.iter().map(|&id| positions[id as usize]).collect())
            .collect(),
    )
}

#[cfg(test)]
pub(crate) mod tests;
