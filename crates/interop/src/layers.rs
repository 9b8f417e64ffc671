//! The affine maps and norms of both stacks, with their names in each format.

use burnformer_core::{ClosingNorm, NormPosition, TargetHistory, TransformerConfig};

/// An affine map or a norm: a weight, and a bias unless it is [`CANDIDATE`].
pub(crate) struct Part {
    /// `encoder` or `decoder`.
    pub stack: &'static str,
    /// The layer, from 0; `None` for the closing norm of the stack.
    pub layer: Option<usize>,
    /// The shape of the weight: `[out, in]`, or `[width]` for a norm.
    pub shape: Vec<usize>,
    names: [&'static str; 5],
}

/// The only map without a bias.
const CANDIDATE: &str = "ssru.candidate";

/// The names of each part within its layer, in order: in a model directory, in `MarianMTModel`, in
/// CTranslate2, and of weight and bias in Marian. Parts with the same name in CTranslate2 are
/// stacked in rows. The last line is the closing norm of a stack.
const NAMES: &str = "\
self_attention.query self_attn.q_proj self_attention/linear_0 self_Wq self_bq
self_attention.key self_attn.k_proj self_attention/linear_0 self_Wk self_bk
self_attention.value self_attn.v_proj self_attention/linear_0 self_Wv self_bv
self_attention.output self_attn.out_proj self_attention/linear_1 self_Wo self_bo
ssru.candidate - - rnn_W -
ssru.gate - - rnn_Wf rnn_bf
self_attention_norm self_attn_layer_norm self_attention/layer_norm self_Wo_ln_scale self_Wo_ln_bias
self_attention.query_norm - self_attention/q_norm - -
self_attention.key_norm - self_attention/k_norm - -
cross_attention.query encoder_attn.q_proj attention/linear_0 context_Wq context_bq
cross_attention.key encoder_attn.k_proj attention/linear_1 context_Wk context_bk
cross_attention.value encoder_attn.v_proj attention/linear_1 context_Wv context_bv
cross_attention.output encoder_attn.out_proj attention/linear_2 context_Wo context_bo
cross_attention_norm encoder_attn_layer_norm attention/layer_norm context_Wo_ln_scale context_Wo_ln_bias
cross_attention.query_norm - attention/q_norm - -
cross_attention.key_norm - attention/k_norm - -
feed_forward.inner fc1 ffn/linear_0 ffn_W1 ffn_b1
feed_forward.outer fc2 ffn/linear_1 ffn_W2 ffn_b2
feed_forward_norm final_layer_norm ffn/layer_norm ffn_ffn_ln_scale ffn_ffn_ln_bias
norm layer_norm layer_norm top_ln_scale top_ln_bias";

/// All maps and norms of the layers of a model of `config`, in order.
pub(crate) fn parts(config: &TransformerConfig) -> Vec<Part> {
    let mut layer_names: Vec<[&str; 5]> = NAMES
        .lines()
        .map(|line| {
            let mut names = line.split(' ');
            [(); 5].map(|()| names.next().expect("five names on each line"))
        })
        .collect();
    let closing = layer_names.pop().expect("the name of the closing norm");
    let d = config.d_model;
    let mut parts = Vec::new();
    for (stack, layers, of) in [
        ("encoder", config.encoder_layers, config),
        ("decoder", config.decoder_layers, &config.of_decoder()),
    ] {
        let names = layer_names
            .iter()
            .filter(|names| is_in(config, stack, names[0]));
        for layer in (0..layers).map(Some) {
            parts.extend(names.clone().map(|&names| Part {
                stack,
                layer,
                shape: shape(of, names[0]),
                names,
            }));
        }
        let closes = config.conventions.closing_norm == ClosingNorm::Present;
        if config.norm == NormPosition::Pre && closes {
            parts.push(Part {
                stack,
                layer: None,
                shape: vec![d],
                names: closing,
            });
        }
    }
    parts
}

/// Returns whether the layers of `stack` have the part `name`.
fn is_in(config: &TransformerConfig, stack: &str, name: &str) -> bool {
    let is_recurrent =
        stack == "decoder" && config.conventions.target_history == TargetHistory::Ssru;
    let is_of_stack = stack == "decoder" || !name.starts_with("cross_attention");
    match name.split_once('.') {
        Some((_, "query_norm" | "key_norm")) => config.qk_norm && is_of_stack,
        Some(("ssru", _)) => is_recurrent,
        Some(("self_attention", _)) => !is_recurrent,
        _ => is_of_stack,
    }
}

/// The shape of the weight of the part `name`.
fn shape(config: &TransformerConfig, name: &str) -> Vec<usize> {
    let d = config.d_model;
    match name {
        "feed_forward.inner" => vec![config.d_ff, d],
        "feed_forward.outer" => vec![d, config.d_ff],
        // The queries of the cross-attention are normalised over all heads together.
        "self_attention.query_norm" | "self_attention.key_norm" | "cross_attention.key_norm" => {
            vec![config.d_k]
        }
        name if name.ends_with("norm") => vec![d],
        _ => vec![d, d],
    }
}

impl Part {
    /// The name within the layer in a model directory, such as `self_attention.query`.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    /// The full name in a model directory, without `.weight` or `.bias`.
    pub fn full_name(&self) -> String {
        self.in_stack("", ".layers.", ".", 0)
    }

    /// The full name of the same part in `layer` in a model directory.
    pub fn in_layer(&self, layer: usize) -> String {
        let other = Self {
            layer: Some(layer),
            shape: Vec::new(),
            ..*self
        };
        other.full_name()
    }

    /// The full name in `MarianMTModel`, without `.weight` or `.bias`.
    pub fn hugging_face(&self) -> String {
        self.in_stack("model.", ".layers.", ".", 1)
    }

    /// The full name in CTranslate2, without the name of weight or bias.
    pub fn ctranslate2(&self) -> String {
        self.in_stack("", "/layer_", "/", 2)
    }

    /// The names of weight and bias within a layer of Marian.
    pub fn marian(&self) -> [&'static str; 2] {
        [self.names[3], self.names[4]]
    }

    fn in_stack(&self, before: &str, layers: &str, separator: &str, format: usize) -> String {
        let layer = self
            .layer
            .map(|layer| format!("{layers}{layer}"))
            .unwrap_or_default();
        format!(
            "{before}{}{layer}{separator}{}",
            self.stack, self.names[format]
        )
    }

    /// The kinds of parameters of the part, with their shapes.
    pub fn parameters(&self) -> Vec<(&'static str, Vec<usize>)> {
        let weight = ("weight", self.shape.clone());
        let bias = ("bias", vec![self.shape[0]]);
        if self.name() == CANDIDATE {
            vec![weight]
        } else {
            vec![weight, bias]
        }
    }

    pub fn is_norm(&self) -> bool {
        self.name().ends_with("norm")
    }
}
