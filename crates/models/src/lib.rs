//! The list of all architectures of the workspace, and one type that holds any of them.
//!
//! An architecture is a crate that implements [`Seq2SeqConfig`] and [`Seq2Seq`] of `burnformer-core`. This file is
//! the only place that knows all of them. [`Model`], [`ModelConfig`] and [`ModelCache`] are enums over the list and
//! implement the same traits. Training, search and the model directory therefore work with every architecture in the
//! same way.
//!
//! They are enums and not trait objects because Burn visits modules by generic code, which trait
//! objects cannot offer. Adding an architecture adds one line here.
//!
//! # Example
//!
//! ```
//! use burn::tensor::{Device, Int, Tensor};
//! use burnformer_core::{Mode, Seq2Seq, Seq2SeqConfig, TransformerConfig};
//! use burnformer_models::ModelConfig;
//!
//! let device = Device::default();
//! let config = ModelConfig::from(TransformerConfig::tiny(100));
//! let model = config.init(0, &device)?;
//! let source = Tensor::<2, Int>::from_ints([[5, 6, 7, 2]], &device);
//! let target = Tensor::<2, Int>::from_ints([[1, 9, 8]], &device);
//! assert_eq!(model.forward(source, target, Mode::Inference).dims(), [1, 3, 100]);
//! # Ok::<(), burnformer_core::ConfigError>(())
//! ```

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{
    AttentionMaps, ComputeType, ConfigError, DecoderCache, Linear, Mode, Precision, Seq2Seq,
    Seq2SeqCache, Seq2SeqConfig, Transformer, TransformerConfig,
};
use burnformer_rnn::{Rnn, RnnCache, RnnConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares the enums over the architectures and implements the traits of an architecture for them.
macro_rules! architectures {
    ($($(#[$doc:meta])* $name:ident($id:literal): $config:ty, $model:ty, $cache:ty;)+) => {
        /// The architecture of a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
        pub enum Architecture {
            $($(#[$doc])* #[serde(rename = $id)] $name,)+
        }

        impl Architecture {
            /// All architectures.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The name of the architecture in configurations and model directories.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)+
                }
            }
        }

        /// The configuration of a model of any architecture.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum ModelConfig {
            $($(#[$doc])* $name($config),)+
        }

        /// A model of any architecture.
        #[derive(Module, Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one model, and it is not moved about")]
        pub enum Model {
            $($(#[$doc])* $name($model),)+
        }

        /// The state that decoding with a [`Model`] keeps between steps.
        #[derive(Clone, Debug)]
        pub enum ModelCache {
            $($(#[$doc])* $name(Box<$cache>),)+
        }

        $(
            impl From<$config> for ModelConfig {
                fn from(config: $config) -> Self {
                    Self::$name(config)
                }
            }

            impl From<$model> for Model {
                fn from(model: $model) -> Self {
                    Self::$name(model)
                }
            }
        )+

        impl Seq2SeqConfig for ModelConfig {
            type Model = Model;

            fn from_json(
                architecture: &str,
                fields: serde_json::Value,
            ) -> Option<Result<Self, serde_json::Error>> {
                match architecture {
                    $($id => Some(<$config>::from_json($id, fields)?.map(Self::$name)),)+
                    _ => None,
                }
            }

            fn architecture(&self) -> &'static str {
                match self {
                    $(Self::$name(inner) => inner.architecture(),)+
                }
            }

            fn source_vocab(&self) -> usize {
                match self {
                    $(Self::$name(inner) => Seq2SeqConfig::source_vocab(inner),)+
                }
            }

            fn target_vocab(&self) -> usize {
                match self {
                    $(Self::$name(inner) => Seq2SeqConfig::target_vocab(inner),)+
                }
            }

            fn d_model(&self) -> usize {
                match self {
                    $(Self::$name(inner) => Seq2SeqConfig::d_model(inner),)+
                }
            }

            fn pad(&self) -> u32 {
                match self {
                    $(Self::$name(inner) => Seq2SeqConfig::pad(inner),)+
                }
            }

            fn bos(&self) -> u32 {
                match self {
                    $(Self::$name(inner) => Seq2SeqConfig::bos(inner),)+
                }
            }

            fn eos(&self) -> u32 {
                match self {
                    $(Self::$name(inner) => Seq2SeqConfig::eos(inner),)+
                }
            }

            fn parameter_count(&self) -> usize {
                match self {
                    $(Self::$name(inner) => Seq2SeqConfig::parameter_count(inner),)+
                }
            }

            fn validate(&self) -> Result<(), ConfigError> {
                match self {
                    $(Self::$name(inner) => inner.validate(),)+
                }
            }

            fn init(&self, seed: u64, device: &Device) -> Result<Model, ConfigError> {
                match self {
                    $(Self::$name(inner) => Ok(inner.init(seed, device)?.into()),)+
                }
            }

            fn kept_values(&self, source: usize, target: usize, precision: Precision) -> [usize; 2] {
                match self {
                    $(Self::$name(inner) => inner.kept_values(source, target, precision),)+
                }
            }

            fn multiplications(&self, source: usize, target: usize) -> [usize; 2] {
                match self {
                    $(Self::$name(inner) => inner.multiplications(source, target),)+
                }
            }
        }

        impl Seq2Seq for Model {
            type Cache = ModelCache;

            fn states(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>, mode: Mode) -> Tensor<3> {
                match self {
                    $(Self::$name(inner) => inner.states(source, target_input, mode),)+
                }
            }

            fn logits(&self, states: Tensor<3>) -> Tensor<3> {
                match self {
                    $(Self::$name(inner) => inner.logits(states),)+
                }
            }

            fn select_outputs(&self, ids: &[u32]) -> Linear {
                match self {
                    $(Self::$name(inner) => inner.select_outputs(ids),)+
                }
            }

            fn start(&self, source: Tensor<2, Int>) -> ModelCache {
                match self {
                    $(Self::$name(inner) => ModelCache::$name(Box::new(inner.start(source))),)+
                }
            }

            fn attention(&self, source: Tensor<2, Int>, target_input: Tensor<2, Int>) -> AttentionMaps {
                match self {
                    $(Self::$name(inner) => Seq2Seq::attention(inner, source, target_input),)+
                }
            }

            fn vocabularies(&self) -> [usize; 2] {
                match self {
                    $(Self::$name(inner) => Seq2Seq::vocabularies(inner),)+
                }
            }

            fn max_positions(&self) -> Option<usize> {
                match self {
                    $(Self::$name(inner) => Seq2Seq::max_positions(inner),)+
                }
            }

            fn pack(&mut self, compute: ComputeType) {
                match self {
                    $(Self::$name(inner) => inner.pack(compute),)+
                }
            }

            fn set_precision(&mut self, precision: Precision) {
                match self {
                    $(Self::$name(inner) => inner.set_precision(precision),)+
                }
            }

            /// # Panics
            /// If `cache` belongs to a model of another architecture.
            fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut ModelCache) -> Tensor<3> {
                match (self, cache) {
                    $((Self::$name(model), ModelCache::$name(cache)) => model.step_states(tokens, cache),)+
                    _ => panic!("the cache is that of a model of another architecture"),
                }
            }
        }

        impl Seq2SeqCache for ModelCache {
            fn select_rows(&mut self, rows: &[usize]) {
                match self {
                    $(Self::$name(inner) => inner.select_rows(rows),)+
                }
            }

            fn select_sentences(&mut self, indices: &[usize]) {
                match self {
                    $(Self::$name(inner) => inner.select_sentences(indices),)+
                }
            }
        }
    };
}

architectures! {
    /// The encoder–decoder Transformer of *Attention Is All You Need*.
    Transformer("transformer"): TransformerConfig, Transformer, DecoderCache;
    /// The recurrent baseline: a GRU encoder and decoder with additive attention.
    Rnn("rnn"): RnnConfig, Rnn, RnnCache;
}

/// The program in the README, which the tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
