//! Model directories of CTranslate2.

mod binary;
mod layers;
mod settings;
mod vocabulary;
mod write;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use burnformer_core::{
    Activation, Conventions, DecoderStart, EmbeddingScale, NormPosition, OutputBias, Positions,
    Sinusoids, SourceEnd, TransformerConfig,
};
use burnformer_infer::{BeamRule, LengthPenalty, SearchSettings};
use serde_json::Value;

use crate::embeddings::{Embeddings, append_padding, padding_id, recognised};
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_file, start};
use crate::pretrained::Pretrained;
use crate::tensors::Tensors;
use crate::text_files::TextFiles;
use crate::vocabulary::carried_settings;
use binary::Binary;
use settings::{ACTIVATIONS, CONFIG, Settings, WEIGHTS};
use vocabulary::Vocabularies;

pub(crate) use binary::Content;
pub(crate) use write::{check, write};

/// The file that identifies a package of Argos Translate.
const ARGOS: &str = "metadata.json";
/// The largest difference between stored and computed positions: the rounding of float16.
const POSITION_TOLERANCE: f32 = 2e-3;

/// Returns whether `dir` looks like a model of CTranslate2.
pub(crate) fn recognizes(dir: &Path) -> bool {
    let path = folder(dir).join(WEIGHTS);
    // Marian's model.bin begins with a 64-bit 1.
    path.exists() && start(&path, 8) != 1u64.to_le_bytes()
}

/// The folder of the model, a subfolder in a package of Argos Translate.
fn folder(dir: &Path) -> PathBuf {
    let model = dir.join("model");
    if is_argos(dir) && model.is_dir() {
        model
    } else {
        dir.into()
    }
}

fn is_argos(dir: &Path) -> bool {
    dir.join(ARGOS).is_file()
}

/// Reads the model in the folder `dir` or in the unpacked Argos Translate package `dir`. `files`
/// are the tokeniser files named by the user.
///
/// # Errors
/// Returns an [`InteropError`] with the file, the variable or key, and a remedy.
pub(crate) fn read(dir: &Path, files: &TextFiles) -> Result<Pretrained> {
    let package = dir;
    let dir = &*folder(dir);
    let path = dir.join(WEIGHTS);
    let bytes = read_file(&path)?;
    let mut file = Binary::read(&path, &bytes)?;
    let settings = Settings::read(&dir.join(CONFIG), &file)?;
    let vocabularies = Vocabularies::read(dir)?.of_rows(rows(&file)?, &settings.unk_token)?;
    let mut config = shape(&file, &settings, &vocabularies)?;
    let mut weights = layers::read(&mut file, &config)?;
    let embeddings = embeddings(&mut file, &config)?;
    config.sharing = embeddings.sharing();
    weights.extend(embeddings.into_weights());
    if config.conventions.output_bias == OutputBias::PerPiece {
        let bias = file.tensor("decoder/projection/bias", &[config.target_vocab])?;
        weights.insert("output_bias".into(), bias);
    }
    positions(&mut file, &mut config, &mut weights)?;
    let generation = match (carried_settings(dir)?, is_argos(package)) {
        (Some(settings), _) => settings,
        (None, true) => argos_search(package)?.into(),
        (None, false) => search().into(),
    };
    let texts = vocabularies.files(&[dir, package], config.pad, files)?;
    let warnings = warnings(&settings, &config);
    let mut model = Pretrained {
        config,
        weights,
        generation,
        texts,
        shortlist: None,
        warnings,
    };
    if !vocabularies.has_padding() {
        append_padding(&mut model);
    }
    let config = &model.config;
    config
        .validate()
        .map_err(|source| InteropError::Config(path, source))?;
    Ok(model)
}

/// The numbers of rows of the embeddings of source and target.
fn rows(file: &Binary) -> Result<[usize; 2]> {
    let [source, _] = file.shape("encoder/embeddings_0/weight")?;
    let [target, _] = file.shape("decoder/embeddings/weight")?;
    Ok([source, target])
}

fn warnings(settings: &Settings, config: &TransformerConfig) -> Vec<String> {
    let caller_adds_eos =
        !settings.add_source_eos && config.conventions.source_end == SourceEnd::Seen;
    let text = "In CTranslate2 the caller adds </s> to the source of this model; here it is added.";
    caller_adds_eos
        .then(|| text.to_string())
        .into_iter()
        .collect()
}

/// CTranslate2's default settings of the search.
fn search() -> SearchSettings {
    SearchSettings {
        beam_rule: BeamRule::Ctranslate2,
        beam_size: 2,
        min_length: 1,
        length_penalty: LengthPenalty::Power(1.0),
        max_length: Some(256),
        max_length_factor: 0.0,
        max_length_extra: 256,
        ..SearchSettings::default()
    }
}

/// The settings of Argos Translate (`argostranslate/translate.py`), for the package in `dir`.
///
/// # Errors
/// Returns [`InteropError::Unsupported`] for a package whose text needs more than SentencePiece.
fn argos_search(dir: &Path) -> Result<SearchSettings> {
    let path = dir.join(ARGOS);
    let metadata: Value = parse_json(&path, &read_file(&path)?)?;
    if metadata["target_prefix"]
        .as_str()
        .is_some_and(|prefix| !prefix.is_empty())
    {
        return Err(InteropError::unsupported(
            &path,
            "a target_prefix",
            "import the model that the package was made of",
        ));
    }
    if dir.join("bpe.model").exists() && !dir.join("sentencepiece.model").exists() {
        return Err(InteropError::unsupported(
            &path,
            "a tokeniser of Moses and subword-nmt (bpe.model)",
            "take a package with sentencepiece.model",
        ));
    }
    Ok(SearchSettings {
        beam_size: 4,
        length_penalty: LengthPenalty::Power(0.2),
        ..search()
    })
}

/// The configuration, as far as it does not depend on the values of weights.
fn shape(
    file: &Binary,
    settings: &Settings,
    vocabularies: &Vocabularies,
) -> Result<TransformerConfig> {
    let [source_vocab, target_vocab] = rows(file)?;
    let [_, d_model] = file.shape("encoder/embeddings_0/weight")?;
    refuse_options(file)?;
    let layers = ["encoder", "decoder"].map(|side| layers::count(file, side));
    // A layer has at least 8 variables. A missing variable is reported later.
    if layers[0] + layers[1] > file.len() / 8 {
        let message = format!("{layers:?} layers, but {} variables", file.len());
        return Err(InteropError::damaged(file.path, message));
    }
    let [d_ff, _] = file.shape("encoder/layer_0/ffn/linear_0/weight")?;
    let [decoder_d_ff, _] = file.shape("decoder/layer_0/ffn/linear_0/weight")?;
    let [heads, decoder_heads] = heads(file, d_model)?;
    let zero_start = file
        .scalar("decoder/start_from_zero_embedding")
        .unwrap_or(0.0)
        != 0.0;
    let pad = vocabularies
        .padding()
        .unwrap_or(padding_id([source_vocab, target_vocab]));
    let bos = if zero_start {
        pad
    } else {
        vocabularies.id(settings.start()?)?
    };
    Ok(TransformerConfig {
        source_vocab,
        target_vocab,
        d_ff,
        encoder_layers: layers[0],
        decoder_layers: layers[1],
        norm: if both_sides(file, "pre_norm", 1.0)? != 0.0 {
            NormPosition::Pre
        } else {
            NormPosition::Post
        },
        layer_norm_eps: settings.layer_norm_epsilon.unwrap_or(1e-5),
        qk_norm: file.has("encoder/layer_0/self_attention/q_norm/gamma"),
        activation: activation(file)?,
        pad,
        bos,
        eos: vocabularies.id(&settings.eos_token)?,
        conventions: Conventions {
            embedding_scale: embedding_scale(file, d_model)?,
            decoder_start: if zero_start {
                DecoderStart::Zero
            } else {
                DecoderStart::Embedding
            },
            output_bias: if file.has("decoder/projection/bias") {
                OutputBias::PerPiece
            } else {
                OutputBias::None
            },
            source_end: settings.source_end(zero_start)?,
            decoder_heads: Some(decoder_heads).filter(|&n| n != heads),
            decoder_d_ff: Some(decoder_d_ff).filter(|&n| n != d_ff),
            ..Conventions::default()
        },
        ..TransformerConfig::base(target_vocab).with_width(d_model, heads)
    })
}

/// The numbers of heads in encoder and decoder.
fn heads(file: &Binary, d_model: usize) -> Result<[usize; 2]> {
    let mut heads = [1; 2];
    for (heads, side) in heads.iter_mut().zip(["encoder", "decoder"]) {
        let name = format!("{side}/num_heads");
        let stored = file.scalar(&name).ok_or_else(|| file.missing(&name))?;
        *heads = stored.max(1.0) as usize;
    }
    if let Some(heads) = heads.iter().find(|&&heads| !d_model.is_multiple_of(heads)) {
        let message = format!("{heads} heads do not divide the width {d_model}");
        return Err(InteropError::damaged(file.path, message));
    }
    Ok(heads)
}

/// The number `name`, which must be equal in encoder and decoder. A missing number is `default`, as
/// in CTranslate2.
fn both_sides(file: &Binary, name: &str, default: f32) -> Result<f32> {
    let [encoder, decoder] = ["encoder", "decoder"]
        .map(|side| file.scalar(&format!("{side}/{name}")).unwrap_or(default));
    if encoder == decoder {
        return Ok(encoder);
    }
    let what = format!("different {name} in encoder and decoder");
    Err(InteropError::unsupported(
        file.path,
        what,
        "both must have the same",
    ))
}

fn activation(file: &Binary) -> Result<Activation> {
    let number = both_sides(file, "activation", 0.0)?;
    let found = ACTIVATIONS
        .into_iter()
        .find(|&(known, _)| f32::from(known) == number);
    let remedy = "supported: ReLU, SiLU and exact GELU";
    found.map(|(_, value)| value).ok_or_else(|| {
        let what = format!("activation {number}");
        InteropError::unsupported(file.path, what, remedy)
    })
}

/// Refuses the options of models other than plain Transformers.
fn refuse_options(file: &Binary) -> Result<()> {
    let flags = "decoder/alibi decoder/scale_outputs decoder/final_logit_softcapping \
        encoder/multi_query_attention encoder/embeddings_1/weight \
        encoder/layernorm_embedding/gamma decoder/layernorm_embedding/gamma \
        decoder/project_in/weight encoder/layer_0/ffn/linear_0_noact/weight \
        encoder/layer_0/self_attention/relative_position_keys \
        encoder/layer_0/self_attention/relative_attention_bias \
        encoder/layer_0/self_attention/rotary_dim";
    match flags
        .split(' ')
        .find(|name| file.has(name) && file.scalar(name) != Some(0.0))
    {
        Some(name) => {
            let remedy = "only encoder-decoders like those of Marian can be read";
            Err(InteropError::unsupported(
                file.path,
                format!("the option {name}"),
                remedy,
            ))
        }
        None => Ok(()),
    }
}

/// The scale of the embeddings, from a number or a flag for √d_model.
fn embedding_scale(file: &Binary, d_model: usize) -> Result<EmbeddingScale> {
    let root = (d_model as f32).sqrt();
    let scale = both_sides(file, "scale_embeddings", root)?;
    let flag = file.is_flag("encoder/scale_embeddings");
    if (scale - root).abs() < 1e-3 * root || flag && scale != 0.0 {
        return Ok(EmbeddingScale::SqrtWidth);
    }
    if scale == 1.0 || flag {
        return Ok(EmbeddingScale::One);
    }
    let what = format!("embeddings multiplied by {scale}");
    Err(InteropError::unsupported(
        file.path,
        what,
        "√d_model or 1 is needed",
    ))
}

fn embeddings(file: &mut Binary, config: &TransformerConfig) -> Result<Embeddings> {
    let &TransformerConfig {
        source_vocab,
        target_vocab,
        d_model,
        ..
    } = config;
    Ok(Embeddings {
        source: Rc::new(file.tensor("encoder/embeddings_0/weight", &[source_vocab, d_model])?),
        target: Rc::new(file.tensor("decoder/embeddings/weight", &[target_vocab, d_model])?),
        output: Rc::new(file.tensor("decoder/projection/weight", &[target_vocab, d_model])?),
    })
}

/// The positions: sines and cosines in a known layout, or any vectors.
fn positions(
    file: &mut Binary,
    config: &mut TransformerConfig,
    weights: &mut Tensors,
) -> Result<()> {
    let names = ["encoder", "decoder"].map(|side| format!("{side}/position_encodings/encodings"));
    if !names.iter().any(|name| file.has(name)) {
        // CTranslate2 computes positions from 1 on (`src/layers/common.cc`).
        config.conventions.sinusoids = Sinusoids::HalvesToEnd;
        config.conventions.position_offset = 1;
        return Ok(());
    }
    let mut tables = Vec::new();
    for name in &names {
        let [count, width] = file.shape(name)?;
        if width != config.d_model || count == 0 {
            return Err(InteropError::damaged(
                file.path,
                format!("variable {name} has an odd shape"),
            ));
        }
        tables.push(file.tensor(name, &[count, width])?);
    }
    let [source, target] =
        [&tables[0], &tables[1]].map(|table| recognised(table, 0..3, POSITION_TOLERANCE));
    match (source, target) {
        (Some(source), Some(target)) if source == target => {
            (
                config.conventions.sinusoids,
                config.conventions.position_offset,
            ) = source;
        }
        _ if tables[0].shape == tables[1].shape => {
            config.positions = Positions::Learned;
            config.max_positions = tables[0].shape[0];
            for (side, table) in ["target", "source"]
                .into_iter()
                .zip(tables.into_iter().rev())
            {
                weights.insert(format!("{side}_position.weight"), table);
            }
        }
        _ => {
            let what = "different positions in encoder and decoder";
            return Err(InteropError::unsupported(
                file.path,
                what,
                "both must have the same",
            ));
        }
    }
    Ok(())
}
