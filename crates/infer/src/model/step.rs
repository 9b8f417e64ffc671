//! What search asks of a model.

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

    /// The longest sequence that either side accepts, in tokens with `</s>`; `None` if there is no limit.
    fn max_positions(&self) -> Option<usize> {
        None
    }

    /// How many parts of a batch are best decoded at once, each on a thread of its own: the number of
    /// processors where they compute, 1 where another device does.
    fn parallelism(&self) -> usize {
        1
    }

    /// Encodes `sources` (ids, each closed by `</s>`, none empty) and begins a target for each, with one
    /// row per sentence.
    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_>;

    /// Natural log-probabilities of the tokens of given targets (ids, each closed by `</s>`).
    ///
    /// # Shapes
    /// - `sources`, `targets`: `[sentences][tokens]` → `[sentences][target tokens]`
    ///
    /// This default decodes the targets step by step. A model that can score all positions in one pass
    /// should do that instead.
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

    /// The attention weights of every layer and head for `source` and `target` (ids, each closed by
    /// `</s>`); `None` if the model has none, or several of each as an ensemble has.
    fn attention(&self, _source: &[u32], _target: &[u32]) -> Option<AttentionWeights> {
        None
    }
}

/// A batch of hypotheses that are being decoded. The rows of a sentence follow each other, and every
/// sentence has equally many.
pub trait Decoding {
    /// Appends to each row its token of `tokens` and returns the logits that follow: numbers whose softmax
    /// is the distribution of the next token.
    ///
    /// # Shapes
    /// - `tokens`: `[rows]` → `[rows, target_vocab]`, row by row
    fn step(&mut self, tokens: &[u32]) -> Vec<f32>;

    /// Replaces the rows by copies of the old rows `rows` (`[new_rows]`; a row may be repeated or left out).
    ///
    /// `sentences` are the sentences of the old batch that stay, in ascending order, to which these rows
    /// belong; `None` if all stay.
    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>);
}
