//! Adds padding to models of systems without a padding token.

use burnformer_core::OutputBias;

use crate::package::Package;
use crate::tensors::Tensor;

/// The bias of a token that must never be predicted: its probability is zero in float32, and the
/// loss with label smoothing stays finite.
pub(crate) const NEVER: f32 = -1e4;

/// The id of the padding that is added to vocabularies of these sizes: the first that neither side
/// has.
pub(crate) fn id([source_vocab, target_vocab]: [usize; 2]) -> u32 {
    source_vocab.max(target_vocab) as u32
}

/// Adds the configuration's `pad`, an [`id`], to both vocabularies: rows of zeros, with a bias so
/// that they are never predicted. The shorter vocabulary is filled up to it.
pub(crate) fn append(package: &mut Package) {
    let config = &mut package.config;
    let (rows, before) = (config.pad as usize + 1, config.target_vocab);
    (config.source_vocab, config.target_vocab) = (rows, rows);
    let names = [
        "embedding.weight",
        "source_embedding.weight",
        "target_embedding.weight",
        "generator.weight",
    ];
    for name in names {
        if let Some(tensor) = package.weights.get_mut(name) {
            tensor.values.resize(rows * config.d_model, 0.0);
            tensor.shape[0] = rows;
        }
    }
    config.conventions.output_bias = OutputBias::PerPiece;
    let bias = package.weights.entry("output_bias".into());
    let bias = bias.or_insert_with(|| Tensor::new([before], vec![0.0; before]));
    bias.values.resize(rows, NEVER);
    bias.shape[0] = rows;
}

/// The name of a token that a vocabulary leaves out.
pub(crate) fn unused(id: usize) -> String {
    format!("<unused{id}>")
}

/// `tokens` with those that [`append`] adds; the last one is `<pad>`.
pub(crate) fn filled(tokens: &[String], pad: u32) -> Vec<String> {
    let fill = (tokens.len()..pad as usize).map(unused);
    tokens.iter().cloned().chain(fill).chain(["<pad>".to_string()]).collect()
}
