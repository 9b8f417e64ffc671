//! The layers of both stacks. CTranslate2 stores the projections of queries, keys and values as one matrix.

use std::collections::BTreeMap;

use burnformer_core::{NormPosition, TransformerConfig};

use super::binary::Binary;
use super::binary_out::Written;
use crate::error::Result;
use crate::package::Package;
use crate::tensors::{Tensor, Tensors};

/// One variable of the file and the weights of the model directory that it consists of, stacked in this order.
struct Fused {
    name: String,
    parts: Vec<String>,
    /// The numbers of rows of each part, and the number of columns.
    shape: [usize; 2],
}

/// The names of norms in the file and in the model directory.
struct Norm {
    name: String,
    own: String,
}

/// The layers of one stack in the file.
pub(super) fn count(file: &Binary, side: &str) -> usize {
    let has = |n: &usize| file.has(&format!("{side}/layer_{n}/self_attention/linear_0/weight"));
    (0..).take_while(has).count()
}

fn of_attention(name: &str, own: &str, d: usize, own_query: bool, found: &mut Vec<Fused>) {
    let parts = |maps: &[&str]| maps.iter().map(|map| format!("{own}.{map}")).collect();
    let groups: &[&[&str]] = match own_query {
        true => &[&["query"], &["key", "value"], &["output"]],
        false => &[&["query", "key", "value"], &["output"]],
    };
    for (n, maps) in groups.iter().enumerate() {
        found.push(Fused { name: format!("{name}/linear_{n}"), parts: parts(maps), shape: [d, d] });
    }
}

/// All linear maps and norms of the layers.
fn of_layers(config: &TransformerConfig) -> (Vec<Fused>, Vec<Norm>) {
    let d = config.d_model;
    let (mut maps, mut norms) = (Vec::new(), Vec::new());
    let sides = [
        ("encoder", config.encoder_layers, config.d_ff),
        ("decoder", config.decoder_layers, config.of_decoder().d_ff),
    ];
    for (side, layers, d_ff) in sides {
        for n in 0..layers {
            let (name, own) = (format!("{side}/layer_{n}"), format!("{side}.layers.{n}"));
            let mut norm = |there: &str, here: &str| {
                let (name, own) =
                    (format!("{name}/{there}/layer_norm"), format!("{own}.{here}_norm"));
                norms.push(Norm { name, own });
            };
            norm("self_attention", "self_attention");
            norm("ffn", "feed_forward");
            if side == "decoder" {
                norm("attention", "cross_attention");
                let own = format!("{own}.cross_attention");
                of_attention(&format!("{name}/attention"), &own, d, true, &mut maps);
            }
            let attention = format!("{own}.self_attention");
            of_attention(&format!("{name}/self_attention"), &attention, d, false, &mut maps);
            let mut feed_forward = |there: &str, here: &str, shape| {
                let parts = vec![format!("{own}.feed_forward.{here}")];
                maps.push(Fused { name: format!("{name}/ffn/{there}"), parts, shape });
            };
            feed_forward("linear_0", "inner", [d_ff, d]);
            feed_forward("linear_1", "outer", [d, d_ff]);
        }
        if config.norm == NormPosition::Pre {
            norms.push(Norm { name: format!("{side}/layer_norm"), own: format!("{side}.norm") });
        }
    }
    (maps, norms)
}

/// The weights of the layers of a model of `config`.
pub(super) fn read(file: &mut Binary, config: &TransformerConfig) -> Result<Tensors> {
    let mut weights = Tensors::new();
    let (maps, norms) = of_layers(config);
    for Fused { name, parts, shape: [rows, columns] } in maps {
        let all = rows * parts.len();
        let weight = file.tensor(&format!("{name}/weight"), &[all, columns])?;
        let bias = format!("{name}/bias");
        let bias = match file.has(&bias) {
            true => file.tensor(&bias, &[all])?,
            false => Tensor::new([all], vec![0.0; all]),
        };
        for (n, own) in parts.into_iter().enumerate() {
            let (from, to) = (n * rows, (n + 1) * rows);
            weights.insert(format!("{own}.weight"), weight.rows(from, to));
            weights.insert(format!("{own}.bias"), bias.rows(from, to));
        }
    }
    for Norm { name, own } in norms {
        for (there, here) in [("gamma", "weight"), ("beta", "bias")] {
            let tensor = file.tensor(&format!("{name}/{there}"), &[config.d_model])?;
            weights.insert(format!("{own}.{here}"), tensor);
        }
    }
    Ok(weights)
}

/// The variables of the layers of `package`. `quantise` says how matrices are written.
pub(super) fn write(
    package: &Package,
    quantise: impl Fn(Tensor) -> Written,
) -> Result<BTreeMap<String, Written>> {
    let mut variables = BTreeMap::new();
    let (maps, norms) = of_layers(&package.config);
    for Fused { name, parts, .. } in maps {
        let stacked = |kind: &str| -> Result<Tensor> {
            let parts = parts.iter().map(|own| package.weight(&format!("{own}.{kind}")));
            Ok(Tensor::stacked(&parts.collect::<Result<Vec<_>>>()?))
        };
        variables.insert(format!("{name}/weight"), quantise(stacked("weight")?));
        variables.insert(format!("{name}/bias"), Written::Float(stacked("bias")?));
    }
    for Norm { name, own } in norms {
        for (there, here) in [("gamma", "weight"), ("beta", "bias")] {
            let tensor = package.weight(&format!("{own}.{here}"))?.clone();
            variables.insert(format!("{name}/{there}"), Written::Float(tensor));
        }
    }
    Ok(variables)
}
