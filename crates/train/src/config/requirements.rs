//! Checks of a configuration before anything is read or computed.

use burnformer_core::{EmbeddingSharing, Positions};
use burnformer_data::SpecialIds;
use toml::Value;

use super::data::{ContextSizes, MIX, corpus_paths};
use super::error::{ConfigFileError, Result};
use super::model::ModelSettings;
use super::train_config::TrainConfig;

/// The range of each numeric key: the interval and its description. `0|` adds 0 to an interval.
const RANGES: &str = include_str!("ranges.tsv");

type Check = Result<()>;

/// An error unless `good`.
fn check(good: bool, key: &'static str, value: impl ToString, remedy: impl ToString) -> Check {
    good.then_some(()).ok_or_else(|| {
        let value = value.to_string();
        let remedy = remedy.to_string();
        ConfigFileError::Value { key, value, remedy }
    })
}

/// The numbers at the dotted `path` in `value`, in all entries of lists.
fn numbers(value: &Value, path: &str) -> Vec<f64> {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    match value {
        Value::Integer(value) => vec![*value as f64],
        Value::Float(value) => vec![*value],
        Value::Array(all) => all.iter().flat_map(|value| numbers(value, path)).collect(),
        Value::Table(table) => table.get(key).map_or(vec![], |value| numbers(value, rest)),
        _ => vec![],
    }
}

/// Returns whether `x` is in an interval such as `[0,1)`, or `0|[1,inf)`, which also contains 0.
fn is_in(interval: &str, x: f64) -> bool {
    let bounds = interval.trim_start_matches("0|");
    let limits = bounds[1..bounds.len() - 1].split(',').map(str::parse);
    let limits: Vec<f64> = limits.map(|limit| limit.expect("a number")).collect();
    let above = if bounds.starts_with('[') {
        x >= limits[0]
    } else {
        x > limits[0]
    };
    let below = if bounds.ends_with(']') {
        x <= limits[1]
    } else {
        x < limits[1]
    };
    above && below || x == 0.0 && bounds != interval
}

impl TrainConfig {
    /// Checks the range of every value and the consistency of values.
    ///
    /// # Errors
    /// Returns a [`ConfigFileError`] that names the key and a remedy.
    pub fn validate(&self) -> Check {
        self.validate_numbers()?;
        self.validate_data()?;
        self.validate_tokenizer()?;
        self.validate_model()
    }

    fn validate_numbers(&self) -> Check {
        let all = Value::try_from(self).map_err(|error| {
            let location = "the configuration".into();
            let message = error.to_string();
            ConfigFileError::Type { location, message }
        })?;
        for row in RANGES.lines() {
            let [key, interval, remedy] = row.split('\t').collect::<Vec<_>>()[..] else {
                continue;
            };
            for value in numbers(&all, key) {
                check(is_in(interval, value), key, value, remedy)?;
            }
        }
        Ok(())
    }

    fn validate_data(&self) -> Check {
        let texts = self.data.texts().into_iter();
        let mut named_texts = texts.filter(|(key, paths)| !paths.is_empty() || *key == MIX);
        named_texts.try_for_each(|(key, paths)| corpus_paths(key, paths).map(drop))?;
        let ContextSizes { source, target } = self.data.context;
        let remedy = format!("at most data.context.source = {source}, or raise that");
        check(target <= source, "data.context.target", target, remedy)?;
        self.data.check_languages()
    }

    fn validate_tokenizer(&self) -> Check {
        let key = "tokenizer.files";
        let files = self.tokenizer.files.len();
        if files > 2 {
            let remedy = "give one for both sides, or two (source, target)".into();
            return Err(ConfigFileError::Paths {
                key,
                found: files,
                remedy,
            });
        }
        let two = if files == 0 {
            !self.tokenizer.train.joint
        } else {
            files == 2
        };
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
            return Err(ConfigFileError::NoEffect {
                key,
                value,
                architecture,
            });
        }
        let &ModelSettings {
            heads,
            d_model,
            d_k,
            d_v,
            positions,
            max_positions,
            ..
        } = model;
        let divides = d_k > 0 && d_v > 0 || heads == 0 || d_model.is_multiple_of(heads);
        let remedy =
            format!("a divisor of model.d_model = {d_model}, or set model.d_k and model.d_v");
        check(divides, "model.heads", heads, remedy)?;
        // The tokeniser decides the vocabulary later; its size is asked for here.
        let vocab = self.tokenizer.train.vocab_size;
        let shape = model.over([vocab; 2], SpecialIds::OURS);
        shape.validate().map_err(ConfigFileError::Model)?;
        let longest = self
            .data
            .max_source_len
            .max(self.data.max_target_len)
            .saturating_add(1 + usize::from(!self.data.pairs.is_empty()));
        let good = positions == Positions::Sinusoidal || longest <= max_positions;
        let remedy = format!(
            "at least {longest}, for the longest sentence that data.max_source_len and \
             data.max_target_len keep and its </s>"
        );
        check(good, "model.max_positions", max_positions, remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key without a number would never be checked.
    #[test]
    fn every_range_matches_its_description() {
        let set = [
            "data.mix=[{train=[\"a.de\",\"a.en\"],weight=2.5}]",
            "validation.test_alphas=[0.6,1]",
        ];
        let mut config = TrainConfig::resolve(None, None, &set.map(String::from)).unwrap();
        // No file may have both lists.
        let pairs = "data.pairs=[{source=\"de\",target=\"en\",train=[\"a.tsv\"]}]".to_owned();
        let with_pairs = TrainConfig::resolve(None, None, &[pairs]).unwrap();
        config.data.pairs = with_pairs.data.pairs;
        let all = Value::try_from(&config).unwrap();
        for row in RANGES.lines() {
            let [key, interval, remedy] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            assert!(!numbers(&all, key).is_empty(), "{key}");
            assert!(
                !is_in(interval, f64::NAN) && !is_in(interval, f64::INFINITY),
                "{row}"
            );
            assert!(!is_in(interval, -1.0) && is_in(interval, 1.0) != remedy.ends_with("below 1"));
            let takes_0 = ["0 or more", "or 0", "from 0", "at least 0"];
            assert_eq!(
                is_in(interval, 0.0),
                takes_0.iter().any(|it| remedy.contains(it)),
                "{row}"
            );
        }
        assert!(!is_in("0|[1,inf)", 0.5) && is_in("0|[1,inf)", 0.0) && !is_in("[0,1)", 1.0));
    }
}
