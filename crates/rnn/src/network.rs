use burn::module::Module;
use burn::tensor::{Bool, Device, Int, Tensor};
use burnformer_core::{ComputeType, Dropout, Mode, Precision, RandomKey, SharedEmbeddings};

use crate::config::RnnConfig;
use crate::decoder::{RnnCache, RnnDecoder};
use crate::encoder::RnnEncoder;

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

    /// The logits of all target positions, given the source and the earlier target tokens.
    ///
    /// # Shapes
    /// - `source`: `[batch, source_len]`, `target_input`: `[batch, target_len]` ids
    /// - output: `[batch, target_len, target_vocab]`
    pub fn forward(
        &self,
        source: Tensor<2, Int>,
        target_input: Tensor<2, Int>,
        mode: Mode,
    ) -> Tensor<3> {
        let memory = self.encode(source, mode);
        self.logits(self.decode(target_input, memory, mode))
    }

    /// Encodes the source ids, `[batch, source_len]`.
    pub fn encode(&self, source: Tensor<2, Int>, mode: Mode) -> RnnMemory {
        let padding = source.clone().equal_scalar(i64::from(self.pad));
        let x = self.dropout.forward(self.embeddings.source(source), mode.fold(0));
        self.decoder.remember(self.encoder.forward(x, padding.clone()), padding)
    }

    /// Decodes whole targets: `[batch, target_len]` ids → readouts `[batch, target_len, d_model]`.
    pub fn decode(&self, target_input: Tensor<2, Int>, memory: RnnMemory, mode: Mode) -> Tensor<3> {
        self.decode_cached(target_input, &mut self.decoder.start(memory), mode)
    }

    /// The attention weights at each target position, `[batch, 1, target_len, source_len]`.
    pub fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> Tensor<4> {
        let memory = self.encode(source, Mode::Inference);
        let x = self.embeddings.target(target_input);
        self.decoder.attention_weights(x, memory)
    }

    /// A cache for [`decode_step`](Self::decode_step), before the first target position, for decoding from `memory`.
    pub fn start_decoding(&self, memory: RnnMemory) -> RnnCache {
        self.decoder.start(memory)
    }

    /// Extends each row of `cache` by `tokens` (`[rows, new_len]` ids, usually one per row) and returns the
    /// logits after the last of them, `[rows, target_vocab]`.
    pub fn decode_step(&self, tokens: Tensor<2, Int>, cache: &mut RnnCache) -> Tensor<2> {
        self.logits(self.step_states(tokens, cache)).squeeze_dim(1)
    }

    /// Extends each row of `cache` by `tokens` as [`decode_step`](Self::decode_step) does, and returns the readouts after the
    /// last of them, `[rows, 1, d_model]`.
    pub fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut RnnCache) -> Tensor<3> {
        let states = self.decode_cached(tokens, cache, Mode::Inference);
        let [rows, len, d_model] = states.dims();
        states.slice([0..rows, len - 1..len, 0..d_model])
    }

    /// Projects readouts to the target vocabulary: `[batch, len, d_model]` → `[batch, len, vocab]`.
    pub fn logits(&self, readouts: Tensor<3>) -> Tensor<3> {
        self.embeddings.logits(readouts)
    }

    /// Packs the weights for fast inference, see [`Transformer::pack`](burnformer_core::Transformer::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        self.decoder.pack(compute);
        self.embeddings.pack(compute);
    }

    /// Sets the number type of all following matrix products over all positions at once: the inputs of the
    /// units, the keys of attention, the readout and the output projection. The recurrence itself
    /// stays in float32.
    pub fn set_precision(&mut self, precision: Precision) {
        self.encoder.set_precision(precision);
        self.decoder.set_precision(precision);
        self.embeddings.set_precision(precision);
    }

    fn decode_cached(&self, tokens: Tensor<2, Int>, cache: &mut RnnCache, mode: Mode) -> Tensor<3> {
        let embedded = self.embeddings.target(tokens);
        let x = self.dropout.forward(embedded, mode.fold(1));
        self.dropout.forward(self.decoder.forward(x, cache), mode.fold(2))
    }

    /// Number of tokens in the vocabularies of source and target. Every id must be below the number of its side.
    pub fn vocabularies(&self) -> [usize; 2] {
        self.embeddings.vocabularies()
    }
}
