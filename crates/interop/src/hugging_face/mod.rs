//! Hugging Face's `MarianMTModel` (OPUS-MT) and `M2M100ForConditionalGeneration` (M2M100 and NLLB).

mod config;
mod generation;
mod languages;
mod nllb;
mod weights;
mod write;
mod write_texts;

use std::collections::BTreeMap;
use std::path::Path;

use burnformer_core::{DecoderStart, EmbeddingSharing, OutputBias, Sinusoids, TransformerConfig};

use crate::embeddings::recognised;
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_file, read_optional};
use crate::layers;
use crate::pretrained::{Files, Pretrained};
use crate::tensors::{Tensor, Weights};
use crate::text_files::{TextFiles, sentencepiece};
use crate::vocabulary::{self, carried_settings};
use config::{CONFIG, Family, GENERATION, MarianConfig, TOKENIZERS, VOCABULARIES};
use generation::GenerationConfig;

pub(crate) use write::{check, write};

/// The largest difference between stored and computed positions: the rounding of float16.
const POSITION_TOLERANCE: f32 = 1e-3;

/// Returns whether `dir` looks like a model of Hugging Face.
pub(crate) fn recognizes(dir: &Path) -> bool {
    dir.join(CONFIG).is_file()
        && weights::file(dir).is_some()
        && !dir.join("manifest.json").exists()
}

/// Reads the model in the folder `dir`. `files` are the tokeniser files named by the user.
///
/// # Errors
/// Returns an [`InteropError`] with the file, the tensor or key, and a remedy.
pub(crate) fn read(dir: &Path, files: &TextFiles) -> Result<Pretrained> {
    let path = dir.join(CONFIG);
    let bytes = read_file(&path)?;
    let mut marian = MarianConfig::parse(&path, &bytes)?;
    let generation: GenerationConfig = match read_optional(&dir.join(GENERATION))? {
        Some(bytes) => {
            let generation: GenerationConfig = parse_json(&dir.join(GENERATION), &bytes)?;
            // transformers takes the start token from here, not from `config.json`.
            let start = generation.decoder_start();
            marian.decoder_start_token_id = start.unwrap_or(marian.decoder_start_token_id);
            generation
        }
        None => parse_json(&path, &bytes)?,
    };
    // A first check before weights are read and the sharing is known.
    marian.transformer(&path, EmbeddingSharing::None)?;
    let mut tensors = weights::read(dir)?;
    let family = marian.family(&path)?;
    let embeddings = weights::embeddings(&marian, family, &mut tensors)?;
    let mut config = marian.transformer(&path, embeddings.sharing())?;
    if family == Family::Marian && starts_from_zero(&embeddings.target, config.bos) {
        config.conventions.decoder_start = DecoderStart::Zero;
    }
    let bias = match family {
        Family::Marian => output_bias(config.target_vocab, &mut tensors)?,
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
    let (search, warnings) = generation.settings(&config)?;
    // A model exported by this program carries its default settings, which are more complete.
    let (generation, warnings) = match carried_settings(dir)? {
        Some(settings) => (settings, Vec::new()),
        None => (search.into(), warnings),
    };
    let texts = match family {
        Family::Marian => read_texts(dir, &config, files)?,
        Family::M2m100 => languages::read_texts(dir, config.source_vocab)?,
    };
    let mut model = Pretrained {
        config,
        weights,
        generation,
        texts,
        shortlist: None,
        warnings,
    };
    languages::align(&mut model)?;
    Ok(model)
}

/// The tokenisers as files of a model directory: SentencePiece models with a vocabulary, or files
/// of the library `tokenizers`.
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
    // Models exported by this program, and models with a tokeniser of the library `tokenizers`
    // only, have these files.
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

/// The bias of the output, zeros if the file has none.
fn output_bias(rows: usize, tensors: &mut Weights) -> Result<Tensor> {
    let name = "final_logits_bias";
    match tensors.take_any(name) {
        Some(bias) => tensors.shaped(name, bias, &[1, rows]),
        None => Ok(Tensor::new([1, rows], vec![0.0; rows])),
    }
}

/// Returns whether the embedding of the start token is zero, as in all models converted from
/// Marian.
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
