//! The start model of a run, and its frozen parameters.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burnformer_core::model_dir::{self, ModelDirProblem};
use burnformer_core::{
    Model, ModelConfig, Parameters, Seq2SeqConfig, Tokens, freeze_parameters, parameter_sizes,
    with_parameters,
};
use burnformer_data::{SpecialIds, Tokenizers};
use burnformer_infer::{
    BeamRule, GenerationSettings, LengthPenalty, Protections, SearchSettings, load_settings,
    load_tokenizers,
};

use super::error::{LanguagesError, StartModelError};
use crate::config::{
    ConfigFileError, DataSettings, ModelSettings, TrainConfig, nearest, start_model_in,
};
use crate::error::Result;
use crate::run::{copy_files, save_folder};

/// The model directory that a run starts from (`training.from`): its configuration, tokenisers and
/// default settings. The weights are read when needed.
#[derive(Clone, Debug)]
pub struct StartModel {
    dir: PathBuf,
    config: ModelConfig,
    pub(crate) tokenizers: Tokenizers,
    generation: GenerationSettings,
}

impl StartModel {
    /// Opens the model directory `dir` and checks the hash of every file.
    ///
    /// # Errors
    /// Returns [`TrainError::ModelDir`](crate::TrainError::ModelDir) or
    /// [`TrainError::Infer`](crate::TrainError::Infer), depending on the damaged file, and a
    /// [`StartModelError`] if a run cannot start from the model.
    pub fn open(dir: &Path) -> Result<Self> {
        model_dir::verify(dir)?;
        let config = model_dir::load_config(dir)?;
        let tokenizers = load_tokenizers(dir)?;
        let generation = load_settings(dir)?;
        let Tokenizers { source, target } = &tokenizers;
        let sides = [
            ("source", source.vocab_size(), config.tokens().source_vocab),
            ("target", target.vocab_size(), config.tokens().target_vocab),
        ];
        match sides.into_iter().find(|(_, tokens, rows)| tokens != rows) {
            Some((side, tokens, rows)) => Err(StartModelError::Vocabulary {
                dir: dir.into(),
                side,
                tokens,
                rows,
            }
            .into()),
            None => Ok(Self {
                dir: dir.into(),
                config,
                tokenizers,
                generation,
            }),
        }
    }

    /// The start model of a run with `config`: the model in `training.from` for a new run, or the
    /// copy in the folder `run` of a resumed run. `None` for random weights.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn of_run(config: &TrainConfig, run: Option<&Path>) -> Result<Option<Self>> {
        let from = &config.training.from;
        if from.as_os_str().is_empty() {
            return Ok(None);
        }
        let start_copy = run.and_then(start_model_in);
        Self::open(start_copy.as_ref().unwrap_or(from)).map(Some)
    }

    /// Checks that texts without languages are not given to a model whose texts begin with tokens
    /// that name them.
    ///
    /// # Errors
    /// Returns [`LanguagesError::Needed`].
    pub(crate) fn check_languages(&self, data: &DataSettings) -> Result<(), LanguagesError> {
        let Tokenizers { source, target } = &self.tokenizers;
        let names_both = [source, target]
            .iter()
            .any(|side| !side.language_codes().is_empty());
        // The texts of an imported model may begin with tags; texts of a model of ours may not.
        let is_ours = !self.generation.directions.is_empty();
        let needs = names_both || is_ours && !source.target_tags().is_empty();
        if needs && data.trained_directions().is_empty() {
            return Err(LanguagesError::Needed(self.dir.clone()));
        }
        Ok(())
    }

    /// The directions of a model that a run with `data` makes of this one: the old ones and the new
    /// ones. A model that knows no directions translates between all its languages.
    fn directions(&self, data: &DataSettings) -> Vec<[String; 2]> {
        let mut directions = self.generation.directions.clone();
        let Tokenizers { source, target } = &self.tokenizers;
        let names_languages =
            !source.target_tags().is_empty() || !target.language_codes().is_empty();
        if directions.is_empty() && names_languages {
            return directions;
        }
        for new in data.trained_directions() {
            if !directions.contains(&new) {
                directions.push(new);
            }
        }
        directions
    }

    /// The configuration of the model, with the dropout rates of `settings`.
    pub fn shape(&self, settings: &ModelSettings) -> ModelConfig {
        settings.with_rates(&self.config)
    }

    /// Copies the directory to `folder`, unless it is already there. The weights are read from the
    /// copy.
    ///
    /// # Errors
    /// Returns a [`SaveError`](crate::SaveError) if a file cannot be copied.
    pub(crate) fn keep(&mut self, folder: &Path) -> Result<()> {
        if !folder.exists() {
            save_folder(folder, |folder| copy_files(&self.dir, folder, &[]))?;
        }
        self.dir = folder.into();
        Ok(())
    }
}

/// The model of a run before its first update.
#[derive(Clone, Debug)]
pub(crate) struct FirstModel {
    /// The configuration of the model.
    pub config: ModelConfig,
    /// The start model; `None` for random weights.
    pub start: Option<StartModel>,
    /// The default settings of saved models.
    pub generation: GenerationSettings,
}

impl FirstModel {
    /// The first model of a run with `config`. Its configuration is `given`, otherwise from
    /// `start`, otherwise from `config` with the vocabularies of `tokens`.
    ///
    /// # Errors
    /// Returns [`TrainError::Model`](crate::TrainError::Model) if the configuration is invalid, and
    /// [`TrainError::Data`](crate::TrainError::Data) if the special ids of the tokenisers differ.
    pub fn new(
        config: &TrainConfig,
        start: Option<StartModel>,
        tokens: impl FnOnce() -> Result<Tokens>,
        given: Option<ModelConfig>,
    ) -> Result<Self> {
        let model = match (given, &start) {
            (Some(given), _) => given,
            (None, Some(start)) => start.shape(&config.model),
            (None, None) => {
                let Tokens {
                    source_vocab,
                    target_vocab,
                    pad,
                    bos,
                    eos,
                } = tokens()?;
                config
                    .model
                    .over([source_vocab, target_vocab], SpecialIds { pad, bos, eos })
            }
        };
        model.validate()?;
        let search = SearchSettings {
            beam_size: config.validation.test_beam,
            length_penalty: LengthPenalty::Gnmt(config.validation.test_alpha),
            beam_rule: BeamRule::Near,
            ..SearchSettings::default()
        };
        let generation = GenerationSettings {
            search,
            protections: Protections {
                small_letters: true,
                second_search: true,
                keep_parts: true,
            },
            calibration: None,
            directions: config.data.trained_directions(),
            context: config.context(),
        };
        let generation = start
            .as_ref()
            .map_or(generation, |start| GenerationSettings {
                // Training invalidates the calibration; a validation fits it again.
                calibration: None,
                directions: start.directions(&config.data),
                // Texts without documents teach nothing about context, and take nothing away.
                context: config.context().or(start.generation.context),
                ..start.generation.clone()
            });
        Ok(Self {
            config: model,
            start,
            generation,
        })
    }

    /// The model on `device`; random weights are a function of `seed`.
    ///
    /// # Errors
    /// Returns [`TrainError::ModelDir`](crate::TrainError::ModelDir) if the weights cannot be read
    /// or have another shape.
    pub fn init(&self, seed: u64, device: &Device) -> Result<Model> {
        let model = self.config.build(seed, device)?;
        let Some(start) = &self.start else {
            return Ok(model);
        };
        let (_, parameters) = model_dir::load_parameters(&start.dir)?;
        let loaded = with_parameters(model, parameters);
        Ok(loaded.map_err(|error| ModelDirProblem::Parameters(error).at(&start.dir))?)
    }
}

/// The special ids of models with the configuration `shape`.
pub(crate) fn special_ids(shape: &dyn Seq2SeqConfig) -> SpecialIds {
    let Tokens { pad, bos, eos, .. } = shape.tokens();
    SpecialIds { pad, bos, eos }
}

/// Freezes the parameters of `module` that match `patterns` (`training.freeze`): they have no
/// gradient, and the optimiser skips them.
///
/// A pattern is the name of a parameter or its first parts, such as `decoder.layers.0`. The part
/// `*` matches any part.
///
/// # Errors
/// Returns [`ConfigFileError::Freeze`] for a pattern without a match, and
/// [`ConfigFileError::Value`] if all parameters are frozen.
pub(crate) fn freeze<M: Parameters>(module: M, patterns: &[String]) -> Result<M, ConfigFileError> {
    if patterns.is_empty() {
        return Ok(module);
    }
    let names: Vec<String> = parameter_sizes(&module)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    if let Some(pattern) = patterns
        .iter()
        .find(|p| !names.iter().any(|name| matches_pattern(name, p)))
    {
        let known = known(&names);
        let nearest = nearest(pattern, known.iter().map(String::as_str));
        return Err(ConfigFileError::Freeze {
            pattern: pattern.clone(),
            nearest,
        });
    }
    if names.iter().all(|name| matches_any(name, patterns)) {
        let remedy = "a list that leaves something to train".into();
        let value = patterns.join(", ");
        return Err(ConfigFileError::Value {
            key: "training.freeze",
            value,
            remedy,
        });
    }
    Ok(freeze_parameters(module, |name: &str| {
        matches_any(name, patterns)
    }))
}

fn matches_any(name: &str, patterns: &[String]) -> bool {
    patterns
        .iter()
        .any(|pattern| matches_pattern(name, pattern))
}

/// Returns whether the parts of `pattern` match the first parts of `name`.
fn matches_pattern(name: &str, pattern: &str) -> bool {
    let mut parts = name.split('.');
    pattern.split('.').all(|wanted| {
        parts
            .next()
            .is_some_and(|part| wanted == "*" || wanted == part)
    })
}

/// Every name and every prefix of a name.
fn known(names: &[String]) -> Vec<String> {
    let beginnings = names.iter().flat_map(|name| {
        let dots = name
            .match_indices('.')
            .map(|(at, _)| name[..at].to_string());
        dots.chain([name.clone()])
    });
    let mut known: Vec<String> = beginnings.collect();
    known.sort();
    known.dedup();
    known
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use burnformer_core::{TransformerConfig, trained_parameter_shapes};

    use super::*;

    fn trained(patterns: &[&str]) -> Result<Vec<String>, ConfigFileError> {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let model = TransformerConfig::tiny(20)
            .init(1, &Device::default().autodiff())
            .unwrap();
        let sizes = trained_parameter_shapes(&freeze(model, &patterns)?);
        Ok(sizes.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn a_pattern_names_a_parameter_or_all_below_it() {
        let all = trained(&[]).unwrap();
        let without = |start: &str| {
            all.iter()
                .filter(|name| !name.starts_with(start))
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(trained(&["encoder"]).unwrap(), without("encoder."));
        assert_eq!(
            trained(&["embedding.weight"]).unwrap(),
            without("embedding.weight")
        );
        assert_eq!(
            trained(&["decoder.layers.1"]).unwrap(),
            without("decoder.layers.1.")
        );
        let stars = trained(&["*.layers.*.feed_forward"]).unwrap();
        let left: Vec<_> = all
            .iter()
            .filter(|n| !n.contains(".feed_forward."))
            .cloned()
            .collect();
        assert_eq!(stars, left);
    }

    #[test]
    fn a_pattern_that_names_nothing_is_an_error_with_the_nearest_name() {
        for (pattern, nearest) in [
            ("encodr", "\"encoder\""),
            ("embeding", "\"embedding\""),
            ("enc", "\"encoder\""),
            ("decoder.layers.7", "\"decoder.layers."),
        ] {
            let message = trained(&[pattern]).unwrap_err().to_string();
            assert!(
                message.contains(pattern) && message.contains(nearest),
                "{message}"
            );
        }
        let message = trained(&["*"]).unwrap_err().to_string();
        assert!(message.contains("training.freeze is *"), "{message}");
    }
}
