//! Mixtures of corpora.

use super::{MixedPart, TokenizedCorpus, Tokens};
use crate::cache::bits::Bits;
use crate::cleaning_report::CleaningReport;
use crate::hash::{hex, key_of};

impl TokenizedCorpus {
    /// Concatenates corpora to a mixture. The weight of each corpus sets how many pairs
    /// [`BatchSampler`](crate::BatchSampler) draws from it.
    ///
    /// # Panics
    /// Panics if `corpora` is empty, or if a weight is not above 0.
    pub fn mixed(corpora: Vec<(Self, f64)>) -> Self {
        Self::joined(corpora, 0.0)
    }

    /// Concatenates corpora to a mixture like [`mixed`](Self::mixed), from which pairs are drawn in
    /// proportion to `weight` × `size^(1/temperature)` (Arivazhagan et al. 2019,
    /// <https://arxiv.org/abs/1907.05019>). With weights of 1 and a temperature of 1, an epoch has
    /// every pair once.
    ///
    /// # Panics
    /// Panics if `corpora` is empty, or if a weight or the temperature is not above 0.
    pub fn by_size(corpora: Vec<(Self, f64)>, temperature: f64) -> Self {
        assert!(temperature > 0.0, "the temperature {temperature}");
        Self::joined(corpora, 1.0 / temperature)
    }

    fn joined(corpora: Vec<(Self, f64)>, exponent: f64) -> Self {
        assert!(
            corpora.iter().all(|(_, weight)| *weight > 0.0),
            "a weight is not above 0"
        );
        let mut pairs = 0;
        let mut parts = Vec::new();
        let mut hashes = Vec::new();
        let mut report = CleaningReport::default();
        for (corpus, weight) in &corpora {
            let from = pairs as u32;
            pairs += corpus.pairs;
            parts.push(MixedPart {
                pairs: from..pairs as u32,
                weight: *weight,
                exponent,
            });
            report = report + corpus.report.clone();
            hashes.extend(corpus.hash.bytes().chain(weight.to_bits().to_le_bytes()));
        }
        assert!(!parts.is_empty(), "a mixture of nothing");
        if exponent != 0.0 {
            hashes.extend(exponent.to_bits().to_le_bytes());
        }
        let tokens = Tokens::Mixed(corpora.into_iter().map(|(corpus, _)| corpus).collect());
        Self {
            tokens,
            pairs,
            hash: hex(&key_of(&[b"mixture", &hashes])),
            report,
            parts,
            starts: Default::default(),
            documents: Bits::default(),
            context: None,
        }
    }
}
