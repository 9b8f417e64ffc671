//! The layers of both stacks. Marian's matrices are `[in, out]`, those of a model directory `[out, in]`.

use burnformer_core::{NormPosition, TargetHistory, TransformerConfig};

use super::vector;
use super::yaml::Options;
use crate::error::Result;
use crate::package::Package;
use crate::tensors::{Taken, Tensor, Tensors};

/// How a weight is stored there.
#[derive(Clone, Copy)]
enum Kind {
    /// `[in, out]`.
    Matrix([usize; 2]),
    /// `[1, len]`.
    Vector(usize),
}

/// A weight of a layer: its name there, its name here, and how it is stored there.
type Weight = (String, String, Kind);

/// Lists the weights of layers.
struct List {
    weights: Vec<Weight>,
    d_model: usize,
    norm_suffix: &'static str,
}

impl List {
    fn add(&mut self, there: String, here: String, kind: Kind) {
        self.weights.push((there, here, kind));
    }

    fn linear(&mut self, [weight, bias]: [String; 2], here: &str, sizes: [usize; 2]) {
        self.add(weight, format!("{here}.weight"), Kind::Matrix(sizes));
        self.add(bias, format!("{here}.bias"), Kind::Vector(sizes[1]));
    }

    fn norm(&mut self, there: &str, here: &str, suffix: &str) {
        for (kind, own) in [("scale", "weight"), ("bias", "bias")] {
            let there = format!("{there}_ln_{kind}{suffix}");
            self.add(there, format!("{here}.{own}"), Kind::Vector(self.d_model));
        }
    }

    fn attention(&mut self, there: &str, here: &str) {
        for (letter, own) in [("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")] {
            let names = [format!("{there}_W{letter}"), format!("{there}_b{letter}")];
            self.linear(names, &format!("{here}.{own}"), [self.d_model; 2]);
        }
        self.norm(&format!("{there}_Wo"), &format!("{here}_norm"), self.norm_suffix);
    }

    fn ssru(&mut self, there: &str, here: &str) {
        let candidate = format!("{here}.ssru.candidate.weight");
        self.add(format!("{there}_W"), candidate, Kind::Matrix([self.d_model; 2]));
        let names = [format!("{there}_Wf"), format!("{there}_bf")];
        self.linear(names, &format!("{here}.ssru.gate"), [self.d_model; 2]);
        // Its norm before the unit is named by the unit, that behind it by a network that is not there.
        let norm =
            if self.norm_suffix.is_empty() { format!("{there}_ffn") } else { there.to_string() };
        self.norm(&norm, &format!("{here}.self_attention_norm"), self.norm_suffix);
    }

    fn feed_forward(&mut self, there: &str, here: &str, d_ff: usize) {
        let names = |n: usize| [format!("{there}_W{n}"), format!("{there}_b{n}")];
        self.linear(names(1), &format!("{here}.inner"), [self.d_model, d_ff]);
        self.linear(names(2), &format!("{here}.outer"), [d_ff, self.d_model]);
        self.norm(&format!("{there}_ffn"), &format!("{here}_norm"), self.norm_suffix);
    }
}

/// The weights of all layers of a model of `config`.
fn list(config: &TransformerConfig) -> Vec<Weight> {
    let pre = config.norm == NormPosition::Pre;
    let norm_suffix = if pre { "_pre" } else { "" };
    let mut list = List { weights: Vec::new(), d_model: config.d_model, norm_suffix };
    for n in 0..config.encoder_layers {
        let (there, here) = (format!("encoder_l{}", n + 1), format!("encoder.layers.{n}"));
        list.attention(&format!("{there}_self"), &format!("{here}.self_attention"));
        list.feed_forward(&format!("{there}_ffn"), &format!("{here}.feed_forward"), config.d_ff);
    }
    for n in 0..config.decoder_layers {
        let (there, here) = (format!("decoder_l{}", n + 1), format!("decoder.layers.{n}"));
        match config.conventions.target_history {
            TargetHistory::SelfAttention => {
                list.attention(&format!("{there}_self"), &format!("{here}.self_attention"));
            }
            TargetHistory::Ssru => list.ssru(&format!("{there}_rnn"), &here),
        }
        list.attention(&format!("{there}_context"), &format!("{here}.cross_attention"));
        list.feed_forward(&format!("{there}_ffn"), &format!("{here}.feed_forward"), config.d_ff);
    }
    if pre {
        for side in ["encoder", "decoder"] {
            list.norm(&format!("{side}_top"), &format!("{side}.norm"), "");
        }
    }
    list.weights
}

/// Takes the weights of all layers of a model of `config` out of a file.
pub(super) fn take(
    config: &TransformerConfig,
    options: &Options,
    tensors: &mut Taken,
) -> Result<Tensors> {
    let mut weights = Tensors::new();
    for (there, here, kind) in list(config) {
        let weight = match kind {
            Kind::Matrix(sizes) => tensors.take(&there, &sizes)?.transposed(),
            Kind::Vector(len) => {
                let found = tensors.take_any(&there).ok_or_else(|| tensors.missing(&there))?;
                vector(tensors, &there, found, len)?
            }
        };
        weights.insert(here, weight);
    }
    // A factor for activations in int8, of a matrix that is none.
    if options.get("version").is_some() {
        tensors.take_any("none_QuantMultA");
    }
    Ok(weights)
}

/// The weights of all layers of `package` as a file has them.
pub(super) fn write(package: &Package) -> Result<Tensors> {
    let write = |(there, here, kind): Weight| {
        let weight = package.weight(&here)?;
        let weight = match kind {
            Kind::Matrix(_) => weight.transposed(),
            Kind::Vector(len) => Tensor::new([1, len], weight.values.clone()),
        };
        Ok((there, weight))
    };
    list(&package.config).into_iter().map(write).collect()
}
