//! The names of the parameters of `MarianMTModel` in its layers.

use crate::layers::Part;

const NAMES: [(&str, &str); 14] = [
    ("self_attention.query", "self_attn.q_proj"),
    ("self_attention.key", "self_attn.k_proj"),
    ("self_attention.value", "self_attn.v_proj"),
    ("self_attention.output", "self_attn.out_proj"),
    ("self_attention_norm", "self_attn_layer_norm"),
    ("cross_attention.query", "encoder_attn.q_proj"),
    ("cross_attention.key", "encoder_attn.k_proj"),
    ("cross_attention.value", "encoder_attn.v_proj"),
    ("cross_attention.output", "encoder_attn.out_proj"),
    ("cross_attention_norm", "encoder_attn_layer_norm"),
    ("feed_forward.inner", "fc1"),
    ("feed_forward.outer", "fc2"),
    ("feed_forward_norm", "final_layer_norm"),
    ("norm", "layer_norm"),
];

/// The name of `part`, without `.weight` or `.bias`.
pub(super) fn of(part: &Part) -> String {
    let name = part.find(&NAMES);
    match part.layer {
        Some(layer) => format!("model.{}.layers.{layer}.{name}", part.stack),
        None => format!("model.{}.{name}", part.stack),
    }
}
