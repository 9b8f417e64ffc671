//! The traits of an architecture: what training, search and the model directory need from a model.

use std::fmt::Debug;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use burnformer_kernels::ComputeType;
use serde::Serialize;

use crate::attention_maps::AttentionMaps;
use crate::config::{ConfigError, TransformerConfig};
use crate::decoder::DecoderCache;
use crate::linear::Linear;
use crate::precision::Precision;
use crate::random::Mode;
use crate::transformer::Transformer;

/// The configuration of a sequence-to-sequence model, from which the model is built.
///
/// It is plain data. Its serialised form is the object `model` in `config.json`
/// ([`model_dir`](crate::model_dir)).
pub trait Seq2SeqConfig: Clone + Debug + PartialEq + Serialize + Send + Sync + 'static {
    /// The model that [`init`](Self::init) builds.
    type Model: Seq2Seq;

    /// The name of the architecture in configurations and model directories.
    fn architecture(&self) -> &'static str;

    /// Reads a configuration from its serialised `fields`. Returns `None` if `architecture` is not the name of this
    /// architecture.
    fn from_json(
        architecture: &str,
        fields: serde_json::Value,
    ) -> Option<Result<Self, serde_json::Error>>;

    /// Number of tokens in the source vocabulary.
    fn source_vocab(&self) -> usize;

    /// Number of tokens in the target vocabulary.
    fn target_vocab(&self) -> usize;

    /// Width of the embeddings. The learning-rate schedule depends on it.
    fn d_model(&self) -> usize;

    /// Id of the padding token.
    fn pad(&self) -> u32;

    /// Id of the token that opens a target, `<s>`.
    fn bos(&self) -> u32;

    /// Id of the token that closes a sentence, `</s>`.
    fn eos(&self) -> u32;

    /// Number of trained values in the model, computed without building it.
    fn parameter_count(&self) -> usize;

    /// Checks the configuration.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the first field with an impossible value.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the model on `device`; its initial weights are a function of `seed`. Pass `device.autodiff()` to train.
    ///
    /// # Errors
    /// The error of [`validate`](Self::validate).
    fn init(&self, seed: u64, device: &Device) -> Result<Self::Model, ConfigError>;

    /// Number of multiplications in the forward pass per source position and per target position, for sentences of
    /// `source` and `target` tokens. Matrix products and attention are counted, the logits are not.
    fn multiplications(&self, source: usize, target: usize) -> [usize; 2];

    /// Number of float32 values that training in `precision` keeps for the backward pass, per source position and per
    /// target position, for sentences of `source` and `target` tokens. The logits are not counted.
    fn kept_values(&self, source: usize, target: usize, precision: Precision) -> [usize; 2];

    /// Number of floating-point operations of an update over `rows` sentences of `source` and `target` tokens, padding
    /// included: two per multiplication of the forward pass, and twice as many for the backward pass.
    fn update_flops(&self, rows: usize, source: usize, target: usize) -> u64 {
        let [of_source, of_target] = self.multiplications(source, target);
        let logits = self.d_model() * self.target_vocab();
        6 * (rows * (source * of_source + target * (of_target + logits))) as u64
    }
}

/// An encoder–decoder model that is trained on pairs of sequences and decodes one token at a time.
pub trait Seq2Seq: Module + Debug + Send + Sync {
    /// The state that decoding keeps between steps.
    type Cache: Seq2SeqCache;

    /// The states of all target positions, given the source and the earlier target tokens. [`logits`](Self::logits)
    /// projects them to the vocabulary.
    ///
    /// # Shapes
    /// `source`: `[batch, source_len]`, `target_input`: `[batch, target_len]` ids → `[batch, target_len, d_model]`
    fn states(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>, mode: Mode)
    -> Tensor<3>;

    /// Projects states to the target vocabulary: `[batch, len, d_model]` → `[batch, len, target_vocab]`.
    fn logits(&self, states: Tensor<3>) -> Tensor<3>;

    /// The logits of all target positions, given the source and the earlier target tokens.
    ///
    /// # Shapes
    /// `source`: `[batch, source_len]`, `target_input`: `[batch, target_len]` ids →
    /// `[batch, target_len, target_vocab]`
    fn forward(
        &self,
        source: Tensor<2, Int>,
        target_input: Tensor<2, Int>,
        mode: Mode,
    ) -> Tensor<3> {
        self.logits(self.states(source, target_input, mode))
    }

    /// Encodes `source` (`[sentences, source_len]` ids) and returns a cache before the first target token, with one
    /// row per sentence.
    fn start(&self, source: Tensor<2, Int>) -> Self::Cache;

    /// Extends each row of `cache` by `tokens` (`[rows, new_len]` ids, usually one per row) and returns the states after the
    /// last of them, `[rows, 1, d_model]`.
    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut Self::Cache) -> Tensor<3>;

    /// The projection of states to the logits of the target tokens `ids` alone, in this order, for inference:
    /// `[.., d_model]` → `[.., ids]`.
    ///
    /// # Panics
    /// If one of `ids` is not below the number of tokens of the target.
    fn select_outputs(&self, ids: &[u32]) -> Linear;

    /// Extends each row of `cache` by `tokens` (`[rows, new_len]` ids, usually one per row) and returns the logits
    /// after the last of them, `[rows, target_vocab]`.
    fn decode_step(&self, tokens: Tensor<2, Int>, cache: &mut Self::Cache) -> Tensor<2> {
        self.logits(self.step_states(tokens, cache)).squeeze_dim(1)
    }

    /// The attention weights of all layers and heads for `source` and `target_input` (`[batch, len]` ids).
    fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps;

    /// Number of tokens in the vocabularies of source and target. Every id must be below the number of its side.
    fn vocabularies(&self) -> [usize; 2];

    /// The longest sequence that the model accepts on either side; `None` if there is no limit.
    fn max_positions(&self) -> Option<usize> {
        None
    }

    /// Packs the weights for fast inference, if the backend has products for packed weights. To be called again if the
    /// weights change.
    fn pack(&mut self, compute: ComputeType);

    /// Sets the number type of all following matrix products.
    fn set_precision(&mut self, precision: Precision);
}

/// The state that decoding keeps between steps.
///
/// Each sentence of a batch may have several hypotheses. The rows of a sentence are next to each other, and every
/// sentence has the same number of rows.
pub trait Seq2SeqCache: Clone + Debug + Send {
    /// Reorders the hypotheses, as beam search needs it: row i continues the hypothesis that was in row `rows[i]`.
    ///
    /// In the new order, too, the rows of a sentence must be next to each other, with the same number for every
    /// sentence.
    fn select_rows(&mut self, rows: &[usize]);

    /// Keeps only the sentences `indices`, in that order. [`select_rows`](Self::select_rows) must select the matching
    /// rows.
    fn select_sentences(&mut self, indices: &[usize]);
}

impl Seq2SeqConfig for TransformerConfig {
    type Model = Transformer;

    fn architecture(&self) -> &'static str {
        Self::ARCHITECTURE
    }

    fn from_json(
        architecture: &str,
        fields: serde_json::Value,
    ) -> Option<Result<Self, serde_json::Error>> {
        (architecture == Self::ARCHITECTURE).then(|| serde_json::from_value(fields))
    }

    fn source_vocab(&self) -> usize {
        self.source_vocab
    }

    fn target_vocab(&self) -> usize {
        self.target_vocab
    }

    fn d_model(&self) -> usize {
        self.d_model
    }

    fn pad(&self) -> u32 {
        self.pad
    }

    fn bos(&self) -> u32 {
        self.bos
    }

    fn eos(&self) -> u32 {
        self.eos
    }

    fn parameter_count(&self) -> usize {
        self.parameter_count()
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.validate()
    }

    fn init(&self, seed: u64, device: &Device) -> Result<Transformer, ConfigError> {
        self.init(seed, device)
    }

    fn multiplications(&self, source: usize, target: usize) -> [usize; 2] {
        self.cost(source, target, Precision::Float32).map(|cost| cost.multiplications)
    }

    fn kept_values(&self, source: usize, target: usize, precision: Precision) -> [usize; 2] {
        self.cost(source, target, precision).map(|cost| cost.kept_values)
    }
}

impl Seq2Seq for Transformer {
    type Cache = DecoderCache;

    fn states(
        &self,
        source: Tensor<2, Int>,
        target_input: Tensor<2, Int>,
        mode: Mode,
    ) -> Tensor<3> {
        self.decode(target_input, &self.encode(source, mode), mode)
    }

    fn logits(&self, states: Tensor<3>) -> Tensor<3> {
        self.logits(states)
    }

    fn start(&self, source: Tensor<2, Int>) -> DecoderCache {
        self.start_decoding(&self.encode(source, Mode::Inference))
    }

    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut DecoderCache) -> Tensor<3> {
        self.step_states(tokens, cache)
    }

    fn select_outputs(&self, ids: &[u32]) -> Linear {
        self.embeddings.select(ids)
    }

    fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps {
        self.attention(source, target_input)
    }

    fn vocabularies(&self) -> [usize; 2] {
        self.vocabularies()
    }

    fn max_positions(&self) -> Option<usize> {
        self.max_positions()
    }

    fn pack(&mut self, compute: ComputeType) {
        self.pack(compute);
    }

    fn set_precision(&mut self, precision: Precision) {
        self.set_precision(precision);
    }
}

impl Seq2SeqCache for DecoderCache {
    fn select_rows(&mut self, rows: &[usize]) {
        self.select_rows(rows);
    }

    fn select_sentences(&mut self, indices: &[usize]) {
        self.select_sentences(indices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, for one sentence of ten tokens per side over 6,000 pieces: d 128, d_ff 512, two layers per
    /// stack, 4·32 heads.
    #[test]
    fn the_counts_are_those_by_hand() {
        let logits = 128 * 6_000;
        let layer = 4 * 128 * 128 + 2 * 128 * 512;
        let source = 2 * (layer + 256 * 10) + 2 * 2 * 128 * 128;
        let target = 2 * (layer + 2 * 128 * 128 + 2 * 256 * 10) + logits;
        let own = TransformerConfig::tiny(6_000).update_flops(1, 10, 10);
        assert_eq!(own, 6 * 10 * (source + target) as u64);
    }
}
