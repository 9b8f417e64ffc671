//! The Transformers of the reference.
#![allow(dead_code, reason = "each test file uses its share")]

use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{
    Activation, EmbeddingSharing, LossSums, Mode, NormKind, NormPosition, Positions, Seq2Seq,
    Transformer, TransformerConfig, label_smoothed_cross_entropy, with_parameters,
};

use super::{Tensors, folder, tensors};

/// The cases.
pub const NAMES: [&str; 6] = [
    "paper",
    "learned_dk",
    "pre_gelu_untied",
    "window",
    "fix_scale",
    "qk_norm",
];

/// One model, one batch, and what the reference makes of them.
pub struct Case {
    pub name: &'static str,
    pub config: TransformerConfig,
    pub init: Tensors,
    pub case: Tensors,
}

impl Case {
    pub fn load(name: &'static str) -> Self {
        let json = std::fs::read(folder().join(format!("{name}.json"))).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let size = |key: &str| json[key].as_u64().unwrap() as usize;
        let init = tensors(&format!("{name}.init.safetensors"));
        let text = |key: &str| json[key].as_str().unwrap();
        let max_positions = init
            .get("source_position.weight")
            .map_or(1, |t| t.shape()[0]);
        let config = TransformerConfig {
            d_model: size("d_model"),
            heads: size("heads"),
            d_k: size("d_k"),
            d_v: size("d_v"),
            d_ff: size("d_ff"),
            encoder_layers: size("encoder_layers"),
            decoder_layers: size("decoder_layers"),
            dropout: 0.0,
            norm: if text("norm") == "pre" {
                NormPosition::Pre
            } else {
                NormPosition::Post
            },
            norm_kind: match json["norm_kind"].as_str() {
                Some("scale") => NormKind::Scale,
                _ => NormKind::Layer,
            },
            fix_norm: json["fix_norm"].as_bool().unwrap_or(false),
            qk_norm: json["qk_norm"].as_bool().unwrap_or(false),
            layer_norm_eps: json["layer_norm_eps"].as_f64().unwrap(),
            activation: if text("activation") == "gelu" {
                Activation::Gelu
            } else {
                Activation::Relu
            },
            positions: match text("position") {
                "learned" => Positions::Learned,
                _ => Positions::Sinusoidal,
            },
            max_positions,
            attention_window: json["attention_window"].as_u64().map(|r| r as usize),
            sharing: match json["tied"].as_bool().unwrap() {
                true => EmbeddingSharing::All,
                false => EmbeddingSharing::None,
            },
            ..TransformerConfig::base(size("vocab_size"))
        };
        let case = tensors(&format!("{name}.case.safetensors"));
        Self {
            name,
            config,
            init,
            case,
        }
    }

    pub fn model(&self, device: &Device) -> Transformer {
        let model = self.config.init(0, device).unwrap();
        with_parameters(model, self.init.clone()).unwrap()
    }

    pub fn ids(&self, key: &str, device: &Device) -> Tensor<2, Int> {
        Tensor::from_data(self.case[key].clone(), device)
    }

    pub fn logits(&self, model: &Transformer, device: &Device) -> Tensor<3> {
        let (source, target) = (self.ids("source", device), self.ids("target_input", device));
        model.forward(source, target, Mode::training(0, 0))
    }

    pub fn loss(&self, model: &Transformer, device: &Device) -> LossSums {
        let targets = self.ids("target_output", device);
        label_smoothed_cross_entropy(self.logits(model, device), targets, self.config.pad, 0.1)
    }

    /// Real target tokens.
    pub fn tokens(&self) -> f64 {
        self.case["target_output"]
            .iter::<i64>()
            .filter(|&t| t != 0)
            .count() as f64
    }

    /// The one number of `tensor`.
    pub fn scalar(&self, key: &str) -> f64 {
        self.case[key].iter::<f64>().next().unwrap()
    }

    /// Largest difference at positions that are not padding in `ids_key`; `axis` holds positions.
    pub fn distance(&self, key: &str, actual: TensorData, ids_key: &str, axis: usize) -> f64 {
        let expected = &self.case[key];
        assert_eq!(actual.shape(), expected.shape(), "{} {key}", self.name);
        let ids: Vec<i64> = self.case[ids_key].iter::<i64>().collect();
        let shape = expected.shape().to_vec();
        let inner: usize = shape[axis + 1..].iter().product();
        let outer: usize = shape[1..axis].iter().product();
        let len = shape[axis];
        let real = |index: usize| {
            let position = index / inner % len;
            let row = index / (inner * len * outer);
            ids[row * len + position] != 0
        };
        let pairs = actual.iter::<f64>().zip(expected.iter::<f64>()).enumerate();
        let distances = pairs
            .filter(|&(i, _)| real(i))
            .map(|(_, (a, b))| (a - b).abs());
        distances.fold(0.0, f64::max)
    }
}

/// The one number of `tensor`.
pub fn scalar(tensor: &Tensor<1>) -> f64 {
    f64::from(tensor.clone().into_scalar::<f32>())
}
