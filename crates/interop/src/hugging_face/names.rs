//! The names of the parameters of `MarianMTModel` and of those in a model directory.

use burnformer_core::{NormPosition, TransformerConfig};

/// The name of a parameter in a model directory, its name in `MarianMTModel`, and its shape, which is the same in both.
pub(super) type Pair = (String, String, Vec<usize>);

const ATTENTION: [(&str, &str); 4] =
    [("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj"), ("output", "out_proj")];

/// All parameters of the layers, without embeddings and output.
pub(super) fn of_layers(config: &TransformerConfig) -> Vec<Pair> {
    let encoder = [("self_attention", "self_attn")];
    let decoder = [("self_attention", "self_attn"), ("cross_attention", "encoder_attn")];
    let mut pairs = Vec::new();
    for n in 0..config.encoder_layers {
        of_layer(&format!("encoder.layers.{n}"), &encoder, config, &mut pairs);
    }
    for n in 0..config.decoder_layers {
        of_layer(&format!("decoder.layers.{n}"), &decoder, &config.of_decoder(), &mut pairs);
    }
    if config.norm == NormPosition::Pre {
        for side in ["encoder", "decoder"] {
            for kind in ["weight", "bias"] {
                let (own, other) = (format!("{side}.norm"), format!("model.{side}.layer_norm"));
                let shape = vec![config.d_model];
                pairs.push((format!("{own}.{kind}"), format!("{other}.{kind}"), shape));
            }
        }
    }
    pairs
}

fn of_layer(
    layer: &str,
    attentions: &[(&str, &str)],
    config: &TransformerConfig,
    pairs: &mut Vec<Pair>,
) {
    let (d, d_ff) = (config.d_model, config.d_ff);
    let mut add = |own: String, other: String, shape: Vec<usize>| {
        pairs.push((format!("{layer}.{own}"), format!("model.{layer}.{other}"), shape));
    };
    let mut affine = |own: String, other: String, weight: Vec<usize>| {
        let out = weight[0];
        add(format!("{own}.weight"), format!("{other}.weight"), weight);
        add(format!("{own}.bias"), format!("{other}.bias"), vec![out]);
    };
    for (own, other) in attentions {
        for (own_map, other_map) in ATTENTION {
            affine(format!("{own}.{own_map}"), format!("{other}.{other_map}"), vec![d, d]);
        }
        affine(format!("{own}_norm"), format!("{other}_layer_norm"), vec![d]);
    }
    affine("feed_forward.inner".into(), "fc1".into(), vec![d_ff, d]);
    affine("feed_forward.outer".into(), "fc2".into(), vec![d, d_ff]);
    affine("feed_forward_norm".into(), "final_layer_norm".into(), vec![d]);
}
