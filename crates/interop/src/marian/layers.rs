//! The layers of both stacks. Marian's matrices are `[in, out]`, those of a model directory
//! `[out, in]`.

use burnformer_core::{NormPosition, TargetHistory, TransformerConfig};

use super::yaml::Options;
use crate::error::Result;
use crate::layers::{Part, parts};
use crate::tensors::{Tensor, Tensors, Weights};

/// The name of the weight or bias, as `kind` says, of `part`.
fn name(config: &TransformerConfig, part: &Part, kind: &str) -> String {
    let pre = config.norm == NormPosition::Pre;
    let ssru = config.conventions.target_history == TargetHistory::Ssru;
    let of_ssru = ssru && part.stack == "decoder" && part.name() == "self_attention_norm";
    let names = match (of_ssru, pre) {
        (true, true) => ["rnn_ln_scale", "rnn_ln_bias"],
        // Named by a network that is not there.
        (true, false) => ["rnn_ffn_ln_scale", "rnn_ffn_ln_bias"],
        (false, _) => part.marian(),
    };
    let name = names[usize::from(kind == "bias")];
    let suffix = if pre && part.is_norm() { "_pre" } else { "" };
    match part.layer {
        Some(layer) => format!("{}_l{}_{name}{suffix}", part.stack, layer + 1),
        None => format!("{}_{name}", part.stack),
    }
}

/// Takes the weights of all layers of a model of `config` out of a file.
pub(super) fn take(
    config: &TransformerConfig,
    options: &Options,
    tensors: &mut Weights,
) -> Result<Tensors> {
    let mut weights = Tensors::new();
    for part in parts(config) {
        for (kind, shape) in part.parameters() {
            let there = name(config, &part, kind);
            let weight = match shape[..] {
                [rows, columns] => tensors.take(&there, &[columns, rows])?.transposed(),
                _ => {
                    let found = tensors.take_any(&there).ok_or_else(|| tensors.missing(&there))?;
                    vector(tensors, &there, found, shape[0])?
                }
            };
            weights.insert(format!("{}.{kind}", part.full_name()), weight);
        }
    }
    // A factor for activations in int8, of a matrix that is none.
    if options.get("version").is_some() {
        tensors.take_any("none_QuantMultA");
    }
    Ok(weights)
}

/// A vector that is stored as a matrix of one row.
pub(super) fn vector(tensors: &Weights, name: &str, tensor: Tensor, len: usize) -> Result<Tensor> {
    let flat =
        tensor.values.len() == len && tensor.shape.iter().all(|&size| size == 1 || size == len);
    match flat {
        true => Ok(Tensor::new([len], tensor.values)),
        false => tensors.shaped(name, tensor, &[1, len]),
    }
}
