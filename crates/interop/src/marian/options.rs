//! The shape of a Marian model in its options.

use std::path::Path;

use burnformer_core::{
    Activation, ClosingNorm, Conventions, DecoderStart, HistoryNorm, NormPosition, OutputBias,
    Sinusoids, TargetHistory, TransformerConfig,
};

use super::yaml::Options;
use crate::error::{InteropError, Result};
use crate::tensors::Weights;

/// The ε of Marian's layer normalisation.
const EPSILON: f64 = 1e-6;
/// The deepest decoder with tied layers. Each layer gets a copy of its weights, which bounds the
/// memory.
const MAX_TIED_LAYERS: usize = 12;
/// The minimum number of tensors of a layer: a decoder layer with a recurrent unit, attention and
/// feed-forward layer without biases has more.
const MIN_LAYER_TENSORS: usize = 8;
/// Options that must be off or missing.
const OFF: &str = "\
    transformer-train-positions transformer-disable-position-embeddings transformer-pool \
    transformer-rnn-projection ulr right-left";

/// The options that change how weights are read.
pub(super) struct WeightOptions {
    /// For each layer of the decoder, the number of the layer in the file, from 1; empty if each
    /// has its own.
    pub tied_layers: Vec<usize>,
    /// If true, attention has no output map.
    pub no_projection: bool,
}

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
    let encoder_layers = number(path, options, "enc-depth")?;
    let decoder_layers = number(path, options, "dec-depth")?;
    let tied = options.list("transformer-tied-layers").len();
    let own_layers = encoder_layers.saturating_add(decoder_layers.saturating_sub(tied));
    check_depth(path, own_layers, tensors)?;
    if heads == 0 || !d_model.is_multiple_of(heads) {
        let message = format!("transformer-heads {heads} do not divide dim-emb {d_model}");
        return Err(InteropError::damaged(path, message));
    }
    let decoder_d_ff = number(path, options, "transformer-decoder-dim-ffn")?;
    let (norm, closing_norm) = norm(path, options)?;
    Ok(TransformerConfig {
        source_vocab,
        target_vocab,
        d_ff,
        encoder_layers,
        decoder_layers,
        norm,
        layer_norm_eps: EPSILON,
        activation: activation(path, options)?,
        conventions: Conventions {
            sinusoids: Sinusoids::HalvesToEnd,
            decoder_start: DecoderStart::Zero,
            output_bias: OutputBias::PerPiece,
            target_history: history(path, options)?,
            decoder_d_ff: Some(decoder_d_ff).filter(|&width| width != 0 && width != d_ff),
            closing_norm,
            history_norm: match norm {
                NormPosition::Pre => HistoryNorm::FirstToken,
                NormPosition::Post => HistoryNorm::Always,
            },
            ..Conventions::default()
        },
        ..TransformerConfig::base(target_vocab).with_width(d_model, heads)
    })
}

/// The options that change how the weights of a model with `decoder_layers` are read.
pub(super) fn of_weights(
    path: &Path,
    options: &Options,
    decoder_layers: usize,
) -> Result<WeightOptions> {
    let key = "transformer-tied-layers";
    let numbers: Option<Vec<usize>> = options
        .list(key)
        .iter()
        .map(|number| number.parse().ok())
        .collect();
    let remedy = "supported: the numbers of at most 12 layers, one for each layer of the decoder";
    let Some(tied_layers) = numbers
        .filter(|tied| tied.is_empty() || tied.len() == decoder_layers)
        .filter(|tied| tied.len() <= MAX_TIED_LAYERS)
    else {
        return refused(path, options, key, remedy);
    };
    Ok(WeightOptions {
        tied_layers,
        no_projection: options.is("transformer-no-projection"),
    })
}

/// The number in the option `key`; 0 if it is missing.
fn number(path: &Path, options: &Options, key: &str) -> Result<usize> {
    let number = options.number(key);
    Ok(number
        .map_err(|e| InteropError::damaged(path, e))?
        .unwrap_or(0))
}

/// Refuses more layers than tensors allow. Missing tensors are reported later by name.
fn check_depth(path: &Path, layers: usize, tensors: &Weights) -> Result<()> {
    let count = tensors.len();
    if layers <= count / MIN_LAYER_TENSORS {
        return Ok(());
    }
    let message = format!("enc-depth and dec-depth are {layers}, but there are {count} tensors");
    Err(InteropError::damaged(path, message))
}

fn refused<T>(path: &Path, options: &Options, key: &str, known: &'static str) -> Result<T> {
    let value = options.shown(key);
    Err(InteropError::unsupported(
        path,
        format!("option {key}: {value:?}"),
        known,
    ))
}

/// Refuses models with options that have no counterpart.
pub(super) fn check(path: &Path, options: &Options) -> Result<()> {
    if options.get("type") != Some("transformer") {
        return refused(path, options, "type", "only type transformer can be read");
    }
    for key in OFF.split(' ') {
        if options.is(key) {
            return refused(path, options, key, "models without it can be read");
        }
    }
    let usual = "models with its usual value can be read";
    // A decoder depth of zero means the encoder's depth.
    let plain = [
        ("transformer-ffn-depth", &["2"][..], usual),
        ("transformer-decoder-ffn-depth", &["0", "2"], usual),
        ("lemma-dim-emb", &["0"], usual),
        ("transformer-attention-mask", &["default"], usual),
        (
            "transformer-postprocess-emb",
            &["", "d"],
            "supported: \"\" and d",
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

/// The position of norms. Dropout, the letter d, does nothing in a translation.
fn norm(path: &Path, options: &Options) -> Result<(NormPosition, ClosingNorm)> {
    let steps = [
        "transformer-preprocess",
        "transformer-postprocess",
        "transformer-postprocess-top",
    ];
    let [before, after, top] =
        steps.map(|key| options.get(key).unwrap_or_default().replace('d', ""));
    match [&before[..], &after, &top] {
        ["", "an", ""] => Ok((NormPosition::Post, ClosingNorm::Present)),
        ["n", "a", "n"] => Ok((NormPosition::Pre, ClosingNorm::Present)),
        ["n", "a", ""] => Ok((NormPosition::Pre, ClosingNorm::Absent)),
        _ => {
            let what = steps.map(|key| format!("{key}: {:?}", options.shown(key)));
            let remedy = "supported: \"\", dan and \"\"; n, da and n; n, da and \"\"";
            Err(InteropError::unsupported(path, what.join(", "), remedy))
        }
    }
}

fn activation(path: &Path, options: &Options) -> Result<Activation> {
    let key = "transformer-ffn-activation";
    match options.get(key) {
        Some("relu") => Ok(Activation::Relu),
        // Not the approximation by a sigmoid, which CTranslate2 takes it for.
        Some("gelu") => Ok(Activation::Gelu),
        None | Some("swish") => Ok(Activation::Silu),
        _ => refused(path, options, key, "supported: relu, swish and gelu"),
    }
}

fn history(path: &Path, options: &Options) -> Result<TargetHistory> {
    let key = "transformer-decoder-autoreg";
    match (options.get(key), options.get("dec-cell")) {
        (None | Some("self-attention"), _) => Ok(TargetHistory::SelfAttention),
        // It changes nothing without a recurrent unit.
        (Some("rnn"), _) if options.is("layer-normalization") => {
            let remedy = "models without it can be read";
            refused(path, options, "layer-normalization", remedy)
        }
        (Some("rnn"), Some("ssru")) => Ok(TargetHistory::Ssru),
        (Some("rnn"), _) => refused(path, options, "dec-cell", "known is ssru"),
        _ => refused(
            path,
            options,
            key,
            "supported: self-attention, and rnn with dec-cell ssru",
        ),
    }
}
