//! A model during a conversion: the content of a model directory in memory.

use std::collections::BTreeMap;
use std::path::Path;

use burnformer_core::model_dir::{self, ModelDirProblem, NamedTensor};
use burnformer_core::{
    Activation, ClosingNorm, NormKind, NormPosition, TargetHistory, TransformerConfig,
};
use burnformer_infer::{GENERATION_FILE, GenerationSettings, Shortlist, load_settings};

use crate::error::{InteropError, Result};
use crate::files::write_file;
use crate::tensors::{Tensor, Tensors};

/// The shortlist file of a model directory.
const SHORTLIST_FILE: &str = "shortlist.safetensors";

/// The contents of files, by their names.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A Transformer model with its tokenisers and settings, independent of its original format.
#[derive(Clone, Debug, PartialEq)]
pub struct Pretrained {
    /// The configuration of the model.
    pub config: TransformerConfig,
    /// The weights, with the names and in the layout of a model directory.
    pub weights: Tensors,
    /// The default settings of the model.
    pub generation: GenerationSettings,
    /// The tokeniser files of a model directory, by name.
    pub texts: Files,
    /// The lexical shortlist, if the original model has one.
    pub shortlist: Option<Shortlist>,
    /// Notes for the user on settings that a model directory cannot express.
    pub warnings: Vec<String>,
}

impl Pretrained {
    /// Returns whether there are tokenisers. Without them, no text can be translated.
    pub fn has_tokenizers(&self) -> bool {
        self.texts
            .keys()
            .any(|name| name.ends_with(".spm") || name.ends_with("tokenizer.json"))
    }

    /// Writes the new model directory `dir`. Its manifest is written last.
    ///
    /// # Errors
    /// Returns [`InteropError::Occupied`] if the folder is not empty, [`InteropError::Io`] or
    /// [`InteropError::ModelDir`] if a file cannot be written.
    pub fn save(&self, dir: &Path) -> Result<()> {
        fresh_folder(dir)?;
        let weights = self.weights.iter().map(|(name, tensor)| NamedTensor {
            name,
            shape: &tensor.shape,
            values: &tensor.values,
        });
        model_dir::save_named(dir, &self.config, weights)?;
        for (name, bytes) in &self.texts {
            write_file(&dir.join(name), bytes)?;
        }
        if let Some(shortlist) = &self.shortlist {
            write_file(&dir.join(SHORTLIST_FILE), &shortlist.to_bytes())?;
        }
        self.generation.save(&dir.join(GENERATION_FILE))?;
        Ok(model_dir::seal(dir)?)
    }

    /// Reads the model directory `dir` and checks its hashes. A shortlist is not read, since no
    /// other format can express it.
    ///
    /// # Errors
    /// Returns [`InteropError::ModelDir`] or [`InteropError::Infer`], depending on the damaged
    /// file.
    pub fn load(dir: &Path) -> Result<Self> {
        model_dir::verify(dir)?;
        let (config, weights) = model_dir::load_parameters(dir)?;
        let Some(config) = config.downcast_ref::<TransformerConfig>().cloned() else {
            let problem = ModelDirProblem::Architecture(config.architecture().into());
            return Err(problem.at(dir.join("config.json")).into());
        };
        let weights = weights
            .iter()
            .map(|(name, data)| (name.clone(), Tensor::from(data)));
        let mut texts = BTreeMap::new();
        for name in burnformer_infer::TOKENIZER_FILES {
            if let Some(bytes) = model_dir::read(dir, name)? {
                texts.insert(name.to_string(), bytes);
            }
        }
        let weights = weights.collect();
        let generation = load_settings(dir)?;
        Ok(Self {
            config,
            weights,
            generation,
            texts,
            shortlist: None,
            warnings: Vec::new(),
        })
    }

    /// The weight `name`.
    ///
    /// # Errors
    /// Returns [`InteropError::ModelDir`] if the weights belong to another configuration.
    pub(crate) fn weight(&self, name: &str) -> Result<&Tensor> {
        self.weights.get(name).ok_or_else(|| {
            let missing = burnformer_core::LoadError::Missing(name.into());
            ModelDirProblem::Parameters(missing)
                .at("model.safetensors")
                .into()
        })
    }
}

/// Creates `dir`, unless it exists and is empty.
///
/// # Errors
/// Returns [`InteropError::Occupied`] if the folder is not empty, or [`InteropError::Io`].
pub(crate) fn fresh_folder(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(|error| InteropError::io(dir, error))?;
    let mut entries = std::fs::read_dir(dir).map_err(|error| InteropError::io(dir, error))?;
    match entries.next() {
        Some(_) => Err(InteropError::Occupied(dir.into())),
        None => Ok(()),
    }
}

/// Refuses the first of `features` that the model has and `format` cannot express. A feature is
/// whether the model has it, its name, and the remedy.
///
/// # Errors
/// Returns [`InteropError::CannotExport`] with the name and the remedy of the feature.
pub(crate) fn refuse(format: &'static str, features: &[(bool, &str, &'static str)]) -> Result<()> {
    match features.iter().find(|(has, ..)| *has) {
        Some(&(_, what, remedy)) => Err(InteropError::CannotExport {
            format,
            what: what.into(),
            remedy,
        }),
        None => Ok(()),
    }
}

/// Returns the entry of `activations` (the activation functions of `format`) for `config`.
///
/// # Errors
/// Returns [`InteropError::CannotExport`] if the format lacks the function.
pub(crate) fn activation_in<T: Copy>(
    format: &'static str,
    activations: &[(T, Activation)],
    config: &TransformerConfig,
) -> Result<T> {
    let found = activations
        .iter()
        .find(|(_, function)| *function == config.activation);
    found
        .map(|&(name, _)| name)
        .ok_or_else(|| InteropError::CannotExport {
            format,
            what: "this activation function".into(),
            remedy: "train with activation = \"relu\"",
        })
}

/// Refuses features that MarianMTModel and CTranslate2 lack: heads of other widths, restricted
/// self-attention, norms other than layer normalisation, embeddings of unit length, and recurrent
/// decoders.
///
/// # Errors
/// Returns [`InteropError::CannotExport`] for the first such feature of `config`.
pub(crate) fn check_layers(config: &TransformerConfig, format: &'static str) -> Result<()> {
    let TransformerConfig {
        d_model,
        heads,
        d_k,
        d_v,
        attention_window,
        ..
    } = config;
    let even = d_model.is_multiple_of(*heads) && [*d_k, *d_v] == [d_model / heads; 2];
    let widths = "train with d_k = d_v = 0";
    let window = "train with attention_window = 0";
    let kind = "train with norm_kind = \"layer\"";
    let ssru = config.conventions.target_history == TargetHistory::Ssru;
    let bare =
        config.norm == NormPosition::Pre && config.conventions.closing_norm == ClosingNorm::Absent;
    let features = [
        (!even, "heads of another width than d_model / heads", widths),
        (
            attention_window.is_some(),
            "restricted self-attention",
            window,
        ),
        (
            config.norm_kind != NormKind::Layer,
            "norms other than layer normalisation",
            kind,
        ),
        (
            config.fix_norm,
            "embeddings of unit length",
            "train with fix_norm = false",
        ),
        (ssru, "a recurrent decoder (SSRU)", "only Marian has one"),
        (
            bare,
            "norms before sub-layers without one at the end",
            "only Marian has such models",
        ),
    ];
    refuse(format, &features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activation_that_a_format_lacks_is_refused() {
        let config = TransformerConfig {
            activation: Activation::Silu,
            ..TransformerConfig::tiny(9)
        };
        let find = |names: &[(&'static str, Activation)]| activation_in("X", names, &config);
        assert_eq!(
            find(&[("relu", Activation::Relu), ("swish", Activation::Silu)]).unwrap(),
            "swish"
        );
        let error = find(&[("relu", Activation::Relu)]).unwrap_err().to_string();
        assert!(
            error.contains("X") && error.contains("activation"),
            "{error}"
        );
    }
}
