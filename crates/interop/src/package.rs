//! A model between two formats: what a model directory holds, in memory.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::TensorData;
use burnformer_core::model_dir::{self, ModelDirError};
use burnformer_core::{ComputeType, TargetHistory, TransformerConfig};
use burnformer_infer::{GENERATION_FILE, SearchSettings, load_settings};

use crate::error::{InteropError, Result};
use crate::files::write_file;
use crate::tensors::{Tensor, Tensors};

/// Files of text models that are carried from one format to the other as they are.
pub(crate) const TEXT_FILES: [&str; 7] = [
    "tokenizer.json",
    "source_tokenizer.json",
    "target_tokenizer.json",
    "source.spm",
    "target.spm",
    "vocab.json",
    "target_vocab.json",
];

/// A model of the Transformer family with all that belongs to it, whatever format it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// The shape of the model.
    pub config: TransformerConfig,
    /// The weights under the names and in the layout of a model directory.
    pub weights: Tensors,
    /// How the model is meant to be searched.
    pub search: SearchSettings,
    /// Files of the tokenisers by name, as they are in a model directory.
    pub texts: BTreeMap<String, Vec<u8>>,
    /// What the other format says and this one cannot, in whole sentences for the user.
    pub remarks: Vec<String>,
}

impl Package {
    /// Writes the model directory `dir`, which is made; its manifest is written last.
    ///
    /// # Errors
    /// [`InteropError::Occupied`] if the folder holds anything, [`InteropError::Io`] or [`InteropError::ModelDir`] if a
    /// file cannot be written.
    pub fn save(&self, dir: &Path) -> Result<()> {
        fresh_folder(dir)?;
        let weights = self.weights.iter();
        let weights: BTreeMap<String, TensorData> =
            weights.map(|(name, tensor)| (name.clone(), tensor.clone().into())).collect();
        model_dir::save_parameters(dir, &self.config, &weights, ComputeType::Float32)?;
        for (name, bytes) in &self.texts {
            write_file(&dir.join(name), bytes)?;
        }
        self.search.save(&dir.join(GENERATION_FILE))?;
        Ok(model_dir::seal(dir)?)
    }

    /// Reads the model directory `dir`, whose hashes are checked.
    ///
    /// # Errors
    /// [`InteropError::ModelDir`] or [`InteropError::Settings`] by the file that is wrong.
    pub fn load(dir: &Path) -> Result<Self> {
        model_dir::verify(dir)?;
        let (config, weights) = model_dir::load_parameters::<TransformerConfig>(dir)?;
        let weights = weights.iter().map(|(name, data)| (name.clone(), Tensor::from(data)));
        let mut texts = BTreeMap::new();
        for name in TEXT_FILES {
            if let Some(bytes) = model_dir::read(dir, name)? {
                texts.insert(name.to_string(), bytes);
            }
        }
        let (weights, search) = (weights.collect(), load_settings(dir)?);
        Ok(Self { config, weights, search, texts, remarks: Vec::new() })
    }

    /// The weight `name`, which is there because the directory's weights were counted.
    ///
    /// # Errors
    /// [`InteropError::ModelDir`] if the weights are those of another configuration.
    pub(crate) fn weight(&self, name: &str) -> Result<&Tensor> {
        self.weights.get(name).ok_or_else(|| {
            let source = burnformer_core::LoadError::Missing { name: name.into() };
            ModelDirError::Parameters { path: "model.safetensors".into(), source }.into()
        })
    }
}

/// Makes `dir`, unless it is there and empty.
///
/// # Errors
/// [`InteropError::Occupied`] if it holds anything, [`InteropError::Io`].
pub(crate) fn fresh_folder(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|error| InteropError::io(dir, error))?;
    let mut entries = std::fs::read_dir(dir).map_err(|error| InteropError::io(dir, error))?;
    match entries.next() {
        Some(_) => Err(InteropError::Occupied { path: dir.into() }),
        None => Ok(()),
    }
}

/// Refuses to write to `format` a model that has something, `what`, for which there is no place, where it `has` it.
///
/// # Errors
/// [`InteropError::CannotExport`].
pub(crate) fn refuse(
    format: &'static str,
    has: bool,
    what: &str,
    remedy: &'static str,
) -> Result<()> {
    match has {
        true => Err(InteropError::CannotExport { format, what: what.into(), remedy }),
        false => Ok(()),
    }
}

/// Refuses what neither MarianMTModel nor CTranslate2 has: heads of other widths, recurrent decoders, restricted
/// self-attention.
///
/// # Errors
/// [`InteropError::CannotExport`].
pub(crate) fn check_layers(config: &TransformerConfig, format: &'static str) -> Result<()> {
    let TransformerConfig { d_model, heads, d_k, d_v, attention_window, conventions, .. } = config;
    let even = d_model.is_multiple_of(*heads) && [*d_k, *d_v] == [d_model / heads; 2];
    let widths = "heads of another width than d_model / heads";
    refuse(format, !even, widths, "train with d_k = d_v = 0")?;
    let ssru = conventions.target_history == TargetHistory::Ssru;
    refuse(format, ssru, "a recurrent decoder (SSRU)", "only Marian has one")?;
    let window = attention_window.is_some();
    refuse(format, window, "restricted self-attention", "train with attention_window = 0")
}
