//! A folder that Marian loads: `model.npz`, its vocabularies, and `decoder.yml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use burnformer_core::{
    Activation, DecoderStart, EmbeddingScale, EmbeddingSharing, NormPosition, OutputBias,
    Positions, Sinusoids, TargetHistory, TransformerConfig,
};
use burnformer_infer::{LengthPenalty, SearchSettings};

use super::files::{UNKNOWN, pieces};
use super::items::OPTIONS;
use super::options::EPSILON;
use super::{layers, npz};
use crate::error::{InteropError, Result};
use crate::files::write_file;
use crate::package::{
    Package, activation_in, check_query_norm, check_source_end, check_widths, fresh_folder, refuse,
    refuse_any,
};
use crate::tensors::{Tensor, Tensors};
use crate::{embeddings, vocabulary, zip};

/// The name of this format in error messages.
const FORMAT: &str = "Marian";
const MODEL: &str = "model.npz";
/// The activation functions that Marian computes in the same way.
const ACTIVATIONS: [(&str, Activation); 2] =
    [("relu", Activation::Relu), ("swish", Activation::Silu)];
/// Where other systems' settings have a place of their own.
const ELSEWHERE: &str = "export to CTranslate2";

/// Writes `package` into the new folder `dir`. A model that Marian would compute differently is refused, so that
/// Marian's logits are those of the model.
///
/// # Errors
/// [`InteropError::CannotExport`](crate::InteropError::CannotExport) for what Marian would compute differently,
/// [`InteropError::Missing`](crate::InteropError::Missing) if the vocabulary is not known,
/// [`InteropError::Io`](crate::InteropError::Io).
pub(crate) fn write(package: &Package, dir: &Path) -> Result<()> {
    check(package)?;
    let own_json = ["tokenizer.json", "source_tokenizer.json", "target_tokenizer.json"];
    let json = own_json.iter().any(|name| package.texts.contains_key(*name));
    refuse(
        FORMAT,
        json,
        "a tokenizer.json",
        "Marian reads SentencePiece models and lists of tokens",
    )?;
    let [source, target] = vocabulary::tokens(package)?.map(|tokens| real(tokens, package));
    let tensors = tensors(package, [source.len(), target.len()])?;
    let numbers: usize = tensors.values().map(|tensor| tensor.values.len()).sum();
    // A MiB for names and heads.
    let large = 4 * numbers + (1 << 20) > zip::LARGEST;
    refuse(FORMAT, large, "more than 4 GiB of weights", "a .npz of Marian has no more")?;
    let activation = activation_in(FORMAT, &ACTIVATIONS, &package.config)?;
    let options = options(&package.config, activation, [source.len(), target.len()]);
    let (files, names) = vocabularies(package, [&source, &target]);
    fresh_folder(dir)?;
    write_file(&dir.join(MODEL), &npz::write(&tensors, OPTIONS, &options))?;
    for (name, bytes) in files {
        write_file(&dir.join(name), &bytes)?;
    }
    write_file(&dir.join("decoder.yml"), decoder(&package.search, names).as_bytes())
}

/// Whether Marian can express a model of `config`, whatever its weights and its vocabularies are.
pub(crate) fn check_shape(config: &TransformerConfig) -> Result<()> {
    let conventions = config.conventions;
    check_widths(config, FORMAT)?;
    check_query_norm(config, FORMAT)?;
    check_source_end(config, FORMAT)?;
    let features = [
        (
            conventions.decoder_heads.is_some() || conventions.decoder_d_ff.is_some(),
            "other heads or feed-forward widths in the decoder",
        ),
        (config.positions == Positions::Learned, "learned positions"),
        (
            conventions.sinusoids != Sinusoids::HalvesToEnd || conventions.position_offset != 0,
            "positions other than Marian's own",
        ),
        (
            conventions.embedding_scale == EmbeddingScale::One,
            "embeddings that are not multiplied by the root of d_model",
        ),
        (config.layer_norm_eps != EPSILON, "layer_norm_eps other than 1e-6"),
        (config.activation == Activation::Gelu, "the activation gelu, which Marian approximates,"),
    ];
    refuse_any(FORMAT, &features.map(|(has, what)| (has, what, ELSEWHERE)))
}

fn check(package: &Package) -> Result<()> {
    let config = &package.config;
    check_shape(config)?;
    let start =
        config.conventions.decoder_start != DecoderStart::Zero && !starts_from_zeros(package)?;
    refuse(FORMAT, start, "a decoder that does not start from zeros", ELSEWHERE)?;
    let ids = config.eos != 0 || config.pad as usize + 1 != config.target_vocab;
    let what = "special ids other than Marian's (</s> 0, and no padding before the last id)";
    refuse(FORMAT, ids, what, ELSEWHERE)
}

/// Whether the row that opens targets consists of zeros.
fn starts_from_zeros(package: &Package) -> Result<bool> {
    let config = &package.config;
    let row = package
        .weight(embeddings::names(config.sharing)[1])?
        .rows(config.bos as usize, config.bos as usize + 1);
    Ok(row.values.iter().all(|&value| value == 0.0))
}

/// `tokens` without the padding at their end, and without the tokens with which a shorter vocabulary was filled up.
fn real(mut tokens: Vec<String>, package: &Package) -> Vec<String> {
    tokens.truncate(package.config.pad as usize);
    tokens.truncate(vocabulary::real(&tokens));
    tokens
}

fn tensors(package: &Package, [source, target]: [usize; 2]) -> Result<Tensors> {
    let mut tensors = layers::write(package)?;
    let own = embeddings::names(package.config.sharing);
    let rows = |own: &str, rows: usize| Ok::<_, InteropError>(package.weight(own)?.rows(0, rows));
    // Sides of two sizes were one matrix here because the shorter one was filled.
    if package.config.sharing == EmbeddingSharing::All {
        tensors.insert("Wemb".into(), rows(own[0], source.max(target))?);
    } else {
        tensors.insert("encoder_Wemb".into(), rows(own[0], source)?);
        tensors.insert("decoder_Wemb".into(), rows(own[1], target)?);
    }
    if package.config.sharing == EmbeddingSharing::None {
        tensors.insert("decoder_ff_logit_out_W".into(), rows(own[2], target)?.transposed());
    }
    let bias = match package.config.conventions.output_bias {
        OutputBias::None => vec![0.0; target],
        OutputBias::PerPiece => package.weight("output_bias")?.values[..target].to_vec(),
    };
    tensors.insert("decoder_ff_logit_out_b".into(), Tensor::new([1, target], bias));
    Ok(tensors)
}

/// The options of the model, as YAML.
fn options(config: &TransformerConfig, activation: &str, [source, target]: [usize; 2]) -> String {
    let (preprocess, postprocess, top) = match config.norm {
        NormPosition::Post => ("", "dan", ""),
        NormPosition::Pre => ("n", "da", "n"),
    };
    let (autoreg, cell) = match config.conventions.target_history {
        TargetHistory::SelfAttention => ("self-attention", "gru"),
        TargetHistory::Ssru => ("rnn", "ssru"),
    };
    let tied = config.sharing == EmbeddingSharing::Target;
    let tied_all = config.sharing == EmbeddingSharing::All;
    let &TransformerConfig { d_model, d_ff, heads, encoder_layers, decoder_layers, .. } = config;
    let mut text = format!(
        "dim-vocabs:\n  - {source}\n  - {target}\n\
         type: transformer\n\
         version: v1.12.0\n\
         dim-emb: {d_model}\n\
         enc-depth: {encoder_layers}\n\
         dec-depth: {decoder_layers}\n\
         dec-cell: {cell}\n\
         tied-embeddings: {tied}\n\
         tied-embeddings-all: {tied_all}\n\
         transformer-heads: {heads}\n\
         transformer-dim-ffn: {d_ff}\n\
         transformer-ffn-activation: {activation}\n\
         transformer-decoder-autoreg: {autoreg}\n\
         transformer-preprocess: \"{preprocess}\"\n\
         transformer-postprocess: {postprocess}\n\
         transformer-postprocess-top: \"{top}\"\n"
    );
    text.push_str(USUAL);
    text
}

/// The options that every plain Transformer of Marian has.
const USUAL: &str = "\
enc-cell: gru
enc-cell-depth: 1
enc-type: bidirectional
dec-cell-base-depth: 2
dec-cell-high-depth: 1
dim-rnn: 1024
input-types: []
layer-normalization: false
lemma-dim-emb: 0
right-left: false
skip: false
tied-embeddings-src: false
transformer-aan-activation: swish
transformer-aan-depth: 2
transformer-aan-nogate: false
transformer-decoder-dim-ffn: 0
transformer-decoder-ffn-depth: 0
transformer-depth-scaling: false
transformer-dim-aan: 2048
transformer-ffn-depth: 2
transformer-flat: false
transformer-guided-alignment-layer: last
transformer-no-projection: false
transformer-pool: false
transformer-postprocess-emb: d
transformer-rnn-projection: false
transformer-tied-layers: []
transformer-train-position-embeddings: false
ulr: false
ulr-dim-emb: 0
ulr-trainable-transformation: false
";

/// The vocabularies as files, and the file names of the source's and the target's.
fn vocabularies(
    package: &Package,
    [source, target]: [&Vec<String>; 2],
) -> (BTreeMap<String, Vec<u8>>, [String; 2]) {
    let mut files = BTreeMap::new();
    let spm = |name: &str| package.texts.get(name);
    let source_spm = spm("source.spm");
    let target_spm = spm("target.spm").or(source_spm);
    let joint = source == target && source_spm == target_spm;
    let mut side = |name: &str, tokens: &[String], model: Option<&Vec<u8>>| {
        let of_model = model.and_then(|bytes| pieces(bytes));
        let (name, bytes) = match model.filter(|_| of_model.as_deref() == Some(tokens)) {
            Some(model) => (format!("{name}.spm"), model.clone()),
            None => (format!("{name}.yml"), list(tokens)),
        };
        if let Some(model) = model.filter(|_| name.ends_with(".yml")) {
            // Its pieces have other ids than the model: text is split by it before Marian reads it.
            files.insert(name.replace("vocab", "pieces").replace(".yml", ".model"), model.clone());
        }
        files.insert(name.clone(), bytes);
        name
    };
    let names = match joint {
        true => [(); 2].map(|()| side("vocab", source, source_spm)),
        false => {
            [side("vocab.source", source, source_spm), side("vocab.target", target, target_spm)]
        }
    };
    (files, names)
}

/// The content of a vocabulary file: tokens with their ids, one per line.
fn list(tokens: &[String]) -> Vec<u8> {
    let mut text = String::new();
    for (id, token) in tokens.iter().enumerate() {
        let _ = writeln!(text, "{}: {id}", serde_json::json!(token));
    }
    text.into_bytes()
}

/// The options of the decoder. Marian cannot express GNMT's length penalty; its exponent is the nearest setting.
fn decoder(search: &SearchSettings, [source, target]: [String; 2]) -> String {
    let normalize = match search.length_penalty {
        LengthPenalty::None => 0.0,
        LengthPenalty::Average => 1.0,
        LengthPenalty::Gnmt(alpha) | LengthPenalty::Power(alpha) => alpha,
    };
    let SearchSettings { beam_size, max_length_factor, .. } = search;
    let unknown = !search.suppress.contains(&UNKNOWN);
    format!(
        "relative-paths: true\nmodels:\n  - {MODEL}\nvocabs:\n  - {source}\n  - {target}\nbeam-size: {beam_size}\n\
         normalize: {normalize}\nmax-length-factor: {max_length_factor}\nword-penalty: 0\nallow-unk: {unknown}\n"
    )
}
