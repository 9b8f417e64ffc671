//! Requirements of a configuration, checked before anything is read or computed.

use burnformer_core::{EmbeddingSharing, Positions};
use burnformer_data::SpecialIds;

use super::data::{MIX, corpus_paths};
use super::error::{ConfigFileError, Result};
use super::model::ModelSettings;
use super::train_config::TrainConfig;

/// The values that a number may have: a test, and what the test asks for in words.
type Range = (fn(f64) -> bool, &'static str);

const NOT_NEGATIVE: Range = (|x| x >= 0.0 && x.is_finite(), "0 or more");
const AT_LEAST_1: Range = (|x| x >= 1.0, "at least 1");
const BELOW_1: Range = (|x| (0.0..1.0).contains(&x), "at least 0 and below 1");
const SHARE: Range = (|x| (0.0..=1.0).contains(&x), "from 0 to 1");
const POSITIVE: Range = (|x| x > 0.0 && x.is_finite(), "above 0");
const SMALL: Range = (POSITIVE.0, "above 0, such as 1e-9");
const BEAM: Range = (|x| (1.0..=1000.0).contains(&x), "between 1 (greedy) and 1000");
const BUDGET: Range =
    (|x| (1.0..=16_777_216.0).contains(&x), "from the longest sentence, such as 4096, to 16777216");
const MULTIPLE: Range = (|x| (1.0..=512.0).contains(&x), "from 1, which pads no further, to 512");
const RATIO: Range =
    (|x| x == 0.0 || x >= 1.0 && x.is_finite(), "at least 1, or 0 to keep all pairs");
const CLIP: Range = (NOT_NEGATIVE.0, "above 0, such as 1, or 0 for no clipping");
const FALL: Range = (|x| x > 0.0 && x <= 1.0, "above 0 and at most 1");

type Check = Result<()>;

/// An error unless `good`.
fn check(good: bool, key: &'static str, value: impl ToString, remedy: impl ToString) -> Check {
    let error = || {
        let (value, remedy) = (value.to_string(), remedy.to_string());
        ConfigFileError::Value { key, value, remedy }
    };
    good.then_some(()).ok_or_else(error)
}

impl TrainConfig {
    /// Checks the range of every value, and values that must fit each other.
    ///
    /// # Errors
    /// A [`ConfigFileError`] that names the key and a remedy.
    pub fn validate(&self) -> Check {
        for (key, value, (is_good, remedy)) in self.numbers() {
            check(is_good(value), key, value, remedy)?;
        }
        self.validate_data()?;
        self.validate_tokenizer()?;
        self.validate_model()
    }

    /// The numbers with their keys and ranges.
    fn numbers(&self) -> Vec<(&'static str, f64, Range)> {
        let Self { data, training, schedule, optimizer, recovery, validation, .. } = self;
        let mut numbers = vec![
            ("data.max_source_len", data.max_source_len as f64, AT_LEAST_1),
            ("data.max_target_len", data.max_target_len as f64, AT_LEAST_1),
            ("data.max_length_ratio", data.max_length_ratio, RATIO),
            ("training.budget", training.budget as f64, BUDGET),
            ("training.multiple", training.multiple as f64, MULTIPLE),
            ("training.accumulate", training.accumulate as f64, AT_LEAST_1),
            ("training.label_smoothing", training.label_smoothing, BELOW_1),
            ("training.max_minutes", training.max_minutes, NOT_NEGATIVE),
            ("training.max_memory", training.max_memory, NOT_NEGATIVE),
            ("training.log_every", training.log_every as f64, AT_LEAST_1),
            ("recovery.rate", recovery.rate, FALL),
            ("schedule.warmup", schedule.warmup as f64, AT_LEAST_1),
            ("schedule.factor", schedule.factor, POSITIVE),
            ("schedule.peak", schedule.peak, NOT_NEGATIVE),
            ("schedule.cooldown", schedule.cooldown, SHARE),
            ("optimizer.beta1", optimizer.beta1, BELOW_1),
            ("optimizer.beta2", optimizer.beta2, BELOW_1),
            ("optimizer.epsilon", optimizer.epsilon, SMALL),
            ("optimizer.muon_factor", optimizer.muon_factor, POSITIVE),
            ("optimizer.clip_norm", optimizer.clip_norm, CLIP),
            ("validation.beam", validation.beam as f64, BEAM),
            ("validation.test_beam", validation.test_beam as f64, BEAM),
            ("validation.alpha", validation.alpha, NOT_NEGATIVE),
            ("validation.test_alpha", validation.test_alpha, NOT_NEGATIVE),
        ];
        numbers.extend(data.mix.iter().map(|text| ("data.mix.weight", text.weight, POSITIVE)));
        let alphas = validation.test_alphas.iter();
        numbers.extend(alphas.map(|&alpha| ("validation.test_alphas", alpha, NOT_NEGATIVE)));
        numbers
    }

    fn validate_data(&self) -> Check {
        let texts = self.data.texts().into_iter();
        let mut named = texts.filter(|(key, paths)| !paths.is_empty() || *key == MIX);
        named.try_for_each(|(key, paths)| corpus_paths(key, paths).map(drop))
    }

    fn validate_tokenizer(&self) -> Check {
        let (key, files) = ("tokenizer.files", self.tokenizer.files.len());
        if files > 2 {
            let remedy = "give one for both sides, or two (source, target)".into();
            return Err(ConfigFileError::Paths { key, found: files, remedy });
        }
        let two = if files == 0 { !self.tokenizer.train.joint } else { files == 2 };
        let from = !self.training.from.as_os_str().is_empty();
        let remedy = "an empty list, since the tokenisers come from training.from (--from)";
        check(
            !from || files == 0,
            "tokenizer.files",
            format!("{:?}", self.tokenizer.files),
            remedy,
        )?;
        let good = from || !two || self.model.sharing != EmbeddingSharing::All;
        let remedy = "\"target\" or \"none\" with a vocabulary for each side";
        check(good, "model.sharing", "\"all\"", remedy)?;
        match files {
            0 => self.tokenizer.train.validate(),
            _ => Ok(()),
        }
        .map_err(ConfigFileError::Tokenizer)
    }

    fn validate_model(&self) -> Check {
        let model = &self.model;
        if let Some((key, value)) = model.without_effect() {
            let architecture = model.architecture.name();
            return Err(ConfigFileError::NoEffect { key, value, architecture });
        }
        let &ModelSettings { heads, d_model, d_k, d_v, positions, max_positions, .. } = model;
        let divides = d_k > 0 && d_v > 0 || heads == 0 || d_model.is_multiple_of(heads);
        let remedy =
            format!("a divisor of model.d_model = {d_model}, or set model.d_k and model.d_v");
        check(divides, "model.heads", heads, remedy)?;
        // The tokeniser decides the vocabulary later; its size is asked for here.
        let vocab = self.tokenizer.train.vocab_size;
        let shape = model.over([vocab; 2], SpecialIds::OURS);
        shape.validate().map_err(ConfigFileError::Model)?;
        let longest = self.data.max_source_len.max(self.data.max_target_len).saturating_add(1);
        let good = positions == Positions::Sinusoidal || longest <= max_positions;
        let remedy = format!(
            "at least {longest}, for the longest sentence that data.max_source_len and \
             data.max_target_len keep and its </s>"
        );
        check(good, "model.max_positions", max_positions, remedy)
    }
}
