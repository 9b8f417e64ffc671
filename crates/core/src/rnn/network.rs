use std::sync::Arc;

use crate::cost::Cost;
use crate::loss::LossSums;
use crate::{
    AttentionMaps, ComputeType, ConfigError, Dropout, Linear, MAX_ROWS, MAX_WIDTH, Mode, Model,
    ModelConfig, Precision, QuantizedParameters, RandomKey, Seq2Seq, Seq2SeqCache, Seq2SeqConfig,
    SharedEmbeddings, Tokens, check_sizes, check_vocabularies,
};
use burn::module::Module;
use burn::tensor::{Bool, Device, Int, Tensor};

use super::decoder::{RnnCache, RnnDecoder};
use super::{Gru, RnnConfig};

/// The bidirectional encoder. The annotation of a position depends on the positions before and
/// after it.
#[derive(Module, Debug)]
pub struct RnnEncoder {
    /// The unit that reads from the first position to the last.
    pub left_to_right: Gru,
    /// The unit that reads from the last position to the first.
    pub right_to_left: Gru,
}

impl RnnEncoder {
    /// Returns the states of both directions at each position.
    ///
    /// # Shapes
    /// `x`: `[batch, len, d_model]`, `padding`: `[batch, len]`, `true` hides → two tensors
    /// `[batch, len, d_hidden]`
    pub fn forward(&self, x: Tensor<3>, padding: Tensor<2, Bool>) -> [Tensor<3>; 2] {
        let reversed = self
            .right_to_left
            .forward(x.clone().flip([1]), padding.clone().flip([1]));
        [self.left_to_right.forward(x, padding), reversed.flip([1])]
    }
}

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

impl Rnn {
    /// Encodes the source ids, `[batch, source_len]`, for decoding from them.
    fn start_decoding(&self, source: Tensor<2, Int>, mode: Mode) -> RnnCache {
        let padding = source.clone().equal_scalar(i64::from(self.pad));
        let x = self
            .dropout
            .forward(self.embeddings.source(source), mode.fold(0));
        self.decoder
            .start(self.encoder.forward(x, padding.clone()), padding)
    }

    fn decode_cached(&self, tokens: Tensor<2, Int>, cache: &mut RnnCache, mode: Mode) -> Tensor<3> {
        let x = self
            .dropout
            .forward(self.embeddings.target(tokens), mode.fold(1));
        self.dropout
            .forward(self.decoder.forward(x, cache), mode.fold(2))
    }
}

impl Seq2Seq for Rnn {
    fn states(&self, source: Tensor<2, Int>, target: Tensor<2, Int>, mode: Mode) -> Tensor<3> {
        self.decode_cached(target, &mut self.start_decoding(source, mode), mode)
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
        Box::new(self.start_decoding(source, Mode::Inference))
    }

    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut dyn Seq2SeqCache) -> Tensor<3> {
        self.decode_cached(tokens, cache.downcast_mut(), Mode::Inference)
            .slice_dim(1, -1..)
    }

    fn select_outputs(&self, ids: &[u32]) -> Linear {
        self.embeddings.select(ids)
    }

    fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps {
        let mut cache = self.start_decoding(source, Mode::Inference);
        let (_, cross) = self
            .decoder
            .run(self.embeddings.target(target_input), &mut cache);
        AttentionMaps {
            cross: vec![cross.unsqueeze_dim(1)],
            ..AttentionMaps::default()
        }
    }

    fn vocabularies(&self) -> [usize; 2] {
        self.embeddings.vocabularies()
    }

    fn pack_stored(&mut self, compute: ComputeType, quantized: &mut QuantizedParameters) {
        for linear in self.decoder.linears() {
            linear.pack_stored(compute, quantized);
        }
        self.embeddings.pack_stored(compute, quantized);
    }

    /// Only products over all positions at once have that number type: the inputs of the units, the
    /// keys of attention, the readout and the output projection. The recurrence itself stays in
    /// float32.
    fn set_precision(&mut self, precision: Precision) {
        let RnnEncoder {
            left_to_right,
            right_to_left,
        } = &mut self.encoder;
        for unit in [left_to_right, right_to_left, &mut self.decoder.cell] {
            unit.precision = precision;
        }
        self.decoder
            .linears()
            .for_each(|linear| linear.set_precision(precision));
        self.embeddings.set_precision(precision);
    }
}

impl RnnConfig {
    /// Builds the model on `device`, with Xavier-uniform weights, normally distributed embeddings
    /// (standard deviation d_model^−½) and zero biases, all a function of `seed`. Pass
    /// `device.autodiff()` to train.
    ///
    /// # Errors
    /// Returns the error of [`validate`](Self::validate).
    pub fn init(&self, seed: u64, device: &Device) -> Result<Rnn, ConfigError> {
        self.validate()?;
        // The embeddings derive their keys by folding the numbers 0 to 3.
        let key = RandomKey::new(seed);
        let &Self {
            d_model, d_hidden, ..
        } = self;
        let encoder_key = key.fold(4);
        Ok(Rnn {
            embeddings: self.embeddings().init_with_key(key, device),
            encoder: RnnEncoder {
                left_to_right: Gru::new(d_model, d_hidden, encoder_key.fold(0), device),
                right_to_left: Gru::new(d_model, d_hidden, encoder_key.fold(1), device),
            },
            decoder: RnnDecoder::new(self, key.fold(5), device),
            dropout: Dropout::new(self.dropout),
            pad: self.pad,
        })
    }
}

impl Seq2SeqConfig for RnnConfig {
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
        let [encoder, decoder] = self.cost(1, 1, Precision::Float32);
        (encoder + decoder + self.embeddings().cost()).parameters
    }

    fn validate(&self) -> Result<(), ConfigError> {
        check_sizes([
            ("source_vocab", self.source_vocab, MAX_ROWS),
            ("target_vocab", self.target_vocab, MAX_ROWS),
            ("d_model", self.d_model, MAX_WIDTH),
            ("d_hidden", self.d_hidden, MAX_WIDTH),
            ("d_attention", self.d_attention, MAX_WIDTH),
        ])?;
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(ConfigError::Rate {
                field: "dropout",
                value: self.dropout,
            });
        }
        let &Self {
            source_vocab,
            target_vocab,
            pad,
            bos,
            eos,
            ..
        } = self;
        check_vocabularies(self.sharing, [source_vocab, target_vocab], [pad, bos, eos])
    }

    fn build(&self, seed: u64, device: &Device) -> Result<Model, ConfigError> {
        Ok(self.init(seed, device)?.into())
    }

    /// A unit keeps the inputs of its gates, four values per gate, and their gradients. An
    /// annotation keeps its keys and its gradient. Attention keeps one weight per source position.
    fn cost(&self, source: usize, _target: usize, _precision: Precision) -> [Cost; 2] {
        let &Self {
            d_model,
            d_hidden,
            d_attention,
            ..
        } = self;
        let annotation = self.annotation();
        let unit = 13 * d_hidden;
        let biases = 6 * d_hidden;
        let readout = d_hidden + annotation + d_model;
        let encoder_gru = 3 * d_hidden * (d_model + d_hidden);
        let decoder_gru = 3 * d_hidden * (d_model + annotation + d_hidden);
        let encoder = Cost {
            parameters: 2 * (encoder_gru + biases),
            multiplications: 2 * encoder_gru + d_attention * annotation,
            activations: 2 * d_model + 2 * unit + 2 * annotation + 2 * d_attention,
        };
        let attention = d_attention * (d_hidden + annotation + 2);
        let cell = decoder_gru + 2 * d_model * readout;
        let decoder = Cost {
            parameters: d_hidden * (d_hidden + 1) + attention + cell + biases + 2 * d_model,
            multiplications: cell + d_attention * d_hidden + source * (d_attention + annotation),
            activations: 8 * d_model + unit + 2 * (annotation + d_attention + readout) + source,
        };
        [encoder, decoder]
    }
}

impl From<RnnConfig> for ModelConfig {
    fn from(config: RnnConfig) -> Self {
        Arc::new(config)
    }
}
