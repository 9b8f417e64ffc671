//! The layers of both stacks as lists of affine maps and norms, for which each format has a table
//! of names.

use burnformer_core::{NormPosition, TargetHistory, TransformerConfig};

/// An affine map or a norm: a weight, and a bias unless it is [`CANDIDATE`].
pub(crate) struct Part {
    /// `encoder` or `decoder`.
    pub stack: &'static str,
    /// The layer, from 0; `None` for the closing norm of the stack.
    pub layer: Option<usize>,
    /// The name within the layer, such as `self_attention.query`.
    pub name: &'static str,
    /// The shape of the weight: `[out, in]`, or `[width]` for a norm.
    pub shape: Vec<usize>,
}

/// The only map without a bias.
pub(crate) const CANDIDATE: &str = "ssru.candidate";

const SELF_ATTENTION: [&str; 5] = [
    "self_attention.query",
    "self_attention.key",
    "self_attention.value",
    "self_attention.output",
    "self_attention_norm",
];
const SSRU: [&str; 3] = [CANDIDATE, "ssru.gate", "self_attention_norm"];
const CROSS_ATTENTION: [&str; 5] = [
    "cross_attention.query",
    "cross_attention.key",
    "cross_attention.value",
    "cross_attention.output",
    "cross_attention_norm",
];
/// The norms of queries and keys.
const SELF_NORMS: [&str; 2] = ["self_attention.query_norm", "self_attention.key_norm"];
const CROSS_NORMS: [&str; 2] = ["cross_attention.query_norm", "cross_attention.key_norm"];
const FEED_FORWARD: [&str; 3] = ["feed_forward.inner", "feed_forward.outer", "feed_forward_norm"];

/// All maps and norms of the layers of a model of `config`, in order.
pub(crate) fn parts(config: &TransformerConfig) -> Vec<Part> {
    let history: &[&str] = match config.conventions.target_history {
        TargetHistory::SelfAttention => &SELF_ATTENTION,
        TargetHistory::Ssru => &SSRU,
    };
    let [of_self, of_cross]: [&[&str]; 2] = match config.qk_norm {
        true => [&SELF_NORMS, &CROSS_NORMS],
        false => [&[], &[]],
    };
    let encoder = [&SELF_ATTENTION[..], of_self, &FEED_FORWARD].concat();
    let decoder = [history, of_self, &CROSS_ATTENTION, of_cross, &FEED_FORWARD].concat();
    let (d, mut parts) = (config.d_model, Vec::new());
    for (stack, layers, names, of) in [
        ("encoder", config.encoder_layers, encoder, config),
        ("decoder", config.decoder_layers, decoder, &config.of_decoder()),
    ] {
        let shape = |name: &str| match name {
            "feed_forward.inner" => vec![of.d_ff, d],
            "feed_forward.outer" => vec![d, of.d_ff],
            // The queries of the cross-attention are normalised over all heads together.
            "self_attention.query_norm"
            | "self_attention.key_norm"
            | "cross_attention.key_norm" => {
                vec![of.d_k]
            }
            name if name.ends_with("norm") => vec![d],
            _ => vec![d, d],
        };
        for layer in 0..layers {
            let part = |&name| Part { stack, layer: Some(layer), name, shape: shape(name) };
            parts.extend(names.iter().map(part));
        }
        if config.norm == NormPosition::Pre {
            parts.push(Part { stack, layer: None, name: "norm", shape: vec![d] });
        }
    }
    parts
}

impl Part {
    /// The full name in a model directory, without `.weight` or `.bias`.
    pub fn full_name(&self) -> String {
        match self.layer {
            Some(layer) => format!("{}.layers.{layer}.{}", self.stack, self.name),
            None => format!("{}.{}", self.stack, self.name),
        }
    }

    /// The kinds of parameters that the part consists of, with their shapes.
    pub fn parameters(&self) -> Vec<(&'static str, Vec<usize>)> {
        let (weight, bias) = (("weight", self.shape.clone()), ("bias", vec![self.shape[0]]));
        if self.name == CANDIDATE { vec![weight] } else { vec![weight, bias] }
    }

    pub fn is_norm(&self) -> bool {
        self.name.ends_with("norm")
    }

    /// The entry for this part in a format's `table` of names.
    ///
    /// # Panics
    /// If it has none: the shape of the model was checked before.
    pub fn find<T: Copy>(&self, table: &[(&str, T)]) -> T {
        let found = table.iter().find(|(name, _)| *name == self.name);
        found.unwrap_or_else(|| panic!("no name for {}", self.name)).1
    }
}
