//! The reference models (`tests/reference/README.md`), fitted to reverse a sequence.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burnformer_core::model_dir::read_tensors;
use burnformer_core::rnn::RnnConfig;
use burnformer_core::{
    Activation, ComputeType, EmbeddingSharing, Model, ModelConfig, NormKind, NormPosition,
    Positions, TransformerConfig, with_parameters,
};
use burnformer_infer::{NeuralModel, Request, TranslateOptions, Translation, Translator};
use serde_json::Value;

pub const NAMES: [&str; 6] = [
    "paper",
    "learned_dk",
    "pre_gelu_untied",
    "window",
    "fix_scale",
    "qk_norm",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference")
}

pub struct Reference {
    pub name: &'static str,
    pub json: Value,
}

impl Reference {
    pub fn load(name: &'static str) -> Self {
        let json = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
        let json = serde_json::from_slice(&json).unwrap();
        Self { name, json }
    }

    fn config(&self) -> ModelConfig {
        match self.name {
            "rnn" => self.rnn(),
            _ => self.transformer().into(),
        }
    }

    fn size(&self, key: &str) -> usize {
        self.json[key].as_u64().unwrap() as usize
    }

    fn rnn(&self) -> ModelConfig {
        RnnConfig {
            d_model: self.size("d_model"),
            d_hidden: self.size("d_hidden"),
            d_attention: self.size("d_attention"),
            ..RnnConfig::tiny(self.size("vocab_size"))
        }
        .into()
    }

    fn transformer(&self) -> TransformerConfig {
        let size = |key: &str| self.size(key);
        let is = |key: &str, value: &str| self.json[key] == value;
        TransformerConfig {
            d_model: size("d_model"),
            heads: size("heads"),
            d_k: size("d_k"),
            d_v: size("d_v"),
            d_ff: size("d_ff"),
            encoder_layers: size("encoder_layers"),
            decoder_layers: size("decoder_layers"),
            norm: if is("norm", "pre") {
                NormPosition::Pre
            } else {
                NormPosition::Post
            },
            norm_kind: if is("norm_kind", "scale") {
                NormKind::Scale
            } else {
                NormKind::Layer
            },
            fix_norm: self.json["fix_norm"].as_bool().unwrap_or(false),
            qk_norm: self.json["qk_norm"].as_bool().unwrap_or(false),
            layer_norm_eps: self.json["layer_norm_eps"].as_f64().unwrap(),
            activation: if is("activation", "gelu") {
                Activation::Gelu
            } else {
                Activation::Relu
            },
            positions: if is("position", "learned") {
                Positions::Learned
            } else {
                Positions::Sinusoidal
            },
            max_positions: 32,
            attention_window: self.json["attention_window"].as_u64().map(|r| r as usize),
            sharing: if self.json["tied"].as_bool().unwrap() {
                EmbeddingSharing::All
            } else {
                EmbeddingSharing::None
            },
            ..TransformerConfig::base(size("vocab_size"))
        }
    }

    /// The configuration and the fitted weights.
    pub fn fitted(&self) -> (ModelConfig, Model) {
        let path = folder().join(format!("{}.fitted.safetensors", self.name));
        let values = read_tensors(&path, &std::fs::read(&path).unwrap()).unwrap();
        let config = self.config();
        let model = config.build(0, &Device::default()).unwrap();
        (config, with_parameters(model, values).unwrap())
    }

    pub fn model(&self) -> NeuralModel {
        self.model_in(ComputeType::Float32)
    }

    pub fn model_in(&self, compute: ComputeType) -> NeuralModel {
        let (config, model) = self.fitted();
        NeuralModel::with_compute(config, model, &Device::default(), compute)
    }

    pub fn searches(&self) -> &[Value] {
        self.json["search"].as_array().unwrap()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.searches()
            .iter()
            .map(|s| Request::new(ids(&s["source"])))
            .collect()
    }
}

pub fn ids(value: &Value) -> Vec<u32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_u64().unwrap() as u32)
        .collect()
}

/// Translations of `sources` that begin with `prefixes`.
pub fn translate_with_prefixes(
    translator: &Translator,
    sources: &[&str],
    prefixes: &[&str],
    options: &TranslateOptions,
) -> Vec<Translation> {
    let mut requests = translator.requests(sources, options).unwrap();
    for (request, prefix) in requests.iter_mut().zip(prefixes) {
        request.search.prefix = translator.tokenizers().target.encode(prefix);
    }
    translator.translate_requests(requests, options).unwrap()
}
