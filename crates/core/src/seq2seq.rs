//! What training, search and the model directory ask of an architecture.

use std::fmt::Debug;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use serde::Serialize;

use crate::config::{ConfigError, TransformerConfig};
use crate::decoder::DecoderCache;
use crate::precision::Precision;
use crate::random::Mode;
use crate::transformer::{AttentionMaps, Transformer};

/// A configuration from which a sequence-to-sequence model is built.
///
/// It is plain data: what it serialises to is the part `model` of a `config.json`
/// ([`model_dir`](crate::model_dir)).
pub trait Seq2SeqConfig: Clone + Debug + PartialEq + Serialize + Send + Sync + 'static {
    /// What [`init`](Self::init) builds.
    type Model: Seq2Seq;

    /// The name of the architecture in configurations and model directories.
    fn architecture(&self) -> &'static str;

    /// Reads what such a configuration serialised to; `None` if it describes no `architecture` of this name.
    fn from_json(
        architecture: &str,
        fields: serde_json::Value,
    ) -> Option<Result<Self, serde_json::Error>>;

    /// Pieces in the source vocabulary.
    fn source_vocab(&self) -> usize;

    /// Pieces in the target vocabulary.
    fn target_vocab(&self) -> usize;

    /// Width of the embeddings; the schedule of the learning rate depends on it.
    fn d_model(&self) -> usize;

    /// Id of padding.
    fn pad(&self) -> u32;

    /// Id that opens a target.
    fn bos(&self) -> u32;

    /// Id that closes a sentence.
    fn eos(&self) -> u32;

    /// Trained numbers in the model, without building it.
    fn parameter_count(&self) -> usize;

    /// Checks the configuration.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the first field that describes no model.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the model on `device`, a function of `seed`. Pass `device.autodiff()` to train.
    ///
    /// # Errors
    /// The error of [`validate`](Self::validate).
    fn init(&self, seed: u64, device: &Device) -> Result<Self::Model, ConfigError>;

    /// Multiplications of the forward pass for one source position and for one target position, of sentences of
    /// `source` and `target` tokens: matrix products and attention, without the logits.
    fn multiplications(&self, source: usize, target: usize) -> [usize; 2];

    /// Float32 values that training in `precision` keeps for the backward pass, of one source position and of one
    /// target position in sentences of `source` and `target` tokens, without the logits.
    fn kept_values(&self, source: usize, target: usize, precision: Precision) -> [usize; 2];

    /// Floating point operations of an update over `rows` sentences of `source` and `target` tokens, padding
    /// counted: two for each multiplication of the forward pass, twice as many for the backward pass.
    fn update_flops(&self, rows: usize, source: usize, target: usize) -> u64 {
        let [of_source, of_target] = self.multiplications(source, target);
        let logits = self.d_model() * self.target_vocab();
        6 * (rows * (source * of_source + target * (of_target + logits))) as u64
    }
}

/// An encoder-decoder that is trained on pairs of sequences and decodes one token at a time.
pub trait Seq2Seq: Module + Debug + Send + Sync {
    /// What decoding remembers between steps.
    type Cache: Seq2SeqCache;

    /// What [`logits`](Self::logits) projects, of every target position, given the source and the target before it.
    ///
    /// # Shapes
    /// `source`: `[batch, source_len]`, `target_input`: `[batch, target_len]` ids → `[batch, target_len, d_model]`
    fn states(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>, mode: Mode)
    -> Tensor<3>;

    /// Projects states to the vocabulary: `[batch, len, d_model]` → `[batch, len, target_vocab]`.
    fn logits(&self, states: Tensor<3>) -> Tensor<3>;

    /// Logits of every target position, given the source and the target before it.
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

    /// Encodes `source` (`[sentences, source_len]` ids) and stands before the first target token, with one row a
    /// sentence.
    fn start(&self, source: Tensor<2, Int>) -> Self::Cache;

    /// Continues each row of `cache` by `tokens` (`[rows, new_len]` ids, usually one each) and gives the logits
    /// after the last of them, `[rows, target_vocab]`.
    fn decode_step(&self, tokens: Tensor<2, Int>, cache: &mut Self::Cache) -> Tensor<2>;

    /// The weights of every attention that the model has, over `source` and `target_input` (`[batch, len]` ids).
    fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps;

    /// Pieces in the vocabularies of source and target; every id has to be below that of its side.
    fn vocabularies(&self) -> [usize; 2];

    /// The longest sequence that either side accepts; `None` where positions have no end.
    fn max_positions(&self) -> Option<usize> {
        None
    }

    /// Arranges the weights for fast inference where the backend has products for that. Outputs stay those of
    /// the weights as they are when it is called.
    fn pack(&mut self);

    /// Multiplies matrices in `precision` from now on.
    fn set_precision(&mut self, precision: Precision);
}

/// What decoding remembers between steps.
///
/// A batch of sentences may carry several hypotheses each: rows are sentence-major, the same number for each
/// sentence.
pub trait Seq2SeqCache: Clone + Debug + Send {
    /// Continues from the hypotheses `rows`: beam search's reordering.
    ///
    /// The new rows must again be sentence-major, the same number for each sentence.
    fn select_rows(&mut self, rows: &[usize]);

    /// Keeps the sentences `indices`; rows must be selected to match.
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
        let &Self { d_model, heads, d_k, d_v, d_ff, .. } = self;
        let width = heads * (d_k + d_v);
        // Queries and output, or keys and values: two of the four projections.
        let pair = d_model * width;
        let seen = |keys: usize| self.attention_window.map_or(keys, |r| keys.min(2 * r + 1));
        let feed_forward = 2 * d_model * d_ff;
        let encoder = 2 * pair + width * seen(source) + feed_forward;
        let decoder = 3 * pair + width * (seen(target) + source) + feed_forward;
        // Each decoder layer projects keys and values of the source.
        [self.encoder_layers * encoder + self.decoder_layers * pair, self.decoder_layers * decoder]
    }

    /// Each attention keeps its input, queries, keys, values, context and weights, these three times in 16 bits: before
    /// and after rounding, and as what hides some of them; each feed-forward network keeps its input and inner layer,
    /// each residual connection its two sides.
    fn kept_values(&self, source: usize, target: usize, precision: Precision) -> [usize; 2] {
        let times = if precision == Precision::Float32 { 1 } else { 3 };
        let attention =
            |keys: usize| self.d_model + self.heads * (2 * self.d_k + 2 * self.d_v + times * keys);
        let feed_forward = self.d_model + self.d_ff;
        let residual = 2 * self.d_model;
        let encoder = attention(source) + feed_forward + 2 * residual;
        let decoder = attention(target) + attention(source) + feed_forward + 3 * residual;
        [self.encoder_layers * encoder, self.decoder_layers * decoder]
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

    fn decode_step(&self, tokens: Tensor<2, Int>, cache: &mut DecoderCache) -> Tensor<2> {
        self.decode_step(tokens, cache)
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

    fn pack(&mut self) {
        self.pack();
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

    /// By hand, for one sentence of ten tokens a side over 6,000 pieces: d 128, d_ff 512, two layers a
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
