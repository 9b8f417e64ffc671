//! Hugging Face's `MarianMTModel`, the class of OPUS-MT's models, and
//! `M2M100ForConditionalGeneration`, the class of M2M100 and NLLB.

mod config;
mod languages;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burnformer_core::{DecoderStart, EmbeddingSharing, OutputBias, Sinusoids, TransformerConfig};

use crate::embeddings::{Embeddings, recognised};
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_file, read_optional};
use crate::pretrained::{Files, Pretrained};
use crate::tensors::{Tensor, Weights, read_safetensors};
use crate::text_files::{TextFiles, sentencepiece};
use crate::vocabulary::{self, carried_search};
use crate::{layers, torch};
use config::{
    CONFIG, Family, GENERATION, GenerationConfig, MarianConfig, PYTORCH, SAFETENSORS, TOKENIZERS,
    VOCABULARIES,
};

pub(crate) use write::{check, write};

/// The largest difference between stored positions and the computed ones: the rounding of float16.
const POSITION_TOLERANCE: f32 = 1e-3;

/// Returns whether `dir` looks like a model of Hugging Face.
pub(crate) fn recognizes(dir: &Path) -> bool {
    dir.join(CONFIG).is_file() && weights_file(dir).is_some() && !dir.join("manifest.json").exists()
}

fn weights_file(dir: &Path) -> Option<PathBuf> {
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
    [SAFETENSORS, PYTORCH]
        .map(|name| dir.join(name))
        .into_iter()
        .find(is_there)
}

/// Reads the model in the folder `dir`. `files` are the tokeniser files named by the user.
///
/// # Errors
/// Returns an [`InteropError`] that names the file, the tensor or key, and a remedy.
pub(crate) fn read(dir: &Path, files: &TextFiles) -> Result<Pretrained> {
    let path = dir.join(CONFIG);
    let bytes = read_file(&path)?;
    let marian: MarianConfig = parse_json(&path, &bytes)?;
    // Checked before weights are read; how embeddings are shared is known only then.
    marian.transformer(&path, EmbeddingSharing::None)?;
    let mut tensors = read_weights(dir)?;
    let embeddings = embeddings(&marian, &mut tensors)?;
    let mut config = marian.transformer(&path, embeddings.sharing())?;
    let family = marian.family(&path)?;
    if family == Family::Marian && starts_from_zero(&embeddings.target, config.bos) {
        config.conventions.decoder_start = DecoderStart::Zero;
    }
    let bias = match family {
        Family::Marian => tensors.take("final_logits_bias", &[1, config.target_vocab])?,
        Family::M2m100 => Tensor::new([1, config.target_vocab], vec![0.0; config.target_vocab]),
    };
    let mut weights = embeddings.into_weights();
    if bias.values.iter().all(|&x| x == 0.0) {
        // Every MarianMTModel has one; a model without it comes back as it was.
        config.conventions.output_bias = OutputBias::None;
    } else {
        weights.insert(
            "output_bias".into(),
            Tensor::new([config.target_vocab], bias.values),
        );
    }
    for part in layers::parts(&config) {
        for (kind, shape) in part.parameters() {
            let weight = tensors.take(&format!("{}.{kind}", part.hugging_face()), &shape)?;
            weights.insert(format!("{}.{kind}", part.full_name()), weight);
        }
    }
    match family {
        Family::Marian => config.conventions.sinusoids = sinusoids(marian.d_model, &mut tensors)?,
        // Old files also store values that can be computed.
        Family::M2m100 => ["encoder", "decoder"].into_iter().for_each(|side| {
            tensors.take_any(&format!("model.{side}.embed_positions.weights"));
        }),
    }
    tensors.finish("it is not a plain model of its class")?;
    let path = dir.join(GENERATION);
    let generation: GenerationConfig = match read_optional(&path)? {
        Some(bytes) => parse_json(&path, &bytes)?,
        None => parse_json(&dir.join(CONFIG), &bytes)?,
    };
    let (search, warnings) = generation.settings(&config)?;
    // A model that was exported by this program carries its search settings, which say more than
    // the file of transformers can.
    let (search, warnings) = match carried_search(dir)? {
        Some(search) => (search, Vec::new()),
        None => (search, warnings),
    };
    let texts = match family {
        Family::Marian => read_texts(dir, &config, files)?,
        Family::M2m100 => languages::read_texts(dir, config.source_vocab)?,
    };
    let mut model = Pretrained {
        config,
        weights,
        search,
        texts,
        shortlist: None,
        warnings,
    };
    languages::align(&mut model)?;
    Ok(model)
}

fn read_weights(dir: &Path) -> Result<Weights> {
    let wanted = format!("{SAFETENSORS} or {PYTORCH}");
    let remedy = "weights in several files have to be saved in one, with max_shard_size";
    let path = weights_file(dir).ok_or_else(|| InteropError::missing(dir, wanted, remedy))?;
    let bytes = read_file(&path)?;
    let tensors = match path.ends_with(SAFETENSORS) {
        true => read_safetensors(&path, &bytes)?,
        false => torch::read(&path, &bytes)?,
    };
    Ok(Weights::new(&path, tensors))
}

/// The tokenisers as files of a model directory: SentencePiece models with a vocabulary, or those
/// of the library `tokenizers`.
fn read_texts(dir: &Path, config: &TransformerConfig, files: &TextFiles) -> Result<Files> {
    let mut texts = BTreeMap::new();
    for name in VOCABULARIES {
        if let Some(bytes) = read_optional(&dir.join(name))? {
            texts.insert(name.to_string(), bytes);
        }
    }
    if let Some(source) = texts.get("vocab.json") {
        let tokens = |name: &str, rows| {
            vocabulary::of_file(&dir.join(name), texts.get(name).unwrap_or(source), rows)
        };
        let source = tokens("vocab.json", config.source_vocab)?;
        let target = tokens("target_vocab.json", config.target_vocab)?;
        if let Some([source, target]) = sentencepiece(&[dir], files, [&source, &target])? {
            texts.extend([("source.spm".into(), source), ("target.spm".into(), target)]);
            return Ok(texts);
        }
    }
    // A model that was exported by this program, or whose tokeniser is one of the library
    // `tokenizers` alone, has these files.
    let mut tokenizers = BTreeMap::new();
    for name in TOKENIZERS {
        if let Some(bytes) = read_optional(&dir.join(name))? {
            tokenizers.insert(
                name.to_string(),
                write::without_closing(&dir.join(name), &bytes)?,
            );
        }
    }
    Ok(if tokenizers.is_empty() {
        texts
    } else {
        tokenizers
    })
}

/// Takes the matrices over the vocabularies and ties them as transformers does when it loads a
/// model.
fn embeddings(marian: &MarianConfig, tensors: &mut Weights) -> Result<Embeddings> {
    let shapes = [marian.vocab_size, marian.target_vocab()].map(|rows| [rows, marian.d_model]);
    let shared = tensors.take_any("model.shared.weight");
    let mut side = |name: &str, shape: [usize; 2]| {
        let separate = tensors.take_any(name);
        let tied = shared
            .clone()
            .filter(|_| marian.share_encoder_decoder_embeddings);
        let matrix = tied.or(separate).or_else(|| shared.clone());
        tensors.shaped(name, matrix.ok_or_else(|| tensors.missing(name))?, &shape)
    };
    let source = side("model.encoder.embed_tokens.weight", shapes[0])?;
    let target = side("model.decoder.embed_tokens.weight", shapes[1])?;
    let output = tensors
        .take_any("lm_head.weight")
        .filter(|_| !marian.tie_word_embeddings);
    let output = output.unwrap_or_else(|| target.clone());
    let output = tensors.shaped("lm_head.weight", output, &shapes[1])?;
    Ok(Embeddings {
        source,
        target,
        output,
    })
}

/// Returns whether the embedding of the token that opens a target is zero, as in all models that
/// were converted from Marian.
fn starts_from_zero(target: &Tensor, bos: u32) -> bool {
    let row = bos as usize;
    target.rows(row, row + 1).values.iter().all(|&x| x == 0.0)
}

/// The layout of the positions in the file, or the one that MarianMTModel computes if the file has
/// no positions.
fn sinusoids(d_model: usize, tensors: &mut Weights) -> Result<Sinusoids> {
    let path = tensors.path.clone();
    let refuse = |what: String| {
        Err(InteropError::unsupported(
            &path,
            what,
            "MarianMTModel computes them",
        ))
    };
    let names = ["encoder", "decoder"].map(|side| format!("model.{side}.embed_positions.weight"));
    let mut found = [Sinusoids::Halves; 2];
    for (name, found) in names.iter().zip(&mut found) {
        let Some(stored) = tensors.take_any(name) else {
            continue;
        };
        let count = stored.values.len() / d_model;
        let stored = tensors.shaped(name, stored, &[count, d_model])?;
        let Some((layout, _)) = recognised(&stored, 0..1, POSITION_TOLERANCE) else {
            return refuse(format!(
                "tensor {name} with positions that are not sines and cosines"
            ));
        };
        *found = layout;
    }
    match found {
        [source, target] if source == target => Ok(source),
        _ => refuse("positions of which encoder and decoder differ".into()),
    }
}
