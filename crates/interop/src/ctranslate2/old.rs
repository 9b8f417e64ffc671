//! What older versions of the format call otherwise or leave out (CTranslate2's `src/models/model.cc` and
//! `src/models/transformer.cc`).

use crate::tensors::NumberType;

/// The scale of int16 weights that have none of their own.
pub(super) const INT16_SCALE: f32 = 1000.0;

/// The versions that a file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// The version of the format.
    pub binary: u64,
    /// The revision of the names of variables.
    pub revision: u64,
    /// The number of heads of a model that does not say it.
    pub heads: u8,
}

/// The number of heads of models of the kind `spec` that do not say it; `None` if they are no encoder-decoders.
pub(super) fn heads(spec: &str, revision: u64) -> Option<u8> {
    match spec {
        "TransformerBig" if revision < 3 => Some(16),
        "" | "TransformerBase" | "TransformerBig" | "TransformerSpec" => Some(8),
        _ => None,
    }
}

/// The type of numbers of `size` bytes, in files that do not name it.
pub(super) fn number_of_size(size: usize) -> Option<NumberType> {
    match size {
        1 => Some(NumberType::Int8),
        2 => Some(NumberType::Int16),
        4 => Some(NumberType::Float32),
        _ => None,
    }
}

impl Version {
    /// Whether variables name the type of their numbers.
    pub fn names_types(self) -> bool {
        self.binary >= 4
    }

    /// Whether the variables are followed by other names of them.
    pub fn has_aliases(self) -> bool {
        self.binary >= 3
    }

    /// Whether the special tokens are named by variables instead of `config.json`.
    pub fn has_settings_in_variables(self) -> bool {
        self.binary < 6
    }

    /// The present name of the variable `name`. In the first revision variables had the names of OpenNMT-tf.
    pub fn own_name(self, name: String) -> String {
        if self.revision > 1 {
            return name;
        }
        let attention: &[(&str, &str)] = match name.contains("encoder") {
            true => &[("multi_head", "self_attention")],
            false => &[("masked_multi_head", "self_attention"), ("multi_head", "attention")],
        };
        let others = [
            ("transformer/", ""),
            (":0", ""),
            ("w_embs", "embeddings/weight"),
            ("kernel", "weight"),
            ("LayerNorm", "layer_norm"),
            ("dense", "projection"),
            ("conv1d_", "linear_"),
            ("conv1d", "linear_0"),
        ];
        let renamed = |name: String, (old, new): &(&str, &str)| name.replacen(old, new, 1);
        others.iter().chain(attention).fold(name, renamed)
    }

    /// The present names of variables, each with the name that it had before.
    pub fn aliases(self) -> Vec<(String, String)> {
        let mut aliases = Vec::new();
        for side in ["encoder", "decoder"] {
            if self.revision < 5 {
                let at_the_root = |name: &str| (format!("{side}/{name}"), name.to_string());
                aliases.extend(["num_heads", "pre_norm", "activation"].map(at_the_root));
            }
            let scale = format!("{side}/embeddings/multiply_by_sqrt_depth");
            aliases.push((format!("{side}/scale_embeddings"), scale));
        }
        let of_source =
            |name| (format!("encoder/embeddings_0/{name}"), format!("encoder/embeddings/{name}"));
        aliases.extend(["weight", "weight_scale"].map(of_source));
        aliases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_first_revision_become_those_of_today() {
        let first = Version { binary: 1, revision: 1, heads: 8 };
        let today = Version { revision: 2, ..first };
        for (old, new) in [
            ("transformer/encoder/w_embs:0", "encoder/embeddings/weight"),
            (
                "transformer/encoder/layer_0/multi_head/conv1d/kernel:0",
                "encoder/layer_0/self_attention/linear_0/weight",
            ),
            (
                "transformer/decoder/layer_5/masked_multi_head/conv1d_1/bias:0",
                "decoder/layer_5/self_attention/linear_1/bias",
            ),
            (
                "transformer/decoder/layer_5/multi_head/LayerNorm/beta:0",
                "decoder/layer_5/attention/layer_norm/beta",
            ),
            ("transformer/decoder/dense/kernel:0", "decoder/projection/weight"),
        ] {
            assert_eq!(first.own_name(old.into()), new);
            assert_eq!(today.own_name(old.into()), old);
        }
    }

    #[test]
    fn what_was_said_once_for_both_sides_is_said_by_each() {
        let heads = |revision| {
            let aliases = Version { binary: 4, revision, heads: 8 }.aliases();
            aliases.contains(&("decoder/num_heads".into(), "num_heads".into()))
        };
        assert!(heads(4) && !heads(5));
    }

    #[test]
    fn only_encoder_decoders_have_heads() {
        assert_eq!(heads("", 1), Some(8));
        assert_eq!(heads("TransformerBig", 2), Some(16));
        assert_eq!(heads("TransformerSpec", 7), Some(8));
        assert_eq!(heads("WhisperSpec", 3), None);
    }
}
