//! The shape of a Marian model in its options.

use std::path::Path;

use burnformer_core::{
    Activation, Conventions, DecoderStart, NormPosition, OutputBias, Sinusoids, TargetHistory,
    TransformerConfig,
};

use super::yaml::Options;
use crate::error::{InteropError, Result};
use crate::tensors::Weights;

/// The ε of Marian's layer normalisation.
const EPSILON: f64 = 1e-6;
/// Options that must be off or missing.
const OFF: &str = "\
    transformer-no-projection transformer-train-positions transformer-train-position-embeddings \
    transformer-disable-position-embeddings transformer-pool transformer-rnn-projection \
    layer-normalization ulr right-left";

/// The configuration of the model at `path`, without special ids and the sharing of embeddings.
pub(super) fn config(
    path: &Path,
    options: &Options,
    &[source_vocab, target_vocab, d_model]: &[usize; 3],
    tensors: &Weights,
) -> Result<TransformerConfig> {
    let heads = number(path, options, "transformer-heads")?;
    let width = tensors.shape("encoder_l1_ffn_W1")?;
    let &[_, d_ff] = width else {
        return Err(InteropError::damaged(
            path,
            "tensor encoder_l1_ffn_W1 is not a matrix",
        ));
    };
    check(path, options)?;
    let encoder_layers = number(path, options, "enc-depth")?;
    let decoder_layers = number(path, options, "dec-depth")?;
    check_depth(path, encoder_layers.saturating_add(decoder_layers), tensors)?;
    if heads == 0 || !d_model.is_multiple_of(heads) {
        let message = format!("transformer-heads {heads} do not divide dim-emb {d_model}");
        return Err(InteropError::damaged(path, message));
    }
    Ok(TransformerConfig {
        source_vocab,
        target_vocab,
        d_ff,
        encoder_layers,
        decoder_layers,
        norm: norm(path, options)?,
        layer_norm_eps: EPSILON,
        activation: activation(path, options)?,
        conventions: Conventions {
            sinusoids: Sinusoids::HalvesToEnd,
            decoder_start: DecoderStart::Zero,
            output_bias: OutputBias::PerPiece,
            target_history: history(path, options)?,
            ..Conventions::default()
        },
        ..TransformerConfig::base(target_vocab).with_width(d_model, heads)
    })
}

/// The number in the option `key`; 0 if it is missing.
fn number(path: &Path, options: &Options, key: &str) -> Result<usize> {
    let number = options.number(key);
    Ok(number
        .map_err(|e| InteropError::damaged(path, e))?
        .unwrap_or(0))
}

/// Refuses more layers than tensors allow: a layer has at least 16. Missing tensors are reported later
/// by name.
fn check_depth(path: &Path, layers: usize, tensors: &Weights) -> Result<()> {
    let count = tensors.len();
    if layers <= count / 8 {
        return Ok(());
    }
    let message = format!("enc-depth and dec-depth are {layers}, but there are {count} tensors");
    Err(InteropError::damaged(path, message))
}

fn refused<T>(path: &Path, options: &Options, key: &str, known: &'static str) -> Result<T> {
    let value = options.get(key).unwrap_or_default();
    Err(InteropError::unsupported(
        path,
        format!("option {key}: {value:?}"),
        known,
    ))
}

fn check(path: &Path, options: &Options) -> Result<()> {
    if options.get("type") != Some("transformer") {
        return refused(path, options, "type", "only type transformer can be read");
    }
    for key in OFF.split(' ') {
        if options.is(key) {
            return refused(path, options, key, "models without it can be read");
        }
    }
    if !options.list("transformer-tied-layers").is_empty() {
        return refused(
            path,
            options,
            "transformer-tied-layers",
            "models without it can be read",
        );
    }
    let usual = "models with its usual value can be read";
    // A decoder depth of zero means the encoder's depth.
    let plain = [
        ("transformer-ffn-depth", &["2"][..], usual),
        ("transformer-decoder-ffn-depth", &["0", "2"], usual),
        ("transformer-decoder-dim-ffn", &["0"], usual),
        ("lemma-dim-emb", &["0"], usual),
        (
            "transformer-postprocess-emb",
            &["", "d"],
            "known are \"\" and d",
        ),
    ];
    match plain.into_iter().find(|&(key, values, _)| {
        options
            .get(key)
            .is_some_and(|value| !values.contains(&value))
    }) {
        Some((key, _, known)) => refused(path, options, key, known),
        None => Ok(()),
    }
}

fn norm(path: &Path, options: &Options) -> Result<NormPosition> {
    let steps = [
        "transformer-preprocess",
        "transformer-postprocess",
        "transformer-postprocess-top",
    ];
    match steps.map(|key| options.get(key).unwrap_or_default()) {
        ["", "dan", ""] => Ok(NormPosition::Post),
        ["n", "da", "n"] => Ok(NormPosition::Pre),
        _ => {
            let known = "known are \"\", dan and \"\", or n, da and n, for preprocess, postprocess and postprocess-top";
            refused(path, options, "transformer-postprocess", known)
        }
    }
}

fn activation(path: &Path, options: &Options) -> Result<Activation> {
    let key = "transformer-ffn-activation";
    match options.get(key) {
        Some("relu") => Ok(Activation::Relu),
        // Marian's gelu is an approximation by a sigmoid.
        None | Some("swish") => Ok(Activation::Silu),
        _ => refused(path, options, key, "known are relu and swish"),
    }
}

fn history(path: &Path, options: &Options) -> Result<TargetHistory> {
    let key = "transformer-decoder-autoreg";
    match (options.get(key), options.get("dec-cell")) {
        (None | Some("self-attention"), _) => Ok(TargetHistory::SelfAttention),
        (Some("rnn"), Some("ssru")) => Ok(TargetHistory::Ssru),
        (Some("rnn"), _) => refused(path, options, "dec-cell", "known is ssru"),
        _ => refused(
            path,
            options,
            key,
            "known are self-attention, and rnn with dec-cell ssru",
        ),
    }
}
