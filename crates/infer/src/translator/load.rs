//! Loads translators.

use std::path::Path;
use std::sync::OnceLock;

use crate::shortlist::Vocabularies;
use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_core::model_dir::{self, Source};
use burnformer_data::{ContextSettings, Tokenizer, Tokenizers, special};
use burnformer_kernels::is_fused_on;

use super::Translator;
use super::error::TranslatorError;
use super::files::{load_settings, load_tokenizers};
use super::options::pair_of;
use crate::error::Result;
use crate::generation::GenerationSettings;
use crate::model::{Ensemble, EnsembleError, NeuralModel, SpecialIds, StepModel};

impl Translator {
    /// Loads the model directory `dir` onto `device`, checking the hash of every file.
    ///
    /// # Errors
    /// Returns [`InferError::ModelDir`](crate::InferError::ModelDir),
    /// [`InferError::Tokenizer`](crate::InferError::Tokenizer) or a
    /// [`SettingsError`](crate::SettingsError), depending on the damaged file, and a
    /// [`TranslatorError`] if there is no tokeniser or model and tokenisers do not fit together.
    pub fn load(dir: impl AsRef<Path>, device: &Device) -> Result<Self> {
        Self::load_as(&[dir], device, None)
    }

    /// Loads one model directory, or several as an [`Ensemble`] with the default settings of the
    /// first. Matrix products are in `compute`; `None` is the compute type of each directory.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load); an [`EnsembleError`] if `dirs` is empty or the
    /// models do not share their vocabularies; [`TranslatorError::ComputeType`] if `device` has no
    /// matrix products of the compute type.
    pub fn load_as<P: AsRef<Path>>(
        dirs: &[P],
        device: &Device,
        compute: Option<ComputeType>,
    ) -> Result<Self> {
        let (first, others) = dirs.split_first().ok_or(EnsembleError::Empty)?;
        let first = Self::load_from(first, device, compute)?;
        if others.is_empty() {
            return Ok(first);
        }
        let Self {
            model,
            tokenizers,
            settings,
            pair,
            ..
        } = first;
        let mut members: Vec<Box<dyn StepModel>> = vec![model];
        for (dir, member) in others.iter().zip(2..) {
            let (model, loaded) = load_model(dir.into(), device, compute)?;
            if loaded.source.hash() != tokenizers.source.hash()
                || loaded.target.hash() != tokenizers.target.hash()
            {
                return Err(EnsembleError::Differs {
                    member,
                    what: "tokeniser",
                }
                .into());
            }
            members.push(Box::new(model));
        }
        Ok(Self {
            pair,
            ..Self::new(Box::new(Ensemble::new(members)?), tokenizers, settings)?
        })
    }

    /// Loads a model directory from a folder or from memory
    /// ([`ModelFiles`](burnformer_core::model_dir::ModelFiles)), like [`load_as`](Self::load_as).
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load), and [`TranslatorError::ComputeType`] if `device`
    /// has no matrix products of the compute type.
    pub fn load_from<'a>(
        source: impl Into<Source<'a>>,
        device: &Device,
        compute: Option<ComputeType>,
    ) -> Result<Self> {
        if let Some(compute) = compute
            .filter(|compute| *compute != ComputeType::Float32)
            .filter(|_| !is_fused_on(device))
        {
            return Err(TranslatorError::ComputeType(compute.name()).into());
        }
        let source = source.into();
        let (model, tokenizers) = load_model(source, device, compute)?;
        let translator = Self::new(Box::new(model), tokenizers, load_settings(source)?)?;
        Ok(Self {
            pair: pair_of(source.dir()),
            ..translator
        })
    }

    /// Creates a translator from any model, its tokenisers, and default settings.
    ///
    /// # Errors
    /// Returns a [`TranslatorError`] if model and tokenisers do not fit together, and a
    /// [`SettingsError`](crate::SettingsError) if a setting is out of its range.
    pub fn new(
        model: Box<dyn StepModel>,
        tokenizers: Tokenizers,
        settings: impl Into<GenerationSettings>,
    ) -> Result<Self> {
        let settings = settings.into();
        settings.validate()?;
        check_sizes(&*model, &tokenizers)?;
        for side in [&tokenizers.source, &tokenizers.target] {
            check_special(model.special(), side)?;
        }
        let separators = separators(&tokenizers, settings.context)?;
        Ok(Self {
            model,
            tokenizers,
            settings,
            pair: None,
            separators,
            edges: OnceLock::new(),
        })
    }
}

/// The vocabularies of a model with these tokenisers, for a shortlist.
pub fn vocabularies(Tokenizers { source, target }: &Tokenizers) -> Vocabularies {
    Vocabularies {
        sizes: [source.vocab_size(), target.vocab_size()],
        tokenizers: Some([source.hash(), target.hash()]),
    }
}

fn load_model(
    dir: Source,
    device: &Device,
    compute: Option<ComputeType>,
) -> Result<(NeuralModel, Tokenizers)> {
    model_dir::verify_before_load(dir)?;
    let compute = compute.map_or_else(|| model_dir::load_compute_type(dir), Ok)?;
    let (tokenizers, model) = rayon::join(
        || load_tokenizers(dir),
        || model_dir::load_packed(dir, device, compute),
    );
    let tokenizers = tokenizers?;
    let (config, model) = model?;
    Ok((
        NeuralModel::with_compute(config, model, device, compute),
        tokenizers,
    ))
}

fn check_sizes(model: &dyn StepModel, tokenizers: &Tokenizers) -> Result<(), TranslatorError> {
    let sides = [
        (
            "source",
            tokenizers.source.vocab_size(),
            model.source_vocab(),
        ),
        (
            "target",
            tokenizers.target.vocab_size(),
            model.target_vocab(),
        ),
    ];
    for (side, tokenizer, model) in sides {
        if tokenizer != model {
            return Err(TranslatorError::Vocabulary {
                side,
                tokenizer,
                model,
            });
        }
    }
    Ok(())
}

/// The tokens between the sentences of a `context`, in the source and in the target.
///
/// # Errors
/// Returns [`TranslatorError::NoSeparator`] if a side with context has no such token.
fn separators(
    tokenizers: &Tokenizers,
    context: Option<ContextSettings>,
) -> Result<[Option<u32>; 2], TranslatorError> {
    let Some(context) = context else {
        return Ok([None; 2]);
    };
    let settings = [
        ("source", context.source, tokenizers.source.separator()),
        ("target", context.target, tokenizers.target.separator()),
    ];
    for (side, sentences, separator) in settings {
        if sentences > 0 && separator.is_none() {
            return Err(TranslatorError::NoSeparator(side));
        }
    }
    Ok(settings.map(|(_, sentences, separator)| separator.filter(|_| sentences > 0)))
}

fn check_special(ids: SpecialIds, tokenizer: &Tokenizer) -> Result<(), TranslatorError> {
    let tokenizer_ids = tokenizer.special_ids();
    let pairs = [
        (special::PAD_TOKEN, ids.pad, tokenizer_ids.pad),
        (
            special::BOS_TOKEN,
            ids.bos,
            tokenizer_ids.bos.unwrap_or(ids.bos),
        ),
        (special::EOS_TOKEN, ids.eos, tokenizer_ids.eos),
    ];
    for (token, model, tokenizer) in pairs {
        if model != tokenizer {
            return Err(TranslatorError::SpecialId {
                token,
                model,
                tokenizer,
            });
        }
    }
    Ok(())
}
