//! The contract of a model's configuration.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::ConfigError;
use crate::cost::Cost;
use crate::precision::Precision;
use crate::seq2seq::Model;

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

/// The configuration of a sequence-to-sequence model, from which the model is built. It is plain
/// data.
pub trait Seq2SeqConfig: Any + Debug + Send + Sync {
    /// The name of the architecture in configurations and model directories.
    fn architecture(&self) -> &'static str;

    /// The fields, as the object `model` in `config.json` ([`model_dir`](crate::model_dir)) has
    /// them.
    fn to_json(&self) -> Value;

    /// The vocabularies and special tokens.
    fn tokens(&self) -> Tokens;

    /// Width of the embeddings. The learning-rate schedule depends on it.
    fn d_model(&self) -> usize;

    /// Number of trained values in the model, computed without building it.
    fn parameter_count(&self) -> usize;

    /// Checks the configuration.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the first field with an impossible value.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the model on `device`; its initial weights are a function of `seed`. Pass
    /// `device.autodiff()` to train.
    ///
    /// # Errors
    /// The error of [`validate`](Self::validate).
    fn build(&self, seed: u64, device: &Device) -> Result<Model, ConfigError>;

    /// The cost of the layers per source position and per target position, for sentences of
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
    /// The configuration as one of the architecture `C`, if it is that.
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
