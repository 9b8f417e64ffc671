//! The contract of a model: what training, search and the model directory need from an
//! architecture.
//!
//! [`Seq2Seq`] is the model, [`Seq2SeqCache`] the state of decoding between steps, and
//! [`Seq2SeqConfig`](crate::Seq2SeqConfig) the configuration that builds a model. Training and
//! search hold them as trait objects, so that they are compiled once for all architectures.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use burnformer_kernels::{ComputeType, Precision};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::ConfigError;
use crate::context::Mode;
use crate::cost::Cost;
use crate::linear::Linear;
use crate::loss::{LossSums, label_smoothed_cross_entropy};
use crate::parameters::{Change, Look, Parameters, QuantizedParameters};

/// A model of any architecture. Its [`Parameters`] have any number of dimensions.
pub type Model = Box<dyn Seq2Seq>;

/// An encoder–decoder model that is trained on pairs of sequences and decodes one token at a time.
/// It is a Burn module.
pub trait Seq2Seq: DynModule + Sync {
    /// Returns the states of all target positions, given the source and the earlier target tokens:
    /// `target` is shifted right by one position. [`logits`](Self::logits) projects them to the
    /// vocabulary.
    ///
    /// # Shapes
    /// `source`: `[batch, source_len]`, `target`: `[batch, target_len]` ids →
    /// `[batch, target_len, d_model]`
    fn states(&self, source: Tensor<2, Int>, target: Tensor<2, Int>, mode: Mode) -> Tensor<3>;

    /// Projects states to the target vocabulary: `[batch, len, d_model]` →
    /// `[batch, len, target_vocab]`.
    fn logits(&self, states: Tensor<3>) -> Tensor<3>;

    /// Returns the logits of all target positions, given the source and the earlier target tokens.
    ///
    /// # Shapes
    /// `source`: `[batch, source_len]`, `target`: `[batch, target_len]` ids →
    /// `[batch, target_len, target_vocab]`
    fn forward(&self, source: Tensor<2, Int>, target: Tensor<2, Int>, mode: Mode) -> Tensor<3> {
        self.logits(self.states(source, target, mode))
    }

    /// Returns the loss of `states` for the right tokens, the
    /// [`label_smoothed_cross_entropy`] of their [`logits`](Self::logits). A model may compute it
    /// without holding all logits.
    ///
    /// # Shapes
    /// `states`: `[batch, len, d_model]`, `targets`: `[batch, len]` ids
    fn loss(
        &self,
        states: Tensor<3>,
        targets: Tensor<2, Int>,
        pad: u32,
        smoothing: f64,
    ) -> LossSums {
        label_smoothed_cross_entropy(self.logits(states), targets, pad, smoothing)
    }

    /// Encodes `source` (`[sentences, source_len]` ids) and returns a cache before the first target
    /// token, with one row per sentence.
    fn start(&self, source: Tensor<2, Int>) -> Box<dyn Seq2SeqCache>;

    /// Extends each row of `cache` by `tokens` (`[rows, new_len]` ids, usually one per row) and
    /// returns the states after the last of them, `[rows, 1, d_model]`.
    ///
    /// # Panics
    /// Panics if `cache` belongs to a model of another architecture.
    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut dyn Seq2SeqCache) -> Tensor<3>;

    /// Extends each row of `cache` by `tokens` as [`step_states`](Self::step_states) does, and
    /// returns the logits after the last of them, `[rows, target_vocab]`.
    fn decode_step(&self, tokens: Tensor<2, Int>, cache: &mut dyn Seq2SeqCache) -> Tensor<2> {
        self.logits(self.step_states(tokens, cache)).squeeze_dim(1)
    }

    /// Returns the projection of states to the logits of the target tokens `ids` alone, in this
    /// order, for inference: `[.., d_model]` → `[.., ids]`.
    ///
    /// # Panics
    /// Panics if one of `ids` is not below the number of tokens of the target.
    fn select_outputs(&self, ids: &[u32]) -> Linear;

    /// Returns the attention weights of all layers and heads for `source` and `target_input`
    /// (`[batch, len]` ids); empty for a model that cannot show any.
    fn attention(&self, _source: Tensor<2, Int>, _target_input: Tensor<2, Int>) -> AttentionMaps {
        AttentionMaps::default()
    }

    /// Number of tokens in the vocabularies of source and target. Every id must be below the number
    /// of its side.
    fn vocabularies(&self) -> [usize; 2];

    /// Returns the longest sequence that the model accepts on either side; `None` if there is no
    /// limit.
    fn max_positions(&self) -> Option<usize> {
        None
    }

    /// Packs the weights for fast inference, if the backend has products for packed weights (`flex`
    /// with AVX-512, AVX2 or NEON). Decoding steps become faster. On other backends this does
    /// nothing. If the weights change later, the packed copy is no longer used.
    ///
    /// In float32, a matrix is packed in place if no other tensor shares its memory; reading the
    /// parameter later unpacks it. Every other packed matrix takes memory besides the weight.
    fn pack(&mut self, compute: ComputeType) {
        self.pack_stored(compute, &mut QuantizedParameters::default());
    }

    /// Packs the weights as [`pack`](Self::pack) does. In 8-bit integers, the matrices in
    /// `quantized`, which were stored so, are packed in place. The default implementation does
    /// nothing.
    fn pack_stored(&mut self, _compute: ComputeType, _quantized: &mut QuantizedParameters) {}

    /// Sets the number type of all following matrix products: linear maps, output projection, and
    /// both products of attention. Weights, gradients, norms, softmax, residual connections and
    /// logits stay in float32 (Micikevicius et al., 2018, *Mixed Precision Training*).
    fn set_precision(&mut self, _precision: Precision) {}
}

/// The state that decoding keeps between steps.
///
/// Each sentence of a batch may have several hypotheses. The rows of a sentence are next to each
/// other, and every sentence has the same number of rows.
pub trait Seq2SeqCache: Any + Debug + Send {
    /// Reorders the hypotheses, as beam search needs it: row i continues the hypothesis that was in
    /// row `rows[i]`.
    ///
    /// In the new order, too, the rows of a sentence must be next to each other, with the same
    /// number for every sentence.
    fn select_rows(&mut self, rows: &[usize]);

    /// Keeps only the sentences `indices`, in that order. [`select_rows`](Self::select_rows) must
    /// select the matching rows.
    fn select_sentences(&mut self, indices: &[usize]);
}

impl dyn Seq2SeqCache {
    /// Returns the cache as the type of one architecture.
    ///
    /// # Panics
    /// Panics if the cache belongs to a model of another architecture.
    pub fn downcast_mut<C: Seq2SeqCache>(&mut self) -> &mut C {
        let cache = (self as &mut dyn Any).downcast_mut();
        cache.expect("the cache belongs to a model of another architecture")
    }
}

/// The methods of a Burn [`Module`] that a trait object can have. Every module implements them.
pub trait DynModule: Debug + Send {
    /// Clones the model, see [`Clone::clone`].
    fn cloned(&self) -> Model;
    /// Copies the model to `device` as an independent graph, see [`Module::fork`].
    fn fork(self: Box<Self>, device: &Device) -> Model;
    /// Returns the model for inference, without gradients, see [`Module::valid`].
    fn valid(&self) -> Model;
    /// [`Parameters::each_parameter`].
    fn show_parameters(&self, look: Look<'_>);
    /// [`Parameters::map_parameters`].
    fn change_parameters(self: Box<Self>, change: Change<'_>) -> Model;
}

impl<M: Module + Seq2Seq + 'static> DynModule for M {
    fn cloned(&self) -> Model {
        Box::new(self.clone())
    }

    fn fork(self: Box<Self>, device: &Device) -> Model {
        Box::new(Module::fork(*self, device))
    }

    fn valid(&self) -> Model {
        Box::new(Module::valid(self))
    }

    fn show_parameters(&self, look: Look<'_>) {
        self.each_parameter(look);
    }

    fn change_parameters(self: Box<Self>, change: Change<'_>) -> Model {
        Box::new((*self).map_parameters(change))
    }
}

impl<M: Module + Seq2Seq + 'static> From<M> for Model {
    fn from(model: M) -> Self {
        Box::new(model)
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        (**self).cloned()
    }
}

impl Parameters for Model {
    fn each_parameter(&self, look: Look<'_>) {
        (**self).show_parameters(look);
    }

    fn map_parameters(self, change: Change<'_>) -> Self {
        self.change_parameters(change)
    }
}

/// Attention weights of every layer, each `[batch, heads, query_len, key_len]`, the queries and
/// keys that they compare, the values that they weight, and the terms of residual connections.
#[derive(Clone, Debug, Default)]
pub struct AttentionMaps {
    /// Encoder self-attention: source positions attending to source positions.
    pub encoder_self: Vec<Tensor<4>>,
    /// Decoder self-attention: target positions attending to target positions.
    pub decoder_self: Vec<Tensor<4>>,
    /// Cross-attention: target positions attending to source positions.
    pub cross: Vec<Tensor<4>>,
    /// The [queries, keys and values](crate::Recorder::projections) of the encoder's and the
    /// decoder's self-attention and of cross-attention; none for a model without them.
    pub projections: [Vec<[Tensor<4>; 3]>; 3],
    /// The [residual connections](crate::Recorder::residuals) of the encoder and of the decoder.
    pub residuals: [Vec<[Tensor<2>; 2]>; 2],
}

/// The configuration of a model of any architecture.
pub type ModelConfig = Arc<dyn Seq2SeqConfig>;

/// The token ids of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Number of tokens in the source vocabulary.
    pub source_vocab: usize,
    /// Number of tokens in the target vocabulary.
    pub target_vocab: usize,
    /// Id of the padding token.
    pub pad: u32,
    /// Id of the token that opens a target, `<s>`.
    pub bos: u32,
    /// Id of the token that closes a sentence, `</s>`.
    pub eos: u32,
}

/// The configuration of a sequence-to-sequence model, as plain data. It builds the model.
pub trait Seq2SeqConfig: Any + Debug + Send + Sync {
    /// Returns the name of the architecture in configurations and model directories.
    fn architecture(&self) -> &'static str;

    /// Returns the fields, in the form of the object `model` in `config.json`
    /// ([`model_dir`](crate::model_dir)).
    fn to_json(&self) -> Value;

    /// Returns the vocabularies and special tokens.
    fn tokens(&self) -> Tokens;

    /// Width of the embeddings. The learning-rate schedule depends on it.
    fn d_model(&self) -> usize;

    /// Number of trained values in the model, computed without building it.
    fn parameter_count(&self) -> usize;

    /// Checks the configuration.
    ///
    /// # Errors
    /// Returns a [`ConfigError`] that names the first field with an impossible value.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the model on `device`; its initial weights are a function of `seed`. Pass
    /// `device.autodiff()` to train.
    ///
    /// # Errors
    /// Returns the error of [`validate`](Self::validate).
    fn build(&self, seed: u64, device: &Device) -> Result<Model, ConfigError>;

    /// Returns the cost of the layers per source position and per target position, for sentences of
    /// `source` and `target` tokens in a training in `precision`. Embeddings and logits are not
    /// counted.
    fn cost(&self, source: usize, target: usize, precision: Precision) -> [Cost; 2];

    /// Number of floating-point operations of an update over `rows` sentences of `source` and
    /// `target` tokens, padding included: two per multiplication of the forward pass, and twice as
    /// many for the backward pass.
    fn update_flops(&self, rows: usize, source: usize, target: usize) -> u64 {
        let cost = self.cost(source, target, Precision::Float32);
        let [of_source, of_target] = cost.map(|cost| cost.multiplications);
        let logits = self.d_model() * self.tokens().target_vocab;
        6 * (rows * (source * of_source + target * (of_target + logits))) as u64
    }
}

impl dyn Seq2SeqConfig {
    /// Returns the configuration as the type `C`; `None` if it has another type.
    pub fn downcast_ref<C: Seq2SeqConfig>(&self) -> Option<&C> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Two configurations are equal if they describe the same model.
impl PartialEq for dyn Seq2SeqConfig {
    fn eq(&self, other: &Self) -> bool {
        self.architecture() == other.architecture() && self.to_json() == other.to_json()
    }
}
