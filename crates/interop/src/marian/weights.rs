//! The weights of the layers.

use burnformer_core::{NormPosition, TargetHistory, TransformerConfig};

use super::options::WeightOptions;
use crate::error::Result;
use crate::layers::{Part, parts};
use crate::tensors::{Tensor, Tensors, Weights};

/// Takes the weights of all layers of a model of `config` out of a file.
pub(super) fn take_layers(
    config: &TransformerConfig,
    options: &WeightOptions,
    tensors: &mut Weights,
) -> Result<Tensors> {
    let mut weights = Tensors::new();
    for part in parts(config) {
        let source = source_layer(options, &part);
        for (kind, shape) in part.parameters() {
            let full_name = format!("{}.{kind}", part.full_name());
            let weight = match source {
                Source::Copy(layer) => weights[&format!("{}.{kind}", part.in_layer(layer))].clone(),
                Source::File(_) if options.no_projection && is_projection(&part) => {
                    identity(&shape)
                }
                Source::File(layer) => take(tensors, &name(config, &part, layer, kind), &shape)?,
            };
            weights.insert(full_name, weight);
        }
    }
    Ok(weights)
}

/// The place of the weights of a layer.
#[derive(Clone, Copy)]
enum Source {
    /// The number of the layer in the file, from 1; `None` for the closing norm of a stack.
    File(Option<usize>),
    /// The same weights as this earlier layer, from 0.
    Copy(usize),
}

/// The place of the weights of `part`. Only layers of the decoder can be tied.
fn source_layer(options: &WeightOptions, part: &Part) -> Source {
    let tied = &options.tied_layers;
    match part.layer {
        Some(layer) if part.stack == "decoder" && !tied.is_empty() => {
            let first = tied.iter().position(|number| *number == tied[layer]);
            match first.filter(|&first| first < layer) {
                Some(first) => Source::Copy(first),
                None => Source::File(Some(tied[layer])),
            }
        }
        layer => Source::File(layer.map(|layer| layer + 1)),
    }
}

/// Returns whether `part` is the map after the heads of an attention.
fn is_projection(part: &Part) -> bool {
    part.name().ends_with("attention.output")
}

/// The weight or bias of a map that returns its input.
fn identity(shape: &[usize]) -> Tensor {
    let mut tensor = Tensor::new(shape, vec![0.0; shape.iter().product()]);
    if let &[rows, columns] = shape {
        (0..rows).for_each(|row| tensor.values[row * columns + row] = 1.0);
    }
    tensor
}

/// The name of the weight or bias (`kind`) of `part` in `layer` of the file, from 1.
fn name(config: &TransformerConfig, part: &Part, layer: Option<usize>, kind: &str) -> String {
    let pre = config.norm == NormPosition::Pre;
    let ssru = config.conventions.target_history == TargetHistory::Ssru;
    let is_ssru_norm = ssru && part.stack == "decoder" && part.name() == "self_attention_norm";
    let names = match (is_ssru_norm, pre) {
        (true, true) => ["rnn_ln_scale", "rnn_ln_bias"],
        // Marian names this norm after a feed-forward network that it lacks.
        (true, false) => ["rnn_ffn_ln_scale", "rnn_ffn_ln_bias"],
        (false, _) => part.marian(),
    };
    let name = names[usize::from(kind == "bias")];
    let suffix = if pre && part.is_norm() { "_pre" } else { "" };
    match layer {
        Some(layer) => format!("{}_l{layer}_{name}{suffix}", part.stack),
        None => format!("{}_{name}", part.stack),
    }
}

/// Takes the tensor `name` for a weight of `shape`. Marian's matrices are `[in, out]`.
fn take(tensors: &mut Weights, name: &str, shape: &[usize]) -> Result<Tensor> {
    match *shape {
        [rows, columns] => Ok(tensors.take(name, &[columns, rows])?.transposed()),
        _ => {
            let tensor = tensors
                .take_any(name)
                .ok_or_else(|| tensors.missing(name))?;
            vector(tensors, name, tensor, shape[0])
        }
    }
}

/// A vector, stored as a matrix of one row.
pub(super) fn vector(tensors: &Weights, name: &str, tensor: Tensor, len: usize) -> Result<Tensor> {
    let flat =
        tensor.values.len() == len && tensor.shape.iter().all(|&size| size == 1 || size == len);
    if flat {
        Ok(Tensor::new([len], tensor.values))
    } else {
        tensors.shaped(name, tensor, &[1, len])
    }
}
