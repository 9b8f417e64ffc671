//! The layers of both stacks. CTranslate2 stores the query, key and value projections as one
//! matrix.

use std::collections::BTreeMap;

use burnformer_core::TransformerConfig;

use super::binary::{Binary, Content};
use crate::error::Result;
use crate::layers::{Part, parts};
use crate::pretrained::Pretrained;
use crate::tensors::{Tensor, Tensors};

/// The layers of one stack in the file.
pub(super) fn count(file: &Binary, side: &str) -> usize {
    (0..)
        .take_while(|n| file.has(&format!("{side}/layer_{n}/self_attention/linear_0/weight")))
        .count()
}

/// The names of weight and bias in a model directory and in a variable.
fn kinds(part: &Part) -> [(&'static str, &'static str); 2] {
    if part.is_norm() {
        [("weight", "gamma"), ("bias", "beta")]
    } else {
        [("weight", "weight"), ("bias", "bias")]
    }
}

/// The weights of the layers of a model of `config`.
pub(super) fn read(file: &mut Binary, config: &TransformerConfig) -> Result<Tensors> {
    let mut weights = Tensors::new();
    for stacked in parts(config).chunk_by(|a, b| a.ctranslate2() == b.ctranslate2()) {
        let rows = stacked[0].shape[0];
        let mut shape = stacked[0].shape.clone();
        shape[0] *= stacked.len();
        for (kind, suffix) in kinds(&stacked[0]) {
            let name = format!("{}/{suffix}", stacked[0].ctranslate2());
            let shape = if kind == "bias" { &shape[..1] } else { &shape };
            let tensor = if suffix == "bias" && !file.has(&name) {
                Tensor::new(shape, vec![0.0; shape[0]])
            } else {
                file.tensor(&name, shape)?
            };
            for (n, part) in stacked.iter().enumerate() {
                let rows = tensor.rows(n * rows, (n + 1) * rows);
                weights.insert(format!("{}.{kind}", part.full_name()), rows);
            }
        }
    }
    Ok(weights)
}

/// The variables of the layers of `model`, with matrices by `quantise`.
pub(super) fn write(
    model: &Pretrained,
    quantise: impl Fn(Tensor) -> Content,
) -> Result<BTreeMap<String, Content>> {
    let mut variables = BTreeMap::new();
    for stacked in parts(&model.config).chunk_by(|a, b| a.ctranslate2() == b.ctranslate2()) {
        for (kind, suffix) in kinds(&stacked[0]) {
            let tensor = Tensor::stacked(
                &stacked
                    .iter()
                    .map(|part| model.weight(&format!("{}.{kind}", part.full_name())))
                    .collect::<Result<Vec<_>>>()?,
            );
            let is_matrix = tensor.shape.len() == 2;
            let content = if is_matrix {
                quantise(tensor)
            } else {
                Content::Float(tensor)
            };
            variables.insert(format!("{}/{suffix}", stacked[0].ctranslate2()), content);
        }
    }
    Ok(variables)
}
