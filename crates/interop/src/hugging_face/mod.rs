//! Hugging Face's `MarianMTModel` (OPUS-MT) and `M2M100ForConditionalGeneration` (M2M100 and NLLB).

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

/// The largest difference between stored and computed positions: the rounding of float16.
const POSITION_TOLERANCE: f32 = 1e-3;

/// Returns whether `dir` looks like a model of Hugging Face.
pub(crate) fn recognizes(dir: &Path) -> bool {
    dir.join(CONFIG).is_file() && weights_file(dir).is_some() && !dir.join("manifest.json").exists()
}

fn weights_file(dir: &Path) -> Option<PathBuf> {
    [SAFETENSORS, PYTORCH]
        .map(|name| dir.join(name))
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok_and(|found| !found.is_dir()))
}

/// Reads the model in the folder `dir`. `files` are the tokeniser files named by the user.
///
/// # Errors
/// Returns an [`InteropError`] with the file, the tensor or key, and a remedy.
pub(crate) fn read(dir: &Path, files: &TextFiles) -> Result<Pretrained> {
    let path = dir.join(CONFIG);
    let bytes = read_file(&path)?;
    let marian: MarianConfig = parse_json(&path, &bytes)?;
    // A first check before weights are read and the sharing is known.
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
        // Every MarianMTModel has an output bias; models without one have zeros there.
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
        // Old files also store computed values.
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
    // A model exported by this program carries its search settings, which are more complete.
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
    let tensors = if path.ends_with(SAFETENSORS) {
        read_safetensors(&path, &bytes)?
    } else {
        torch::read(&path, &bytes)?
    };
    Ok(Weights::new(&path, tensors))
}

/// The tokenisers as files of a model directory: SentencePiece models with a vocabulary, or files of
/// the library `tokenizers`.
fn read_texts(dir: &Path, config: &TransformerConfig, files: &TextFiles) -> Result<Files> {
    let mut texts = BTreeMap::new();
    for name in VOCABULARIES {
        if let Some(bytes) = read_optional(&dir.join(name))? {
            texts.insert(name.to_string(), bytes);
        }
    }
    if let Some(source) = texts.get("vocab.json") {
        let target = texts.get("target_vocab.json").unwrap_or(source);
        let source = vocabulary::of_file(&dir.join("vocab.json"), source, config.source_vocab)?;
        let target =
            vocabulary::of_file(&dir.join("target_vocab.json"), target, config.target_vocab)?;
        if let Some([source, target]) = sentencepiece(&[dir], files, [&source, &target])? {
            texts.extend([("source.spm".into(), source), ("target.spm".into(), target)]);
            return Ok(texts);
        }
    }
    // Models exported by this program, and models with a tokeniser of the library `tokenizers` only,
    // have these files.
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

/// Takes the matrices over the vocabularies and ties them like transformers.
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

/// Returns whether the embedding of the start token is zero, as in all models converted from Marian.
fn starts_from_zero(target: &Tensor, bos: u32) -> bool {
    let row = bos as usize;
    target.rows(row, row + 1).values.iter().all(|&x| x == 0.0)
}

/// The layout of the positions in the file, by default the layout of MarianMTModel.
fn sinusoids(d_model: usize, tensors: &mut Weights) -> Result<Sinusoids> {
    let path = tensors.path.clone();
    let remedy = "MarianMTModel computes them";
    let names = ["encoder", "decoder"].map(|side| format!("model.{side}.embed_positions.weight"));
    let mut found = [Sinusoids::Halves; 2];
    for (name, found) in names.iter().zip(&mut found) {
        let Some(stored) = tensors.take_any(name) else {
            continue;
        };
        let count = stored.values.len() / d_model;
        let stored = tensors.shaped(name, stored, &[count, d_model])?;
        let Some((layout, _)) = recognised(&stored, 0..1, POSITION_TOLERANCE) else {
            let what = format!("tensor {name} with positions that are not sines and cosines");
            return Err(InteropError::unsupported(&path, what, remedy));
        };
        *found = layout;
    }
    let [source, target] = found;
    if source != target {
        let what = "different positions in encoder and decoder";
        return Err(InteropError::unsupported(&path, what, remedy));
    }
    Ok(source)
}
