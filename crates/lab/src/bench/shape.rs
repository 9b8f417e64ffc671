//! Models with random weights in the size of models that users import.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_core::{Activation, ComputeType, TransformerConfig, model_dir, named_parameters};
use burnformer_infer::{GENERATION_FILE, GenerationSettings};
use burnformer_interop::Pretrained;
use serde_json::Value;

/// The number of tokens of the models of OPUS-MT for German and English.
const OPUS_MT_VOCABULARY: usize = 58_101;

/// The size of a model.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum ModelShape {
    /// d_model 512, d_ff 2,048, 8 heads, 6 + 6 layers, SiLU, 58,101 shared tokens
    OpusMt,
}

impl ModelShape {
    fn config(self) -> TransformerConfig {
        match self {
            Self::OpusMt => TransformerConfig {
                activation: Activation::Silu,
                ..TransformerConfig::base(OPUS_MT_VOCABULARY)
            },
        }
    }

    /// Writes a model of this shape with random weights into `folder` and returns its directory.
    /// It has the tokeniser of `model`, with tokens that no text has.
    ///
    /// # Errors
    /// Returns an error if the shape is impossible, or the model cannot be written.
    pub fn write(self, model: &Path, folder: &Path, compute: ComputeType) -> Result<PathBuf> {
        let dir = folder.join(compute.name());
        let config = self.config();
        let weights = config.init(1, &Device::flex())?;
        model_dir::save_parameters(&dir, &config, &named_parameters(&weights), compute)?;
        let Pretrained { texts, .. } = Pretrained::load(model)?;
        let tokenizer = texts
            .get("tokenizer.json")
            .context("the model has one tokenizer.json")?;
        let tokenizer = with_tokens(serde_json::from_slice(tokenizer)?, config.target_vocab)?;
        fs::write(dir.join("tokenizer.json"), serde_json::to_vec(&tokenizer)?)?;
        // Without protections, which would search again for nearly every line.
        GenerationSettings::default().save(&dir.join(GENERATION_FILE))?;
        model_dir::seal(&dir)?;
        Ok(dir)
    }
}

/// Adds tokens to a tokeniser until it has `count`.
fn with_tokens(mut tokenizer: Value, count: usize) -> Result<Value> {
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut();
    let vocabulary = vocabulary.context("the tokeniser has a vocabulary of BPE")?;
    for id in vocabulary.len()..count {
        vocabulary.insert(format!("\u{e000}{id}"), id.into());
    }
    Ok(tokenizer)
}
