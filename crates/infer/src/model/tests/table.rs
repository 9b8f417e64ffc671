//! A model without tensors, for tests that compare a search with results computed in another way.

use burnformer_core::RandomKey;

use crate::model::{Decoding, SpecialIds, StepModel};

/// A model whose logits are random numbers, which depend on the source and on all tokens so far.
pub(crate) struct TableModel {
    pub vocab: usize,
    pub seed: u64,
    pub positions: Option<usize>,
}

impl TableModel {
    pub fn new(vocab: usize, seed: u64) -> Self {
        Self {
            vocab,
            seed,
            positions: None,
        }
    }

    /// The logits after `tokens` (without `<s>`).
    pub fn logits(&self, source: &[u32], tokens: &[u32]) -> Vec<f32> {
        let ids = source.iter().chain([&u32::MAX]).chain(tokens);
        let key = ids.fold(RandomKey::new(self.seed), |key, &id| {
            key.fold(u64::from(id))
        });
        key.uniform(self.vocab)
            .into_iter()
            .map(|x| 4.0 * x)
            .collect()
    }

    /// The log-probability of each token of `target`.
    pub fn log_probs(&self, source: &[u32], target: &[u32]) -> Vec<f64> {
        let log_prob = |(index, &id): (usize, &u32)| {
            let logits = self.logits(source, &target[..index]);
            let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
            f64::from(logits[id as usize]) - sum.ln()
        };
        target.iter().enumerate().map(log_prob).collect()
    }
}

impl StepModel for TableModel {
    fn source_vocab(&self) -> usize {
        self.vocab
    }

    fn target_vocab(&self) -> usize {
        self.vocab
    }

    fn special(&self) -> SpecialIds {
        SpecialIds {
            pad: 0,
            bos: 1,
            eos: 2,
        }
    }

    fn max_positions(&self) -> Option<usize> {
        self.positions
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let sources: Vec<Vec<u32>> = sources.iter().map(|source| source.to_vec()).collect();
        assert!(
            sources.iter().all(|source| source.last() == Some(&2)),
            "a source is not closed"
        );
        let rows = vec![Vec::new(); sources.len()];
        Box::new(TableDecoding {
            model: self,
            sources,
            rows,
        })
    }
}

struct TableDecoding<'a> {
    model: &'a TableModel,
    sources: Vec<Vec<u32>>,
    /// The tokens so far, with `<s>`.
    rows: Vec<Vec<u32>>,
}

impl Decoding for TableDecoding<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        assert_eq!(tokens.len(), self.rows.len(), "a token for each row");
        let width = self.rows.len() / self.sources.len();
        let mut logits = Vec::new();
        for (index, (row, &token)) in self.rows.iter_mut().zip(tokens).enumerate() {
            row.push(token);
            logits.extend(self.model.logits(&self.sources[index / width], &row[1..]));
        }
        logits
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        let old_width = self.rows.len() / self.sources.len();
        let all: Vec<usize> = (0..self.sources.len()).collect();
        let sentences = sentences.unwrap_or(&all);
        let width = rows.len() / sentences.len();
        assert_eq!(
            rows.len(),
            width * sentences.len(),
            "the same number of rows per sentence"
        );
        for (&sentence, rows) in sentences.iter().zip(rows.chunks(width)) {
            assert!(
                rows.iter().all(|&row| row / old_width == sentence),
                "a row changed its sentence"
            );
        }
        self.rows = rows.iter().map(|&row| self.rows[row].clone()).collect();
        self.sources = sentences.iter().map(|&s| self.sources[s].clone()).collect();
    }
}
