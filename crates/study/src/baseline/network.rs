use burn::module::Module;
use burn::tensor::{Bool, Device, Int, Tensor};
use burnformer_core::{
    AttentionMaps, ComputeType, Dropout, Linear, Mode, Precision, RandomKey, Seq2Seq, Seq2SeqCache,
    SharedEmbeddings,
};

use crate::baseline::config::RnnConfig;
use crate::baseline::decoder::{RnnCache, RnnDecoder};
use crate::baseline::encoder::RnnEncoder;

/// A recurrent encoder–decoder with additive attention (Bahdanau et al., 2015).
#[derive(Module, Debug)]
pub struct Rnn {
    /// Embeddings of source and target, and the output projection.
    pub embeddings: SharedEmbeddings,
    /// The encoder, which reads the source in both directions.
    pub encoder: RnnEncoder,
    /// The decoder, which writes the target.
    pub decoder: RnnDecoder,
    dropout: Dropout,
    pad: u32,
}

/// The encoded source, to which the decoder attends.
#[derive(Clone, Debug)]
pub struct RnnMemory {
    /// The encoder states of both directions, `[batch, source_len, 2·d_hidden]`.
    pub annotations: Tensor<3>,
    /// The keys of attention, `[batch, source_len, d_attention]`.
    pub keys: Tensor<3>,
    /// The decoder's first state, `[batch, d_hidden]`.
    pub initial: Tensor<2>,
    /// The padding of the source, `[batch, source_len]`; `true` where the source is padding.
    pub padding: Tensor<2, Bool>,
}

impl Rnn {
    pub(crate) fn new(config: &RnnConfig, key: RandomKey, device: &Device) -> Self {
        Self {
            // The embeddings derive their keys by folding the numbers 0 to 3.
            embeddings: config.embeddings().init_with_key(key, device),
            encoder: RnnEncoder::new(config, key.fold(4), device),
            decoder: RnnDecoder::new(config, key.fold(5), device),
            dropout: Dropout::new(config.dropout),
            pad: config.pad,
        }
    }

    /// Encodes the source ids, `[batch, source_len]`.
    pub fn encode(&self, source: Tensor<2, Int>, mode: Mode) -> RnnMemory {
        let padding = source.clone().equal_scalar(i64::from(self.pad));
        let x = self.dropout.forward(self.embeddings.source(source), mode.fold(0));
        self.decoder.remember(self.encoder.forward(x, padding.clone()), padding)
    }

    fn decode_cached(&self, tokens: Tensor<2, Int>, cache: &mut RnnCache, mode: Mode) -> Tensor<3> {
        let embedded = self.embeddings.target(tokens);
        let x = self.dropout.forward(embedded, mode.fold(1));
        self.dropout.forward(self.decoder.forward(x, cache), mode.fold(2))
    }
}

impl Seq2Seq for Rnn {
    fn states(
        &self,
        source: Tensor<2, Int>,
        target_input: Tensor<2, Int>,
        mode: Mode,
    ) -> Tensor<3> {
        let mut cache = self.decoder.start(self.encode(source, mode));
        self.decode_cached(target_input, &mut cache, mode)
    }

    fn logits(&self, states: Tensor<3>) -> Tensor<3> {
        self.embeddings.logits(states)
    }

    fn start(&self, source: Tensor<2, Int>) -> Box<dyn Seq2SeqCache> {
        Box::new(self.decoder.start(self.encode(source, Mode::Inference)))
    }

    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut dyn Seq2SeqCache) -> Tensor<3> {
        let states = self.decode_cached(tokens, cache.downcast_mut(), Mode::Inference);
        let [rows, len, d_model] = states.dims();
        states.slice([0..rows, len - 1..len, 0..d_model])
    }

    fn select_outputs(&self, ids: &[u32]) -> Linear {
        self.embeddings.select(ids)
    }

    fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps {
        let memory = self.encode(source, Mode::Inference);
        let cross = self.decoder.attention_weights(self.embeddings.target(target_input), memory);
        AttentionMaps { cross: vec![cross], ..AttentionMaps::default() }
    }

    fn vocabularies(&self) -> [usize; 2] {
        self.embeddings.vocabularies()
    }

    fn pack(&mut self, compute: ComputeType) {
        self.decoder.pack(compute);
        self.embeddings.pack(compute);
    }

    /// Only products over all positions at once have that number type: the inputs of the units, the keys of attention, the
    /// readout and the output projection. The recurrence itself stays in float32.
    fn set_precision(&mut self, precision: Precision) {
        self.encoder.set_precision(precision);
        self.decoder.set_precision(precision);
        self.embeddings.set_precision(precision);
    }
}
