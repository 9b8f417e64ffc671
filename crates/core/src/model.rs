//! Both architectures as one type, for whoever trains, decodes or stores either.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, TransformerConfig};
use crate::decoder::DecoderCache;
use crate::precision::Precision;
use crate::random::Mode;
use crate::rnn::{Rnn, RnnCache, RnnConfig};
use crate::transformer::{AttentionMaps, Transformer};

/// A kind of model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// The paper's model.
    #[default]
    Transformer,
    /// The recurrent baseline.
    Rnn,
}

impl Architecture {
    /// The name in configurations and model directories.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transformer => "transformer",
            Self::Rnn => "rnn",
        }
    }
}

/// A model's configuration, whatever its architecture.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ModelConfig {
    /// A Transformer.
    Transformer(TransformerConfig),
    /// A recurrent encoder-decoder.
    Rnn(RnnConfig),
}

/// The same expression for either configuration.
macro_rules! either {
    ($config:expr, $inner:ident => $value:expr) => {
        match $config {
            ModelConfig::Transformer($inner) => $value,
            ModelConfig::Rnn($inner) => $value,
        }
    };
}

impl ModelConfig {
    /// What kind of model this is.
    pub fn architecture(&self) -> Architecture {
        match self {
            Self::Transformer(_) => Architecture::Transformer,
            Self::Rnn(_) => Architecture::Rnn,
        }
    }

    /// Pieces in the source vocabulary.
    pub fn source_vocab(&self) -> usize {
        either!(self, config => config.source_vocab)
    }

    /// Pieces in the target vocabulary.
    pub fn target_vocab(&self) -> usize {
        either!(self, config => config.target_vocab)
    }

    /// Width of the embeddings; the schedule of the learning rate depends on it.
    pub fn d_model(&self) -> usize {
        either!(self, config => config.d_model)
    }

    /// Id of padding.
    pub fn pad(&self) -> u32 {
        either!(self, config => config.pad)
    }

    /// Id that opens a target.
    pub fn bos(&self) -> u32 {
        either!(self, config => config.bos)
    }

    /// Id that closes a sentence.
    pub fn eos(&self) -> u32 {
        either!(self, config => config.eos)
    }

    /// Trained numbers in the model, without building it.
    pub fn parameter_count(&self) -> usize {
        either!(self, config => config.parameter_count())
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the first field that describes no model.
    pub fn validate(&self) -> Result<(), ConfigError> {
        either!(self, config => config.validate())
    }

    /// Builds the model on `device`, a function of `seed`. Pass `device.autodiff()` to train.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init(&self, seed: u64, device: &Device) -> Result<Model, ConfigError> {
        Ok(match self {
            Self::Transformer(config) => config.init(seed, device)?.into(),
            Self::Rnn(config) => config.init(seed, device)?.into(),
        })
    }
}

impl From<TransformerConfig> for ModelConfig {
    fn from(config: TransformerConfig) -> Self {
        Self::Transformer(config)
    }
}

impl From<RnnConfig> for ModelConfig {
    fn from(config: RnnConfig) -> Self {
        Self::Rnn(config)
    }
}

/// A model, whatever its architecture.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one model, and it is not moved about")]
pub enum Model {
    /// A Transformer.
    Transformer(Transformer),
    /// A recurrent encoder-decoder.
    Rnn(Rnn),
}

impl From<Transformer> for Model {
    fn from(model: Transformer) -> Self {
        Self::Transformer(model)
    }
}

impl From<Rnn> for Model {
    fn from(model: Rnn) -> Self {
        Self::Rnn(model)
    }
}

/// What decoding with a [`Model`] remembers between steps.
#[derive(Clone, Debug)]
pub enum ModelCache {
    /// Keys and values of what was decoded.
    Transformer(Box<DecoderCache>),
    /// The recurrent state.
    Rnn(Box<RnnCache>),
}

impl ModelCache {
    /// Continues from the hypotheses `rows`: beam search's reordering.
    ///
    /// The new rows must again be sentence-major, the same number for each sentence.
    pub fn select_rows(&mut self, rows: &[usize]) {
        match self {
            Self::Transformer(cache) => cache.select_rows(rows),
            Self::Rnn(cache) => cache.select_rows(rows),
        }
    }

    /// Keeps the sentences `indices`; rows must be selected to match.
    pub fn select_sentences(&mut self, indices: &[usize]) {
        match self {
            Self::Transformer(cache) => cache.select_sentences(indices),
            Self::Rnn(cache) => cache.select_sentences(indices),
        }
    }
}

impl Model {
    /// Logits of every target position, given the source and the target before it.
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
        self.logits(self.states(source, target_input, mode))
    }

    /// What [`logits`](Self::logits) projects, of every target position: `[batch, target_len, d_model]`.
    pub fn states(
        &self,
        source: Tensor<2, Int>,
        target_input: Tensor<2, Int>,
        mode: Mode,
    ) -> Tensor<3> {
        match self {
            Self::Transformer(model) => {
                model.decode(target_input, &model.encode(source, mode), mode)
            }
            Self::Rnn(model) => model.decode(target_input, model.encode(source, mode), mode),
        }
    }

    /// Projects states to the vocabulary: `[batch, len, d_model]` → `[batch, len, vocab]`.
    pub fn logits(&self, states: Tensor<3>) -> Tensor<3> {
        match self {
            Self::Transformer(model) => model.logits(states),
            Self::Rnn(model) => model.logits(states),
        }
    }

    /// Encodes `source` (`[sentences, source_len]` ids) and stands before the first target token.
    pub fn start_decoding(&self, source: Tensor<2, Int>) -> ModelCache {
        match self {
            Self::Transformer(model) => {
                let memory = model.encode(source, Mode::Inference);
                ModelCache::Transformer(Box::new(model.start_decoding(&memory)))
            }
            Self::Rnn(model) => ModelCache::Rnn(Box::new(
                model.start_decoding(model.encode(source, Mode::Inference)),
            )),
        }
    }

    /// Continues each row of `cache` by `tokens` (`[rows, new_len]`) and gives the logits after the last
    /// of them, `[rows, target_vocab]`.
    ///
    /// # Panics
    /// If `cache` is that of a model of the other architecture.
    pub fn decode_step(&self, tokens: Tensor<2, Int>, cache: &mut ModelCache) -> Tensor<2> {
        match (self, cache) {
            (Self::Transformer(model), ModelCache::Transformer(cache)) => {
                model.decode_step(tokens, cache)
            }
            (Self::Rnn(model), ModelCache::Rnn(cache)) => model.decode_step(tokens, cache),
            _ => panic!("the cache is that of a model of another architecture"),
        }
    }

    /// The weights of every attention that the model has, over `source` and `target_input`.
    pub fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps {
        match self {
            Self::Transformer(model) => model.attention(source, target_input),
            Self::Rnn(model) => {
                let cross = vec![model.attention(source, target_input)];
                AttentionMaps { cross, ..AttentionMaps::default() }
            }
        }
    }

    /// The longest sequence that either side accepts; `None` where positions have no end.
    pub fn max_positions(&self) -> Option<usize> {
        match self {
            Self::Transformer(model) => model.max_positions(),
            Self::Rnn(_) => None,
        }
    }

    /// Arranges the weights for fast inference, see [`Transformer::pack`].
    pub fn pack(&mut self) {
        match self {
            Self::Transformer(model) => model.pack(),
            Self::Rnn(model) => model.pack(),
        }
    }

    /// Multiplies matrices in `precision` from now on, see [`Transformer::compute_in`] and
    /// [`Rnn::compute_in`].
    pub fn compute_in(&mut self, precision: Precision) {
        match self {
            Self::Transformer(model) => model.compute_in(precision),
            Self::Rnn(model) => model.compute_in(precision),
        }
    }
}
