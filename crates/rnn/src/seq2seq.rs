use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{
    AttentionMaps, ComputeType, ConfigError, Linear, Mode, Precision, Seq2Seq, Seq2SeqCache,
    Seq2SeqConfig,
};

use crate::config::RnnConfig;
use crate::decoder::RnnCache;
use crate::network::Rnn;

impl Seq2SeqConfig for RnnConfig {
    type Model = Rnn;

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

    fn init(&self, seed: u64, device: &Device) -> Result<Rnn, ConfigError> {
        self.init(seed, device)
    }

    fn multiplications(&self, source: usize, _target: usize) -> [usize; 2] {
        let &Self { d_model, d_hidden, d_attention, .. } = self;
        let annotation = self.annotation();
        let encoder = 2 * 3 * d_hidden * (d_model + d_hidden) + d_attention * annotation;
        let cell = 3 * d_hidden * (d_model + annotation + d_hidden);
        let attention = d_attention * d_hidden + source * (d_attention + annotation);
        let readout = 2 * d_model * (d_hidden + annotation + d_model);
        [encoder, cell + attention + readout]
    }

    /// A unit keeps the inputs of its gates, four values per gate, and their gradients. An annotation keeps its keys
    /// and its gradient. Attention keeps one weight per source position.
    fn kept_values(&self, source: usize, _target: usize, _precision: Precision) -> [usize; 2] {
        let &Self { d_model, d_hidden, d_attention, .. } = self;
        let (unit, annotation) = (13 * d_hidden, self.annotation());
        let encoder = 2 * d_model + 2 * unit + 2 * annotation + 2 * d_attention;
        let readout = 2 * (d_hidden + annotation + d_model) + 6 * d_model;
        let decoder = 2 * d_model + unit + 2 * annotation + 2 * d_attention + source + readout;
        [encoder, decoder]
    }
}

impl Seq2Seq for Rnn {
    type Cache = RnnCache;

    fn states(
        &self,
        source: Tensor<2, Int>,
        target_input: Tensor<2, Int>,
        mode: Mode,
    ) -> Tensor<3> {
        self.decode(target_input, self.encode(source, mode), mode)
    }

    fn logits(&self, states: Tensor<3>) -> Tensor<3> {
        self.logits(states)
    }

    fn start(&self, source: Tensor<2, Int>) -> RnnCache {
        self.start_decoding(self.encode(source, Mode::Inference))
    }

    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut RnnCache) -> Tensor<3> {
        self.step_states(tokens, cache)
    }

    fn select_outputs(&self, ids: &[u32]) -> Linear {
        self.embeddings.select(ids)
    }

    fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps {
        let cross = vec![self.attention(source, target_input)];
        AttentionMaps { cross, ..AttentionMaps::default() }
    }

    fn vocabularies(&self) -> [usize; 2] {
        self.vocabularies()
    }

    fn pack(&mut self, compute: ComputeType) {
        self.pack(compute);
    }

    fn set_precision(&mut self, precision: Precision) {
        self.set_precision(precision);
    }
}

impl Seq2SeqCache for RnnCache {
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

    /// By hand, for one sentence of ten tokens per side over 6,000 pieces: d 128, states of 176, attention of 128.
    #[test]
    fn the_counts_are_those_by_hand() {
        let logits = 128 * 6_000;
        let source = 6 * 176 * (128 + 176) + 128 * 352;
        let cell = 528 * (128 + 352 + 176);
        let target = cell + 128 * 176 + 10 * (128 + 352) + 256 * (176 + 352 + 128) + logits;
        let own = RnnConfig::tiny(6_000).update_flops(1, 10, 10);
        assert_eq!(own, 6 * 10 * (source + target) as u64);
    }
}
