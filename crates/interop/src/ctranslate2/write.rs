//! Writes a model directory of CTranslate2, like its converters.

use std::collections::BTreeMap;
use std::path::Path;

use burnformer_core::{
    DecoderStart, EmbeddingScale, NormPosition, OutputBias, Positions, SourceEnd, TransformerConfig,
};

use super::binary::{self, Content};
use super::layers;
use super::settings::{ACTIVATIONS, CONFIG, WEIGHTS};
use crate::embeddings::{self, IMPOSSIBLE_BIAS};
use crate::error::Result;
use crate::files::write_file;
use crate::pretrained::{Pretrained, activation_in, check_layers, fresh_folder};
use crate::tensors::Tensor;
use crate::vocabulary::{self, write_carried};

/// The name of this format in error messages.
const FORMAT: &str = "CTranslate2";
/// The number of written positions for a model that computes them, the longest sentence in
/// CTranslate2.
const POSITIONS: usize = 2048;

/// Writes `model` into the new folder `dir`.
///
/// # Errors
/// Returns [`InteropError::CannotExport`](crate::InteropError::CannotExport) for features without a
/// counterpart in CTranslate2, or [`InteropError::Io`](crate::InteropError::Io).
pub(crate) fn write(model: &Pretrained, dir: &Path, quantise: fn(Tensor) -> Content) -> Result<()> {
    let config = &model.config;
    check(config)?;
    let [source, target] = vocabulary::tokens(model)?;
    let mut variables = layers::write(model, quantise)?;
    write_embeddings(model, quantise, &mut variables)?;
    positions(model, &mut variables)?;
    flags(config, &mut variables)?;
    fresh_folder(dir)?;
    write_file(&dir.join(WEIGHTS), &binary::write(&variables))?;
    write_file(&dir.join(CONFIG), &settings(config, &target))?;
    if source == target {
        write_file(&dir.join("shared_vocabulary.json"), &list(&source))?;
    } else {
        write_file(&dir.join("source_vocabulary.json"), &list(&source))?;
        write_file(&dir.join("target_vocabulary.json"), &list(&target))?;
    }
    write_carried(model, dir)
}

/// A vocabulary as JSON.
fn list(tokens: &[String]) -> Vec<u8> {
    serde_json::to_vec_pretty(tokens).expect("texts are plain data")
}

/// Returns an error if CTranslate2 cannot express a model of `config`.
pub(crate) fn check(config: &TransformerConfig) -> Result<()> {
    check_layers(config, FORMAT)?;
    activation_in(FORMAT, &ACTIVATIONS, config).map(drop)
}

fn write_embeddings(
    model: &Pretrained,
    quantise: impl Fn(Tensor) -> Content,
    variables: &mut BTreeMap<String, Content>,
) -> Result<()> {
    let names = [
        "encoder/embeddings_0",
        "decoder/embeddings",
        "decoder/projection",
    ];
    let [source, target, output] = names.map(|name| format!("{name}/weight"));
    let names = embeddings::names(model.config.sharing);
    variables.insert(target.clone(), quantise(model.weight(names[1])?.clone()));
    for (name, ours) in [(source, names[0]), (output, names[2])] {
        let content = if ours == names[1] {
            Content::Alias(target.clone())
        } else {
            quantise(model.weight(ours)?.clone())
        };
        variables.insert(name, content);
    }
    if model.config.conventions.output_bias == OutputBias::PerPiece {
        let mut bias = model.weight("output_bias")?.clone();
        if model.config.conventions.decoder_start == DecoderStart::Zero {
            // Unlike CTranslate2, search here never generates padding.
            bias.values[model.config.pad as usize] = IMPOSSIBLE_BIAS;
        }
        variables.insert("decoder/projection/bias".into(), Content::Float(bias));
    }
    Ok(())
}

fn positions(model: &Pretrained, variables: &mut BTreeMap<String, Content>) -> Result<()> {
    let config = &model.config;
    let encoder = "encoder/position_encodings/encodings".to_string();
    let decoder = "decoder/position_encodings/encodings".to_string();
    let offset = config.conventions.position_offset;
    if config.positions == Positions::Learned {
        for (theirs, ours) in [(encoder, "source_position"), (decoder, "target_position")] {
            let table = model.weight(&format!("{ours}.weight"))?;
            let table = table.rows(offset.min(table.shape[0]), table.shape[0]);
            variables.insert(theirs, Content::Float(table));
        }
        return Ok(());
    }
    let values = config
        .conventions
        .sinusoids
        .values(offset..offset + POSITIONS, config.d_model);
    let table = Tensor::new([POSITIONS, config.d_model], values);
    variables.insert(encoder, Content::Alias(decoder.clone()));
    variables.insert(decoder, Content::Float(table));
    Ok(())
}

fn flags(config: &TransformerConfig, variables: &mut BTreeMap<String, Content>) -> Result<()> {
    let activation = activation_in(FORMAT, &ACTIVATIONS, config)? as i8;
    let scale = match config.conventions.embedding_scale {
        EmbeddingScale::SqrtWidth => (config.d_model as f32).sqrt(),
        EmbeddingScale::One => 1.0,
    };
    for (side, heads) in [
        ("encoder", config.heads),
        ("decoder", config.of_decoder().heads),
    ] {
        let mut add = |name: &str, value| variables.insert(format!("{side}/{name}"), value);
        add("activation", Content::ByteScalar(activation));
        add("num_heads", Content::ShortScalar(heads as i16));
        add("pre_norm", flag(config.norm == NormPosition::Pre));
        add("scale_embeddings", Content::FloatScalar(scale));
    }
    let mut add = |name: &str, value| variables.insert(name.to_string(), value);
    // The rule for several embeddings per side; a Transformer has one.
    add("encoder/embeddings_merge", Content::ByteScalar(0));
    add("encoder/multi_query_attention", flag(false));
    let zero = config.conventions.decoder_start == DecoderStart::Zero;
    add("decoder/start_from_zero_embedding", flag(zero));
    add("decoder/alignment_layer", Content::ShortScalar(-1));
    // The mean of all heads, as here.
    add("decoder/alignment_heads", Content::ShortScalar(0));
    for name in ["alibi", "alibi_use_positive_positions", "scale_alibi"] {
        add(&format!("decoder/{name}"), flag(false));
    }
    Ok(())
}

/// A boolean variable.
fn flag(value: bool) -> Content {
    Content::ByteScalar(value.into())
}

/// `config.json`, with the names of the special tokens.
fn settings(config: &TransformerConfig, tokens: &[String]) -> Vec<u8> {
    let bos = &tokens[config.bos as usize];
    let eos = &tokens[config.eos as usize];
    // With a start from zeros, any token will do.
    let start = match config.conventions.decoder_start {
        DecoderStart::Zero => eos,
        DecoderStart::Embedding => bos,
    };
    // CTranslate2 needs one, and never generates it with `disable_unk`.
    let unknown = if tokens.iter().any(|token| token == "<unk>") {
        "<unk>"
    } else {
        &tokens[config.pad as usize]
    };
    let json = serde_json::json!({
        "add_source_bos": false, "add_source_eos": config.conventions.source_end == SourceEnd::Seen,
        "bos_token": bos, "decoder_start_token": start,
        "eos_token": eos, "layer_norm_epsilon": config.layer_norm_eps,
        "multi_query_attention": false, "unk_token": unknown,
    });
    serde_json::to_vec_pretty(&json).expect("a configuration is plain data")
}
