//! The encoder–decoder Transformer (paper §3.1).

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Bool, Device, Int, Tensor, s};
use burnformer_kernels::{ComputeType, Precision, RandomKey};

use crate::attention::AttentionBias;
use crate::config::{ConfigError, TransformerConfig};
use crate::context::{AttentionKind, Context, Mode, Recorder};
use crate::conventions::{DecoderStart, SourceEnd};
use crate::cost::Cost;
use crate::decoder::{Decoder, DecoderCache};
use crate::decoder_layer::DecoderBias;
use crate::dropout::Dropout;
use crate::encoder::{EncodedSource, Encoder};
use crate::linear::Linear;
use crate::loss::LossSums;
use crate::mask::{end_mask, padding_mask};
use crate::parameters::QuantizedParameters;
use crate::position::PositionalEncoding;
use crate::seq2seq::{
    AttentionMaps, Model, ModelConfig, Seq2Seq, Seq2SeqCache, Seq2SeqConfig, Tokens,
};
use crate::shared_embeddings::SharedEmbeddings;

/// The encoder–decoder Transformer (paper §3, Figure 1). Its parts are public: each can be replaced
/// by another encoder, decoder or embedding of the same width.
#[derive(Module, Debug)]
pub struct Transformer {
    /// Embeddings of source and target, and the output projection.
    pub embeddings: SharedEmbeddings,
    /// Positional encoding of the source.
    pub source_position: PositionalEncoding,
    /// Positional encoding of the target.
    pub target_position: PositionalEncoding,
    /// The encoder stack.
    pub encoder: Encoder,
    /// The decoder stack.
    pub decoder: Decoder,
    dropout: Dropout,
    pad: u32,
    eos: u32,
    #[module(skip)]
    decoder_start: DecoderStart,
    #[module(skip)]
    source_end: SourceEnd,
}

impl TransformerConfig {
    /// Builds the model on `device` with Xavier-uniform weights and N(0, d_model^−½) embeddings,
    /// all a function of `seed`. Pass `device.autodiff()` to train.
    ///
    /// # Errors
    /// Returns the error of [`validate`](Self::validate).
    pub fn init(&self, seed: u64, device: &Device) -> Result<Transformer, ConfigError> {
        self.validate()?;
        Ok(Transformer::new(self, RandomKey::new(seed), device))
    }
}

impl Transformer {
    fn new(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let conventions = config.conventions;
        Self {
            // The embeddings derive their keys by folding the numbers 0 to 3.
            embeddings: config.embeddings().init_with_key(key, device),
            source_position: config.position().init_with_key(key.fold(4), device),
            target_position: config.position().init_with_key(key.fold(5), device),
            encoder: config.encoder().init_with_key(key.fold(6), device),
            decoder: config.decoder().init_with_key(key.fold(7), device),
            dropout: Dropout::new(config.dropout),
            pad: config.pad,
            eos: config.eos,
            decoder_start: conventions.decoder_start,
            source_end: conventions.source_end,
        }
    }

    /// Encodes the source ids, `[batch, source_len]`.
    pub fn encode<'a>(
        &self,
        source: Tensor<2, Int>,
        context: impl Into<Context<'a>>,
    ) -> EncodedSource {
        let padding = self.hidden(&source);
        self.encode_embedded(self.embeddings.source(source), Some(padding), context)
    }

    /// Decodes whole targets: `[batch, target_len]` ids → states `[batch, target_len, d_model]`.
    pub fn decode<'a>(
        &self,
        target_input: Tensor<2, Int>,
        memory: &EncodedSource,
        context: impl Into<Context<'a>>,
    ) -> Tensor<3> {
        self.decode_cached(
            target_input,
            &mut self.start_decoding(memory),
            context.into(),
        )
    }

    /// Returns an empty cache for [`decode_step`](Self::decode_step), for decoding from `memory`.
    pub fn start_decoding(&self, memory: &EncodedSource) -> DecoderCache {
        self.decoder.start(memory)
    }

    /// Encodes vectors that are not embeddings of token ids, such as features of a picture or of
    /// speech. They get positions and the dropout of embeddings, and no factor √d_model.
    ///
    /// # Shapes
    /// - `x`: `[batch, source_len, d_model]`; a [`Linear`](crate::Linear) layer before it changes
    ///   the width
    /// - `padding`: `[batch, 1, 1, source_len]`, `true` hides; `None` hides nothing
    pub fn encode_embedded<'a>(
        &self,
        x: Tensor<3>,
        padding: Option<Tensor<4, Bool>>,
        context: impl Into<Context<'a>>,
    ) -> EncodedSource {
        let context = context.into();
        let [batch, len, _] = x.dims();
        let padding = padding.unwrap_or_else(|| {
            Tensor::<1, Int>::zeros([batch * len], &x.device())
                .equal_elem(1)
                .reshape([batch, 1, 1, len])
        });
        let x = self.source_position.forward(x, 0);
        let x = self.dropout.forward(x, context.mode.fold(0));
        let bias = AttentionBias::Mask(padding.clone());
        EncodedSource {
            states: self.encoder.forward(x, &bias, context.fold(1)),
            padding,
        }
    }

    /// Decodes vectors that are not embeddings of token ids, after the positions in `cache`
    /// ([`start_decoding`](Self::start_decoding)), and adds them to it. They get positions and the
    /// dropout of embeddings, and no factor √d_model.
    ///
    /// # Shapes
    /// `x`: `[rows, new_len, d_model]` → the states, of the same shape
    pub fn decode_embedded<'a>(
        &self,
        x: Tensor<3>,
        cache: &mut DecoderCache,
        context: impl Into<Context<'a>>,
    ) -> Tensor<3> {
        let context = context.into();
        let x = self.target_position.forward(x, cache.len());
        let x = self.dropout.forward(x, context.mode.fold(2));
        self.decoder
            .forward(x, cache, &DecoderBias::default(), context.fold(3))
    }

    /// Returns the linear maps of both stacks.
    fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.encoder.linears_mut().chain(self.decoder.linears_mut())
    }

    /// Returns the mask of the source ids that attention does not see.
    fn hidden(&self, source: &Tensor<2, Int>) -> Tensor<4, Bool> {
        let padding = padding_mask(source, self.pad);
        match self.source_end {
            SourceEnd::Seen => padding,
            SourceEnd::Hidden => padding.bool_or(end_mask(source, self.eos)),
        }
    }

    fn decode_cached(
        &self,
        tokens: Tensor<2, Int>,
        cache: &mut DecoderCache,
        context: Context<'_>,
    ) -> Tensor<3> {
        let mut embedded = self.embeddings.target(tokens);
        if self.decoder_start == DecoderStart::Zero && cache.is_empty() {
            embedded = embedded.slice_fill(s![.., 0..1, ..], 0.0);
        }
        self.decode_embedded(embedded, cache, context)
    }
}

impl Seq2Seq for Transformer {
    fn states(&self, source: Tensor<2, Int>, target: Tensor<2, Int>, mode: Mode) -> Tensor<3> {
        self.decode(target, &self.encode(source, mode), mode)
    }

    fn logits(&self, states: Tensor<3>) -> Tensor<3> {
        self.embeddings.logits(states)
    }

    fn loss(
        &self,
        states: Tensor<3>,
        targets: Tensor<2, Int>,
        pad: u32,
        smoothing: f64,
    ) -> LossSums {
        self.embeddings.loss(states, targets, pad, smoothing)
    }

    fn start(&self, source: Tensor<2, Int>) -> Box<dyn Seq2SeqCache> {
        Box::new(self.start_decoding(&self.encode(source, Mode::Inference)))
    }

    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut dyn Seq2SeqCache) -> Tensor<3> {
        let states = self.decode_cached(tokens, cache.downcast_mut(), Mode::Inference.into());
        states.slice_dim(1, -1..)
    }

    fn select_outputs(&self, ids: &[u32]) -> Linear {
        self.embeddings.select(ids)
    }

    fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps {
        let encoder_recorder = Recorder::default();
        let decoder_recorder = Recorder::default();
        let context = Context::from(Mode::Inference);
        let memory = self.encode(source, context.recorded_by(&encoder_recorder));
        self.decode(
            target_input,
            &memory,
            context.recorded_by(&decoder_recorder),
        );
        let parts = [
            (&encoder_recorder, AttentionKind::SelfAttention),
            (&decoder_recorder, AttentionKind::SelfAttention),
            (&decoder_recorder, AttentionKind::Cross),
        ];
        let [encoder_self, decoder_self, cross] = parts.map(|(part, kind)| part.weights(kind));
        AttentionMaps {
            encoder_self,
            decoder_self,
            cross,
            projections: parts.map(|(part, kind)| part.projections(kind)),
            residuals: [&encoder_recorder, &decoder_recorder].map(Recorder::residuals),
        }
    }

    fn vocabularies(&self) -> [usize; 2] {
        self.embeddings.vocabularies()
    }

    fn max_positions(&self) -> Option<usize> {
        self.source_position.limit()
    }

    fn pack_stored(&mut self, compute: ComputeType, quantized: &mut QuantizedParameters) {
        for linear in self.linears_mut() {
            linear.pack_stored(compute, quantized);
        }
        self.embeddings.pack_stored(compute, quantized);
    }

    fn set_precision(&mut self, precision: Precision) {
        self.linears_mut()
            .for_each(|linear| linear.set_precision(precision));
        self.embeddings.set_precision(precision);
    }
}

impl Seq2SeqConfig for TransformerConfig {
    fn architecture(&self) -> &'static str {
        Self::ARCHITECTURE
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a configuration is plain data")
    }

    fn tokens(&self) -> Tokens {
        let &Self {
            source_vocab,
            target_vocab,
            pad,
            bos,
            eos,
            ..
        } = self;
        Tokens {
            source_vocab,
            target_vocab,
            pad,
            bos,
            eos,
        }
    }

    fn d_model(&self) -> usize {
        self.d_model
    }

    fn parameter_count(&self) -> usize {
        self.parameter_count()
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.validate()
    }

    fn build(&self, seed: u64, device: &Device) -> Result<Model, ConfigError> {
        Ok(self.init(seed, device)?.into())
    }

    fn cost(&self, source: usize, target: usize, precision: Precision) -> [Cost; 2] {
        self.cost(source, target, precision)
    }
}

impl From<TransformerConfig> for ModelConfig {
    fn from(config: TransformerConfig) -> Self {
        Arc::new(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, for one sentence of ten tokens per side over 6,000 pieces: d 128, d_ff 512, two
    /// layers per stack, 4·32 heads.
    #[test]
    fn flops_equal_a_count_by_hand() {
        let logits = 128 * 6_000;
        let layer = 4 * 128 * 128 + 2 * 128 * 512;
        let source = 2 * (layer + 256 * 10) + 2 * 2 * 128 * 128;
        let target = 2 * (layer + 2 * 128 * 128 + 2 * 256 * 10) + logits;
        let flops = TransformerConfig::tiny(6_000).update_flops(1, 10, 10);
        assert_eq!(flops, 6 * 10 * (source + target) as u64);
    }
}
